/* SPDX-License-Identifier: MIT */
/* The lines of a branch list, for the report and the viewer. At first each entry has a line. Runs
 * of entries in library code are folded into one line, and so is a call into libraries up to its
 * return. Rounds of loops, also nested ones, are then folded into a heading and the last round.
 * Pure. */
#ifndef BT_FOLD_H
#define BT_FOLD_H

#include "decoder/model/history.h"

enum fold_kind {
	FOLD_ENTRY,
	FOLD_LIBRARY, /* `count` entries from `entry` on, all of them within library code, be it
			 inlined into the user's own functions */
	FOLD_CALL, /* the call `entry` into a library, and the `count` entries up to its return */
	FOLD_LOOP, /* heading of `count` rounds from `entry` on; the last round follows */
	FOLD_STOP, /* the task's position: before entry `entry` */
};

struct fold_line {
	uint32_t entry, count;
	uint8_t kind;    /* enum fold_kind */
	uint8_t nesting; /* loops around it */
	bool inlined;    /* of FOLD_LIBRARY: some of it is */
};

/* Which ends of an entry lie in library code, and how. */
enum fold_side {
	FOLD_FROM_LIBRARY = 1,
	FOLD_TO_LIBRARY = 2,
	/* Of an end in the user's own function: it lies in library code that is inlined there. */
	FOLD_FROM_INLINED = 4,
	FOLD_TO_INLINED = 8,
};

/* How a reader wants an entry. */
enum fold_mark {
	FOLD_OPEN = 1,     /* it has a line of its own, whatever lies around it */
	FOLD_LEFT_OUT = 2, /* it has none, and is in no other: a filter leaves it out */
};

struct fold_options {
	size_t stop;          /* a FOLD_STOP line goes before that entry; SIZE_MAX: none */
	const uint8_t *sides; /* enum fold_side of each entry; NULL: libraries are not folded */
	const uint8_t *marks; /* enum fold_mark of each entry; NULL: none */
	uint8_t ignored;      /* marks that count for nothing */
	bool loops;           /* fold them */
	const struct history_watch *watch; /* NULL: nobody waits */
};

struct fold {
	struct fold_line *lines;
	size_t count;
	unsigned nesting; /* the deepest */
};

enum {
	FOLD_ROUNDS_MIN = 3,
	FOLD_PERIOD_MAX = 32, /* lines of a round that is still recognised */
	FOLD_NESTING_MAX = 4,
};

/* Makes the lines. Returns 1 when the watch stopped it: f is empty then, and released. Errors:
 * BT_E_NO_MEMORY. */
int fold_init(struct fold *f, const struct history *h, const struct fold_options *o,
	      struct bt_error *err) BT_MUST_USE;
void fold_release(struct fold *f);

/* The line of an entry, or the line that it is folded into: a loop's heading, a library's. */
size_t fold_line_of(const struct fold *f, size_t entry);

#endif
