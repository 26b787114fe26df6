/* SPDX-License-Identifier: MIT */
/* Names of system calls by number (syscall_names.def), for whatever tells of them. Pure. Used by
 * the decoder's reports and btview. */
#ifndef BT_SYSCALL_NAMES_H
#define BT_SYSCALL_NAMES_H

#include <stdint.h>

#include "lib/regs.h"

enum {
	SYSCALL_NAME_MAX = 40,
	IN_SYSCALL_MAX = SYSCALL_NAME_MAX + 24,
};

/* "openat"; "system call 999" for an unknown number. Returns name. */
const char *syscall_name(uint64_t nr, char name[SYSCALL_NAME_MAX]);

/* "32-bit system call 4": one of the table for 32-bit code, where the numbers are others. Returns
 * name. */
const char *syscall_name_32(uint64_t nr, char name[SYSCALL_NAME_MAX]);

/* The name of the system call that a task with these registers is in; "" where they do not tell.
 * Returns name. */
const char *syscall_of(const struct bt_regs *regs, char name[SYSCALL_NAME_MAX]);

/* "in the system call futex", of a task that is in one with these registers; where they do not tell
 * which: "in a system call". Returns text. */
const char *in_syscall(const struct bt_regs *regs, char text[IN_SYSCALL_MAX]);

#endif
