/* SPDX-License-Identifier: MIT */
#include "format/history_run.h"

#include <stdlib.h>

enum {
	FIRST_LEAST = 16384, /* entries; of fewer the places take what is saved */
	CHUNK_MOST = 65536,  /* entries of a record */
	SIZE_MOST = 8 << 20, /* before the last record: each of its entries makes less than 100
				bytes, and a block holds 16 MiB */
	LITERALS_PART = 8,   /* of the first entries, at most the eighth part */
};

static void add_entries(struct history_run *h, const struct bt_record_branches *b,
			const struct bt_branch *entries)
{
	for (uint64_t i = 0; i < b->count; i++) {
		branch_graph_add(&h->graph, &entries[i]);
		h->ended |= entries[i].kind == BT_BRANCH_GAP;
	}
	h->head.count += b->count;
}

struct history_run *history_run_new(const struct bt_record_branches *b,
				    const struct bt_branch *entries)
{
	struct history_run *h;

	if (b->count < FIRST_LEAST || b->count > CHUNK_MOST)
		return NULL;
	h = calloc(1, sizeof *h);
	if (!h)
		return NULL;
	h->head = *b;
	h->head.count = 0;
	add_entries(h, b, entries);
	if (!h->graph.failed && h->graph.literal_count <= b->count / LITERALS_PART)
		return h;
	history_run_free(h);
	return NULL;
}

bool history_run_add(struct history_run *h, const struct bt_record_branches *b,
		     const struct bt_branch *entries)
{
	if (h->ended || b->first != h->head.first + h->head.count || b->count > CHUNK_MOST ||
	    b->count > BRANCH_GRAPH_MOST - h->head.count ||
	    branch_graph_size(&h->graph) > SIZE_MOST)
		return false;
	add_entries(h, b, entries);
	return true;
}

bool history_run_encode(const struct history_run *h, struct buf *bytes,
			struct bt_record_branch_graph *body)
{
	const struct bt_record_branches *head = &h->head;
	bool good = branch_graph_encode(&h->graph, bytes);

	*body = (struct bt_record_branch_graph){.task = head->task,
						.first = head->first,
						.count = head->count,
						.tick = head->tick,
						.transfers = head->transfers,
						.epoch = head->epoch,
						.space = head->space,
						.entries = slice_of(bytes->data, bytes->len)};
	return good;
}

void history_run_free(struct history_run *h)
{
	if (h)
		branch_graph_release(&h->graph);
	free(h);
}
