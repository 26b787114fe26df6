/* SPDX-License-Identifier: MIT */
/* Names of system calls by number (syscall_names.def). Pure. Used by the decoder's reports and
 * btview. */
#ifndef BT_SYSCALL_NAMES_H
#define BT_SYSCALL_NAMES_H

#include <stdint.h>

#include "lib/regs.h"

enum {
	SYSCALL_NAME_MAX = 40,
	IN_SYSCALL_MAX = SYSCALL_NAME_MAX + 24,
};

/* Their numbers: SYSCALL_NR_openat. */
enum {
#define BT_SYSCALL(number, id) SYSCALL_NR_##id = (number),
#include "syscalls/syscall_names.def"
#undef BT_SYSCALL
};

/* "openat"; "system call 999" for an unknown number. Returns name. */
const char *syscall_name(uint64_t nr, char name[SYSCALL_NAME_MAX]);

/* "32-bit system call 4": a number of the table for 32-bit code. Returns name. */
const char *syscall_name_32(uint64_t nr, char name[SYSCALL_NAME_MAX]);

/* The name of the system call that a task with these registers is in; "" if they do not tell.
 * Returns name. */
const char *syscall_of(const struct bt_regs *regs, char name[SYSCALL_NAME_MAX]);

/* "in the system call futex" for a task in a system call with these registers; "in a system call"
 * if they do not tell which. Returns text. */
const char *in_syscall(const struct bt_regs *regs, char text[IN_SYSCALL_MAX]);

#endif
