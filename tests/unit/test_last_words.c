/* SPDX-License-Identifier: MIT */
#include "decoder/model/last_words.h"

#include <string.h>

#include "lib/telling.h"

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
	EXPECT("0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19\n20\n", false,
	       "0", "1", "2", "3", "4", "[... 2 bytes left out ...]", "6", "7", "8", "9", "10",
	       "11", "12", "13", "14", "15", "16", "17", "18", "19", "20");
	expect_lines("one\n", 4, 5, true, (const char *const[]){"one", NULL});
}

#define THIRTY                                                                                     \
	"a\na\na\na\na\na\na\na\na\na\na\na\na\na\na\na\na\na\na\na\na\na\na\na\na\na\na\na\na\na" \
	"\n"

/* Of AddressSanitizer's report what tells is shown, and not the dump that ends it. */
static void shadow_bytes_are_left_out(void **state)
{
	static const char report[] =
		THIRTY "SUMMARY\nShadow bytes around the buggy address:\n" THIRTY "==7==ABORTING\n",
			  goes_on[] = "SUMMARY\nShadow bytes around the buggy address:\n" THIRTY
				      "==7==ABORTING\nthen more\n";
	struct bt_record_last_words r = {.total = sizeof report - 1,
					 .text = slice_of(report, sizeof report - 1)};
	char line[LAST_WORDS_LINE_MAX];
	struct kept_words w;
	size_t lines = 0;

	(void)state;
	last_words_begin(&w, &r);
	for (; last_words_next(&w, line); lines++)
		assert_string_equal(line, lines < 30    ? "a"
					  : lines == 30 ? "SUMMARY"
					  : lines == 31 ? "[... 99 bytes left out ...]"
							: "==7==ABORTING");
	assert_int_equal(lines, 33);
	r.text = slice_of(goes_on, sizeof goes_on - 1);
	r.total = 1; /* a lie */
	last_words_begin(&w, &r);
	for (lines = 0; last_words_next(&w, line); lines++)
		assert_int_equal(strcmp(line, "SUMMARY") == 0, lines == 0);
	assert_int_equal(lines, 21);
	assert_string_equal(line, "then more");
	r.text = slice_of(report, sizeof report - 1);
	last_words_begin(&w, &r);
	while (last_words_next(&w, line))
		;
}

/* Of 4,000 lines "1" to "4000" the first and the last bytes. */
static void what_lies_between_first_and_last_is_counted(void **state)
{
	struct bt_record_last_words r = {.total = 18893,
					 .first = slice_of("1\n2\n3\n4\n5\n6\n7", 13),
					 .text = slice_of("98\n3999\n4000\n", 13)};
	static const char *const lines[] = {
		"1", "2", "3", "4", "5", "[... 18870 bytes left out ...]", "98", "3999", "4000"};
	char line[LAST_WORDS_LINE_MAX];
	struct kept_words w;

	(void)state;
	last_words_begin(&w, &r);
	assert_false(w.earlier);
	for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
		assert_true(last_words_next(&w, line));
		assert_string_equal(line, lines[i]);
	}
	assert_false(last_words_next(&w, line));
}

/* The first bytes reach into the last ones: nothing is shown twice. */
static void first_and_last_may_meet(void **state)
{
	struct bt_record_last_words r = {.total = 14,
					 .first = slice_of("1\n2\n3\n4\n5\n6", 11),
					 .text = slice_of("3\n4\n5\n6\n7\n", 10)};
	static const char *const lines[] = {"1", "2", "3", "4", "5", "6", "7"};
	char line[LAST_WORDS_LINE_MAX];
	struct kept_words w;

	(void)state;
	last_words_begin(&w, &r);
	for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
		assert_true(last_words_next(&w, line));
		assert_string_equal(line, lines[i]);
	}
	assert_false(last_words_next(&w, line));
}

static void telling_lines_are_the_first_and_the_last(void **state)
{
	struct bt_record_last_words r = {.telling = slice_of("a\nb\nc\nd\ne\nf\ng\nh\n", 16)};
	static const char *const lines[] = {"a", "b", "c", "[... 4 bytes left out ...]",
					    "f", "g", "h"};
	char line[LAST_WORDS_LINE_MAX];
	struct kept_words w;

	(void)state;
	last_words_begin_telling(&w, &r);
	for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
		assert_true(last_words_next(&w, line));
		assert_string_equal(line, lines[i]);
	}
	assert_false(last_words_next(&w, line));
	last_words_begin_telling(&w, NULL);
	assert_false(last_words_has_lines(&w));
}

static void lines_that_say_why_are_known(void **state)
{
	static const char *const why[] = {
		"==7==ERROR: AddressSanitizer: heap-use-after-free on address 0x1",
		"SUMMARY: ThreadSanitizer: data race a.c:3 in f",
		"a.c:3:9: runtime error: signed integer overflow",
		"thread 'main' panicked at src/main.rs:4:5:",
		"panic: runtime error: index out of range [5] with length 3",
		"terminate called after throwing an instance of 'std::bad_alloc'",
		"  what():  std::bad_alloc",
		"a: a.c:2: main: Assertion `c == 7' failed.",
		"free(): invalid pointer",
		"2026-01-01 FATAL cannot bind",
		"fatal: not a git repository",
		"KeyError: 'tenant'",
		"json.decoder.JSONDecodeError: Expecting value",
	};
	static const char *const other[] = {
		"",
		"listening on port 80",
		"no errors found",
		"what(): this",
		"Errors: none here",
		"the panic room",
		"0 failed",
		"terminate",
	};
	unsigned more = 9;

	(void)state;
	for (size_t i = 0; i < sizeof why / sizeof why[0]; i++)
		if (!telling_line(slice_of(why[i], strlen(why[i])), &more))
			fail_msg("not known: %s", why[i]);
	more = 9;
	for (size_t i = 0; i < sizeof other / sizeof other[0]; i++)
		if (telling_line(slice_of(other[i], strlen(other[i])), &more))
			fail_msg("no reason: %s", other[i]);
	assert_int_equal(more, 9);
	assert_true(telling_line(slice_of("panicked at a.rs:1:1:", 21), &more));
	assert_int_equal(more, 1);
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
		cmocka_unit_test(shadow_bytes_are_left_out),
		cmocka_unit_test(what_lies_between_first_and_last_is_counted),
		cmocka_unit_test(first_and_last_may_meet),
		cmocka_unit_test(telling_lines_are_the_first_and_the_last),
		cmocka_unit_test(lines_that_say_why_are_known),
		cmocka_unit_test(a_terminal_would_show_them_so),
		cmocka_unit_test(a_long_line_is_cut_between_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
