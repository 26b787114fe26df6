/* SPDX-License-Identifier: MIT */
/* The encoding of what is known of system calls beyond their numbers: the memory that arguments
 * pointed to, in SYSCALL_ENTER and CALLS records, and in CALLS records the arguments (FORMAT.md).
 * Used by the recorder and by the decoder. Any bytes can be decoded. Pure. */
#ifndef BT_SYSCALL_DETAILS_H
#define BT_SYSCALL_DETAILS_H

#include "lib/buf.h"
#include "lib/syscall.h"

/* Appends n of them. */
void bt_pointed_encode(struct buf *out, const struct bt_pointed *p, unsigned n);

/* Reads one. Returns 1; 0 at the end of the bytes; -BT_E_CORRUPT when they are none, *p zeroed
 * then. p->bytes borrows from in. */
int bt_pointed_decode(struct slice *in, struct bt_pointed *p);

/* Encoder and decoder state: zeroed at the start of every record. */
struct bt_details_codec {
	uint64_t next; /* number, in the record, of the call behind the last one that had some */
};

/* Appends those of the record's call number `call`, which rises. */
void bt_details_encode(struct bt_details_codec *c, struct buf *out, uint64_t call,
		       const struct bt_syscall_details *d);

/* Reads those of one call. Returns as bt_pointed_decode(). d->pointed borrows from in. */
int bt_details_decode(struct bt_details_codec *c, struct slice *in, uint64_t *call,
		      struct bt_syscall_details *d);

#endif
