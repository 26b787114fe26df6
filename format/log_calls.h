/* SPDX-License-Identifier: MIT */
/* The calls, and instructions, of a LOG_CALLS record, one behind the other (doc/FORMAT.md, "The
 * log"). Pure. */
#ifndef BT_LOG_CALLS_H
#define BT_LOG_CALLS_H

#include "lib/buf.h"
#include "lib/logged_call.h"

/* The fields of the call before, which encoder and decoder both keep for the next one. Zeroed, but
 * for tick, before the first. */
struct log_calls_codec {
	uint64_t tick;
	uint64_t args[BT_SYSCALL_ARGS];
	uint64_t addr[BT_LOGGED_DATA];
	uint64_t clock; /* the result of the last rdtsc or rdtscp */
};

/* Appends a call to the bytes. Its tick is not below that of the call before. */
void log_calls_encode(struct log_calls_codec *c, struct buf *out,
		      const struct bt_logged_call *call);

/* Takes the next call: 1, or 0 behind the last one, or -BT_E_CORRUPT. The call's data are slices of
 * the bytes. */
int log_calls_decode(struct log_calls_codec *c, struct slice *in, struct bt_logged_call *call);

#endif
