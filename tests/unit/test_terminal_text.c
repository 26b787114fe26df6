/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"

#include <locale.h>
#include <stdlib.h>

#include "tui/terminal_text.h"

static void make(struct buf *out, const char *text, unsigned width, bool colour)
{
	struct terminal_text_options o = {.width = width, .colour = colour};

	buf_reset(out);
	terminal_text_make(out, slice_of(text, strlen(text)), &o);
	buf_u8(out, 0);
	assert_false(out->failed);
}

#define MAKES(text, width, colour, expected)                     \
	do {                                                     \
		struct buf out = {0};                            \
		make(&out, text, width, colour);                 \
		assert_string_equal((char *)out.data, expected); \
		buf_release(&out);                               \
	} while (0)

static void a_line_that_fits_stays_as_it_is(void **state)
{
	(void)state;
	MAKES("  one two  three\nfour", 20, false, "  one two  three\nfour");
	MAKES("                   x", 20, false, "          x"); /* at most half of it is margin */
	MAKES("12345678901234567890\n", 20, false, "12345678901234567890\n");
	MAKES("", 20, false, "");
}

static void a_line_that_is_too_wide_goes_on_with_the_next_word(void **state)
{
	(void)state;
	MAKES("  read from 0x7d7 through rdi\n", 20, false,
	      "  read from 0x7d7\n      through rdi\n");
	MAKES("a bb  1234567890123456\n", 20, false, "a bb\n    1234567890123456\n");
}

static void what_has_no_room_loses_no_end(void **state)
{
	(void)state;
	MAKES("in /usr/share/a/long/way/to/f.c:12\n", 20, false, "in\n    .../to/f.c:12\n");
	MAKES("abcdefghijklmnopqrstuvwxyz\n", 20, false, "abcdefghijklmnopqrst\n    uvwxyz\n");
}

static void no_width_breaks_nothing(void **state)
{
	(void)state;
	MAKES("a very long line that has no end and goes on\n", 0, false,
	      "a very long line that has no end and goes on\n");
}

static void marks_become_colours_or_nothing(void **state)
{
	(void)state;
	MAKES("\x02Where\nf.c:1\n", 20, false, "Where\nf.c:1\n");
	MAKES("\x02Where\nf.c:1\n", 20, true, "\033[1mWhere\033[0m\nf.c:1\n");
	/* They take no room; a colour ends with each line. */
	MAKES("\x06"
	      "1234567890 1234567890\n",
	      20, true, "\033[2m1234567890\033[0m\n    \033[2m1234567890\033[0m\n");
}

static void wide_characters_take_two_columns(void **state)
{
	(void)state;
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		skip();
	MAKES("日本語日本語日本語日 x\n", 20, false, "日本語日本語日本語日\n    x\n");
}

/* All of a text but blanks is there, whatever the width. */
static void nothing_is_lost(void **state)
{
	static const char text[] = "  a bb ccc dddd eeeee ffffff ggggggg hhhhhhhh iiiiiiiii "
				   "jjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjj k";
	struct buf out = {0};

	(void)state;
	for (unsigned width = 1; width < 120; width++) {
		size_t at = 0, column = 0;

		make(&out, text, width, false);
		for (size_t i = 0; out.data[i]; i++) {
			column = out.data[i] == '\n' ? 0 : column + 1;
			assert_true(column <= (width < 20 ? 20 : width));
			if (out.data[i] == ' ' || out.data[i] == '\n')
				continue;
			while (text[at] == ' ')
				at++;
			assert_int_equal(out.data[i], text[at++]);
		}
		assert_int_equal(text[at], 0);
	}
	buf_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_that_fits_stays_as_it_is),
		cmocka_unit_test(a_line_that_is_too_wide_goes_on_with_the_next_word),
		cmocka_unit_test(what_has_no_room_loses_no_end),
		cmocka_unit_test(no_width_breaks_nothing),
		cmocka_unit_test(marks_become_colours_or_nothing),
		cmocka_unit_test(wide_characters_take_two_columns),
		cmocka_unit_test(nothing_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
