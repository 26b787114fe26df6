/* SPDX-License-Identifier: MIT */
/* What counts as work on a stranger's file, and when it has taken too long. */
#include "decoder/symbols/strange_time.h"

#include "tests/unit/unit.h"

enum {
	ROUNDS = 1 << 20, /* some milliseconds of processor time */
};

static void work(void)
{
	for (volatile unsigned i = 0; i < ROUNDS; i++)
		;
}

static void it_is_over_when_more_was_spent_than_may_be(void **state)
{
	struct strange_time little = {.most = 1}, much = {.most = UINT64_MAX};

	(void)state;
	strange_time_begin(&much);
	work();
	assert_false(strange_time_is_over(&much));
	strange_time_end(&much);
	assert_false(strange_time_is_over(&much));
	strange_time_begin(&little);
	work();
	assert_true(strange_time_is_over(&little));
	strange_time_end(&little);
	assert_true(strange_time_is_over(&little));
}

/* What was spent before counts together, and is over also before the next work. */
static void pieces_of_work_add_up(void **state)
{
	struct strange_time t = {.most = UINT64_MAX};
	uint64_t first;

	(void)state;
	strange_time_begin(&t);
	work();
	strange_time_end(&t);
	first = t.spent;
	assert_true(first > 0);
	t.most = first;
	assert_false(strange_time_is_over(&t));
	strange_time_begin(&t);
	work();
	strange_time_end(&t);
	assert_true(t.spent > first);
	assert_true(strange_time_is_over(&t));
}

static void what_is_done_between_does_not_count(void **state)
{
	struct strange_time t = {.most = 1};

	(void)state;
	work();
	assert_false(strange_time_is_over(&t));
	assert_int_equal(t.spent, 0);
}

static void work_within_work_counts_once(void **state)
{
	struct strange_time t = {.most = UINT64_MAX};

	(void)state;
	strange_time_begin(&t);
	strange_time_begin(&t);
	work();
	strange_time_end(&t);
	assert_int_equal(t.spent, 0);
	strange_time_end(&t);
	assert_true(t.spent > 0);
}

static void what_is_nobodys_is_not_counted(void **state)
{
	(void)state;
	strange_time_begin(NULL);
	strange_time_end(NULL);
	assert_false(strange_time_is_over(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_over_when_more_was_spent_than_may_be),
		cmocka_unit_test(pieces_of_work_add_up),
		cmocka_unit_test(what_is_done_between_does_not_count),
		cmocka_unit_test(work_within_work_counts_once),
		cmocka_unit_test(what_is_nobodys_is_not_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
