noinst_LIBRARIES += syscalls/libsyscalls.a
syscalls_libsyscalls_a_SOURCES = \
	syscalls/sized_requests.c syscalls/sized_requests.def syscalls/sized_requests.h \
	syscalls/syscall_args.c syscalls/syscall_args.def syscalls/syscall_args.h \
	syscalls/syscall_names.c syscalls/syscall_names.def syscalls/syscall_names.h \
	syscalls/syscall_numbers.c syscalls/syscall_numbers.h \
	syscalls/output_ranges.c syscalls/output_ranges.h \
	syscalls/syscall_outputs.c syscalls/syscall_outputs.h syscalls/syscall_ranges.c syscalls/syscall_ranges.h \
	syscalls/syscall_writes.def syscalls/syscall_operations.def syscalls/ioctl_writes.def syscalls/syscall_structs.def \
	syscalls/syscall_text.c syscalls/syscall_text.h syscalls/syscall_flags.def syscalls/errno.def
EXTRA_DIST += syscalls/README.md
