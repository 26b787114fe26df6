/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"

#include "collector/backend/engine/written_code/watched_pages.h"
#include "lib/page.h"

#define MS 1000000ull

static struct watched_page *page(struct watched_pages *w, uint64_t number)
{
	struct watched_page *p = watched_add(w, number * BT_PAGE);

	assert_non_null(p);
	return p;
}

static void pages_are_found_in_any_order(void **state)
{
	static const uint64_t numbers[] = {9, 2, 700, 5, 1, 8};
	struct watched_pages w = {0};

	(void)state;
	for (size_t i = 0; i < 6; i++)
		page(&w, numbers[i])->heat = (uint32_t)numbers[i];
	for (size_t i = 0; i < 6; i++) {
		assert_int_equal(watched_find(&w, numbers[i] * BT_PAGE)->heat, numbers[i]);
		assert_ptr_equal(page(&w, numbers[i]), watched_find(&w, numbers[i] * BT_PAGE));
	}
	assert_null(watched_find(&w, 3 * BT_PAGE));
	assert_int_equal(w.count, 6);
	watched_release(&w);
}

static void ranges_meet_protected_pages_only(void **state)
{
	struct watched_pages w = {0};

	(void)state;
	page(&w, 4);
	assert_null(watched_protected(&w, 0, UINT64_MAX));
	watched_protect(&w, page(&w, 5), 0);
	assert_int_equal(watched_protected(&w, 0, UINT64_MAX)->addr, 5 * BT_PAGE);
	assert_int_equal(watched_protected(&w, 6 * BT_PAGE - 1, 6 * BT_PAGE)->addr, 5 * BT_PAGE);
	assert_int_equal(watched_protected(&w, 1, 5 * BT_PAGE + 1)->addr, 5 * BT_PAGE);
	assert_null(watched_protected(&w, 1, 5 * BT_PAGE));
	assert_null(watched_protected(&w, 6 * BT_PAGE, UINT64_MAX));
	assert_null(watched_protected(&w, 5 * BT_PAGE + 7, 5 * BT_PAGE + 7));
	watched_release(&w);
}

static void a_run_ends_at_another_state_or_protection(void **state)
{
	struct watched_pages w = {0};

	(void)state;
	for (uint64_t n = 10; n < 16; n++)
		watched_protect(&w, page(&w, n), 0);
	page(&w, 13)->prot = 1;
	assert_int_equal(watched_run(&w, page(&w, 10), UINT64_MAX), 13 * BT_PAGE);
	assert_int_equal(watched_run(&w, page(&w, 10), 12 * BT_PAGE), 12 * BT_PAGE);
	assert_int_equal(watched_run(&w, page(&w, 14), UINT64_MAX), 16 * BT_PAGE);
	watched_opened(&w, page(&w, 11), 1);
	assert_int_equal(watched_run(&w, page(&w, 10), UINT64_MAX), 11 * BT_PAGE);
	watched_release(&w);
}

/* How many times a page can be written, protected again at once each time, before it is hot. */
static unsigned writings(struct watched_pages *w, struct watched_page *p, uint64_t *now,
			 uint64_t step)
{
	unsigned n = 0;

	for (; n < 1000 && !watched_is_hot(w, p, *now); n++, *now += step) {
		watched_protect(w, p, *now);
		watched_opened(w, p, *now);
	}
	return n;
}

static void what_is_written_often_is_compared_for_longer_each_time(void **state)
{
	struct watched_pages w = {0};
	struct watched_page *p = page(&w, 1);
	uint64_t now = MS, first, second;
	size_t at = 0;

	(void)state;
	assert_in_range(writings(&w, p, &now, 1000), 2, 100);
	watched_compare(&w, p, now);
	first = p->until - now;
	assert_int_equal(w.compared, 1);
	assert_null(watched_retry(&w, &at, now));
	at = 0;
	now = p->until;
	assert_ptr_equal(watched_retry(&w, &at, now), p);
	assert_null(watched_retry(&w, &at, now));
	assert_int_equal(w.compared, 0);
	writings(&w, p, &now, 1000);
	watched_compare(&w, p, now);
	second = p->until - now;
	assert_true(second > first);
	/* Left alone for long, it is as new. */
	at = 0;
	now = p->until;
	assert_ptr_equal(watched_retry(&w, &at, now), p);
	watched_protect(&w, p, now);
	now += 60000 * MS;
	watched_opened(&w, p, now);
	assert_int_equal(p->backoff, 0);
	watched_release(&w);
}

