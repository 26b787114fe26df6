/* SPDX-License-Identifier: MIT */
/* Memory that is freed together, under a budget. Readers of traces use it: a trace is untrusted,
 * and a few kilobytes of it can unpack to gigabytes. An allocation past the budget fails and sets
 * `over`: that is damage of the trace, not an error. One thread at a time. */
#ifndef BT_ARENA_H
#define BT_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/slice.h"

struct arena {
	struct arena_block *blocks;
	size_t used;     /* of the first block */
	uint64_t budget; /* bytes left to allocate or charge */
	bool over;       /* an allocation exceeded the budget */
	bool failed;     /* an allocation found no memory */
};

void arena_init(struct arena *a, uint64_t budget);
void arena_release(struct arena *a);

/* Takes n bytes off the budget for memory kept elsewhere. Returns false and sets `over` if fewer
 * are left. */
bool arena_charge(struct arena *a, uint64_t n);

/* n zeroed bytes, aligned for anything; NULL past the budget or without memory. */
void *arena_alloc(struct arena *a, size_t n);

/* A copy with a NUL behind it (not counted in its length); an empty slice without memory. */
struct slice arena_slice(struct arena *a, struct slice s);

#endif
