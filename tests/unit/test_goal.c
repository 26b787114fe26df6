// SPDX-License-Identifier: MIT
/* Points as they are written, and their order. */
#include "collector/goal.h"
#include "collector/task.h"
#include "tests/unit/unit.h"

#include <stdlib.h>

static void written(void **state)
{
	static const struct {
		const char *text, *printed;
		struct goal goal;
	} rows[] = {
		{"0", "1:0+0", {1, 0, 0, 0}},
		{"21733", "1:21733+0", {1, 21733, 0, 0}},
		{"7:5+3", "7:5+3", {7, 5, 3, 0}},
		{"5@0x401000", "1:5+0@0x401000", {1, 5, 0, 0x401000}},
		{"4294967295:18446744073709551615+1@ffffffffff600000", "4294967295:18446744073709551615+1@0xffffffffff600000",
		 {UINT32_MAX, UINT64_MAX, 1, 0xffffffffff600000}},
	};
	char text[GOAL_TEXT];

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct goal g;

		assert_true(goal_parse(rows[i].text, &g));
		assert_memory_equal(&g, &rows[i].goal, sizeof g);
		goal_print(&g, text, sizeof text);
		assert_string_equal(text, rows[i].printed);
	}
}

static void wrongly_written(void **state)
{
	static const char *const rows[] = {"", "x", ":5", "1:", "0:5", "4294967296:1", "-1", "+1", " 1", "1 ", "1+", "1+ 2", "1@", "1@0", "1@x", "1@-1", "1+1+1",
					   "1@1@1", "18446744073709551616", "1+18446744073709551616", "1@10000000000000000", "1:2:3"};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct goal g = {.task = 9};

		assert_false(goal_parse(rows[i], &g));
		assert_int_equal(g.task, 9);
	}
}

static void in_order(void **state)
{
	struct goal goals[] = {{2, 0, 0, 0}, {1, 5, 1, 0}, {1, 5, 0, 9}, {1, 5, 0, 0}, {1, 4, 9, 9}, {4, 1, 0, 0}};
	static const int order[] = {4, 3, 2, 1, 0, 5};
	struct goal sorted[6];
	struct task task = {.number = 1};

	(void)state;
	memcpy(sorted, goals, sizeof goals);
	qsort(sorted, 6, sizeof sorted[0], goal_compare);
	for (size_t i = 0; i < 6; i++)
		assert_memory_equal(&sorted[i], &goals[order[i]], sizeof goals[0]);
	goal_begin(&task, sorted, 6);
	assert_ptr_equal(task.goal, sorted);
	assert_ptr_equal(task.goals_end, sorted + 4);
	task.number = 3;
	goal_begin(&task, sorted, 6);
	assert_ptr_equal(task.goal, task.goals_end);
	assert_true(goal_ticks_ahead(&task) == UINT64_MAX);
	goal_begin(&task, NULL, 0);
	assert_int_equal(goal_place(&task), GOAL_AHEAD);
}

static void seen_from_a_task(void **state)
{
	static const struct goal goals[] = {{1, 5, 2, 0x1000}};
	static const struct {
		uint64_t tick, transfers, rip, ahead;
		enum goal_place place;
	} rows[] = {
		{0, 0, 0x1000, 5, GOAL_AHEAD}, {4, 2, 0x1000, 1, GOAL_AHEAD},  {5, 1, 0x1000, 0, GOAL_AHEAD}, {5, 2, 0xfff, 0, GOAL_AHEAD},
		{5, 2, 0x1000, 0, GOAL_HERE},  {5, 3, 0x1000, 0, GOAL_PASSED}, {6, 0, 0x1000, 0, GOAL_PASSED},
	};
	struct task task = {.number = 1};

	(void)state;
	goal_begin(&task, goals, 1);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		task.ring.now.tick = rows[i].tick;
		task.ring.now.transfers = rows[i].transfers;
		task.regs.rip = rows[i].rip;
		assert_int_equal(goal_place(&task), rows[i].place);
		assert_true(goal_ticks_ahead(&task) == rows[i].ahead);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(written),
		cmocka_unit_test(wrongly_written),
		cmocka_unit_test(in_order),
		cmocka_unit_test(seen_from_a_task),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
