/* SPDX-License-Identifier: MIT */
/* Names of system calls (syscalls.def). Pure. */
#ifndef BT_SYSCALLS_H
#define BT_SYSCALLS_H

#include <stdint.h>

enum {
	SYSCALL_NAME_MAX = 40
};

/* "openat"; "system call 999" for an unknown number. Returns name. */
const char *syscall_name(uint64_t nr, char name[SYSCALL_NAME_MAX]);

/* "32-bit system call 4": one of the table for 32-bit code, where the numbers are others. Returns name. */
const char *syscall_name_32(uint64_t nr, char name[SYSCALL_NAME_MAX]);

#endif
