/* SPDX-License-Identifier: MIT */
/* Where execution is likely to go from a fragment that has just been made: candidates for being translated with it, the likeliest first. */
#ifndef BT_LEADS_H
#define BT_LEADS_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/engine/code_cache.h"

enum {
	LEADS_MAX = 128, /* at once; what comes when there are so many is dropped */
	LEADS_CERTAIN = 1 << 10, /* the unit of likelihood */
};

struct lead {
	uint64_t pc;
	uint64_t slot;	     /* not 0: the fixed place (a global offset table's entry) that holds the address, pc is 0 */
	uint32_t likelihood; /* of being come to, in LEADS_CERTAIN */
	bool indirect;	     /* it is come to by an indirect branch */
};

struct leads {
	uint32_t least; /* what is less likely is left out */
	int count;
	struct lead leads[LEADS_MAX];
};

void leads_begin(struct leads *l, uint32_t least);

/* Adds where the fragment leads, when it is itself come to with this likelihood: along direct branches that are linked to no fragment, back from
 * calls, and through a fixed slot. */
void leads_add(struct leads *l, const struct code_cache *c, uint32_t fragment, uint32_t likelihood);

/* Takes out the likeliest. False: there is none. */
bool leads_take(struct leads *l, struct lead *lead);

#endif
