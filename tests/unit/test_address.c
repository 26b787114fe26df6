/* SPDX-License-Identifier: MIT */
/* What lib knows of an address: its page, whether it is canonical, whether it is a failed call's
 * result. */
#include "tests/unit/unit.h"

#include "lib/array_size.h"
#include "lib/call_result.h"
#include "lib/canonical.h"
#include "lib/page.h"

static void a_page_is_cut_at_both_of_its_ends(void **state)
{
	static const uint64_t starts[] = {0, BT_PAGE, 0x7ffffffff000, -(uint64_t)BT_PAGE};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
		uint64_t start = starts[i], last = start + BT_PAGE - 1;

		assert_int_equal(page_down(start), start);
		assert_int_equal(page_down(last), start);
		assert_int_equal(page_up(start), start);
		assert_int_equal(page_up(start + 1),
				 start + BT_PAGE); /* 0 behind the last page of all */
		assert_int_equal(page_up(last), start + BT_PAGE);
		assert_int_equal(page_number(last) * BT_PAGE, start);
	}
}

static void addresses_between_the_halves_are_not_canonical(void **state)
{
	(void)state;
	assert_true(is_canonical(0));
	assert_true(is_canonical(BT_USER_END - 1));
	assert_false(is_canonical(BT_USER_END));
	assert_false(is_canonical(0x4141414141414141));
	assert_false(is_canonical(-BT_USER_END - 1));
	assert_true(is_canonical(-BT_USER_END));
	assert_true(is_canonical(UINT64_MAX));
}

static void the_last_4095_results_are_errors(void **state)
{
	(void)state;
	assert_false(call_has_failed(0));
	assert_false(call_has_failed(INT64_MAX));
	assert_false(call_has_failed(-BT_USER_END));
	assert_false(call_has_failed(-(uint64_t)BT_PAGE));
	assert_true(call_has_failed(-(uint64_t)BT_PAGE + 1));
	assert_true(call_has_failed(UINT64_MAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_page_is_cut_at_both_of_its_ends),
		cmocka_unit_test(addresses_between_the_halves_are_not_canonical),
		cmocka_unit_test(the_last_4095_results_are_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
