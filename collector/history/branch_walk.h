/* SPDX-License-Identifier: MIT */
/* Walks along segments, as execution did, from one known place to the next: so one record of a
 * branch log becomes branches. Used by the log, and to find the branch that ends a stretch
 * (cache_stretch.c). Records may be damaged: a walk ends whatever it is given. */
#ifndef BT_BRANCH_WALK_H
#define BT_BRANCH_WALK_H

#include "collector/history/segment.h"

enum walk_goal {
	WALK_INDIRECT, /* to the target of the next indirect branch */
	WALK_DIRECT, /* along direct branches: to the first visit of pc behind the last conditional,
			be it in the middle of a segment */
	WALK_WITHIN, /* to the first visit of pc behind the last conditional; pc may be anywhere in
			a segment, or the target of an indirect branch */
	WALK_LOOP,   /* to pc, by the direct branch at `branch`, at its first visit behind the last
			conditional */
	WALK_MISS,   /* likewise, to the indirect branch at `branch`; it is about to lead elsewhere
			than its segment's prediction */
};

struct walk_leg {
	enum walk_goal goal;
	uint64_t bits; /* as in a record; not 0 */
	uint64_t pc;
	uint64_t branch;
	const struct segment *segment; /* the one at pc, if it is known; for the next leg */
	bool onward; /* of WALK_DIRECT without a conditional: at least one segment on */
};

struct branch_walk {
	const struct segment_table *table;
	uint32_t generation;
	uint64_t pc;                   /* the address that execution has reached */
	const struct segment *segment; /* the one that begins there, or NULL */
	bool missed;    /* the branch that ends it leads elsewhere than its prediction */
	uint64_t steps; /* segments that may still be walked along in vain, beside a few on each
			   leg: damaged records lead anywhere */
};

enum {
	WALK_BUFFER = 256,
};

/* The branches that a walk met. */
struct walk_out {
	struct bt_branch entries[WALK_BUFFER];
	size_t n;
	uint64_t total; /* of which n are in entries: the rest has been taken, or there was no room
			   for it */
	void (*take)(void *arg, const struct bt_branch *entries,
		     size_t n); /* gets them when the buffer is full; may be NULL */
	void *arg;
	bool tick;          /* there was a conditional */
	uint64_t transfers; /* behind the last one */
};

/* Sets out empty but for take and arg, walks the leg and leaves w at its end. Returns false when
 * the code does not go there: w->pc is then of no use. */
bool branch_walk(struct branch_walk *w, const struct walk_leg *leg, struct walk_out *out);

#endif
