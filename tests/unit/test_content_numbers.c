/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"

#include "lib/content_numbers.h"

enum { MANY = 5000 };

static void each_content_has_a_number_from_one_on(void **state)
{
	struct content_numbers c = {0};

	(void)state;
	for (uint64_t i = 0; i < MANY; i++) {
		const struct content_hash hash = content_hash(&i, sizeof i);

		assert_int_equal(content_numbers_find(&c, &hash), 0);
		assert_int_equal(content_numbers_add(&c, &hash), i + 1);
	}
	for (uint64_t i = MANY; i--;) {
		const struct content_hash hash = content_hash(&i, sizeof i);

		assert_int_equal(content_numbers_find(&c, &hash), i + 1);
	}
	assert_int_equal(c.count, MANY);
	content_numbers_release(&c);
}

static void both_halves_of_a_fingerprint_count(void **state)
{
	const struct content_hash one = {7, 1}, two = {7, 2}, none = {7, 3};
	struct content_numbers c = {0};

	(void)state;
	assert_int_equal(content_numbers_add(&c, &one), 1);
	assert_int_equal(content_numbers_find(&c, &two), 0);
	assert_int_equal(content_numbers_add(&c, &two), 2);
	assert_int_equal(content_numbers_find(&c, &one), 1);
	assert_int_equal(content_numbers_find(&c, &two), 2);
	assert_int_equal(content_numbers_find(&c, &none), 0);
	content_numbers_release(&c);
	assert_int_equal(content_numbers_find(&c, &one), 0);
	content_numbers_release(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_content_has_a_number_from_one_on),
		cmocka_unit_test(both_halves_of_a_fingerprint_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
