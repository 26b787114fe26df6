/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"

#include "collector/engine/chain_index.h"

enum {
	CHAINS = 4000,
	PAGE = 4096,
};

struct seen {
	unsigned times[CHAINS];
	uint32_t drop; /* from this number on, chains are taken off */
};

static bool see(void *arg, uint32_t chain)
{
	struct seen *s = arg;

	assert_in_range(chain, 0, CHAINS - 1);
	s->times[chain]++;
	return chain < s->drop;
}

static struct seen *walked(struct chain_index *x, uint64_t start, uint64_t end, uint32_t drop)
{
	static struct seen s;

	s = (struct seen){.drop = drop};
	chain_index_walk(x, start, end, see, &s);
	return &s;
}

static void chains_are_found_on_each_page_that_they_touch(void **state)
{
	struct chain_index x;
	struct seen *s;

	(void)state;
	chain_index_init(&x);
	assert_int_equal(walked(&x, 0, UINT64_MAX, CHAINS)->times[0], 0);
	assert_true(chain_index_add(&x, 5 * PAGE - 1, 5 * PAGE + 1, 0));
	assert_true(chain_index_add(&x, 5 * PAGE + 3, 5 * PAGE + 9, 0)); /* again on page 5 */
	assert_true(chain_index_add(&x, 6 * PAGE, 7 * PAGE, 1));
	s = walked(&x, 5 * PAGE, 6 * PAGE, CHAINS);
	assert_int_equal(s->times[0], 1);
	assert_int_equal(s->times[1], 0);
	s = walked(&x, 4 * PAGE, 7 * PAGE, CHAINS);
	assert_int_equal(s->times[0], 2); /* pages 4 and 5 */
	assert_int_equal(s->times[1], 1);
	s = walked(&x, 0, UINT64_MAX, CHAINS);
	assert_int_equal(s->times[0], 2);
	assert_int_equal(s->times[1], 1);
	assert_int_equal(walked(&x, 7 * PAGE, 7 * PAGE, CHAINS)->times[1], 0);
	chain_index_release(&x);
}

static void what_is_taken_off_is_gone_and_its_room_used_again(void **state)
{
	struct chain_index x;
	struct seen *s;
	size_t links;

	(void)state;
	chain_index_init(&x);
	for (uint32_t i = 0; i < CHAINS / 2; i++)
		assert_true(chain_index_add(&x, i * 100, i * 100 + 99, i));
	links = x.link_count;
	walked(&x, 0, UINT64_MAX, 10);
	s = walked(&x, 0, UINT64_MAX, CHAINS);
	for (uint32_t i = 0; i < CHAINS; i++)
		assert_int_equal(s->times[i] > 0, i < 10);
	for (uint32_t i = CHAINS / 2; i < CHAINS - 50; i++)
		assert_true(chain_index_add(&x, i * 100, i * 100 + 99, i));
	assert_int_equal(x.link_count, links);
	s = walked(&x, 0, UINT64_MAX, CHAINS);
	for (uint32_t i = 0; i < CHAINS - 50; i++)
		assert_int_equal(s->times[i] > 0, i < 10 || i >= CHAINS / 2);
	chain_index_clear(&x);
	assert_int_equal(walked(&x, 0, UINT64_MAX, CHAINS)->times[3], 0);
	chain_index_release(&x);
}

static void a_copy_is_one_of_its_own(void **state)
{
	struct chain_index x, copy;

	(void)state;
	chain_index_init(&x);
	for (uint32_t i = 0; i < CHAINS; i++)
		assert_true(chain_index_add(&x, (uint64_t)i * PAGE, (uint64_t)i * PAGE + 5, i));
	assert_true(chain_index_copy(&copy, &x));
	walked(&x, 0, UINT64_MAX, 0);
	assert_int_equal(walked(&x, 100 * PAGE, 101 * PAGE, CHAINS)->times[100], 0);
	assert_int_equal(walked(&copy, 100 * PAGE, 101 * PAGE, CHAINS)->times[100], 1);
	chain_index_release(&x);
	chain_index_release(&copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chains_are_found_on_each_page_that_they_touch),
		cmocka_unit_test(what_is_taken_off_is_gone_and_its_room_used_again),
		cmocka_unit_test(a_copy_is_one_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
