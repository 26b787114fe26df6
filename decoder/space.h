/* SPDX-License-Identifier: MIT */
/* The mappings of one address space through all its epochs, for model.c alone.
 * A mapping is a rectangle of addresses and epochs; rectangles of a space never overlap. Built by
 * applying MAP and UNMAP in order, then indexed once; then looked up. Cost is bounded on any input:
 * n records take O(n log n) time and memory. */
#ifndef BT_SPACE_H
#define BT_SPACE_H

#include "decoder/model.h"
#include "lib/arena.h"

struct live_block;

/* The mappings of the newest epoch by address: a list of short sorted blocks. */
struct live {
	struct live_block **blocks; /* none is empty */
	size_t count, cap;
};

struct space {
	uint32_t number, epoch; /* epoch: the newest applied */
	struct live live;
	struct model_map **maps; /* all, by first_epoch; by address once indexed */
	size_t count, cap;
	uint64_t *bounds; /* every start and end, sorted, each once */
	size_t bound_count;
	struct model_map **slots; /* of all nodes of a segment tree over the ranges between bounds,
				     each node's by first_epoch */
	uint32_t *node_slots;     /* node n has the slots node_slots[n] to node_slots[n + 1] - 1 */
	bool indexed;
};

void space_init(struct space *s, uint32_t number);
void space_release(struct space *s);

/* What map says holds from epoch on; what lay in its range ends there. Strings are borrowed from
 * the arena's owner. An epoch older than one already applied counts as that one. Does nothing past
 * the budget or without memory. */
void space_map(struct space *s, struct arena *a, uint32_t epoch, const struct model_map *map);
void space_unmap(struct space *s, struct arena *a, uint32_t epoch, uint64_t start, uint64_t end);

/* Gives the still empty child the mappings its parent has at an epoch, valid from the child's epoch
 * 0 on. */
void space_copy(struct space *child, struct arena *a, const struct space *parent, uint32_t epoch);

/* Builds the index; nothing is applied any more. Without memory a->failed is set and lookups find
 * nothing. */
void space_index(struct space *s, struct arena *a);

/* Once all spaces are indexed: makes every mapping's `memory` final. */
void space_settle(struct space *s);

const struct model_map *space_map_at(const struct space *s, uint32_t epoch, uint64_t addr);

#endif
