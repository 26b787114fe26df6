/* SPDX-License-Identifier: MIT */
/* One system call of a CALLS record, and its encoding: those made in the engine's code cache,
 * without a stop. */
#ifndef BT_SYSCALL_H
#define BT_SYSCALL_H

#include <stdio.h>

#include "lib/buf.h"
#include "lib/slice.h"

struct bt_syscall {
	uint64_t tick; /* of its task, before it; BT_TICKS_UNKNOWN where the record's are */
	uint64_t nr;
	uint64_t result; /* rax behind it */
};

/* Encoder and decoder state: set it to the record's tick, which is that of the first call, at the
 * start of every record. Ticks never fall in one. */
struct bt_syscall_codec {
	uint64_t tick;
};

/* Appends one call. Layout: doc/FORMAT.md, "CALLS". */
void bt_syscall_encode(struct bt_syscall_codec *c, struct buf *out, const struct bt_syscall *call);

/* Reads one call. Returns 1; 0 at the end of the bytes; -BT_E_CORRUPT when they are no call, *call
 * zeroed then. */
int bt_syscall_decode(struct bt_syscall_codec *c, struct slice *in, struct bt_syscall *call);

/* Without a line end. */
void bt_syscall_print(FILE *to, const struct bt_syscall *call);

#endif
