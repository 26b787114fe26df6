/* SPDX-License-Identifier: MIT */
/* The time of a recording. */
#include "lib/clock.h"

#include <unistd.h>

#include "tests/unit/unit.h"

enum {
	NO_PROCESS = 1 << 22, /* all are less (PID_MAX_LIMIT, Linux' include/linux/threads.h) */
};

static void time_counts_from_the_beginning(void **state)
{
	const struct bt_clock c = bt_clock_start();
	uint64_t first = bt_clock_now(&c), second = bt_clock_now(&c);

	(void)state;
	assert_true(first <= second);
	assert_int_equal(bt_clock_at(&c, c.begun + 5), 5);
}

static void what_was_before_the_beginning_is_at_it(void **state)
{
	const struct bt_clock c = {.begun = 100};

	(void)state;
	assert_int_equal(bt_clock_at(&c, 99), 0);
	assert_int_equal(bt_clock_at(&c, 100), 0);
}

static void what_is_used_of_a_processor_grows(void **state)
{
	uint64_t own = clock_used_by_thread(), process = clock_used_by_process(getpid());

	(void)state;
	assert_true(process);
	while (clock_used_by_thread() == own || clock_used_by_process(getpid()) == process)
		;
	assert_true(clock_used_by_thread() > own);
	assert_true(clock_used_by_process(getpid()) > process);
	assert_int_equal(clock_used_by_process(NO_PROCESS), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_counts_from_the_beginning),
		cmocka_unit_test(what_was_before_the_beginning_is_at_it),
		cmocka_unit_test(what_is_used_of_a_processor_grows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
