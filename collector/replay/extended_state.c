/* SPDX-License-Identifier: MIT */
#include "collector/replay/extended_state.h"

#include <string.h>

enum {
	LEGACY = 512, /* x87 and SSE: on each processor at the same offsets */
	IN_USE = LEGACY,
	BEHIND_HEADER = 576,
	FIRST = 2, /* state, of those behind the header */
	STATES = 63,
	LEAF_STATES = 0xd,
};

struct state_component {
	uint64_t at, size; /* size 0: the state is not there */
};

static struct state_component component_of(const struct processor_offer *o, uint32_t state)
{
	for (size_t i = 0; i < o->count; i++)
		if (o->leaves[i].leaf == LEAF_STATES && o->leaves[i].subleaf == state)
			return (struct state_component){o->leaves[i].ebx, o->leaves[i].eax};
	return (struct state_component){0};
}

static bool is_within(const struct state_component *p, size_t n)
{
	return p->size && p->at >= BEHIND_HEADER && p->at + p->size <= n;
}

bool extended_state_convert(const struct processor_offer *then, const struct processor_offer *here,
			    struct slice in, uint8_t out[TRACEE_EXTENDED], size_t n)
{
	uint64_t in_use;

	if (in.len < BEHIND_HEADER || n < BEHIND_HEADER || n > TRACEE_EXTENDED)
		return false;
	memset(out, 0, n);
	memcpy(out, in.at, LEGACY);
	memcpy(&in_use, in.at + IN_USE, sizeof in_use);
	if (in_use & ~here->xcr0)
		return false;
	memcpy(out + IN_USE, &in_use, sizeof in_use);
	for (uint32_t i = FIRST; i < STATES; i++) {
		struct state_component from = component_of(then, i), to = component_of(here, i);

		if (!(in_use >> i & 1))
			continue;
		if (!is_within(&from, in.len) || !is_within(&to, n) || from.size != to.size)
			return false;
		memcpy(out + to.at, in.at + from.at, to.size);
	}
	return true;
}
