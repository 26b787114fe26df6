/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"

#include "collector/history/segment.h"
#include "lib/array_size.h"

/* A jump from the last byte of [pc, end). */
static struct segment jump(uint64_t pc, uint64_t end, uint64_t to)
{
	return (struct segment){
		.pc = pc, .from = end - 1, .end = end, .to = to, .kind = BT_BRANCH_JMP};
}

static uint32_t add(struct segment_table *t, uint64_t pc, uint64_t end, uint64_t to)
{
	struct segment s = jump(pc, end, to);
	uint32_t n = segment_add(t, &s);

	assert_int_not_equal(n, SEGMENT_NONE);
	return n;
}

static void what_is_added_is_found_by_number_and_place(void **state)
{
	struct segment_table *t = segment_table_new();
	uint32_t a = add(t, 0x1000, 0x1010, 0x2000), b = add(t, 0x1008, 0x1010, 0x2000);

	(void)state;
	assert_int_not_equal(a, b);
	assert_ptr_equal(segment_at(t, 0x1000, 0), segment_get(t, a));
	assert_ptr_equal(segment_at(t, 0x1008, 0), segment_get(t, b));
	assert_int_equal(segment_get(t, a)->to, 0x2000);
	assert_int_equal(segment_get(t, a)->born, 0);
	assert_int_equal(segment_get(t, a)->died, SEGMENT_ALIVE);
	assert_null(segment_at(t, 0x1001, 0));
	assert_null(segment_get(t, 2));
	assert_null(segment_get(t, SEGMENT_NONE));
	segment_table_put(t);
}

static void an_empty_table_has_nothing(void **state)
{
	struct segment_table *t = segment_table_new();

	(void)state;
	assert_null(segment_at(t, 0, 0));
	assert_null(segment_get(t, 0));
	assert_int_equal(segment_generation(t), 0);
	assert_int_equal(segment_kill(t, 0, UINT64_MAX), 1);
	segment_collect(t, 1);
	segment_table_put(t);
	segment_table_put(NULL);
}

static void the_same_again_is_the_same_number(void **state)
{
	struct segment_table *t = segment_table_new();
	uint32_t a = add(t, 0x1000, 0x1010, 0x2000), b;

	(void)state;
	assert_int_equal(add(t, 0x1000, 0x1010, 0x2000), a);
	b = add(t, 0x1000, 0x1010, 0x3000);
	assert_int_not_equal(a, b);
	assert_int_equal(add(t, 0x1000, 0x1010, 0x2000), a);
	assert_ptr_equal(segment_at(t, 0x1000, 0), segment_get(t, b)); /* the newest */
	segment_table_put(t);
}

static void what_has_no_length_is_refused(void **state)
{
	struct segment_table *t = segment_table_new();
	struct segment behind = jump(0x1000, 0x1000, 0), before = jump(0x1000, 0x1010, 0);

	(void)state;
	before.from = 0xfff;
	assert_int_equal(segment_add(t, &behind), SEGMENT_NONE);
	assert_int_equal(segment_add(t, &before), SEGMENT_NONE);
	segment_table_put(t);
}

static void replaced_code_is_found_in_its_generation(void **state)
{
	struct segment_table *t = segment_table_new();
	uint32_t a = add(t, 0x1000, 0x1010, 0x2000), b;

	(void)state;
	assert_int_equal(segment_kill(t, 0x100f, 0x1010), 1);
	assert_null(segment_at(t, 0x1000, 1));
	b = add(t, 0x1000, 0x1010, 0x2000);
	assert_int_not_equal(a, b); /* the same bytes again are another segment */
	assert_int_equal(segment_kill(t, 0x5000, 0x6000), 2); /* nothing there */
	assert_ptr_equal(segment_at(t, 0x1000, 0), segment_get(t, a));
	assert_ptr_equal(segment_at(t, 0x1000, 1), segment_get(t, b));
	assert_ptr_equal(segment_at(t, 0x1000, 2), segment_get(t, b));
	assert_int_equal(segment_generation(t), 2);
	assert_true(segment_lived(segment_get(t, a), 0));
	assert_false(segment_lived(segment_get(t, a), 1));
	assert_false(segment_lived(segment_get(t, b), 0));
	segment_table_put(t);
}

