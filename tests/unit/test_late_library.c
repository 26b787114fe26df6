/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "lib/array_size.h"
#include "lib/late_library.h"

#define LIBC_FUNCTIONS(F) F(strlen) F(labs)
#define LIBC_SYMBOL(name) LATE_SYMBOL(struct libc, name)

struct libc {
	LIBC_FUNCTIONS(LATE_FUNCTION)
};

static void functions_are_found(void **state)
{
	static const struct late_symbol symbols[] = {LIBC_FUNCTIONS(LIBC_SYMBOL)};
	struct libc c = {0};

	(void)state;
	assert_int_equal(late_library_load("libc.so.6", symbols, 2, &c, NULL), 0);
	assert_int_equal(c.strlen("four"), 4);
	assert_int_equal(c.labs(-7), 7);
}

static void what_is_missing_is_named(void **state)
{
	static const struct late_symbol symbols[] = {{"strlen", 0},
						     {"no_such_function", sizeof(void *)}};
	void *functions[2];
	struct bt_error err;

	(void)state;
	assert_int_equal(late_library_load("libnone.so.7", symbols, 2, functions, &err),
			 -BT_E_UNSUPPORTED);
	assert_non_null(strstr(err.text, "libnone.so.7"));
	assert_int_equal(late_library_load("libc.so.6", symbols, 2, functions, &err),
			 -BT_E_UNSUPPORTED);
	assert_non_null(strstr(err.text, "no_such_function"));
}

/* What configure found is there under that name. */
static void sonames_are_right(void **state)
{
	static const char *const sonames[] = {
		IPT_SONAME,
		JANSSON_SONAME,
#ifdef BPF_SONAME
		BPF_SONAME,
#endif
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sonames); i++)
		assert_int_equal(late_library_load(sonames[i], NULL, 0, NULL, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_are_found),
		cmocka_unit_test(what_is_missing_is_named),
		cmocka_unit_test(sonames_are_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
