/* SPDX-License-Identifier: MIT */
/* A system call that a task made without a stop, in backends and records alike (FORMAT.md,
 * "CALLS"). Pure. */
#ifndef BT_SYSCALL_H
#define BT_SYSCALL_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/slice.h"

enum {
	BT_SYSCALL_ARGS = 6,
};

/* Bytes that an argument pointed to. */
struct bt_pointed {
	unsigned arg; /* below BT_SYSCALL_ARGS */
	bool is_cut;  /* there was more of it */
	struct slice bytes;
};

/* Arguments, where they were noted, and what some of them pointed to. */
struct bt_syscall_details {
	unsigned count, pointed_count;
	uint64_t args[BT_SYSCALL_ARGS];
	struct bt_pointed pointed[BT_SYSCALL_ARGS];
};

struct bt_syscall {
	uint64_t tick; /* of its task, before it; BT_TICKS_UNKNOWN */
	uint64_t nr;
	uint64_t result; /* rax after it */
};

#endif
