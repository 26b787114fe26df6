// SPDX-License-Identifier: MIT
/* Places as people name them. */
#include "collector/replay/destination.h"
#include "lib/array_size.h"
#include "tests/unit/unit.h"

static void written(void **state)
{
	static const struct {
		const char *text, *printed;
		enum destination_kind kind;
		uint64_t event;
	} rows[] = {
		{"crash", "the crash", DESTINATION_CRASH, 0},
		{"end", "the end", DESTINATION_END, 0},
		{"0", "event 0 (0:0+0)", DESTINATION_EVENT, 0},
		{"18446744073709551615", "event 18446744073709551615 (0:0+0)", DESTINATION_EVENT,
		 UINT64_MAX},
		{"0x1F", "event 31 (0:0+0)", DESTINATION_EVENT, 31},
		{"@5", "1:5+0", DESTINATION_POINT, 0},
		{"@2:5+3@401000,1f", "2:5+3@0x401000,0x1f", DESTINATION_POINT, 0},
		{"5+3", "1:5+3", DESTINATION_POINT, 0},
		{"5@401000", "1:5+0@0x401000", DESTINATION_POINT, 0},
	};
	char text[DESTINATION_TEXT];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct destination p;

		assert_true(destination_parse(rows[i].text, &p));
		assert_int_equal(p.kind, rows[i].kind);
		assert_true(p.event == rows[i].event);
		destination_print(&p, text, sizeof text);
		assert_string_equal(text, rows[i].printed);
	}
}

static void wrongly_written(void **state)
{
	static const char *const rows[] = {"",
					   "@",
					   "@@5",
					   "x",
					   "0x",
					   "0xg",
					   "-1",
					   "+1",
					   " 1",
					   "1 ",
					   "18446744073709551616",
					   "@x",
					   "crashed",
					   "End",
					   "5+",
					   "@0:5"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct destination p = {.event = 7};

		assert_false(destination_parse(rows[i], &p));
		assert_true(p.event == 7);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(written),
					   cmocka_unit_test(wrongly_written)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
