/* SPDX-License-Identifier: MIT */
/* The hash table against a plain array; keys that collide, at the end of the slots too; equal keys;
 * no memory. */
#include "tests/unit/unit.h"

#include <stdio.h>

#include "lib/array_size.h"
#include "lib/content_hash.h"
#include "lib/hash_table.h"
#include "tests/unit/scarce_memory.h"

enum {
	KEYS = 400,
	STEPS = 40000,
	CROWD = 20,
};

/* A table and what it is to hold: the number of each key, 0 for none. */
struct model {
	struct hash_table table;
	uint64_t numbers[KEYS];
	size_t shown;
};

static uint64_t key_of(size_t i)
{
	return i == 0   ? 0
	       : i == 1 ? UINT64_MAX
	       : i % 3  ? 0x7f0000000000 + i * 4096
			: (uint64_t)i << 48;
}

static size_t index_of(uint64_t key)
{
	for (size_t i = 0; i < KEYS; i++)
		if (key_of(i) == key)
			return i;
	fail();
	return 0;
}

static void check(const struct model *m)
{
	size_t expected = 0, shown = 0;

	for (size_t i = 0; i < KEYS; i++) {
		const struct hash_slot *slot = hash_table_find(&m->table, key_of(i));

		assert_int_equal(slot ? slot->number : 0, m->numbers[i]);
		expected += m->numbers[i] != 0;
	}
	for (const struct hash_slot *slot = NULL; (slot = hash_table_next(&m->table, slot));
	     shown++)
		assert_int_equal(slot->number, m->numbers[index_of(slot->key)]);
	assert_int_equal(m->table.count, expected);
	assert_int_equal(shown, expected);
}

static void set(struct model *m, size_t i, uint64_t number)
{
	struct hash_slot *slot = hash_table_find(&m->table, key_of(i));

	if (slot)
		slot->number = number;
	else
		assert_true(hash_table_add(&m->table, (struct hash_slot){key_of(i), {number}}));
	m->numbers[i] = number;
}

static void take_out(struct model *m, size_t i)
{
	struct hash_slot *slot = hash_table_find(&m->table, key_of(i));

	if (slot)
		hash_table_take_out(&m->table, slot);
	m->numbers[i] = 0;
}

static bool takes_a_third(void *arg, struct hash_slot *slot)
{
	struct model *m = arg;
	size_t i = index_of(slot->key);

	m->shown++;
	if (slot->number % 3)
		return false;
	m->numbers[i] = 0;
	return true;
}

static void what_is_in_it_is_found_and_nothing_else(void **state)
{
	struct model m = {.shown = 0};
	uint64_t seed = 7;

	(void)state;
	check(&m);
	for (size_t step = 1; step <= STEPS; step++) {
		size_t i = unit_random(&seed) % KEYS, before = m.table.count;

		if (unit_random(&seed) % (step / 5000 % 2 ? 3 : 2)) /* it grows, and shrinks */
			set(&m, i, step);
		else
			take_out(&m, i);
		if (step % 1000)
			continue;
		check(&m);
		before = m.table.count;
		m.shown = 0;
		hash_table_sweep(&m.table, takes_a_third, &m);
		assert_int_equal(m.shown, before); /* each once */
		check(&m);
	}
	hash_table_clear(&m.table);
	memset(m.numbers, 0, sizeof m.numbers);
	check(&m);
	hash_table_release(&m.table);
	check(&m);
}

static void a_copy_goes_its_own_way(void **state)
{
	struct model one = {.shown = 0}, two;

	(void)state;
	assert_true(hash_table_copy(&two.table, &one.table));
	assert_null(hash_table_find(&two.table, 1));
	for (size_t i = 0; i < KEYS; i += 2)
		set(&one, i, i + 1);
	memcpy(two.numbers, one.numbers, sizeof two.numbers);
	assert_true(hash_table_copy(&two.table, &one.table));
	check(&two);
	for (size_t i = 0; i < KEYS; i += 4)
		take_out(&one, i);
	for (size_t i = 1; i < KEYS; i += 4)
		set(&two, i, i);
	check(&one);
	check(&two);
	hash_table_release(&one.table);
	hash_table_release(&two.table);
}

/* Keys whose home is the same slot: the last one, so that they stand around the end of the slots.
 */
static void crowd(const struct hash_table *t, uint64_t keys[CROWD])
{
	uint64_t key = 0;

	for (size_t i = 0; i < CROWD; key++)
		if (hash_table_home(t, key) == t->cap - 1)
			keys[i++] = key;
}

