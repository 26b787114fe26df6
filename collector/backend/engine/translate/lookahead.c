/* SPDX-License-Identifier: MIT */
#include "collector/backend/engine/translate/lookahead.h"

#include "lib/array_size.h"

/* How often the successor of a fragment that has run has run, too: measured over the first
 * recordings of true, ls, git, perl, python3 and cc1. */
enum {
	END = LOOKAHEAD_CERTAIN * 98 /
	      100, /* its last branch, but for each conditional on the way to it */
	STAYS = LOOKAHEAD_CERTAIN * 88 / 100,
	END_LEAST = LOOKAHEAD_CERTAIN * 40 / 100,
};

/* The same of conditionals: to where they lead when they are taken, by the distance from the
 * fragment's first instruction. */
static uint32_t when_taken(int64_t distance)
{
	static const struct {
		int64_t below;
		uint32_t likelihood;
	} rows[] = {{1, LOOKAHEAD_CERTAIN * 31 / 100},
		    {128, LOOKAHEAD_CERTAIN * 54 / 100},
		    {512, LOOKAHEAD_CERTAIN * 45 / 100}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (distance < rows[i].below)
			return rows[i].likelihood;
	return LOOKAHEAD_CERTAIN * 28 / 100;
}

void lookahead_begin(struct lookahead *l, uint32_t least)
{
	l->least = least;
	l->count = 0;
}

static void add_entry(struct lookahead *l, const struct lookahead_entry *lead)
{
	if (lead->likelihood >= l->least && l->count < LOOKAHEAD_MAX)
		l->entries[l->count++] = *lead;
}

static uint32_t gcd_or_other(uint32_t a, uint32_t b) { return a * b / LOOKAHEAD_CERTAIN; }

void lookahead_add(struct lookahead *l, const struct code_cache *c, uint32_t fragment,
		   uint32_t likelihood)
{
	const struct fragment *frag = &c->fragments[fragment];
	uint32_t exit = frag->exit_first,
		 end = fragment + 1 < c->fragment_count ? c->fragments[fragment + 1].exit_first
							: c->exit_count,
		 at_end = END;

	for (; exit < end; exit++) {
		const struct cache_exit *x = &c->exits[exit];

		if (x->conditional)
			at_end = gcd_or_other(at_end, STAYS) > END_LEAST
					 ? gcd_or_other(at_end, STAYS)
					 : END_LEAST;
		if (x->kind == EXIT_LINK && x->linked == FRAGMENT_NONE)
			add_entry(l,
				  &(struct lookahead_entry){
					  .pc = x->target,
					  .likelihood = gcd_or_other(
						  likelihood,
						  x->conditional ? when_taken((int64_t)(x->target -
											frag->pc))
								 : at_end)});
	}
	if (frag->returns_to)
		add_entry(l,
			  &(struct lookahead_entry){.pc = frag->returns_to,
						    .likelihood = gcd_or_other(likelihood, at_end),
						    .indirect = true});
	if (frag->slot)
		add_entry(l,
			  &(struct lookahead_entry){.slot = frag->slot,
						    .likelihood = gcd_or_other(likelihood, at_end),
						    .indirect = true});
}

bool lookahead_take(struct lookahead *l, struct lookahead_entry *lead)
{
	int best = 0;

	if (!l->count)
		return false;
	for (int i = 1; i < l->count; i++)
		if (l->entries[i].likelihood > l->entries[best].likelihood)
			best = i;
	*lead = l->entries[best];
	l->entries[best] = l->entries[--l->count];
	return true;
}
