// SPDX-License-Identifier: MIT
/* Points as they are written, and their order. */
#include "collector/task/stop_point.h"
#include "collector/task/task.h"
#include "lib/array_size.h"
#include "tests/unit/unit.h"

#include <stdlib.h>

static void written(void **state)
{
	static const struct {
		const char *text, *printed;
		struct stop_point stop_point;
	} rows[] = {
		{"0", "1:0+0", {1, 0, 0, 0}},
		{"21733", "1:21733+0", {1, 21733, 0, 0}},
		{"7:5+3", "7:5+3", {7, 5, 3, 0}},
		{"5@0x401000", "1:5+0@0x401000", {1, 5, 0, 0x401000}},
		{"4294967295:18446744073709551615+1@ffffffffff600000",
		 "4294967295:18446744073709551615+1@0xffffffffff600000",
		 {UINT32_MAX, UINT64_MAX, 1, 0xffffffffff600000}},
	};
	char text[STOP_POINT_TEXT];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct stop_point g;

		assert_true(stop_point_parse(rows[i].text, &g));
		assert_memory_equal(&g, &rows[i].stop_point, sizeof g);
		stop_point_print(&g, text, sizeof text);
		assert_string_equal(text, rows[i].printed);
	}
}

static void wrongly_written(void **state)
{
	static const char *const rows[] = {"",
					   "x",
					   ":5",
					   "1:",
					   "0:5",
					   "4294967296:1",
					   "-1",
					   "+1",
					   " 1",
					   "1 ",
					   "1+",
					   "1+ 2",
					   "1@",
					   "1@0",
					   "1@x",
					   "1@-1",
					   "1+1+1",
					   "1@1@1",
					   "18446744073709551616",
					   "1+18446744073709551616",
					   "1@10000000000000000",
					   "1:2:3"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct stop_point g = {.task = 9};

		assert_false(stop_point_parse(rows[i], &g));
		assert_int_equal(g.task, 9);
	}
}

static void in_order(void **state)
{
	struct stop_point stop_points[] = {{2, 0, 0, 0}, {1, 5, 1, 0}, {1, 5, 0, 9},
					   {1, 5, 0, 0}, {1, 4, 9, 9}, {4, 1, 0, 0}};
	static const int order[] = {4, 3, 2, 1, 0, 5};
	struct stop_point sorted[6];
	struct task task = {.number = 1};

	(void)state;
	memcpy(sorted, stop_points, sizeof stop_points);
	qsort(sorted, 6, sizeof sorted[0], stop_point_compare);
	for (size_t i = 0; i < 6; i++)
		assert_memory_equal(&sorted[i], &stop_points[order[i]], sizeof stop_points[0]);
	stop_point_begin(&task, sorted, 6);
	assert_ptr_equal(task.stop_point, sorted);
	assert_ptr_equal(task.stop_points_end, sorted + 4);
	task.number = 3;
	stop_point_begin(&task, sorted, 6);
	assert_ptr_equal(task.stop_point, task.stop_points_end);
	assert_true(stop_point_ticks_ahead(&task) == UINT64_MAX);
	stop_point_begin(&task, NULL, 0);
	assert_int_equal(stop_point_side(&task), STOP_POINT_AHEAD);
}

static void seen_from_a_task(void **state)
{
	static const struct stop_point stop_points[] = {{1, 5, 2, 0x1000}};
	static const struct {
		uint64_t tick, transfers, rip, ahead;
		enum stop_point_side place;
	} rows[] = {
		{0, 0, 0x1000, 5, STOP_POINT_AHEAD},  {4, 2, 0x1000, 1, STOP_POINT_AHEAD},
		{5, 1, 0x1000, 0, STOP_POINT_AHEAD},  {5, 2, 0xfff, 0, STOP_POINT_AHEAD},
		{5, 2, 0x1000, 0, STOP_POINT_HERE},   {5, 3, 0x1000, 0, STOP_POINT_PASSED},
		{6, 0, 0x1000, 0, STOP_POINT_PASSED},
	};
	struct task task = {.number = 1};

	(void)state;
	stop_point_begin(&task, stop_points, 1);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		task.ring.now.tick = rows[i].tick;
		task.ring.now.transfers = rows[i].transfers;
		task.regs.rip = rows[i].rip;
		assert_int_equal(stop_point_side(&task), rows[i].place);
		assert_true(stop_point_ticks_ahead(&task) == rows[i].ahead);
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
