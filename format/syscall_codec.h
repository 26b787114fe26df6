/* SPDX-License-Identifier: MIT */
/* The encoding of system calls (lib/syscall.h) in CALLS records. Used by the recorder and by the
 * decoder. A call's tick is the difference from that of the call before. Any bytes can be decoded.
 * Pure. */
#ifndef BT_SYSCALL_CODEC_H
#define BT_SYSCALL_CODEC_H

#include <stdio.h>

#include "lib/buf.h"
#include "lib/slice.h"
#include "lib/syscall.h"

/* Encoder and decoder state: set it to the record's tick, which is that of the first call, at the
 * start of every record. Ticks never fall in one; where they are unknown, all of a record's are. */
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
