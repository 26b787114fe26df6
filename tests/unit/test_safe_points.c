/* SPDX-License-Identifier: MIT */
/* Where fragments have safe points: random programs are translated in random order, as they would
 * run; then no cycle of links may be without one, and no path have more conditionals between two
 * than there is room for. Where fragments that count lie beside the others (fragment.counting), no
 * link leads from one sort to the other, and table 2 has both. */
#include "tests/unit/unit.h"

#include <string.h>

#include "collector/backend/engine/cache/layout.h"
#include "tests/unit/program.h"

enum {
	CODE = 1 << 13,
	PROGRAMS = 60,
	STOPS = 4000,
	LOOKS = 8, /* at the links, while a program runs */
};

#define AT 0x5555550de000u

struct world {
	uint64_t seed;
	uint8_t bytes[CODE];
	uint16_t starts[CODE]; /* of instructions */
	size_t count;
	struct program program; /* of those bytes */
	struct code_source source;
	struct code_cache *cache;
	bool both; /* fragments of both sorts are made */
	/* By fragment, for a look at the links: */
	bool *seen;
	uint32_t *most;      /* conditionals since the last safe point when it is entered */
	uint32_t superseded; /* so often */
};

static unsigned below(struct world *w, unsigned n) { return (unsigned)(unit_random(&w->seed) % n); }

/* A branch of this length at `at` gets its displacement in its last four bytes; mostly it leads
 * near. */
static void aim(struct world *w, size_t at, size_t len, size_t number)
{
	size_t near = number > 40 ? number - 40 : 0,
	       to = below(w, 3) ? near + below(w, 80) : below(w, (unsigned)w->count);
	int32_t d = (int32_t)w->starts[to < w->count ? to : w->count - 1] - (int32_t)(at + len);

	memcpy(w->bytes + at + len - 4, &d, sizeof d);
}

static void write_program(struct world *w)
{
	static const struct {
		uint8_t bytes[6];
		uint8_t len;
		bool aimed;
		uint8_t share; /* percent, at most, of the programs' instructions */
	} kinds[] = {
		{{0x0f, 0x84}, 6, true, 35}, /* je */
		{{0xe9}, 5, true, 8},        /* jmp */
		{{0xe8}, 5, true, 6},        /* call */
		{{0xc3}, 1, false, 4},
		{{0x83, 0xc0, 0x01}, 3, false, 20}, /* add: flags are free before it */
		{{0x0f, 0x45, 0xc1}, 3, false, 20}, /* cmovne: they are not */
		{{0x0f, 0xa2}, 2, false, 1},        /* cpuid: not for the cache */
		{{0x90}, 1, false, 100},
	};
	unsigned conditionals = below(w, 60);
	uint8_t kind_of[CODE];
	size_t at = 0;

	w->count = 0;
	while (at + 6 < CODE) {
		unsigned r = below(w, 100), kind = 0;

		for (unsigned share = conditionals; r >= share; share += kinds[kind].share)
			kind++;
		kind_of[w->count] = (uint8_t)kind;
		w->starts[w->count++] = (uint16_t)at;
		memcpy(w->bytes + at, kinds[kind].bytes, kinds[kind].len);
		at += kinds[kind].len;
	}
	memset(w->bytes + at, 0xc3, CODE - at);
	for (size_t i = 0; i < w->count; i++)
		if (kinds[kind_of[i]].aimed)
			aim(w, w->starts[i], kinds[kind_of[i]].len, i);
}

/* As the recorder does when the task has stopped at pc for want of a fragment. */
static void arrive(struct world *w, uint64_t pc, bool indirect)
{
	struct code_cache *c = w->cache;
	uint32_t fragment = code_cache_find(c, pc);

	if (fragment != FRAGMENT_NONE && !c->fragments[fragment].checked &&
	    code_cache_supersede(c, pc)) {
		w->superseded++;
		fragment = FRAGMENT_NONE;
	}
	if (fragment == FRAGMENT_NONE)
		translator_translate(c, &w->source, pc, indirect);
	else if (indirect && !c->fragments[fragment].indirect)
		assert_true(translator_add_entry(c, fragment));
}

static uint64_t any_pc(struct world *w) { return AT + w->starts[below(w, (unsigned)w->count)]; }

static bool is_blocked(void *arg, uint64_t start, uint64_t end)
{
	(void)arg;
	(void)start;
	(void)end;
	return false;
}

static void stop_somewhere(struct world *w)
{
	struct code_cache *c = w->cache;
	const struct cache_exit *x = c->exit_count ? &c->exits[below(w, c->exit_count)] : NULL;
	struct prediction prediction;
	uint64_t at;

	c->counting = w->both && below(w, 2);
	if (x && !x->dead && x->kind == EXIT_LINK && x->site && x->linked == FRAGMENT_NONE) {
		c->counting = x->counting;
		arrive(w, x->target, below(w, 10) == 0);
	} else if (below(w, 20) == 0)
		arrive(w, any_pc(w), true);
	else if (below(w, 100) == 0 &&
		 translator_may_predict(c, &w->source, any_pc(w), any_pc(w), &prediction))
		assert_true(code_cache_predict(c, &prediction));
	else if (below(w, 200) == 0)
		code_cache_drop(c, any_pc(w), any_pc(w) + 8);
	else if (w->both && below(w, 200) == 0) {
		at = any_pc(w);
		code_cache_unlink(c, at, at + 64);
		code_cache_relink(c, at, at + 64, is_blocked, NULL);
	}
}

