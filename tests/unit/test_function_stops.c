// SPDX-License-Identifier: MIT
/* The functions at which tasks are stopped: their order, and which symbols are first signs. */
#include "collector/record/first_signs.h"
#include "collector/space/function_stops.h"
#include "lib/array_size.h"
#include "tests/unit/unit.h"

#include <string.h>

static void added_and_dropped(void **state)
{
	static const uint64_t addrs[] = {0x5000, 0x1000, 0x3000, 0x9000, 0x3000, 0x7000};
	struct function_stops f = {0};

	(void)state;
	assert_null(function_stops_at(&f, 0x1000));
	for (size_t i = 0; i < ARRAY_SIZE(addrs); i++)
		function_stops_add(&f, addrs[i], (uint16_t)i);
	assert_int_equal(f.count, 5);
	for (size_t i = 1; i < f.count; i++)
		assert_true(f.list[i - 1].addr < f.list[i].addr);
	assert_int_equal(function_stops_at(&f, 0x3000)->function, 2); /* the first one stays */
	assert_null(function_stops_at(&f, 0x3001));
	function_stops_drop(&f, 0x3000, 0x7000);
	assert_null(function_stops_at(&f, 0x3000));
	assert_null(function_stops_at(&f, 0x5000));
	assert_int_equal(function_stops_at(&f, 0x7000)->function, 5);
	assert_int_equal(f.count, 3);
	function_stops_drop(&f, 0, UINT64_MAX);
	assert_int_equal(f.count, 0);
	function_stops_release(&f);
}

static void armed(void **state)
{
	struct function_stops f = {0}, copy;

	(void)state;
	for (uint64_t addr = 0x100; addr < 0x4000; addr += 0x100)
		function_stops_add(&f, addr, 1);
	assert_true(function_stops_armed(&f, 0x1f1, 0x201));
	assert_false(function_stops_armed(&f, 0x201, 0x300));
	function_stops_at(&f, 0x200)->armed = false;
	assert_false(function_stops_armed(&f, 0x1f1, 0x201));
	assert_true(function_stops_armed(&f, 0x1f1, 0x301));
	function_stops_copy(&copy, &f);
	assert_int_equal(copy.count, f.count);
	assert_false(function_stops_at(&copy, 0x200)->armed);
	function_stops_at(&copy, 0x300)->armed = false;
	assert_true(function_stops_at(&f, 0x300)->armed);
	function_stops_release(&copy);
	function_stops_release(&f);
	function_stops_copy(&copy, &f);
	assert_int_equal(copy.count, 0);
}

static void matched(void **state)
{
	static const char *const names[] = {"mine", "abort"};
	static const struct {
		const char *symbol, *name; /* NULL: none */
	} rows[] = {
		{"mine", "mine"},
		{"mines", NULL},
		{"_mine", NULL},
		{"", NULL},
		{"__assert_fail", "__assert_fail"},
		{"__assert_fail_base", NULL},
		{"_ZSt9terminatev", "std::terminate"},
		{"__asan_report_store_n_noabort", "__asan_report_store"},
		{"__asan_report_present", NULL},
		{"__ubsan_handle_add_overflow", "__ubsan_handle_"},
		{"__ubsan_handle_dynamic_type_cache_miss_abort", NULL},
		{"_RINvNtCsjrHSEGnQ3l9_3std9panicking11begin_panicReECs3_1p", "begin_panic"},
		{"_RNCINvNtCsjrHSEGnQ3l9_3std9panicking11begin_panicReE0Cs3_1p", NULL},
		{"_RINvNtCsjrHSEGnQ3l9_3std9panicking19begin_panic_handlerReECs3_1p", NULL},
		{"_RNvYINtNvNtCs_3std9panicking11begin_panic7PayloadReENtB4_6as_strB9_", NULL},
		{"_ZN3std9panicking11begin_panic17h0123456789abcdefE", "begin_panic"},
		{"runtime.gopanic", "runtime.gopanic"},
		{"runtime.gopanicked", NULL},
		{"rust_begin_unwind", "rust_begin_unwind"},
		{"_RNvCsfLfy6EI15iL_7___rustc17rust_begin_unwind", "rust_begin_unwind"},
		{"_RNvCsfLfy6EI15iL_7___rustc17rust_begin_unwinder", NULL},
		{"_ZN3std9panicking17rust_begin_unwind17h0123456789abcdefE", "rust_begin_unwind"},
		{"_ZN3std17rust_begin_unwind4more17h0123456789abcdefE", NULL},
		{"_ZN17rust_begin_unwind17h0123456789abcdE", NULL},
		{"_R", NULL},
		{"_ZN", NULL},
	};
	struct first_signs *f = first_signs_new(names, ARRAY_SIZE(names));

	(void)state;
	assert_non_null(f);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int sign = first_signs_match(f, rows[i].symbol);

		if (!rows[i].name) {
			assert_int_equal(sign, -1);
			continue;
		}
		assert_true(sign >= 0 && (size_t)sign < first_signs_count(f));
		assert_string_equal(first_signs_name(f, (uint16_t)sign), rows[i].name);
	}
	assert_true(first_signs_is_main(f, (uint16_t)first_signs_match(f, "main")));
	assert_int_equal(first_signs_match(f, "main_loop"), -1);
	/* What the user names is kept as the user asks. */
	assert_int_equal(first_signs_extent(f, (uint16_t)first_signs_match(f, "abort")),
			 SIGN_ASKED);
	assert_int_equal(first_signs_extent(f, (uint16_t)first_signs_match(f, "__cxa_throw")),
			 SIGN_BRIEF);
	assert_false(first_signs_found(f, 0));
	first_signs_free(f);
	first_signs_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(added_and_dropped),
		cmocka_unit_test(armed),
		cmocka_unit_test(matched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
