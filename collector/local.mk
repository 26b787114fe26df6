noinst_LIBRARIES += collector/libcollector.a
collector_libcollector_a_SOURCES = \
	collector/tracee/signal_frame.c collector/tracee/signal_frame.h \
	collector/tracee/call_memory.c collector/tracee/call_memory.h \
	collector/tracee/output_files.c collector/tracee/output_files.h \
	collector/tracee/tracee.c collector/tracee/tracee.h \
	collector/tracee/tracee_inject.c collector/tracee/tracee_private.h collector/tracee/tracee_status.c \
	collector/tracee/wait_event.c collector/tracee/wait_event.h \
	collector/space/address_space.c collector/space/address_space.h \
	collector/space/address_space_code.c \
	collector/space/address_space_private.h \
	collector/space/code_pages.c collector/space/code_pages.h \
	collector/space/map_syscalls.c collector/space/map_syscalls.h \
	collector/space/function_stops.c collector/space/function_stops.h collector/space/mapped_files.c collector/space/mapped_files.h \
	collector/space/mappings.c collector/space/mappings.h \
	collector/space/origins.c collector/space/origins.h \
	collector/space/observer.h \
	collector/space/world.c collector/space/world.h \
	collector/history/address_lists.c collector/history/address_lists.h \
	collector/history/branch_log.c collector/history/branch_log.h \
	collector/history/branch_log_private.h \
	collector/history/branch_log_read.c \
	collector/history/branch_log_settle.c \
	collector/history/branch_log_tables.c \
	collector/history/branch_ring.c collector/history/branch_ring.h \
	collector/history/branch_walk.c collector/history/branch_walk.h \
	collector/history/page_lists.c collector/history/page_lists.h \
	collector/history/record_copy.c collector/history/record_copy.h \
	collector/history/record_repeat.c collector/history/record_repeat.h \
	collector/history/segment.c collector/history/segment.h \
	collector/task/cut_transfer.c collector/task/cut_transfer.h \
	collector/task/hidden_signals.c collector/task/hidden_signals.h \
	collector/task/last_words.c collector/task/last_words.h \
	collector/task/limits.c collector/task/limits.h \
	collector/task/memory_lock.c collector/task/memory_lock.h \
	collector/task/stop_point.c collector/task/stop_point.h \
	collector/task/timer_pace.c collector/task/timer_pace.h \
	collector/task/syscall_filter.c collector/task/syscall_filter.h \
	collector/task/syscall_timeout.c collector/task/syscall_timeout.h \
	collector/task/task.c collector/task/task.h \
	collector/backend/backend.h collector/backend/test_knobs.h \
	collector/backend/step/next_insn.c \
	collector/backend/step/step_history.c \
	collector/backend/step/step_pace.c \
	collector/backend/step/stepper.c collector/backend/step/stepper.h \
	collector/backend/step/stepper_private.h \
	collector/supervisor/affinity.c collector/supervisor/affinity.h \
	collector/supervisor/detach.c collector/supervisor/detach.h \
	collector/supervisor/event_queue.c collector/supervisor/event_queue.h \
	collector/supervisor/halt.c \
	collector/supervisor/launch.c collector/supervisor/launch.h \
	collector/supervisor/program.c collector/supervisor/program.h \
	collector/supervisor/scheduler.c collector/supervisor/scheduler.h \
	collector/supervisor/session.h \
	collector/supervisor/side_by_side.c \
	collector/supervisor/signals.c \
	collector/supervisor/stops.c \
	collector/supervisor/supervised.c collector/supervisor/supervised.h \
	collector/supervisor/supervisor.c collector/supervisor/supervisor.h \
	collector/supervisor/supervisor_private.h \
	collector/supervisor/syscalls.c \
	collector/supervisor/tasks.c \
	collector/supervisor/terminal.c collector/supervisor/terminal.h \
	collector/supervisor/lazy_free.c collector/supervisor/lazy_free.h \
	collector/supervisor/turns.c \
	collector/supervisor/written_files.c \
	collector/record/changed_mappings.c collector/record/changed_mappings.h \
	collector/record/guarded_pages.c collector/record/guarded_pages.h \
	collector/record/events.c \
	collector/record/first_message.c collector/record/first_message.h \
	collector/record/first_signs.c collector/record/first_signs.h \
	collector/record/function_moments.c \
	collector/record/history_limit.c \
	collector/record/late_start.c \
	collector/record/file_store.c collector/record/file_store.h \
	collector/record/log_content.c collector/record/log_content.h \
	collector/record/log_outputs.c collector/record/log_outputs.h \
	collector/record/log_sink.c collector/record/log_sink.h \
	collector/record/log_objects.c collector/record/log_objects.h \
	collector/record/log_shapes.c collector/record/log_shapes.h \
	collector/record/mapped_file_calls.c collector/record/mapped_file_calls.h \
	collector/record/mapped_pages.c collector/record/mapped_pages.h \
	collector/record/memory_copy.c collector/record/memory_copy.h \
	collector/record/writable_ranges.c collector/record/writable_ranges.h \
	collector/record/pointed_memory.c collector/record/pointed_memory.h \
	collector/record/present_pages.c collector/record/present_pages.h \
	collector/record/record_observer.c collector/record/record_observer.h \
	collector/record/recording.c collector/record/recording.h \
	collector/record/recording_private.h \
	collector/record/replay_log.c collector/record/replay_log.h \
	collector/record/requests.c \
	collector/record/snapshot.c collector/record/snapshot.h \
	collector/record/snapshot_limit.c collector/record/snapshot_limit.h \
	collector/record/stack_limit.c collector/record/stack_limit.h \
	collector/record/start_location.c collector/record/start_location.h \
	collector/record/task_record.h \
	collector/record/unloggable_calls.c collector/record/unloggable_calls.h \
	collector/replay/divergence.c collector/replay/divergence.h \
	collector/replay/effects.c collector/replay/effects.h \
	collector/replay/extended_state.c collector/replay/extended_state.h \
	collector/replay/host.c collector/replay/host.h \
	collector/replay/host_filter.c collector/replay/host_filter.h \
	collector/replay/kept_parts.c collector/replay/kept_parts.h \
	collector/replay/log_event.c collector/replay/log_event.h \
	collector/replay/log_reader.c collector/replay/log_reader.h \
	collector/replay/mapped_copies.c collector/replay/mapped_copies.h \
	collector/replay/met_objects.c collector/replay/met_objects.h \
	collector/replay/told_output.c collector/replay/told_output.h \
	collector/replay/destination.c collector/replay/destination.h \
	collector/replay/replaying.c collector/replay/replaying.h \
	collector/replay/silent_observer.c collector/replay/silent_observer.h \
	collector/replay/unheard_events.c collector/replay/unheard_events.h \
	collector/replay/outcome.c collector/replay/outcome.h

include_HEADERS = include/btrec.h
EXTRA_DIST += collector/README.md collector/tracee/README.md collector/space/README.md collector/history/README.md collector/task/README.md collector/backend/README.md collector/backend/step/README.md collector/supervisor/README.md collector/record/README.md collector/replay/README.md
