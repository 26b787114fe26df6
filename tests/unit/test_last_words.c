/* SPDX-License-Identifier: MIT */
#include "decoder/last_words.h"

#include "tests/unit/unit.h"

static void expect_lines(const char *text, size_t len, uint64_t total, bool earlier,
			 const char *const *lines)
{
	struct bt_record_last_words r = {.total = total, .text = slice_of(text, len)};
	char line[LAST_WORDS_LINE_MAX];
	struct kept_words w;

	last_words_begin(&w, &r);
	assert_int_equal(w.earlier, earlier);
	for (; *lines; lines++) {
		assert_true(last_words_next(&w, line));
		assert_string_equal(line, *lines);
	}
	assert_false(last_words_next(&w, line));
}

#define EXPECT(text, earlier, ...)                                      \
	expect_lines(text, sizeof(text) - 1, sizeof(text) - 1, earlier, \
		     (const char *const[]){__VA_ARGS__, NULL})

static void lines_are_as_they_were_written(void **state)
{
	(void)state;
	EXPECT("", false, NULL);
	EXPECT("\n\n\n", false, NULL);
	EXPECT("one", false, "one");
	EXPECT("one\n\n two\n\n", false, "one", "", " two");
	EXPECT("a\0b", false, "ab");
	EXPECT("\x9b\xff", false, "\x9b\xff");
}

static void none_has_no_lines(void **state)
{
	char line[LAST_WORDS_LINE_MAX];
	struct kept_words w;
	(void)state;

	last_words_begin(&w, NULL);
	assert_false(w.earlier);
	assert_false(last_words_next(&w, line));
}

static void the_last_of_many_are_given(void **state)
{
	(void)state;
	EXPECT("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19\n20\n", false,
	       "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15",
	       "16", "17", "18", "19", "20");
	EXPECT("0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19\n20\n", true,
	       "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15",
	       "16", "17", "18", "19", "20");
	expect_lines("one\n", 4, 5, true, (const char *const[]){"one", NULL});
}

static void a_terminal_would_show_them_so(void **state)
{
	(void)state;
	EXPECT("\x1b[1;31merror:\x1b[0m no\x1b[K", false, "error: no");
	EXPECT("\x1b]0;title\aone\x1b]8;;http://x\x1b\\two", false, "onetwo");
	EXPECT("a\tb\t\tc", false, "a       b               c");
	EXPECT("10%\r20%\r\n\r\r", false, "20%", "");
	EXPECT("one\x1b[", false, "one");
	EXPECT("one\x1b]0;never ended", false, "one");
	EXPECT("one\x1b", false, "one\x1b");
	EXPECT("\x1b\x1b[0mc", false,
	       "\x1b"
	       "c");
}

static void a_long_line_is_cut_between_characters(void **state)
{
	char text[LAST_WORDS_LINE_MAX * 3], expected[LAST_WORDS_LINE_MAX];
	(void)state;

	for (size_t before = 0; before < 4; before++) {
		size_t n = before;

		memset(text, 'x', before);
		while (n + 3 < sizeof text) {
			memcpy(text + n, "\xe2\x82\xac", 3);
			n += 3;
		}
		text[n] = '\0';
		{
			struct bt_record_last_words r = {.total = n, .text = bt_str(text)};
			char line[LAST_WORDS_LINE_MAX];
			struct kept_words w;
			size_t len;

			last_words_begin(&w, &r);
			assert_true(last_words_next(&w, line));
			len = strlen(line);
			assert_true(len > LAST_WORDS_LINE_MAX - 20);
			assert_int_equal((len - 3 - before) % 3, 0);
			memcpy(expected, text, len - 3);
			memcpy(expected + len - 3, "...", 4);
			assert_string_equal(line, expected);
			assert_false(last_words_next(&w, line));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_as_they_were_written),
		cmocka_unit_test(none_has_no_lines),
		cmocka_unit_test(the_last_of_many_are_given),
		cmocka_unit_test(a_terminal_would_show_them_so),
		cmocka_unit_test(a_long_line_is_cut_between_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
