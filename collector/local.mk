noinst_LIBRARIES += collector/libcollector.a
collector_libcollector_a_SOURCES = \
	collector/backend.h \
	collector/branch_ring.c collector/branch_ring.h \
	collector/syscall_filter.c collector/syscall_filter.h \
	collector/observer.h \
	collector/record_observer.c collector/record_observer.h \
	collector/code_pages.c collector/code_pages.h \
	collector/from.c collector/from.h \
	collector/terminal.c collector/terminal.h \
	collector/syscall_timeout.c collector/syscall_timeout.h \
	collector/cut_transfer.c collector/cut_transfer.h \
	collector/stop_point.c collector/stop_point.h \
	collector/hidden_signals.c collector/hidden_signals.h \
	collector/last_words.c collector/last_words.h \
	collector/launch.c collector/launch.h \
	collector/limits.c collector/limits.h \
	collector/mapped_files.c collector/mapped_files.h \
	collector/mappings.c collector/mappings.h \
	collector/map_syscalls.c collector/map_syscalls.h \
	collector/memory_lock.c collector/memory_lock.h \
	collector/processor.c collector/processor.h \
	collector/program.c collector/program.h \
	collector/recorder.c collector/recorder.h collector/recorder_private.h \
	collector/recorder_files.c \
	collector/recorder_from.c \
	collector/recorder_history.c \
	collector/recorder_queue.c \
	collector/recorder_signals.c \
	collector/recorder_syscalls.c \
	collector/recorder_tasks.c \
	collector/recorder_turns.c \
	collector/signal_frame.c collector/signal_frame.h \
	collector/snapshot.c collector/snapshot.h \
	collector/address_space.c collector/address_space.h collector/address_space_private.h \
	collector/address_space_code.c \
	collector/affinity.c collector/affinity.h \
	collector/stepper.c collector/stepper.h \
	collector/task.c collector/task.h \
	collector/tracee.c collector/tracee.h \
	collector/wait_event.c collector/wait_event.h \
	collector/world.c collector/world.h

include_HEADERS = include/btrec.h
EXTRA_DIST += collector/README.md
