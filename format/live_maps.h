/* SPDX-License-Identifier: MIT */
/* The mappings of one epoch, sorted by address; they do not overlap. space_maps uses it while it
 * applies records. A list of short sorted blocks: an insert or removal moves at most a block and
 * the list of blocks, wherever it is. The mappings are borrowed. */
#ifndef BT_LIVE_MAPS_H
#define BT_LIVE_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct space_map;

struct live_maps {
	struct live_block **blocks; /* none is empty */
	size_t count, cap;
};

/* The position of a mapping. Behind the last one: {count, 0}. */
struct live_pos {
	size_t block, index;
};

void live_maps_release(struct live_maps *l);

/* The first mapping that ends behind addr. */
struct live_pos live_maps_find(const struct live_maps *l, uint64_t addr);

/* The mapping at pos; NULL behind the last one. */
struct space_map *live_maps_at(const struct live_maps *l, struct live_pos pos);

/* Inserts m before pos and moves pos behind it. False without memory. */
bool live_maps_insert(struct live_maps *l, struct live_pos *pos, struct space_map *m);

/* Removes the mapping at pos and moves pos to the one behind it. */
void live_maps_remove(struct live_maps *l, struct live_pos *pos);

#endif
