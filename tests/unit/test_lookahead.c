/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"

#include "collector/backend/engine/translate/lookahead.h"

enum { PC = 0x401000 };

/* A cache of nothing but a fragment at PC with these exits, which come to be linked nowhere. */
struct one_fragment {
	struct code_cache cache;
	struct fragment fragment;
	struct cache_exit exits[LOOKAHEAD_MAX + 8];
};

static void begin(struct one_fragment *o)
{
	memset(o, 0, sizeof *o);
	o->cache.fragments = &o->fragment;
	o->cache.fragment_count = 1;
	o->cache.exits = o->exits;
	o->fragment.pc = PC;
}

static struct cache_exit *add(struct one_fragment *o, uint64_t target, bool conditional)
{
	struct cache_exit *x = &o->exits[o->cache.exit_count++];

	*x = (struct cache_exit){.target = target,
				 .linked = FRAGMENT_NONE,
				 .kind = EXIT_LINK,
				 .conditional = conditional};
	return x;
}

static void the_likeliest_comes_first(void **state)
{
	struct lookahead lookahead;
	struct one_fragment o;
	struct lookahead_entry lead;

	(void)state;
	begin(&o);
	add(&o, PC + 100, true);
	add(&o, PC + 5000, true);
	add(&o, PC - 64, true);
	add(&o, PC + 300, false);
	lookahead_begin(&lookahead, 0);
	lookahead_add(&lookahead, &o.cache, 0, LOOKAHEAD_CERTAIN);
	assert_int_equal(lookahead.count, 4);
	assert_true(lookahead_take(&lookahead, &lead));
	assert_int_equal(lead.pc, PC + 300); /* its end */
	assert_true(lead.likelihood < LOOKAHEAD_CERTAIN);
	assert_false(lead.indirect);
	assert_true(lookahead_take(&lookahead, &lead));
	assert_int_equal(lead.pc, PC + 100); /* forward, and not far */
	assert_true(lookahead_take(&lookahead, &lead));
	assert_int_equal(lead.pc, PC - 64);
	assert_true(lookahead_take(&lookahead, &lead));
	assert_int_equal(lead.pc, PC + 5000);
	assert_false(lookahead_take(&lookahead, &lead));
}

static void what_is_less_likely_is_left_out(void **state)
{
	struct lookahead lookahead;
	struct one_fragment o;
	struct lookahead_entry lead;

	(void)state;
	begin(&o);
	add(&o, PC + 5000, true);
	add(&o, PC + 100, true);
	lookahead_begin(&lookahead, LOOKAHEAD_CERTAIN / 2);
	lookahead_add(&lookahead, &o.cache, 0, LOOKAHEAD_CERTAIN);
	assert_true(lookahead_take(&lookahead, &lead));
	assert_int_equal(lead.pc, PC + 100);
	assert_false(lookahead_take(&lookahead, &lead));
	lookahead_add(&lookahead, &o.cache, 0, LOOKAHEAD_CERTAIN / 2);
	assert_false(lookahead_take(&lookahead, &lead));
}

static void what_is_there_already_is_no_entry(void **state)
{
	struct lookahead lookahead;
	struct one_fragment o;

	(void)state;
	begin(&o);
	add(&o, PC + 100, true)->linked = 7;
	add(&o, PC + 200, true)->kind = EXIT_STOP;
	add(&o, PC + 300, false)->kind = EXIT_OUTSIDE;
	lookahead_begin(&lookahead, 0);
	lookahead_add(&lookahead, &o.cache, 0, LOOKAHEAD_CERTAIN);
	assert_int_equal(lookahead.count, 0);
}

static void back_from_a_call_and_through_a_slot(void **state)
{
	struct lookahead lookahead;
	struct one_fragment o;
	struct lookahead_entry lead, other;

	(void)state;
	begin(&o);
	o.fragment.returns_to = PC + 40;
	o.fragment.slot = 0x404018;
	lookahead_begin(&lookahead, 0);
	lookahead_add(&lookahead, &o.cache, 0, LOOKAHEAD_CERTAIN);
	assert_true(lookahead_take(&lookahead, &lead) && lookahead_take(&lookahead, &other));
	assert_true(lead.indirect && other.indirect);
	assert_int_equal(lead.pc + other.pc, PC + 40);
	assert_int_equal(lead.slot + other.slot, 0x404018);
	assert_false(lookahead_take(&lookahead, &lead));
}

/* Each step, and each conditional on the way to a fragment's end, makes what comes then less
 * likely. */
static void likelihood_falls_along_the_way(void **state)
{
	uint32_t before = LOOKAHEAD_CERTAIN, likelihood = LOOKAHEAD_CERTAIN;
	struct one_fragment o;
	struct lookahead_entry lead;

	(void)state;
	for (int conditionals = 0; conditionals < 12; conditionals++) {
		struct lookahead lookahead;

		begin(&o);
		for (int i = 0; i < conditionals; i++)
			add(&o, PC + 8, true)->linked = 7;
		add(&o, PC + 400, false);
		lookahead_begin(&lookahead, 0);
		lookahead_add(&lookahead, &o.cache, 0, LOOKAHEAD_CERTAIN);
		assert_true(lookahead_take(&lookahead, &lead));
		assert_true(lead.likelihood <= before && lead.likelihood > LOOKAHEAD_CERTAIN / 4);
		before = lead.likelihood;
	}
	begin(&o);
	add(&o, PC + 400, false);
	for (int i = 0; i < 400; i++) {
		struct lookahead lookahead;

		lookahead_begin(&lookahead, 0);
		lookahead_add(&lookahead, &o.cache, 0, likelihood);
		assert_true(lookahead_take(&lookahead, &lead));
		assert_true(lead.likelihood < likelihood || !likelihood);
		likelihood = lead.likelihood;
	}
	assert_int_equal(likelihood, 0);
}

static void what_there_is_no_room_for_is_dropped(void **state)
{
	static struct lookahead lookahead;
	static struct one_fragment o;
	struct lookahead_entry lead;
	int n = 0;

	(void)state;
	begin(&o);
	for (int i = 0; i < LOOKAHEAD_MAX + 8; i++)
		add(&o, PC + 1 + (uint64_t)i, true);
	lookahead_begin(&lookahead, 0);
	lookahead_add(&lookahead, &o.cache, 0, LOOKAHEAD_CERTAIN);
	assert_int_equal(lookahead.count, LOOKAHEAD_MAX);
	while (lookahead_take(&lookahead, &lead))
		n++;
	assert_int_equal(n, LOOKAHEAD_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_likeliest_comes_first),
		cmocka_unit_test(what_is_less_likely_is_left_out),
		cmocka_unit_test(what_is_there_already_is_no_entry),
		cmocka_unit_test(back_from_a_call_and_through_a_slot),
		cmocka_unit_test(likelihood_falls_along_the_way),
		cmocka_unit_test(what_there_is_no_room_for_is_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
