/* SPDX-License-Identifier: MIT */
/* Where and how much the kernel writes for a call, at most, and what cuts it when the call is done:
 * the evaluation of syscall_writes.def, syscall_operations.def and ioctl_writes.def. For
 * syscall_ranges.c alone. Pure. */
#ifndef BT_SYSCALL_OUTPUTS_H
#define BT_SYSCALL_OUTPUTS_H

#include "syscalls/syscall_ranges.h"

/* Of which results a range is written. */
enum syscall_when {
	WHEN_DONE, /* the call succeeds */
	WHEN_EVER,
	WHEN_INTERRUPTED, /* it ends by a signal */
};

/* The limit of a range's length at exit. */
enum syscall_bound {
	BOUND_NONE,
	BOUND_RESULT,         /* to the result times unit, and `value` bytes before it */
	BOUND_VECTOR,         /* to what the vectors before it leave of the result */
	BOUND_LENGTH,         /* to the u32 at the address `value` times unit */
	BOUND_MESSAGE,        /* only if the result is above `value` */
	BOUND_MESSAGE_LENGTH, /* the same of a length: of message unit, at the address `value`; with
				 WHEN_EVER also of the first message that did not come */
};

/* The unit of a range that is not cut by units: a length that the kernel writes. */
enum {
	UNIT_LENGTH = 1,
};

struct syscall_evaluation {
	uint64_t nr;
	const uint64_t *args;
	const struct syscall_memory *memory;
	struct syscall_ranges *out;
};

/* Adds all ranges of the call. */
void syscall_outputs(const struct syscall_evaluation *e);

#endif
