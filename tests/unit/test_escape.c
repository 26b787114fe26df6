/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"

#include "lib/escape.h"

static void assert_escaped(const char *text, bool utf8, const char *want)
{
	struct buf b = {0};
	char small[256];

	bt_escape(&b, slice_of(text, strlen(text)), utf8);
	buf_u8(&b, 0);
	assert_string_equal((char *)b.data, want);
	assert_int_equal(bt_escape_str(small, sizeof small, text, utf8), strlen(want));
	assert_string_equal(small, want);
	buf_release(&b);
}

static void printable_text_passes(void **state)
{
	(void)state;
	assert_escaped("main(int, char **) ~\\x", true, "main(int, char **) ~\\x");
	assert_escaped("gr\xc3\xbc\xc3\x9f"
		       "e \xe6\xbc\xa2 \xf0\x9f\x8c\xb3",
		       true,
		       "gr\xc3\xbc\xc3\x9f"
		       "e \xe6\xbc\xa2 \xf0\x9f\x8c\xb3");
}

static void controls_do_not(void **state)
{
	(void)state;
	assert_escaped("\x1b[31mred\x07\n\t\x7f", true, "\\x1b[31mred\\x07\\x0a\\x09\\x7f");
	assert_escaped("\xc2\x9b"
		       "31m",
		       true, "\\xc2\\x9b31m"); /* CSI as one C1 control */
	assert_escaped("\x9b"
		       "31m",
		       true, "\\x9b31m");
}

static void invalid_utf8_does_not(void **state)
{
	(void)state;
	assert_escaped("\xc0\x9b", true, "\\xc0\\x9b"); /* overlong ESC */
	assert_escaped("\xe0\x80\x9b", true, "\\xe0\\x80\\x9b");
	assert_escaped("\xed\xa0\x80", true, "\\xed\\xa0\\x80"); /* surrogate */
	assert_escaped("\xf4\x90\x80\x80", true,
		       "\\xf4\\x90\\x80\\x80"); /* behind the last code point */
	assert_escaped("\xff\xfe\xf8\x88\x80\x80\x80", true, "\\xff\\xfe\\xf8\\x88\\x80\\x80\\x80");
	assert_escaped("a\xe6\xbc", true, "a\\xe6\\xbc"); /* cut off */
	assert_escaped("\xe6\x1b[m", true, "\\xe6\\x1b[m");
}

static void what_reorders_or_hides_does_not(void **state)
{
	(void)state;
	assert_escaped("\xe2\x80\xae", true, "\\xe2\\x80\\xae"); /* right-to-left override */
	assert_escaped("\xe2\x81\xa6", true, "\\xe2\\x81\\xa6"); /* isolate */
	assert_escaped("\xe2\x80\x8b", true, "\\xe2\\x80\\x8b"); /* zero width space */
	assert_escaped("\xe2\x80\xa8", true, "\\xe2\\x80\\xa8"); /* line separator */
	assert_escaped("\xef\xbb\xbf", true, "\\xef\\xbb\\xbf");
	assert_escaped("\xf3\xa0\x80\xa0", true, "\\xf3\\xa0\\x80\\xa0"); /* tag */
}

static void without_utf8_only_ascii_passes(void **state)
{
	(void)state;
	assert_escaped("gr\xc3\xbcn", false, "gr\\xc3\\xbcn");
}

static void what_does_not_fit_is_cut_between_characters(void **state)
{
	char out[6];

	(void)state;
	assert_int_equal(bt_escape_str(out, sizeof out, "abc\x1b", true), 3);
	assert_string_equal(out, "abc");
	assert_int_equal(bt_escape_str(out, sizeof out, "abc\xe6\xbc\xa2", true), 3);
	assert_string_equal(out, "abc");
	assert_int_equal(bt_escape_str(out, 1, "abc", true), 0);
	assert_string_equal(out, "");
}

static void random_bytes_come_out_harmless(void **state)
{
	uint64_t seed = 7;

	(void)state;
	for (int round = 0; round < 2000; round++) {
		uint8_t bytes[64];
		struct buf b = {0};

		for (size_t i = 0; i < sizeof bytes; i++)
			bytes[i] = (uint8_t)unit_random(&seed);
		bt_escape(&b, slice_of(bytes, sizeof bytes), round & 1);
		for (size_t i = 0; i < b.len; i++)
			assert_true(b.data[i] >= 0x20 && b.data[i] != 0x7f &&
				    (round & 1 || b.data[i] < 0x80));
		for (size_t i = 0, n; i < b.len; i += n) {
			n = bt_printable(b.data + i, b.len - i);
			assert_true(n);
		}
		buf_release(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(printable_text_passes),
		cmocka_unit_test(controls_do_not),
		cmocka_unit_test(invalid_utf8_does_not),
		cmocka_unit_test(what_reorders_or_hides_does_not),
		cmocka_unit_test(without_utf8_only_ascii_passes),
		cmocka_unit_test(what_does_not_fit_is_cut_between_characters),
		cmocka_unit_test(random_bytes_come_out_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
