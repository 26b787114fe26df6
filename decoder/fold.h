/* SPDX-License-Identifier: MIT */
/* The lines of a branch list, for the report and the viewer: one per entry, with rounds of loops
 * (also nested ones) folded into a heading and the last round. Pure. */
#ifndef BT_FOLD_H
#define BT_FOLD_H

#include "decoder/history.h"

enum fold_kind {
	FOLD_ENTRY,
	FOLD_LOOP, /* heading; entry is the first of all its rounds, its last round follows */
	FOLD_STOP, /* where the task stood: before entry `entry` */
};

struct fold_line {
	uint32_t entry;
	uint32_t rounds; /* of a loop */
	uint8_t kind;    /* enum fold_kind */
	uint8_t nesting; /* loops around it */
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

/* Makes the lines. stop: a FOLD_STOP line goes before that entry (SIZE_MAX: none). loops: fold
 * them. Errors: BT_E_NO_MEMORY. */
int fold_init(struct fold *f, const struct history *h, size_t stop, bool loops,
	      struct bt_error *err) BT_MUST_USE;
void fold_release(struct fold *f);

/* The line of an entry, or the heading of the loop it is folded into. */
size_t fold_line_of(const struct fold *f, size_t entry);

#endif
