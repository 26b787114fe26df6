/* SPDX-License-Identifier: MIT */
#include "tui/entry_match.h"

static uint64_t mix_key(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9E3779B97F4A7C15u;
	return h ^ h >> 29;
}

/* Two branches that share a key, which is not to be expected, would share an answer. */
static uint64_t key_of(const struct entry_match *match, const struct viewer *v, size_t i)
{
	const struct history_entry *e = &v->history.entries[i];
	uint64_t h = mix_key(mix_key(mix_key(1, e->from), e->to),
			     (uint64_t)e->kind << 8 | e->flags | (uint64_t)e->cycles << 16);
	uint64_t start = 0;

	h = mix_key(h, (uint64_t)e->space << 32 | e->epoch);
	if (e->kind == BT_BRANCH_SYSCALL) /* each may be another call */
		h = mix_key(h, e->number);
	if (match->with_run && !history_start(&v->history, i, &start))
		start = 0;
	return match->with_run ? mix_key(h, start) : h;
}

bool entry_matches(struct entry_match *match, struct viewer *v, size_t i)
{
	uint64_t key = key_of(match, v, i);
	const struct hash_slot *slot = hash_table_find(&match->known, key);
	bool wanted;

	if (slot)
		return slot->number == 2;
	wanted = match->test(match->arg, v, i);
	/* Without memory it is tested again. */
	hash_table_add(&match->known, (struct hash_slot){key, {wanted ? 2 : 1}});
	return wanted;
}

void entry_match_release(struct entry_match *match) { hash_table_release(&match->known); }
