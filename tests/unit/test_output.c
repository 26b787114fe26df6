/* SPDX-License-Identifier: MIT */
#include "lib/output.h"

#include <string.h>

#include "tests/unit/unit.h"

/* A stream keeps some of what it could not write, or none, as its buffer has been filled. */
static void the_cause_is_told_whatever_the_length(void **state)
{
	enum { MOST = 20000, WORD = 7 };
	(void)state;

	for (int length = 1; length < MOST; length++) {
		FILE *full = fopen("/dev/full", "w");
		struct bt_error err;

		if (!full)
			skip();
		for (int n = 0; n < length; n += WORD)
			fprintf(full, "%0*d", WORD, n);
		assert_int_equal(bt_output_end(full, &err), -BT_E_IO);
		if (!strstr(err.text, "No space left on device"))
			fail_msg("%d bytes: %s", length, err.text);
		fclose(full);
	}
}

static void what_is_written_is_no_error(void **state)
{
	FILE *null = fopen("/dev/null", "w");
	struct bt_error err;

	(void)state;
	assert_non_null(null);
	assert_int_equal(bt_output_end(null, &err), 0);
	assert_int_equal(bt_output(null, "text", 4, &err), 0);
	assert_int_equal(bt_output_end(null, &err), 0);
	fclose(null);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_cause_is_told_whatever_the_length),
		cmocka_unit_test(what_is_written_is_no_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