static void keys_that_collide_are_told_apart(void **state)
{
	uint64_t keys[CROWD];

	(void)state;
	for (size_t gone = 0; gone < CROWD; gone++) {
		struct hash_table t = {0};

		assert_true(hash_table_reserve(&t, CROWD));
		crowd(&t, keys);
		for (size_t i = 0; i < CROWD; i++)
			assert_true(hash_table_add(&t, (struct hash_slot){keys[i], {i + 1}}));
		assert_int_equal(hash_table_home(&t, keys[0]), t.cap - 1); /* it has not grown */
		hash_table_take_out(&t, hash_table_find(&t, keys[gone]));
		for (size_t i = 0; i < CROWD; i++) {
			const struct hash_slot *slot = hash_table_find(&t, keys[i]);

			assert_int_equal(slot ? slot->number : 0, i == gone ? 0 : i + 1);
		}
		hash_table_release(&t);
	}
}

static bool takes_all(void *arg, struct hash_slot *slot)
{
	size_t *shown = arg;

	(void)slot;
	++*shown;
	return true;
}

static void a_sweep_around_the_end_shows_each_once(void **state)
{
	struct hash_table t = {0};
	uint64_t keys[CROWD];
	size_t shown = 0;

	(void)state;
	assert_true(hash_table_reserve(&t, CROWD));
	crowd(&t, keys);
	for (size_t i = 0; i < CROWD; i++)
		assert_true(hash_table_add(&t, (struct hash_slot){keys[i], {i + 1}}));
	hash_table_sweep(&t, takes_all, &shown);
	assert_int_equal(shown, CROWD);
	assert_int_equal(t.count, 0);
	assert_null(hash_table_next(&t, NULL));
	hash_table_release(&t);
}

static bool same_text(const void *wanted, const struct hash_slot *slot)
{
	return !strcmp(wanted, slot->pointer);
}

/* Texts by those bits of their hash that the mask keeps: the fewer, the more collide. */
static void texts_by(uint64_t mask)
{
	static char texts[100][8];
	struct hash_table t = {0};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		uint64_t key;

		snprintf(texts[i], sizeof texts[i], "t%zu", i * 31);
		key = content_hash(texts[i], strlen(texts[i])).first & mask;
		assert_null(hash_table_find_same(&t, key, same_text, texts[i]));
		assert_true(hash_table_add(&t, (struct hash_slot){key, {.pointer = texts[i]}}));
	}
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		uint64_t key = content_hash(texts[i], strlen(texts[i])).first & mask;

		assert_ptr_equal(hash_table_find_same(&t, key, same_text, texts[i])->pointer,
				 texts[i]);
	}
	assert_int_equal(t.count, ARRAY_SIZE(texts));
	hash_table_release(&t);
}

static void keys_of_bytes_are_told_apart_by_the_caller(void **state)
{
	(void)state;
	texts_by(UINT64_MAX);
	texts_by(7);
	texts_by(0);
}

static void without_memory_it_stays_as_it_is(void **state)
{
	struct model m = {.shown = 0};
	struct hash_table copy;
	size_t i = 0;

	(void)state;
	allocations_left = 0;
	assert_false(hash_table_add(&m.table, (struct hash_slot){1, {1}}));
	check(&m);
	allocations_left = 1;
	while (hash_table_add(&m.table, (struct hash_slot){key_of(i), {i + 1}})) {
		m.numbers[i] = i + 1;
		i++;
	}
	assert_int_equal(2 * i, m.table.cap); /* full as far as it may be */
	assert_false(hash_table_reserve(&m.table, 1));
	assert_false(hash_table_reserve(&m.table, SIZE_MAX));
	check(&m);
	assert_false(hash_table_copy(&copy, &m.table));
	assert_int_equal(copy.count, 0);
	hash_table_release(&copy);
	take_out(&m, 0);
	assert_true(hash_table_add(
		&m.table,
		(struct hash_slot){key_of(0), {9}})); /* in the place that has become free */
	m.numbers[0] = 9;
	check(&m);
	allocations_left = -1;
	assert_true(hash_table_reserve(&m.table, 1));
	check(&m);
	hash_table_release(&m.table);
}

static void what_is_reserved_needs_no_memory(void **state)
{
	struct model m = {.shown = 0};

	(void)state;
	assert_true(hash_table_reserve(&m.table, KEYS));
	allocations_left = 0;
	for (size_t i = 0; i < KEYS; i++)
		set(&m, i, i + 1);
	allocations_left = -1;
	check(&m);
	hash_table_release(&m.table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_in_it_is_found_and_nothing_else),
		cmocka_unit_test(a_copy_goes_its_own_way),
		cmocka_unit_test(keys_that_collide_are_told_apart),
		cmocka_unit_test(a_sweep_around_the_end_shows_each_once),
		cmocka_unit_test(keys_of_bytes_are_told_apart_by_the_caller),
		cmocka_unit_test(without_memory_it_stays_as_it_is),
		cmocka_unit_test(what_is_reserved_needs_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
