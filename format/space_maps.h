/* SPDX-License-Identifier: MIT */
/* The mappings of one address space through all its epochs. The trace index has one of each space.
 *
 * A mapping is a rectangle of addresses and epochs; the rectangles of a space never overlap. MAP
 * and UNMAP records are applied in order, then the mappings are indexed once, then looked up. The
 * cost is bounded on any input: n records take O(n log n) time and memory. */
#ifndef BT_SPACE_MAPS_H
#define BT_SPACE_MAPS_H

#include "format/live_maps.h"
#include "lib/arena.h"
#include "lib/slice.h"

/* A mapping, valid for epochs first_epoch <= e < end_epoch. Its strings live as long as the arena.
 */
struct space_map {
	uint64_t start, end, offset, dev, ino;
	uint32_t first_epoch, end_epoch;
	uint8_t prot; /* enum bt_protection */
	bool shared;
	const char *path; /* as in /proc/PID/maps: "[vdso]", "[stack]"; "" for anonymous memory */
	struct slice build_id;
	/* Identity of anonymous memory. Mappings of one memory share it, also after the memory was
	 * split, grown, protected or forked. */
	struct space_map *memory;
};

/* Length of a mapped file's path without the kernel's " (deleted)". */
size_t space_map_path_len(const char *path);

/* Whether two mappings show the same bytes at an address that both hold: the same bytes of a file,
 * or the same memory. NULL: no mapping is known. */
bool space_map_is_same(const struct space_map *a, const struct space_map *b);

struct space_maps {
	uint32_t number, epoch;  /* epoch: the newest applied */
	struct live_maps live;   /* of the newest epoch */
	struct space_map **maps; /* all, by first_epoch; by address once indexed */
	size_t count, cap;
	/* The index: a segment tree over the ranges between bounds. */
	uint64_t *bounds; /* every start and end, sorted, each once */
	size_t bound_count;
	struct space_map **slots; /* mappings of all nodes; those of one node by first_epoch */
	uint32_t *node_slots;     /* node n has slots node_slots[n] to node_slots[n + 1] - 1 */
	bool indexed;
};

void space_maps_init(struct space_maps *s, uint32_t number);
void space_maps_release(struct space_maps *s);

/* Adds a copy of map, valid from epoch on; ends mappings in its range. Its strings are borrowed. An
 * epoch older than one already applied counts as that one. Past the budget or without memory it
 * does nothing, and the arena says so. */
void space_maps_add(struct space_maps *s, struct arena *a, uint32_t epoch,
		    const struct space_map *map);

/* Ends mappings in [start, end). Otherwise as space_maps_add(). */
void space_maps_remove(struct space_maps *s, struct arena *a, uint32_t epoch, uint64_t start,
		       uint64_t end);

/* Gives the still empty child the mappings its parent has at an epoch, valid from the child's epoch
 * 0 on. */
void space_maps_copy(struct space_maps *child, struct arena *a, const struct space_maps *parent,
		     uint32_t epoch);

/* Builds the index; nothing is applied any more. Without memory a->failed is set and lookups find
 * nothing. */
void space_maps_index(struct space_maps *s, struct arena *a);

/* Makes every mapping's `memory` final. Called once all spaces are indexed. */
void space_maps_settle(struct space_maps *s);

/* The mapping at addr at an epoch, or NULL. */
const struct space_map *space_maps_at(const struct space_maps *s, uint32_t epoch, uint64_t addr);

/* All mappings at an epoch, by address, in a new array: free() it. Returns their number. s NULL:
 * none. Without memory *out is NULL. */
size_t space_maps_list(const struct space_maps *s, uint32_t epoch, const struct space_map ***out);

#endif
