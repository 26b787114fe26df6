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
		{"0", "1:0+0", {1, {0, 0, 0, 0}, false}},
		{"21733", "1:21733+0", {1, {21733, 0, 0, 0}, false}},
		{"7:5+3", "7:5+3", {7, {5, 3, 0, 0}, false}},
		{"5@0x401000", "1:5+0@0x401000", {1, {5, 0, 0x401000, 0}, false}},
		{"5+1@401000,1f", "1:5+1@0x401000,0x1f", {1, {5, 1, 0x401000, 0x1f}, true}},
		{"5@1,0", "1:5+0@0x1,0x0", {1, {5, 0, 1, 0}, true}},
		{"4294967295:18446744073709551615+1@ffffffffff600000",
		 "4294967295:18446744073709551615+1@0xffffffffff600000",
		 {UINT32_MAX, {UINT64_MAX, 1, 0xffffffffff600000, 0}, false}},
	};
	char text[STOP_POINT_TEXT];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct stop_point g;

		assert_true(stop_point_parse(rows[i].text, &g));
		assert_int_equal(g.task, rows[i].stop_point.task);
		assert_memory_equal(&g.at, &rows[i].stop_point.at, sizeof g.at);
		assert_int_equal(g.iteration, rows[i].stop_point.iteration);
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
					   "1,5",
					   "1@5,",
					   "1@5,x",
					   "1@5,1,1",
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
	static const struct stop_point points[] = {
		{1, {4, 9, 9, 0}, false}, {1, {5, 0, 0, 0}, false}, {1, {5, 0, 9, 0}, false},
		{1, {5, 0, 9, 7}, true},  {1, {5, 0, 9, 0}, true},  {1, {5, 1, 0, 0}, false},
		{2, {0, 0, 0, 0}, false}, {4, {1, 0, 0, 0}, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(points); i++)
		for (size_t j = 0; j < ARRAY_SIZE(points); j++)
			assert_int_equal(stop_point_compare(&points[i], &points[j]),
					 i < j ? -1 : i > j);
}

static void seen_from_a_task(void **state)
{
	static const struct stop_point point = {1, {5, 2, 0x1000, 0}, false};
	static const struct stop_point iteration = {1, {5, 2, 0x1000, 3}, true};
	static const struct {
		uint64_t tick, transfers, rip, ahead;
		enum stop_point_side place;
	} rows[] = {
		{0, 0, 0x1000, 5, STOP_POINT_AHEAD},  {4, 2, 0x1000, 1, STOP_POINT_AHEAD},
		{5, 1, 0x1000, 0, STOP_POINT_AHEAD},  {5, 2, 0xfff, 0, STOP_POINT_AHEAD},
		{5, 2, 0x1000, 0, STOP_POINT_HERE},   {5, 3, 0x1000, 0, STOP_POINT_PASSED},
		{6, 0, 0x1000, 0, STOP_POINT_PASSED}, {5, 2, 0x1001, 0, STOP_POINT_PASSED},
	};
	struct task task = {.number = 1};

	(void)state;
	assert_int_equal(stop_point_side(&task), STOP_POINT_AHEAD);
	assert_true(stop_point_ticks_ahead(&task) == UINT64_MAX);
	task.stop_point = &point;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		task.ring.now.tick = rows[i].tick;
		task.ring.now.transfers = rows[i].transfers;
		task.regs.rip = rows[i].rip;
		assert_int_equal(stop_point_side(&task), rows[i].place);
		assert_true(stop_point_ticks_ahead(&task) == rows[i].ahead);
	}
	/* Of a REP instruction the iteration counts. */
	task.stop_point = &iteration;
	task.ring.now.tick = 5;
	task.ring.now.transfers = 2;
	task.regs.rip = 0x1000;
	task.regs.rcx = 4;
	assert_int_equal(stop_point_side(&task), STOP_POINT_AHEAD);
	task.regs.rcx = 3;
	assert_int_equal(stop_point_side(&task), STOP_POINT_HERE);
	task.regs.rcx = 2;
	assert_int_equal(stop_point_side(&task), STOP_POINT_PASSED);
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
