/* SPDX-License-Identifier: MIT */
/* A system call that a task made without a stop, in backends and records alike (FORMAT.md,
 * "CALLS"). Pure. */
#ifndef BT_SYSCALL_H
#define BT_SYSCALL_H

#include <stdint.h>

struct bt_syscall {
	uint64_t tick; /* of its task, before it; BT_TICKS_UNKNOWN */
	uint64_t nr;
	uint64_t result; /* rax after it */
};

#endif
