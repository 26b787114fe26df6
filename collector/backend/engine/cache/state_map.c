/* SPDX-License-Identifier: MIT */
#include "collector/backend/engine/cache/state_map.h"

#include <string.h>

/* A byte: how far it is from the place before, in the code (low half) and in the application's;
 * FAR, then a number of its own follows. The state. The register, where there may be one. */
enum { FAR = 15 };

static bool has_register(uint8_t state) { return state & (STATE_SPILLED | STATE_RCX); }

size_t state_map_encode(const struct state_entry *state_map, size_t n, uint8_t *out)
{
	struct state_entry last = {.at = 0};
	uint8_t *end = out;

	for (size_t i = 0; i < n; i++) {
		const struct state_entry *p = &state_map[i];
		uint32_t at = (uint32_t)p->at - last.at, pc = (uint32_t)p->pc - (uint32_t)last.pc;

		*end++ = (uint8_t)((at < FAR ? at : FAR) | (pc < FAR ? pc : FAR) << 4);
		if (at >= FAR) {
			memcpy(end, &p->at, sizeof p->at);
			end += sizeof p->at;
		}
		if (pc >= FAR) {
			memcpy(end, &p->pc, sizeof p->pc);
			end += sizeof p->pc;
		}
		*end++ = p->state;
		if (has_register(p->state))
			*end++ = p->reg;
		last = *p;
	}
	return (size_t)(end - out);
}

/* How long the place is that begins at `list`, but for its register. */
static size_t entry_length(const uint8_t *list)
{
	return 2 + ((*list & FAR) == FAR ? sizeof((struct state_entry *)0)->at : 0) +
	       (*list >> 4 == FAR ? sizeof((struct state_entry *)0)->pc : 0);
}

/* The place behind *p, whose list goes on at `list`; returns where that goes on then: NULL where it
 * is cut off. */
static const uint8_t *next_entry(const uint8_t *list, const uint8_t *end, struct state_entry *p)
{
	uint8_t both = *list;

	if ((size_t)(end - list) < entry_length(list))
		return NULL;
	list++;
	if ((both & FAR) < FAR) {
		p->at = (uint16_t)(p->at + (both & FAR));
	} else {
		memcpy(&p->at, list, sizeof p->at);
		list += sizeof p->at;
	}
	if (both >> 4 < FAR) {
		p->pc += both >> 4;
	} else {
		memcpy(&p->pc, list, sizeof p->pc);
		list += sizeof p->pc;
	}
	p->state = *list++;
	p->reg = 0;
	if (!has_register(p->state))
		return list;
	if (list == end)
		return NULL;
	p->reg = *list++;
	return list;
}

bool state_map_find(const uint8_t *list, size_t len, uint32_t at, struct state_entry *found)
{
	const uint8_t *end = list + len;
	struct state_entry p = {.at = 0};
	bool any = false;

	while (list < end && (list = next_entry(list, end, &p))) {
		if (p.at > at)
			break;
		*found = p;
		any = true;
	}
	return any;
}
