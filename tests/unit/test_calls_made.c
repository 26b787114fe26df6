/* SPDX-License-Identifier: MIT */
#include "decoder/model/calls_made.h"

#include <time.h>

#include "format/syscall_codec.h"
#include "tests/unit/model_maker.h"
#include "tests/unit/unit.h"

static void add_stop(struct maker *k, uint32_t task, uint64_t tick, uint64_t transfers, uint64_t nr)
{
	maker_add(k, 1, SYSCALL_ENTER, syscall_enter, .task = task,
		  .point = {.tick = tick, .transfers = transfers}, .nr = nr, .compat = nr == 7);
}

/* Calls without a stop at ascending ticks. */
static void add_calls(struct maker *k, uint32_t task, const struct bt_syscall *calls, size_t n)
{
	struct bt_syscall_codec codec = {calls[0].tick};
	struct buf bytes = {0};

	for (size_t i = 0; i < n; i++)
		bt_syscall_encode(&codec, &bytes, &calls[i]);
	maker_add(k, 1, CALLS, calls, .task = task, .tick = calls[0].tick, .count = n,
		  .calls = slice_of(bytes.data, bytes.len));
	buf_release(&bytes);
}

static void expect(const struct calls_made *c, uint64_t tick, uint64_t transfers, long nr)
{
	struct history_entry e = {.kind = BT_BRANCH_SYSCALL, .tick = tick, .transfers = transfers};
	uint64_t got = 0;
	bool compat = false, known = calls_made_at(c, &e, &got, &compat);

	assert_int_equal(known, nr >= 0);
	if (known)
		assert_int_equal(got, nr);
	assert_int_equal(compat, nr == 7);
}

static void a_call_at_a_stop_is_known_by_its_point(void **state)
{
	struct made *t = *state;
	struct calls_made c;
	struct bt_error err;

	add_stop(&t->k, 1, 10, 3, 1);
	add_stop(&t->k, 2, 10, 4, 2);
	add_stop(&t->k, 1, 10, 5, 7);
	add_stop(&t->k, 1, 20, 0, 3);
	made_load(t);
	assert_int_equal(calls_made_find(&c, t->m, 1, 0, 15, &err), 0);
	expect(&c, 10, 4, 1);
	expect(&c, 10, 5, -1);
	expect(&c, 10, 6, 7);
	expect(&c, 10, 0, -1);
	assert_int_equal(c.stop_count, 2); /* those in the range */
	calls_made_release(&c);
}

/* Of the others only the tick is known. */
static void a_call_without_a_stop_is_known_when_it_is_the_only_one_of_its_tick(void **state)
{
	static const struct bt_syscall first[] = {{10, 100, 0},
						  {11, 101, 0},
						  {11, 102, 0},
						  {12, 103, 0},
						  {13, 104, 0}},
				       second[] = {{13, 105, 0}, {14, 106, 0}};
	struct made *t = *state;
	struct calls_made c;
	struct bt_error err;

	add_calls(&t->k, 1, first, 5);
	add_stop(&t->k, 1, 12, 2, 1);
	add_calls(&t->k, 2, second, 2);
	add_calls(&t->k, 1, second, 2);
	made_load(t);
	assert_int_equal(calls_made_find(&c, t->m, 1, 11, 14, &err), 0);
	expect(&c, 11, 1, -1);
	expect(&c, 12, 2, 103);
	expect(&c, 12, 3, 1);
	expect(&c, 13, 1, -1); /* two records have one each */
	expect(&c, 14, 1, 106);
	expect(&c, 15, 1, -1);
	assert_int_equal(c.other_count, 6);
	calls_made_release(&c);
}

/* A damaged trace may have them in any order. */
static void many_calls_in_no_order_stay_fast(void **state)
{
	enum { COUNT = 100000 };
	struct made *t = *state;
	clock_t begin;
	struct calls_made c;
	struct bt_error err;

	for (uint64_t i = 0; i < COUNT; i++)
		add_stop(&t->k, 1, i * 7919 % COUNT, 0, i);
	made_load(t);
	begin = clock();
	assert_int_equal(calls_made_find(&c, t->m, 1, 0, COUNT, &err), 0);
	for (uint64_t i = 8; i < COUNT; i++)
		expect(&c, i * 7919 % COUNT, 1, (long)i);
	calls_made_release(&c);
	assert_true(clock() - begin < 10 * CLOCKS_PER_SEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MADE_TEST(a_call_at_a_stop_is_known_by_its_point),
		MADE_TEST(a_call_without_a_stop_is_known_when_it_is_the_only_one_of_its_tick),
		MADE_TEST(many_calls_in_no_order_stay_fast),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
