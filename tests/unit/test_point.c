/* SPDX-License-Identifier: MIT */
/* Points as people read them. */
#include "lib/point.h"

#include "tests/unit/unit.h"

static void assert_printed(const struct bt_point *p, const char *expected)
{
	char text[BT_POINT_TEXT];

	bt_point_print(p, text);
	assert_string_equal(text, expected);
}

static void a_point_is_printed(void **state)
{
	(void)state;
	assert_printed(&(struct bt_point){.tick = 7, .transfers = 2, .rip = 0x401000, .rcx = 9},
		       "7+2@0x401000");
}

static void an_unknown_tick_is_a_question_mark(void **state)
{
	(void)state;
	assert_printed(&(struct bt_point){.tick = BT_TICKS_UNKNOWN, .rip = 1}, "?+0@0x1");
}

static void the_longest_has_room(void **state)
{
	(void)state;
	assert_printed(&(struct bt_point){UINT64_MAX - 1, UINT64_MAX, UINT64_MAX, 0},
		       "18446744073709551614+18446744073709551615@0xffffffffffffffff");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_point_is_printed),
		cmocka_unit_test(an_unknown_tick_is_a_question_mark),
		cmocka_unit_test(the_longest_has_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
