/* SPDX-License-Identifier: MIT */
#include "format/branch_entries.h"

enum {
	ENTRY_LEAST = 3, /* bytes */
};

const struct bt_record_branches *branch_entries_record(const struct bt_record *rec)
{
	/* The fields of both are the same. */
	return rec->kind == BT_RECORD_BRANCHES || rec->kind == BT_RECORD_BRANCH_GRAPH
		       ? &rec->u.branches
		       : NULL;
}

uint64_t branch_entries_most(const struct bt_record *rec)
{
	const struct bt_record_branches *r = &rec->u.branches;
	uint64_t most =
		rec->kind == BT_RECORD_BRANCHES ? r->entries.len / ENTRY_LEAST : BRANCH_GRAPH_MOST;

	return r->count < most ? r->count : most;
}

int branch_entries_init(struct branch_entries *e, const struct bt_record *rec)
{
	*e = (struct branch_entries){.is_graph = rec->kind == BT_RECORD_BRANCH_GRAPH,
				     .in = rec->u.branches.entries};
	if (!e->is_graph)
		return 0;
	e->left = branch_entries_most(rec);
	e->failure = branch_graph_reader_init(&e->graph, e->in);
	return e->failure == -BT_E_NO_MEMORY ? e->failure : 0;
}

void branch_entries_release(struct branch_entries *e)
{
	if (e->is_graph)
		branch_graph_reader_release(&e->graph);
	e->is_graph = false;
	e->in = (struct slice){0};
}
