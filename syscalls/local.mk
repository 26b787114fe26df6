noinst_LIBRARIES += syscalls/libsyscalls.a
syscalls_libsyscalls_a_SOURCES = \
	syscalls/syscall_names.c syscalls/syscall_names.def syscalls/syscall_names.h \
	syscalls/syscall_numbers.c syscalls/syscall_numbers.h
EXTRA_DIST += syscalls/README.md