static uint32_t exits_end(const struct code_cache *c, uint32_t fragment)
{
	return fragment + 1 < c->fragment_count ? c->fragments[fragment + 1].exit_first
						: c->exit_count;
}

/* Follows the links of a fragment that is entered with so many conditionals, up to where there is a
 * safe point. A cycle without one would be gone around until there are too many conditionals,
 * unless it has none. */
static void follow(struct world *w, uint32_t fragment, uint32_t most)
{
	const struct code_cache *c = w->cache;
	uint32_t n = c->fragments[fragment].checked ? 0 : most;

	w->seen[fragment] = true;
	for (uint32_t i = c->fragments[fragment].exit_first; i < exits_end(c, fragment); i++) {
		const struct cache_exit *x = &c->exits[i];

		if (x->kind != EXIT_LINK)
			continue;
		assert_int_equal(x->counting, c->fragments[fragment].counting);
		assert_true(x->linked == FRAGMENT_NONE ||
			    c->fragments[x->linked].counting == x->counting);
		n += x->conditional; /* taken; all of them come before the fragment's end */
		assert_true(n <= (uint32_t)code_cache_most_debt(c));
		if (x->linked == FRAGMENT_NONE || c->fragments[x->linked].checked ||
		    (w->seen[x->linked] && w->most[x->linked] >= n))
			continue;
		w->most[x->linked] = n;
		follow(w, x->linked, n);
	}
}

/* Indirect branches find each fragment that has an entry for them, by an address of its sort. */
static void look_at_tables(const struct code_cache *c)
{
	for (uint32_t i = 0; i < c->fragment_count; i++) {
		const struct fragment *frag = &c->fragments[i];
		uint64_t key = frag->pc | (frag->counting ? TABLE2_COUNTING : 0), found = 0;

		if (!frag->indirect || code_cache_find_of(c, frag->pc, frag->counting) != i)
			continue;
		for (uint32_t k = 0; k < 1u << c->tables.bits; k++)
			if (c->tables.pairs[k].pc == key)
				found = c->tables.pairs[k].entry;
		assert_true(found == region_address(CODE_AT + frag->indirect));
	}
}

static void look_at_links(struct world *w)
{
	const struct code_cache *c = w->cache;

	w->seen = calloc(c->fragment_count + 1, sizeof *w->seen);
	w->most = calloc(c->fragment_count + 1, sizeof *w->most);
	assert_true(w->seen && w->most);
	for (uint32_t i = 0; i < c->fragment_count; i++)
		if (!c->fragments[i].dead && !w->seen[i])
			follow(w, i, 0);
	free(w->seen);
	free(w->most);
	for (uint32_t i = 0; i < c->exit_count; i++) {
		const struct cache_exit *x = &c->exits[i];
		uint32_t there =
			x->dead || x->kind != EXIT_LINK || !x->site || x->linked != FRAGMENT_NONE
				? FRAGMENT_NONE
				: code_cache_find_of(c, x->target, x->counting);

		assert_true(there == FRAGMENT_NONE ||
			    !fragment_meets(&c->fragments[there],
					    x->demand)); /* else it would wait for ever */
	}
}

static void run_programs(bool ticks, bool both)
{
	uint32_t superseded = 0, checked = 0, unchecked = 0, counting = 0;

	for (int i = 0; i < PROGRAMS; i++) {
		const struct processor processor = {
			.fast_pext = i & 1, .rorx = i & 2, .fast_loop = i & 4};
		struct world *w = calloc(1, sizeof *w);

		assert_non_null(w);
		w->seed = (uint64_t)i * 0x9e3779b97f4a7c15u + 1;
		w->program = (struct program){w->bytes, sizeof w->bytes, AT};
		w->source = program_source(&w->program);
		w->cache = code_cache_new(&processor, false, false);
		assert_non_null(w->cache);
		w->cache->kind.ticks = ticks;
		w->both = both;
		write_program(w);
		arrive(w, AT, false);
		for (int k = 1; k <= STOPS; k++) {
			stop_somewhere(w);
			if (k % (STOPS / LOOKS) == 0)
				look_at_links(w);
		}
		look_at_tables(w->cache);
		assert_int_equal(w->cache->clears, 0);
		for (uint32_t k = 0; k < w->cache->fragment_count; k++)
			*(w->cache->fragments[k].counting  ? &counting
			  : w->cache->fragments[k].checked ? &checked
							   : &unchecked) += 1;
		superseded += w->superseded;
		code_cache_put(w->cache);
		free(w);
	}
	assert_true(superseded > PROGRAMS && checked > 10 * PROGRAMS && unchecked > 10 * PROGRAMS);
	assert_true(both ? counting > 10 * PROGRAMS : !counting);
}

static void no_cycle_and_no_long_path_is_without_one(void **state)
{
	(void)state;
	run_programs(false, false);
}

static void nor_where_only_ticks_are_counted(void **state)
{
	(void)state;
	run_programs(true, false);
}

static void two_sorts_of_fragments_keep_to_themselves(void **state)
{
	(void)state;
	run_programs(false, true);
	run_programs(true, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_cycle_and_no_long_path_is_without_one),
		cmocka_unit_test(nor_where_only_ticks_are_counted),
		cmocka_unit_test(two_sorts_of_fragments_keep_to_themselves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
