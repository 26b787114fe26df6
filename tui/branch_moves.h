/* SPDX-License-Identifier: MIT */
/* Ways through the branch list beyond its lines: to the next match of a search, also inside what is
 * folded; step, over, out; to the same branch again; to a tick, an address, a function, a line of a
 * source. An entry that is folded away gets a line of its own where the way leads to it. */
#ifndef BT_BRANCH_MOVES_H
#define BT_BRANCH_MOVES_H

#include "tui/branch_list.h"

/* Serves the requests that move; false: another request. */
bool branch_moves_request(struct viewer *v, struct view *view, enum request r);

/* view_ops.find */
bool branch_moves_find(struct viewer *v, struct view *view, bool backward, struct busy *busy);

/* Goes to what is named, if it is there: TICK, 0xADDRESS, FILE:LINE, else a function. */
void branch_moves_goto(struct viewer *v, struct view *view, const char *place);

enum branch_found {
	BRANCH_FOUND,
	BRANCH_NOT_THERE,
	BRANCH_SEARCH_STOPPED, /* by the user, or without memory: the viewer ends then */
};

/* Goes to the newest branch from or to a function, before where the task stopped. */
enum branch_found branch_moves_newest(struct viewer *v, struct view *view, const char *function);

/* Moves the cursor to an entry, which gets a line if it has none. */
void branch_moves_to(struct viewer *v, struct view *view, size_t entry);

#endif
