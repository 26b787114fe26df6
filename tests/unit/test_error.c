/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"

#include <errno.h>

#include "lib/array_size.h"
#include "lib/error.h"

static void fail_fills_and_returns_minus_the_code(void **state)
{
	struct bt_error err;

	(void)state;
	assert_int_equal(bt_fail(&err, BT_E_IO, ENOSPC, "cannot write %s", "/x"), -BT_E_IO);
	assert_int_equal(err.code, BT_E_IO);
	assert_int_equal(err.os_errno, ENOSPC);
	assert_string_equal(err.text, "cannot write /x: No space left on device");
	assert_int_equal(bt_fail_at(&err, BT_E_CORRUPT, 77, "bad %d", 5), -BT_E_CORRUPT);
	assert_int_equal(err.offset, 77);
	assert_int_equal(err.os_errno, 0);
	assert_string_equal(err.text, "bad 5");
}

static void no_memory_names_what_it_was_for(void **state)
{
	struct bt_error err;

	(void)state;
	assert_int_equal(bt_no_memory(&err, NULL), -BT_E_NO_MEMORY);
	assert_string_equal(err.text, "out of memory");
	assert_int_equal(bt_no_memory(&err, "the report"), -BT_E_NO_MEMORY);
	assert_int_equal(err.code, BT_E_NO_MEMORY);
	assert_string_equal(err.text, "out of memory for the report");
}

static void an_errno_has_a_code(void **state)
{
	(void)state;
	assert_int_equal(bt_code_of_errno(ENOMEM), BT_E_NO_MEMORY);
	assert_int_equal(bt_code_of_errno(EACCES), BT_E_PERMISSION);
	assert_int_equal(bt_code_of_errno(EPERM), BT_E_PERMISSION);
	assert_int_equal(bt_code_of_errno(ENOSPC), BT_E_IO);
}

static void null_err_is_allowed(void **state)
{
	(void)state;
	assert_int_equal(bt_fail(NULL, BT_E_GONE, 0, "x"), -BT_E_GONE);
	assert_int_equal(bt_fail_at(NULL, BT_E_CORRUPT, 0, "x"), -BT_E_CORRUPT);
}

static void long_text_is_cut(void **state)
{
	struct bt_error err;
	char longer[2 * sizeof err.text];

	(void)state;
	memset(longer, 'a', sizeof longer - 1);
	longer[sizeof longer - 1] = '\0';
	assert_int_equal(bt_fail(&err, BT_E_IO, EIO, "%s", longer), -BT_E_IO);
	assert_int_equal(strlen(err.text), sizeof err.text - 1);
}

static void every_code_has_a_status(void **state)
{
	(void)state;
	for (int code = 1; code < BT_E_COUNT; code++) {
		assert_in_range(bt_error_exit_status(-code), 1, 127);
		assert_int_equal(bt_error_exit_status(code), bt_error_exit_status(-code));
	}
	assert_int_equal(bt_error_exit_status(BT_OK), 0);
}

static void statuses_are_the_documented_ones(void **state)
{
	static const int rows[][2] = {
		{BT_E_MISUSE, 2},      {BT_E_NO_TRACE, 66},  {BT_E_NO_HARDWARE, 69},
		{BT_E_IO, 74},         {BT_E_NOT_TRACE, 76}, {BT_E_VERSION, 76},
		{BT_E_CORRUPT, 76},    {BT_E_TRUNCATED, 76}, {BT_E_PERMISSION, 77},
		{BT_E_NOT_FOUND, 127},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(bt_error_exit_status(-rows[i][0]), rows[i][1]);
}

static void a_code_of_nowhere_is_misuse(void **state)
{
	(void)state;
	assert_int_equal(bt_error_exit_status(-1000), bt_error_exit_status(BT_E_MISUSE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fail_fills_and_returns_minus_the_code),
		cmocka_unit_test(no_memory_names_what_it_was_for),
		cmocka_unit_test(an_errno_has_a_code),
		cmocka_unit_test(null_err_is_allowed),
		cmocka_unit_test(long_text_is_cut),
		cmocka_unit_test(every_code_has_a_status),
		cmocka_unit_test(statuses_are_the_documented_ones),
		cmocka_unit_test(a_code_of_nowhere_is_misuse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
