/* SPDX-License-Identifier: MIT */
#include "lib/demangle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/array_size.h"
#include "tests/unit/unit.h"

static void expect(const char *name, const char *plain)
{
	char *found = demangle(name);

	if (!found || strcmp(found, plain))
		fail_msg("%s: %s, expected %s", name, found ? found : "nothing", plain);
	free(found);
}

static void names_are_as_they_were_written(void **state)
{
	(void)state;
	expect("_ZN4shop5totalEi", "shop::total(int)");
	expect("_ZNKSt6vectorIiSaIiEE2atEm",
	       "std::vector<int, std::allocator<int> >::at(unsigned long) const");
	/* Rust: the legacy scheme, without its hash, and v0 */
	expect("_ZN4shop5total17h5c88a7e8304aa465E", "shop::total");
	expect("_ZN3std2rt10lang_start28_$u7b$$u7b$closure$u7d$$u7d$17h1303a7cc18a1a907E",
	       "std::rt::lang_start::{{closure}}");
	expect("_RNvNtCs1234_4shop5total3sum", "shop::total::sum");
	expect("_RNCNvC4shop5total0B3_", "shop::total::{closure#0}");
	expect("__m_MOD_inner", "m::inner");
	expect("__my_shop_MOD_total_of_2", "my_shop::total_of_2");
}

static void what_is_no_such_name_stays(void **state)
{
	static const char *const names[] = {"",
					    "_",
					    "_R",
					    "_Z",
					    "_ZN",
					    "main",
					    "_Rubbish",
					    "_RNvC4shop",
					    "_ZN4shop5total17h5c88a7e8304aa465",
					    "__ZN4shopE",
					    "___MOD_",
					    "__m_MOD_",
					    "___MOD_f",
					    "__m_MOD_Inner",
					    "__m_MOD_f.0",
					    "__libc_start_main"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (demangle(names[i]))
			fail_msg("%s became another name", names[i]);
}

/* Where an argument begins, as a reference to it says (Rust RFC 2603, base 62). */
static int reference(char *out, size_t at)
{
	static const char digits[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t n = at - 1;

	return n < 62 ? sprintf(out, "B%c_", digits[n])
		      : sprintf(out, "B%c%c_", digits[n / 62], digits[n % 62]);
}

/* Each argument is a pair of the one before. */
static void a_name_that_grows_without_end_stays(void **state)
{
	enum { PAIRS = 60 };
	char name[PAIRS * 16 + 64] = "_RINvC4shop5total", *end = name + strlen(name);
	size_t before = (size_t)(end - name) - 2;

	(void)state;
	end += sprintf(end, "TuuE");
	for (size_t i = 0; i < PAIRS; i++) {
		size_t here = (size_t)(end - name) - 2;

		*end++ = 'T';
		end += reference(end, before);
		end += reference(end, before);
		*end++ = 'E';
		before = here;
		if (i == 1) {
			strcpy(end, "E");
			expect(name, "shop::total::<((), ()), (((), ()), ((), ())), ((((), ()), "
				     "((), ())), (((), ()), ((), ())))>");
		}
	}
	strcpy(end, "E");
	assert_null(demangle(name));
}

static void a_very_long_name_stays(void **state)
{
	char *name = malloc(100001);

	(void)state;
	assert_non_null(name);
	memset(name, 'N', 100000);
	memcpy(name, "_R", 2);
	name[100000] = 0;
	assert_null(demangle(name));
	name[1] = 'Z';
	assert_null(demangle(name));
	free(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_as_they_were_written),
		cmocka_unit_test(what_is_no_such_name_stays),
		cmocka_unit_test(a_name_that_grows_without_end_stays),
		cmocka_unit_test(a_very_long_name_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