static void what_is_written_now_and_then_is_never_compared(void **state)
{
	struct watched_pages w = {0};
	uint64_t now = MS;

	(void)state;
	assert_int_equal(writings(&w, page(&w, 1), &now, 20 * MS), 1000);
	watched_release(&w);
}

static void a_copy_is_one_of_its_own(void **state)
{
	struct watched_pages w = {0}, copy;
	uint8_t bytes[BT_PAGE] = {[17] = 42};

	(void)state;
	watched_protect(&w, page(&w, 3), 7);
	assert_true(watched_set_bytes(page(&w, 3), bytes));
	assert_true(watched_spare(&w, 0x5000, 0x6000));
	w.suspended = 2;
	assert_true(watched_copy(&copy, &w));
	bytes[17] = 1;
	assert_true(page(&copy, 3)->bytes == page(&w, 3)->bytes);
	assert_true(watched_set_bytes(page(&w, 3), bytes));
	assert_int_equal(page(&w, 3)->bytes[17], 1);
	watched_opened(&w, page(&w, 3), 8);
	watched_release(&w);
	assert_int_equal(copy.suspended, 0);
	assert_int_equal(copy.protected, 1);
	assert_int_equal(page(&copy, 3)->bytes[17], 42);
	assert_true(watched_is_spared(&copy, 0x5000));
	assert_false(watched_is_spared(&copy, 0x6000));
	watched_release(&copy);
}

/* As threads come and go, their ids are told to the kernel again and again. */
static void what_is_spared_is_known_by_its_pages(void **state)
{
	struct watched_pages w = {0};

	(void)state;
	for (uint64_t i = 0; i < 100; i++)
		assert_true(watched_spare(&w, 0x5ff0 + i % 2 * 8, 0x5ff4 + i % 2 * 8));
	assert_true(watched_spare(&w, 0x8ffe, 0x9002));
	assert_int_equal(w.spared_count, 2);
	assert_true(watched_is_spared(&w, 0x5000));
	assert_false(watched_is_spared(&w, 0x6000));
	assert_true(watched_is_spared(&w, 0x8000) && watched_is_spared(&w, 0x9000));
	watched_release(&w);
}

static void there_is_room_for_so_many(void **state)
{
	struct watched_pages w = {0};

	(void)state;
	for (uint64_t n = 1; n <= WATCH_MAX; n++)
		watched_protect(&w, page(&w, n), 0);
	assert_null(watched_add(&w, (WATCH_MAX + 1) * (uint64_t)BT_PAGE));
	watched_opened(&w, page(&w, 77), 1); /* forgotten, to make room */
	assert_non_null(watched_add(&w, (WATCH_MAX + 1) * (uint64_t)BT_PAGE));
	assert_null(watched_find(&w, 77 * BT_PAGE));
	assert_int_equal(w.protected, WATCH_MAX - 1);
	watched_release(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_are_found_in_any_order),
		cmocka_unit_test(ranges_meet_protected_pages_only),
		cmocka_unit_test(a_run_ends_at_another_state_or_protection),
		cmocka_unit_test(what_is_written_often_is_compared_for_longer_each_time),
		cmocka_unit_test(what_is_written_now_and_then_is_never_compared),
		cmocka_unit_test(a_copy_is_one_of_its_own),
		cmocka_unit_test(what_is_spared_is_known_by_its_pages),
		cmocka_unit_test(there_is_room_for_so_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