static void a_kill_takes_what_overlaps_and_no_more(void **state)
{
	static const struct {
		uint64_t start, end;
		bool dies;
	} rows[] = {
		{0x1ff0, 0x2000, false}, {0x1ff0, 0x2001, true},  {0x2010, 0x2020, false},
		{0x200f, 0x2020, true},  {0x2005, 0x2006, true},  {0, UINT64_MAX, true},
		{0x2005, 0x2005, false}, {0x2010, 0x2000, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct segment_table *t = segment_table_new();
		uint32_t n = add(t, 0x2000, 0x2010, 0);

		segment_kill(t, rows[i].start, rows[i].end);
		assert_int_equal(segment_get(t, n)->died, rows[i].dies ? 1 : SEGMENT_ALIVE);
		segment_table_put(t);
	}
}

static void a_kill_finds_those_that_began_pages_before(void **state)
{
	struct segment_table *t = segment_table_new();
	uint32_t two = add(t, 0x1ff0, 0x2010, 0), some = add(t, 0x10800, 0x14800, 0),
		 many = add(t, 0x100000, 0x180000, 0);

	(void)state;
	segment_kill(t, 0x2008, 0x2009);
	segment_kill(t, 0x14000, 0x14001);
	segment_kill(t, 0x17f000, 0x17f001);
	assert_int_equal(segment_get(t, two)->died, 1);
	assert_int_equal(segment_get(t, some)->died, 2);
	assert_int_equal(segment_get(t, many)->died, 3);
	segment_table_put(t);
}

static void collected_numbers_are_used_again(void **state)
{
	struct segment_table *t = segment_table_new();
	uint32_t a = add(t, 0x1000, 0x1010, 0x2000), b = add(t, 0x3000, 0x3010, 0x2000), c;

	(void)state;
	segment_kill(t, 0x1000, 0x1001);
	assert_int_equal(segment_dead(t), 1);
	segment_collect(t, 0); /* still needed by records of generation 0 */
	assert_non_null(segment_get(t, a));
	assert_int_equal(segment_dead(t), 1);
	segment_collect(t, 1);
	assert_int_equal(segment_dead(t), 0);
	assert_null(segment_get(t, a));
	assert_null(segment_at(t, 0x1000, 0));
	assert_ptr_equal(segment_at(t, 0x3000, 1), segment_get(t, b));
	c = add(t, 0x1000, 0x1020, 0x4000);
	assert_int_equal(c, a);
	assert_int_equal(segment_get(t, c)->born, 1);
	/* The old lists of its pages know nothing of the new owner of the number. */
	segment_kill(t, 0x101f, 0x1020);
	assert_int_equal(segment_get(t, c)->died, 2);
	segment_collect(t, SEGMENT_ALIVE); /* no record at all: the living stay */
	assert_null(segment_get(t, c));
	assert_non_null(segment_get(t, b));
	segment_table_put(t);
}

static void a_copy_goes_its_own_way(void **state)
{
	struct segment_table *t = segment_table_new(), *copy;
	uint32_t a = add(t, 0x1000, 0x1010, 0x2000), b;

	(void)state;
	copy = segment_table_copy(t);
	assert_non_null(copy);
	segment_kill(t, 0x1000, 0x1001);
	assert_null(segment_at(t, 0x1000, 1));
	assert_int_equal(segment_generation(copy), 0);
	assert_ptr_equal(segment_at(copy, 0x1000, 0), segment_get(copy, a));
	b = add(copy, 0x5000, 0x5010, 0);
	assert_null(segment_get(t, b));
	segment_table_put(t);
	assert_ptr_equal(segment_at(copy, 0x1000, 0), segment_get(copy, a));
	segment_table_put(copy);
}

enum {
	MODEL = 4000,
};

struct model {
	struct segment s[MODEL];
	uint32_t number[MODEL];
	bool there[MODEL]; /* not collected */
	size_t count;
};

static void assert_as_in_model(const struct segment_table *t, const struct model *m, uint64_t *seed)
{
	uint32_t generation = segment_generation(t);

	for (size_t i = 0; i < m->count; i++) {
		const struct segment *want = &m->s[i], *got = segment_get(t, m->number[i]);
		uint32_t at = generation ? (uint32_t)(unit_random(seed) % (generation + 1)) : 0;

		if (!m->there[i])
			continue;
		assert_non_null(got);
		assert_true(got->pc == want->pc && got->end == want->end && got->to == want->to);
		assert_int_equal(got->born, want->born);
		assert_int_equal(got->died, want->died);
		/* Never two live at one place here, so the one at this pc then is this one. */
		if (segment_lived(want, at))
			assert_ptr_equal(segment_at(t, want->pc, at), got);
	}
}

static void model_add(struct segment_table *t, struct model *m, uint64_t *seed)
{
	uint64_t pc = 0x10000 + unit_random(seed) % 0x8000,
		 length = 1 + unit_random(seed) % (unit_random(seed) % 50 ? 64 : 70000);
	struct segment s = jump(pc, pc + length, unit_random(seed));
	uint32_t n;

	if (m->count == MODEL || segment_at(t, pc, segment_generation(t)))
		return;
	n = segment_add(t, &s);
	assert_int_not_equal(n, SEGMENT_NONE);
	for (size_t i = 0; i < m->count; i++)
		assert_true(!m->there[i] || m->number[i] != n);
	s.born = segment_generation(t);
	s.died = SEGMENT_ALIVE;
	m->number[m->count] = n;
	m->there[m->count] = true;
	m->s[m->count++] = s;
}

static void model_kill(struct segment_table *t, struct model *m, uint64_t *seed)
{
	uint64_t start = 0x10000 + unit_random(seed) % 0x8000;
	uint64_t end = start + unit_random(seed) % (unit_random(seed) % 30 ? 200 : 1ull << 40);
	uint32_t generation = segment_kill(t, start, end);

	for (size_t i = 0; i < m->count; i++)
		if (start < end && m->s[i].died == SEGMENT_ALIVE && m->s[i].pc < end &&
		    m->s[i].end > start)
			m->s[i].died = generation;
}

static void model_collect(struct segment_table *t, struct model *m, uint64_t *seed)
{
	uint32_t generation = (uint32_t)(unit_random(seed) % (segment_generation(t) + 1));

	segment_collect(t, generation);
	for (size_t i = 0; i < m->count; i++)
		if (m->s[i].died <= generation)
			m->there[i] = false;
}

static void a_random_table_is_as_its_model(void **state)
{
	struct model *m = malloc(sizeof *m);

	(void)state;
	for (uint64_t run = 1; run <= 12; run++) {
		struct segment_table *t = segment_table_new();
		uint64_t seed = run;

		print_message("seed %llu\n", (unsigned long long)run);
		m->count = 0;
		for (int i = 0; i < 6000; i++) {
			unsigned what = (unsigned)(unit_random(&seed) % 100);

			if (what < 80)
				model_add(t, m, &seed);
			else if (what < 98)
				model_kill(t, m, &seed);
			else if (what == 98)
				model_collect(t, m, &seed);
			if (i % 500 == 0)
				assert_as_in_model(t, m, &seed);
		}
		assert_as_in_model(t, m, &seed);
		segment_table_put(t);
	}
	free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_added_is_found_by_number_and_place),
		cmocka_unit_test(an_empty_table_has_nothing),
		cmocka_unit_test(the_same_again_is_the_same_number),
		cmocka_unit_test(what_has_no_length_is_refused),
		cmocka_unit_test(replaced_code_is_found_in_its_generation),
		cmocka_unit_test(a_kill_takes_what_overlaps_and_no_more),
		cmocka_unit_test(a_kill_finds_those_that_began_pages_before),
		cmocka_unit_test(collected_numbers_are_used_again),
		cmocka_unit_test(a_copy_goes_its_own_way),
		cmocka_unit_test(a_random_table_is_as_its_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
