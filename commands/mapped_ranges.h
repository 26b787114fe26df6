/* SPDX-License-Identifier: MIT */
/* The addresses that a program has mapped, by the shapes of its log (LOG_SHAPE in doc/FORMAT.md):
 * how much a replay has to map at most. Used by the digest of a log. Nothing in a log is trusted:
 * ranges that no program can have are left out. */
#ifndef BT_MAPPED_RANGES_H
#define BT_MAPPED_RANGES_H

#include <stdbool.h>
#include <stddef.h>

#include "format/record.h"

struct mapped_range {
	uint64_t start, end;
};

/* Zeroed: nothing is mapped. */
struct mapped_ranges {
	struct mapped_range *ranges; /* by address; they do not touch */
	size_t count, room;
	uint64_t now, most; /* bytes in them, and the most that there were */
	uint64_t moved;     /* ranges that had to be moved in memory for others */
};

/* Does what the shape does. False without memory, or when the shapes have cost too much, as those
 * of a log that was made for that: *m stays as it was, or without a moved range. */
bool mapped_ranges_change(struct mapped_ranges *m, const struct bt_record_log_shape *shape);

void mapped_ranges_release(struct mapped_ranges *m);

#endif
