/* SPDX-License-Identifier: MIT */
/* The addresses that a program has mapped, by the shapes of its log (LOG_SHAPE in doc/FORMAT.md):
 * how much a replay has to map at most. Used by the digest of a log. Nothing in a log is trusted:
 * ranges that no program can have are left out.
 *
 * The ranges lie in blocks, so that a change in the midst of many moves those of a block alone: it
 * costs about the same whatever comes before it. Neighbours that have become small are joined: the
 * blocks are at most one more than 2 / MAPPED_JOINED of the ranges. */
#ifndef BT_MAPPED_RANGES_H
#define BT_MAPPED_RANGES_H

#include <stdbool.h>
#include <stddef.h>

#include "format/record.h"

struct mapped_range {
	uint64_t start, end;
};

enum {
	MAPPED_BLOCK = 256,
	MAPPED_JOINED = MAPPED_BLOCK / 2, /* two neighbours have more, as have the halves of a full
					     block and its neighbours */
	MAPPED_RANGES_MOST = 1 << 22, /* a program may have 65530 mappings, unless the system allows
					 more (max_map_count, Linux 6.18) */
};

struct mapped_block {
	size_t count; /* never 0 */
	struct mapped_range ranges[MAPPED_BLOCK];
};

/* Zeroed: nothing is mapped. */
struct mapped_ranges {
	struct mapped_block **blocks; /* their ranges: by address; they do not touch */
	size_t count, room;           /* of blocks */
	size_t ranges;                /* in all of them */
	uint64_t now, most;           /* bytes in these, and the most that there were */
};

/* Does what the shape does. False without memory, or with more than MAPPED_RANGES_MOST ranges, as
 * of a log that was made for that: *m is of no use then, but to be released. */
bool mapped_ranges_change(struct mapped_ranges *m, const struct bt_record_log_shape *shape);

void mapped_ranges_release(struct mapped_ranges *m);

#endif
