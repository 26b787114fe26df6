/* SPDX-License-Identifier: MIT */
#include "collector/engine/leads.h"

/* Measured over the first recordings of true, ls, git, perl, python3 and cc1, of fragments that have run: how often has what they lead to
 * run, too? */
enum {
	END = LEADS_CERTAIN * 98 / 100,	     /* its last branch, but for each conditional on the way to it */
	STAYS = LEADS_CERTAIN * 88 / 100,
	END_LEAST = LEADS_CERTAIN * 40 / 100,
};

/* The same of conditionals: to where they lead when they are taken, by the distance from the fragment's first instruction. */
static uint32_t when_taken(int64_t distance)
{
	static const struct {
		int64_t below;
		uint32_t likelihood;
	} rows[] = {{1, LEADS_CERTAIN * 31 / 100}, {128, LEADS_CERTAIN * 54 / 100}, {512, LEADS_CERTAIN * 45 / 100}};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (distance < rows[i].below)
			return rows[i].likelihood;
	return LEADS_CERTAIN * 28 / 100;
}

void leads_begin(struct leads *l, uint32_t least)
{
	l->least = least;
	l->count = 0;
}

static void add(struct leads *l, const struct lead *lead)
{
	if (lead->likelihood >= l->least && l->count < LEADS_MAX)
		l->leads[l->count++] = *lead;
}

static uint32_t both(uint32_t a, uint32_t b) { return a * b / LEADS_CERTAIN; }

void leads_add(struct leads *l, const struct code_cache *c, uint32_t fragment, uint32_t likelihood)
{
	const struct fragment *frag = &c->fragments[fragment];
	uint32_t exit = frag->exit_first, end = fragment + 1 < c->fragment_count ? c->fragments[fragment + 1].exit_first : c->exit_count, at_end = END;

	for (; exit < end; exit++) {
		const struct cache_exit *x = &c->exits[exit];

		if (x->conditional)
			at_end = both(at_end, STAYS) > END_LEAST ? both(at_end, STAYS) : END_LEAST;
		if (x->kind == EXIT_LINK && x->linked == FRAGMENT_NONE)
			add(l, &(struct lead){.pc = x->target,
					      .likelihood = both(likelihood, x->conditional ? when_taken((int64_t)(x->target - frag->pc)) : at_end)});
	}
	if (frag->returns_to)
		add(l, &(struct lead){.pc = frag->returns_to, .likelihood = both(likelihood, at_end), .indirect = true});
	if (frag->slot)
		add(l, &(struct lead){.slot = frag->slot, .likelihood = both(likelihood, at_end), .indirect = true});
}

bool leads_take(struct leads *l, struct lead *lead)
{
	int best = 0;

	if (!l->count)
		return false;
	for (int i = 1; i < l->count; i++)
		if (l->leads[i].likelihood > l->leads[best].likelihood)
			best = i;
	*lead = l->leads[best];
	l->leads[best] = l->leads[--l->count];
	return true;
}
