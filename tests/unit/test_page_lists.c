/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"

#include "collector/history/page_lists.h"
#include "lib/page.h"

enum {
	FRAGMENTS = 4000,
};

struct seen {
	unsigned times[FRAGMENTS];
	uint32_t drop; /* from this number on, fragments are taken off */
};

static bool see(void *arg, uint32_t fragment)
{
	struct seen *s = arg;

	assert_in_range(fragment, 0, FRAGMENTS - 1);
	s->times[fragment]++;
	return fragment < s->drop;
}

static struct seen *walked(struct page_lists *x, uint64_t start, uint64_t end, uint32_t drop)
{
	static struct seen s;

	s = (struct seen){.drop = drop};
	page_lists_walk(x, start, end, see, &s);
	return &s;
}

static void fragments_are_found_on_each_page_that_they_touch(void **state)
{
	struct page_lists x = {0};
	struct seen *s;

	(void)state;
	assert_int_equal(walked(&x, 0, UINT64_MAX, FRAGMENTS)->times[0], 0);
	assert_true(page_lists_add(&x, 5 * BT_PAGE - 1, 5 * BT_PAGE + 1, 0));
	assert_true(page_lists_add(&x, 5 * BT_PAGE + 3, 5 * BT_PAGE + 9, 0)); /* again on page 5 */
	assert_true(page_lists_add(&x, 6 * BT_PAGE, 7 * BT_PAGE, 1));
	s = walked(&x, 5 * BT_PAGE, 6 * BT_PAGE, FRAGMENTS);
	assert_int_equal(s->times[0], 1);
	assert_int_equal(s->times[1], 0);
	s = walked(&x, 4 * BT_PAGE, 7 * BT_PAGE, FRAGMENTS);
	assert_int_equal(s->times[0], 2); /* pages 4 and 5 */
	assert_int_equal(s->times[1], 1);
	s = walked(&x, 0, UINT64_MAX, FRAGMENTS);
	assert_int_equal(s->times[0], 2);
	assert_int_equal(s->times[1], 1);
	assert_int_equal(walked(&x, 7 * BT_PAGE, 7 * BT_PAGE, FRAGMENTS)->times[1], 0);
	page_lists_release(&x);
}

static void what_is_taken_off_is_gone_and_its_room_used_again(void **state)
{
	struct page_lists x = {0};
	struct seen *s;
	size_t links;

	(void)state;
	for (uint32_t i = 0; i < FRAGMENTS / 2; i++)
		assert_true(page_lists_add(&x, i * 100, i * 100 + 99, i));
	links = x.link_count;
	s = walked(&x, 0, UINT64_MAX, FRAGMENTS);
	for (uint32_t i = 0; i < FRAGMENTS / 2; i++)
		assert_int_equal(s->times[i], 1 + (i * 100 / BT_PAGE != (i * 100 + 98) / BT_PAGE));
	walked(&x, 0, UINT64_MAX, 10);
	s = walked(&x, 0, UINT64_MAX, FRAGMENTS);
	for (uint32_t i = 0; i < FRAGMENTS; i++)
		assert_int_equal(s->times[i] > 0, i < 10);
	for (uint32_t i = FRAGMENTS / 2; i < FRAGMENTS - 50; i++)
		assert_true(page_lists_add(&x, i * 100, i * 100 + 99, i));
	assert_int_equal(x.link_count, links);
	s = walked(&x, 0, UINT64_MAX, FRAGMENTS);
	for (uint32_t i = 0; i < FRAGMENTS - 50; i++)
		assert_int_equal(s->times[i] > 0, i < 10 || i >= FRAGMENTS / 2);
	page_lists_clear(&x);
	assert_int_equal(walked(&x, 0, UINT64_MAX, FRAGMENTS)->times[3], 0);
	page_lists_release(&x);
}

static void a_copy_is_one_of_its_own(void **state)
{
	struct page_lists x = {0}, copy;

	(void)state;
	for (uint32_t i = 0; i < FRAGMENTS; i++)
		assert_true(
			page_lists_add(&x, (uint64_t)i * BT_PAGE, (uint64_t)i * BT_PAGE + 5, i));
	assert_true(page_lists_copy(&copy, &x));
	walked(&x, 0, UINT64_MAX, 0);
	assert_int_equal(walked(&x, 100 * BT_PAGE, 101 * BT_PAGE, FRAGMENTS)->times[100], 0);
	assert_int_equal(walked(&copy, 100 * BT_PAGE, 101 * BT_PAGE, FRAGMENTS)->times[100], 1);
	page_lists_release(&x);
	page_lists_release(&copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fragments_are_found_on_each_page_that_they_touch),
		cmocka_unit_test(what_is_taken_off_is_gone_and_its_room_used_again),
		cmocka_unit_test(a_copy_is_one_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
