/* SPDX-License-Identifier: MIT */
/* How much of each stack is kept: whole ones as long as there is room, the same of all that have
 * more, and never less than the least. */
#include "tests/unit/unit.h"

#include "lib/stack_share.h"

enum { THREADS = 3000 };

/* Of so many stacks of a size, and then some of another. */
static uint64_t share_of(size_t n, uint64_t size, size_t others, uint64_t other_size)
{
	static uint64_t sizes[THREADS];

	for (size_t i = 0; i < n + others; i++)
		sizes[i] = i < n ? size : other_size;
	return stack_share(sizes, n + others);
}

static void what_there_is_room_for_is_whole(void **state)
{
	(void)state;
	assert_int_equal(share_of(0, 0, 0, 0), STACK_SHARE_MOST);
	assert_int_equal(share_of(1, UINT64_MAX, 0, 0), STACK_SHARE_MOST);
	assert_int_equal(share_of(4, UINT64_MAX, 0, 0), STACK_SHARE_MOST);
	assert_int_equal(share_of(THREADS - 1, 8192, 1, STACK_SHARE_MOST), STACK_SHARE_MOST);
}

static void what_some_do_not_need_others_have(void **state)
{
	uint64_t share = share_of(1000, 8192, 8, UINT64_MAX);

	(void)state;
	assert_true(1000 * 8192 + 8 * share <= STACK_SHARE_ALL);
	assert_true(1000 * 8192 + 8 * (share + 4096) > STACK_SHARE_ALL);
	assert_int_equal(share % 4096, 0);
	assert_in_range(share_of(5, UINT64_MAX, 0, 0), STACK_SHARE_ALL / 5 - 4096,
			STACK_SHARE_ALL / 5);
}

static void none_has_less_than_the_least(void **state)
{
	(void)state;
	assert_int_equal(share_of(THREADS, UINT64_MAX, 0, 0), STACK_SHARE_LEAST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_there_is_room_for_is_whole),
		cmocka_unit_test(what_some_do_not_need_others_have),
		cmocka_unit_test(none_has_less_than_the_least),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
