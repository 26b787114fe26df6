/* SPDX-License-Identifier: MIT */
/* Where execution is likely to go from a fragment that has just been made: candidates for being
 * translated with it, the likeliest first. Used by cache_entry.c. A candidate that is never
 * executed costs time and memory, nothing else. */
#ifndef BT_LOOKAHEAD_H
#define BT_LOOKAHEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/backend/engine/cache/code_cache.h"

enum {
	LOOKAHEAD_MAX = 128,         /* at once; further ones are dropped */
	LOOKAHEAD_CERTAIN = 1 << 10, /* the unit of likelihood */
};

struct lookahead_entry {
	uint64_t pc;
	uint64_t slot; /* not 0: the fixed place (a global offset table's entry) that holds the
			  address, pc is 0 */
	uint32_t likelihood; /* of being come to, in LOOKAHEAD_CERTAIN */
	bool indirect;       /* it is come to by an indirect branch */
};

struct lookahead {
	uint32_t least; /* less likely ones are left out */
	int count;
	struct lookahead_entry entries[LOOKAHEAD_MAX];
};

void lookahead_begin(struct lookahead *l, uint32_t least);

/* Adds the successors of a fragment that is reached with this likelihood: along direct branches
 * that are linked to no fragment, back from calls, and through a fixed slot. */
void lookahead_add(struct lookahead *l, const struct code_cache *c, uint32_t fragment,
		   uint32_t likelihood);

/* Takes out the likeliest. False: there is none. */
bool lookahead_take(struct lookahead *l, struct lookahead_entry *lead);

#endif
