/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"

#include "lib/large_array.h"

enum { MANY = 300000 };

struct element {
	uint64_t number;
	uint32_t half, zero;
};

static void what_is_in_it_stays_when_it_grows(void **state)
{
	struct element *array = NULL;
	size_t cap = 0, grown = 0;

	(void)state;
	for (size_t i = 0; i < MANY; i++) {
		size_t before = cap;

		assert_true(large_array_reserve((void **)&array, &cap, i + 1, sizeof *array));
		assert_true(cap > i && cap >= before);
		grown += cap != before;
		assert_int_equal(array[i].number, 0);
		array[i] = (struct element){.number = i, .half = (uint32_t)i / 2};
	}
	assert_true(grown > 3 && grown < 60);
	for (size_t i = 0; i < MANY; i++) {
		assert_int_equal(array[i].number, i);
		assert_int_equal(array[i].half, i / 2);
	}
	large_array_free(array, cap, sizeof *array);
}

static void room_for_many_at_once(void **state)
{
	uint8_t *array = NULL;
	size_t cap = 0;

	(void)state;
	assert_true(large_array_reserve((void **)&array, &cap, 1, 3));
	array[0] = 7;
	assert_true(large_array_reserve((void **)&array, &cap, 5 * MANY, 3));
	assert_true(cap >= 5 * MANY);
	assert_int_equal(array[0], 7);
	array[cap * 3 - 1] = 1;
	large_array_free(array, cap, 3);
}

static void a_copy_is_one_of_its_own(void **state)
{
	uint32_t *array = NULL, *copy;
	size_t cap = 0;

	(void)state;
	assert_null(large_array_copy(array, 0, cap, sizeof *array));
	assert_true(large_array_reserve((void **)&array, &cap, MANY, sizeof *array));
	for (uint32_t i = 0; i < MANY; i++)
		array[i] = i;
	copy = large_array_copy(array, MANY, cap, sizeof *array);
	assert_non_null(copy);
	array[5] = 0;
	for (uint32_t i = 0; i < MANY; i++)
		assert_int_equal(copy[i], i);
	copy[cap - 1] = 1;
	large_array_free(copy, cap, sizeof *copy);
	large_array_free(array, cap, sizeof *array);
}

static void without_memory_nothing_changes(void **state)
{
	uint64_t *array = NULL, *before;
	size_t cap = 0, was;

	(void)state;
	assert_false(large_array_reserve((void **)&array, &cap, SIZE_MAX / 4, sizeof *array));
	assert_null(array);
	assert_int_equal(cap, 0);
	assert_true(large_array_reserve((void **)&array, &cap, 10, sizeof *array));
	array[9] = 9;
	before = array;
	was = cap;
	assert_false(large_array_reserve((void **)&array, &cap, (size_t)1 << 56,
					 sizeof *array)); /* more than there are addresses */
	assert_false(large_array_reserve((void **)&array, &cap, SIZE_MAX / 4, sizeof *array));
	assert_ptr_equal(array, before);
	assert_int_equal(cap, was);
	assert_int_equal(array[9], 9);
	large_array_free(array, cap, sizeof *array);
	large_array_free(NULL, 0, sizeof *array);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_in_it_stays_when_it_grows),
		cmocka_unit_test(room_for_many_at_once),
		cmocka_unit_test(a_copy_is_one_of_its_own),
		cmocka_unit_test(without_memory_nothing_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
