/* SPDX-License-Identifier: MIT */
/* Whether entries of a history are wanted, by something that is the same for all executions of one
 * branch: its names, its kind. The test is made once for each branch, so that millions of entries
 * take a look-up in a table each. Used by the search, the filter and goto. */
#ifndef BT_ENTRY_MATCH_H
#define BT_ENTRY_MATCH_H

#include "lib/hash_table.h"
#include "tui/viewer.h"

struct entry_match {
	/* Looks at entry i of v->history. */
	bool (*test)(void *arg, struct viewer *v, size_t i);
	void *arg;
	bool with_run;           /* the code that ran before the branch matters, too */
	struct hash_table known; /* 1: not wanted, 2: wanted */
};

bool entry_matches(struct entry_match *match, struct viewer *v, size_t i);
/* Forgets all answers; the table is without memory then. */
void entry_match_release(struct entry_match *match);

#endif
