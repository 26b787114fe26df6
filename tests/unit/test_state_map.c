/* SPDX-License-Identifier: MIT */
/* Lists of places: what was put in is found again, at each offset. */
#include "tests/unit/unit.h"

#include <stdlib.h>

#include "collector/backend/engine/cache/state_map.h"
#include "lib/array_size.h"

enum {
	PLACES = 64,
	LISTS = 2000,
};

static uint32_t next_random(uint32_t *state)
{
	return (*state = *state * 1664525u + 1013904223u) >> 8;
}

/* Mostly what fragments have: a few bytes on, a few bytes of the application's on; sometimes far,
 * or back. */
static size_t random_list(uint32_t *state, struct state_entry state_map[PLACES])
{
	size_t n = next_random(state) % PLACES;
	uint32_t at = next_random(state) % 20;
	int32_t pc = 0;

	for (size_t i = 0; i < n; i++) {
		uint8_t flags = (uint8_t)next_random(state);
		bool lends = flags & (STATE_SPILLED | STATE_RCX);

		state_map[i] =
			(struct state_entry){.at = (uint16_t)at,
					     .state = flags,
					     .reg = (uint8_t)(lends ? next_random(state) % 16 : 0),
					     .pc = pc};
		at += 1 + next_random(state) % (i % 7 ? 18 : 900);
		pc += i % 5 ? (int32_t)(next_random(state) % 17)
			    : (int32_t)next_random(state) - (1 << 23);
	}
	return n;
}

static void assert_found(const uint8_t *list, size_t len, uint32_t at, const struct state_entry *p)
{
	struct state_entry found;

	assert_int_equal(state_map_find(list, len, at, &found), p != NULL);
	if (!p)
		return;
	assert_int_equal(found.at, p->at);
	assert_int_equal(found.state, p->state);
	assert_int_equal(found.reg, p->reg);
	assert_int_equal(found.pc, p->pc);
}

static void each_place_holds_until_the_next(void **state)
{
	uint32_t seed = 1;

	(void)state;
	for (int k = 0; k < LISTS; k++) {
		struct state_entry state_map[PLACES];
		size_t n = random_list(&seed, state_map), len;
		uint8_t *list = malloc(n * STATE_BYTES_MAX + 1);

		len = state_map_encode(state_map, n, list);
		assert_true(len <= n * STATE_BYTES_MAX);
		assert_found(list, len, n ? state_map[0].at - 1u : 100,
			     n && state_map[0].at == 0 ? &state_map[n - 1] : NULL);
		for (size_t i = 0; i < n; i++) {
			uint32_t end = i + 1 < n ? state_map[i + 1].at : state_map[i].at + 5000u;

			for (uint32_t at = state_map[i].at; at < end; at++)
				assert_found(list, len, at, &state_map[i]);
		}
		free(list);
	}
}

/* Read from memory that ends where they do. */
static void lists_that_are_cut_off_end(void **state)
{
	const struct state_entry state_map[] = {
		{.at = 3},
		{.at = 7, .pc = 4, .state = STATE_SPILLED, .reg = 2},
		{.at = 900, .pc = -4}};
	uint8_t list[ARRAY_SIZE(state_map) * STATE_BYTES_MAX];
	size_t len = state_map_encode(state_map, ARRAY_SIZE(state_map), list);

	(void)state;
	for (size_t i = 0; i <= len; i++) {
		uint8_t *cut = malloc(i ? i : 1);
		struct state_entry found;

		for (size_t k = 0; k < i; k++)
			cut[k] = list[k];
		if (state_map_find(cut, i, 5000, &found))
			assert_true(found.at == 3 || found.at == 7 ||
				    (i == len && found.at == 900));
		assert_int_equal(state_map_find(cut, i, 5000, &found), i >= 2);
		free(cut);
	}
}

static void an_ordinary_place_has_two_bytes(void **state)
{
	const struct state_entry state_map[] = {
		{.at = 3}, {.at = 7, .pc = 4}, {.at = 9, .pc = 4, .state = STATE_BETWEEN}};
	uint8_t list[ARRAY_SIZE(state_map) * STATE_BYTES_MAX];

	(void)state;
	assert_int_equal(state_map_encode(state_map, ARRAY_SIZE(state_map), list), 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_place_holds_until_the_next),
		cmocka_unit_test(lists_that_are_cut_off_end),
		cmocka_unit_test(an_ordinary_place_has_two_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
