/* SPDX-License-Identifier: MIT */
/* Which system calls may run in the cache while a log is kept, and what the log needs of them: a
 * view of the calls' rows (syscall_ranges.h). Used by the routines and the tracer's side. */
#ifndef BT_LOGGED_CALLS_H
#define BT_LOGGED_CALLS_H

#include <stdint.h>

#include "lib/logged_call.h"

/* enum syscall_policy of a call while a log is kept. */
uint32_t logged_call_policy(uint64_t nr);

enum {
	LOGGED_CUT = 1 << 0,  /* the piece is cut to the result times unit */
	LOGGED_EVER = 1 << 1, /* the piece is also written if the call fails */
	LOGGED_MORE =
		1 << 2, /* SYSCALL_ENTRY_MOST bytes more than the result says may be written */
};

/* The pieces of an answer (layout.h): the memory that the kernel writes, and at last the output for
 * the user. */
enum { ANSWER_OUTPUT = BT_LOGGED_DATA, ANSWER_PIECES };

/* The memory that such a call writes. The routines read this row. */
struct logged_row {
	struct logged_piece {
		uint8_t arg; /* number of the argument that points there, from 1; 0: none */
		uint8_t by;  /* number of the argument that counts units, from 1; 0: the piece has
				`unit` bytes */
		uint8_t flags;
		uint8_t unused;
		uint32_t unit;
	} pieces[BT_LOGGED_DATA];
};

/* Of a call that logged_call_policy() lets run. */
struct logged_row logged_call_row(uint64_t nr);

/* The calls whose buffer the log has where they write to a stream (CTX_STREAM), and the row of all
 * of them, in which that takes the place of what the kernel writes. */
enum { LOGGED_STREAM_CALLS = 2 };
extern const uint16_t logged_stream_calls[LOGGED_STREAM_CALLS];
struct logged_row logged_stream_row(void);

#endif
