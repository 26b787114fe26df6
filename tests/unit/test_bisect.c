/* SPDX-License-Identifier: MIT */
/* The first element of a sorted array that is not before a key, compared with a search one by one.
 */
#include "tests/unit/unit.h"

#include "lib/array_size.h"
#include "lib/bisect.h"

static const unsigned sorted[] = {2, 3, 3, 3, 7, 11, 11, 20};

static size_t first_one_by_one(size_t count, unsigned key)
{
	size_t i = 0;

	while (i < count && sorted[i] < key)
		i++;
	return i;
}

static void finds_the_first_of_any_count(void **state)
{
	(void)state;
	for (size_t count = 0; count <= ARRAY_SIZE(sorted); count++)
		for (unsigned key = 0; key < 22; key++) {
			size_t i = SIZE_MAX;

			BISECT(i, count, sorted[i] < key);
			assert_int_equal(i, first_one_by_one(count, key));
		}
}

static void looks_at_few(void **state)
{
	size_t i, looked = 0;

	(void)state;
	BISECT(i, (size_t)1 << 40, (looked++, i < 12345678901));
	assert_int_equal(i, 12345678901);
	assert_true(looked <= 41);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_the_first_of_any_count),
		cmocka_unit_test(looks_at_few),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
