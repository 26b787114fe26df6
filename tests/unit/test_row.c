/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"

#include <locale.h>

#include "tui/row.h"

static void text_from_outside_is_escaped(void **state)
{
	struct row r;

	(void)state;
	row_init(&r, true);
	row_put(&r, STYLE_NORMAL, "at ");
	row_outside(&r, STYLE_FILE, "/tmp/\x1b]0;owned\x07.so", 0);
	assert_string_equal(r.text, "at /tmp/\\x1b]0;owned\\x07.so");
	assert_int_equal(r.width, strlen(r.text));
}

static void what_is_too_wide_is_cut(void **state)
{
	struct row r;

	(void)state;
	row_init(&r, true);
	row_outside(&r, STYLE_FUNCTION, "abcdefgh", 8);
	assert_string_equal(r.text, "abcdefgh");
	row_init(&r, true);
	row_outside(&r, STYLE_FUNCTION, "abcdefghi", 8);
	assert_string_equal(r.text, "abcdefg~");
}

static void wide_characters_count_twice(void **state)
{
	struct row r;

	(void)state;
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		skip();
	row_init(&r, true);
	row_outside(&r, STYLE_NORMAL, "\xe6\xbc\xa2\xe5\xad\x97", 0);
	assert_int_equal(r.width, 4);
	row_init(&r, true);
	row_outside(&r, STYLE_NORMAL, "\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2", 4);
	assert_string_equal(r.text, "\xe6\xbc\xa2~");
	setlocale(LC_CTYPE, "C");
}

static void source_tabs_become_spaces(void **state)
{
	struct row r;

	(void)state;
	row_init(&r, true);
	row_put(&r, STYLE_DIM, "12 ");
	row_source(&r, STYLE_NORMAL, "\ta\tb", 4);
	assert_string_equal(r.text, "12         a       b");
	row_init(&r, true);
	row_source(&r, STYLE_NORMAL, "a\0b\x1b", 4);
	assert_string_equal(r.text, "a\\x00b\\x1b");
}

static void a_full_row_stays_whole(void **state)
{
	char text[ROW_BYTES * 2];
	struct row r;

	(void)state;
	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	row_init(&r, true);
	row_outside(&r, STYLE_NORMAL, text, 0);
	row_outside(&r, STYLE_FILE, text, 0);
	row_put(&r, STYLE_DIM, "more");
	row_pad(&r, 100000);
	assert_true(r.len < ROW_BYTES);
	assert_int_equal(strlen(r.text), r.len);
}

static void spans_are_where_styles_change(void **state)
{
	struct row r;

	(void)state;
	row_init(&r, true);
	row_put(&r, STYLE_DIM, "ab");
	row_put(&r, STYLE_DIM, "cd");
	row_put(&r, STYLE_FILE, "ef");
	assert_int_equal(r.span_count, 2);
	assert_int_equal(r.spans[1].start, 4);
	for (int i = 0; i < 2 * ROW_SPANS; i++)
		row_put(&r, i & 1 ? STYLE_DIM : STYLE_NORMAL, "x");
	assert_int_equal(r.span_count, ROW_SPANS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_from_outside_is_escaped),
		cmocka_unit_test(what_is_too_wide_is_cut),
		cmocka_unit_test(wide_characters_count_twice),
		cmocka_unit_test(source_tabs_become_spaces),
		cmocka_unit_test(a_full_row_stays_whole),
		cmocka_unit_test(spans_are_where_styles_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
