/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"

#include "lib/buf.h"
#include "lib/slice.h"

static void getters_are_little_endian(void **state)
{
	static const uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
	struct slice s = slice_of(bytes, sizeof bytes);

	(void)state;
	assert_int_equal(slice_u8(&s), 1);
	assert_int_equal(slice_u16(&s), 0x0302);
	assert_int_equal(slice_u32(&s), 0x07060504);
	assert_true(slice_u64(&s) == 0x0f0e0d0c0b0a0908u);
	assert_int_equal(s.len, 0);
	assert_false(s.bad);
}

static void past_the_end_is_bad_and_zero_for_good(void **state)
{
	static const uint8_t bytes[] = {0xff, 0xff, 0xff};
	struct slice s = slice_of(bytes, sizeof bytes);

	(void)state;
	assert_int_equal(slice_u32(&s), 0);
	assert_true(s.bad);
	assert_int_equal(s.len, 0);
	assert_int_equal(slice_u8(&s), 0);
	assert_true(slice_take(&s, 0).bad);
}

static void take_of_all_is_good(void **state)
{
	static const uint8_t bytes[] = {1, 2, 3};
	struct slice s = slice_of(bytes, sizeof bytes), all = slice_take(&s, 3);

	(void)state;
	assert_int_equal(all.len, 3);
	assert_ptr_equal(all.at, bytes);
	assert_false(all.bad || s.bad);
	assert_true(slice_take(&s, SIZE_MAX).bad);
}

static void leb_roundtrip_at_every_length(void **state)
{
	(void)state;
	for (unsigned bit = 0; bit < 64; bit++) {
		for (int d = -1; d <= 1; d++) {
			uint64_t v = ((uint64_t)1 << bit) + (uint64_t)(int64_t)d;
			struct buf b = {0};
			struct slice s;

			buf_leb(&b, v);
			buf_sleb(&b, (int64_t)v);
			buf_sleb(&b, -(int64_t)(v >> 1));
			s = slice_of(b.data, b.len);
			assert_true(slice_leb(&s) == v);
			assert_true(slice_sleb(&s) == (int64_t)v);
			assert_true(slice_sleb(&s) == -(int64_t)(v >> 1));
			assert_false(s.bad);
			assert_int_equal(s.len, 0);
			buf_release(&b);
		}
	}
}

static void overlong_leb_is_bad(void **state)
{
	static const uint8_t bits_past_64[] = {0x80, 0x80, 0x80, 0x80, 0x80,
					       0x80, 0x80, 0x80, 0x80, 2};
	static const uint8_t eleven[] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
					 0x80, 0x80, 0x80, 0x80, 0};
	static const uint8_t unfinished[] = {0x80, 0x80};
	struct slice s = slice_of(bits_past_64, sizeof bits_past_64);

	(void)state;
	assert_int_equal(slice_leb(&s), 0);
	assert_true(s.bad);
	s = slice_of(eleven, sizeof eleven);
	assert_int_equal(slice_leb(&s), 0);
	assert_true(s.bad);
	s = slice_of(unfinished, sizeof unfinished);
	assert_int_equal(slice_leb(&s), 0);
	assert_true(s.bad);
}

static void dup_ends_in_nul(void **state)
{
	char *copy = slice_dup(slice_of("abcd", 2)), *empty = slice_dup((struct slice){0});

	(void)state;
	assert_string_equal(copy, "ab");
	assert_string_equal(empty, "");
	free(copy);
	free(empty);
}

static void a_slice_is_a_string_when_all_its_bytes_are(void **state)
{
	(void)state;
	assert_true(slice_is(slice_of("bits", 4), "bits"));
	assert_true(slice_is((struct slice){0}, ""));
	assert_false(slice_is(slice_of("bits", 3), "bits"));
	assert_false(slice_is(slice_of("bits", 5), "bits")); /* its NUL is one more */
	assert_false(slice_is(slice_of("pits", 4), "bits"));
	assert_false(slice_is((struct slice){0}, "bits"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(getters_are_little_endian),
		cmocka_unit_test(past_the_end_is_bad_and_zero_for_good),
		cmocka_unit_test(take_of_all_is_good),
		cmocka_unit_test(leb_roundtrip_at_every_length),
		cmocka_unit_test(overlong_leb_is_bad),
		cmocka_unit_test(a_slice_is_a_string_when_all_its_bytes_are),
		cmocka_unit_test(dup_ends_in_nul),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
