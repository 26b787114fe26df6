/* SPDX-License-Identifier: MIT */
/* The entries of a record of branch history, in either layout: BRANCHES, BRANCH_GRAPH. Everything
 * that reads histories reads them by this. No state but in the struct. */
#ifndef BT_BRANCH_ENTRIES_H
#define BT_BRANCH_ENTRIES_H

#include "format/record.h"
#include "lib/branch_graph.h"

struct branch_entries {
	bool is_graph;
	int failure;   /* -BT_E_: nothing can be read */
	uint64_t left; /* entries of a graph */
	struct slice in;
	struct bt_branch_codec codec;
	struct branch_graph_reader graph;
};

/* The fields of a record of branches, or NULL for a record of another kind. `entries` is in the
 * record's own layout. */
const struct bt_record_branches *branch_entries_record(const struct bt_record *rec);

/* The most entries that the record can have, whatever its count says. */
uint64_t branch_entries_most(const struct bt_record *rec);

/* Begins to read a record's entries, whose bytes are borrowed. Release it in any case. Returns 0 or
 * -BT_E_NO_MEMORY; damage is told by branch_entries_next(). */
int branch_entries_init(struct branch_entries *e, const struct bt_record *rec);
void branch_entries_release(struct branch_entries *e);

/* Reads an entry. Returns 1; 0 at the end; -BT_E_CORRUPT with *b zeroed: no more can be read. */
static inline int branch_entries_next(struct branch_entries *e, struct bt_branch *b)
{
	if (!e->is_graph)
		return bt_branch_decode(&e->codec, &e->in, b);
	if (!e->left || e->failure) {
		*b = (struct bt_branch){0};
		return e->failure;
	}
	e->left--;
	return branch_graph_reader_next(&e->graph, b);
}

#endif
