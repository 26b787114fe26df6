/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"

#include "lib/buf.h"

static void putters_are_little_endian(void **state)
{
	static const uint8_t want[] = {1,  3,  2,  7,  6, 5, 4,    15,   14,
				       13, 12, 11, 10, 9, 8, 0xe5, 0x8e, 0x26};
	struct buf b = {0};

	(void)state;
	buf_u8(&b, 1);
	buf_u16(&b, 0x0203);
	buf_u32(&b, 0x04050607);
	buf_u64(&b, 0x08090a0b0c0d0e0fu);
	buf_leb(&b, 624485);
	assert_int_equal(b.len, sizeof want);
	assert_memory_equal(b.data, want, sizeof want);
	buf_release(&b);
	assert_null(b.data);
}

static void grows_and_keeps_its_bytes(void **state)
{
	struct buf b = {0};

	(void)state;
	for (unsigned i = 0; i < 100000; i++)
		buf_u8(&b, (uint8_t)i);
	assert_int_equal(b.len, 100000);
	for (unsigned i = 0; i < 100000; i++)
		assert_int_equal(b.data[i], (uint8_t)i);
	buf_release(&b);
}

static void without_memory_it_fails_and_drops(void **state)
{
	struct buf b = {0};
	size_t cap;

	(void)state;
	buf_u8(&b, 1);
	cap = b.cap;
	assert_false(buf_reserve(&b, SIZE_MAX - 64));
	assert_true(b.failed);
	buf_u64(&b, 2);
	buf_put(&b, "xyz", 3);
	assert_int_equal(b.len, 1);
	buf_reset(&b);
	assert_false(b.failed);
	assert_int_equal(b.len, 0);
	assert_int_equal(b.cap, cap);
	buf_u64(&b, 2);
	assert_int_equal(b.len, 8);
	buf_release(&b);
}

static void put_of_nothing_needs_no_bytes(void **state)
{
	struct buf b = {0};

	(void)state;
	buf_put(&b, NULL, 0);
	assert_int_equal(b.len, 0);
	assert_false(b.failed);
	buf_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(putters_are_little_endian),
		cmocka_unit_test(grows_and_keeps_its_bytes),
		cmocka_unit_test(without_memory_it_fails_and_drops),
		cmocka_unit_test(put_of_nothing_needs_no_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
