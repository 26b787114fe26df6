/* SPDX-License-Identifier: MIT */
/* Turns consecutive BRANCHES records of a task into one BRANCH_GRAPH: the more entries, the fewer
 * bytes each. Used by the trace writer, one for each task. */
#ifndef BT_HISTORY_RUN_H
#define BT_HISTORY_RUN_H

#include "format/record.h"
#include "lib/branch_graph.h"

struct history_run {
	struct bt_record_branches head; /* without bytes; count: of all entries so far */
	struct branch_graph graph;
	bool ended; /* by a gap: the counts behind it are in the next record's head */
};

/* Begins a run with b->count entries. NULL: these are better written one by one, being few, or of a
 * source that leaves out branches or tells more of them; or there is no memory. */
struct history_run *history_run_new(const struct bt_record_branches *b,
				    const struct bt_branch *entries);

/* Adds the entries of the next record. False: it is not the next, or there would be too many. */
bool history_run_add(struct history_run *h, const struct bt_record_branches *b,
		     const struct bt_branch *entries);

/* Makes the body of a BRANCH_GRAPH; `bytes` gets its entries. False without memory. */
bool history_run_encode(const struct history_run *h, struct buf *bytes,
			struct bt_record_branch_graph *body);

/* NULL is none. */
void history_run_free(struct history_run *h);

#endif
