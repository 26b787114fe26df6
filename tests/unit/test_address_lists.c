/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"

#include "collector/history/address_lists.h"

enum {
	MANY = 20000,
	EACH = 7, /* numbers at one address */
};

/* Some near each other, some that differ in their upper halves alone. */
static uint64_t address_of(uint32_t number)
{
	uint32_t place = number / EACH;

	return place % 5 ? 0x401000 + place * 3 : 0x100000000ull * place + 0x401000;
}

static void put_all(struct address_lists *l, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		assert_true(address_lists_reserve(l, i));
		address_lists_put(l, address_of(i), i);
	}
}

static unsigned count_at(const struct address_lists *l, uint64_t addr)
{
	unsigned n = 0;

	for (uint32_t i = address_lists_first(l, addr); i != ADDRESS_LISTS_NONE;
	     i = address_lists_next(l, addr, i))
		n += address_of(i) == addr;
	return n;
}

static void each_is_found_where_it_stands(void **state)
{
	struct address_lists l;

	(void)state;
	assert_true(address_lists_init(&l));
	put_all(&l, MANY * EACH);
	assert_int_equal(l.count, MANY * EACH);
	for (uint32_t i = 0; i < MANY * EACH; i += EACH)
		assert_int_equal(count_at(&l, address_of(i)), EACH);
	assert_int_equal(address_lists_first(&l, 0x7fff0000), ADDRESS_LISTS_NONE);
	address_lists_clear(&l);
	assert_int_equal(count_at(&l, address_of(0)), 0);
	put_all(&l, EACH);
	assert_int_equal(count_at(&l, address_of(0)), EACH);
	address_lists_release(&l);
}

static void the_newest_comes_first(void **state)
{
	struct address_lists l;
	uint32_t n;

	(void)state;
	assert_true(address_lists_init(&l));
	put_all(&l, MANY * EACH); /* with more buckets, again and again */
	for (uint32_t first = EACH; first < MANY * EACH; first += EACH) {
		n = address_lists_first(&l, address_of(first));
		for (uint32_t i = first + EACH; i-- > first;
		     n = address_lists_next(&l, address_of(first), n)) {
			while (address_of(n) != address_of(first))
				n = address_lists_next(&l, address_of(first), n);
			assert_int_equal(n, i);
		}
	}
	address_lists_release(&l);
}

static bool take_even(void *arg, uint32_t number)
{
	++*(unsigned *)arg;
	return number % 2 == 0;
}

static void what_goes_is_gone(void **state)
{
	struct address_lists l, copy;
	unsigned shown = 0;

	(void)state;
	assert_true(address_lists_init(&l));
	put_all(&l, MANY * EACH);
	assert_true(address_lists_copy(&copy, &l));
	for (uint32_t i = 0; i < MANY * EACH; i += EACH)
		address_lists_remove(&l, address_of(i + 3), i + 3);
	assert_int_equal(l.count, MANY * (EACH - 1));
	for (uint32_t i = 0; i < MANY * EACH; i += EACH)
		assert_int_equal(count_at(&l, address_of(i)), EACH - 1);
	address_lists_sweep(&l, address_of(EACH), take_even, &shown);
	assert_in_range(shown, EACH - 1, 1 << 20);
	for (uint32_t i = address_lists_first(&l, address_of(EACH)); i != ADDRESS_LISTS_NONE;
	     i = address_lists_next(&l, address_of(EACH), i))
		assert_int_equal(i % 2, 1);
	address_lists_put(&l, address_of(3), 3);
	assert_int_equal(count_at(&l, address_of(3)), EACH);
	assert_int_equal(count_at(&copy, address_of(EACH)), EACH);
	address_lists_release(&l);
	address_lists_release(&copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_is_found_where_it_stands),
		cmocka_unit_test(the_newest_comes_first),
		cmocka_unit_test(what_goes_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
