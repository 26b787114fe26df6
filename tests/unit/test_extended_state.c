/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "lib/extended_state.h"

enum {
	ALL = 2696, /* with AVX-512 and PKRU, as such a processor tells it */
	AT_X87_ADDRESS = 8,
	AT_XMM = 160,
	AT_FEATURES = 464,
	AT_IN_USE = 512,
	AT_COMPACTED = 520,
	AT_YMM = 576,
	X87 = 1,
	SSE = 2,
	AVX = 4,
};

/* What a processor with all of it tells, each byte of the registers another one. */
static void fill(uint8_t state[ALL])
{
	for (size_t i = 0; i < ALL; i++)
		state[i] = (uint8_t)(i * 7 + 1);
	memset(state + AT_FEATURES, 0xff, 48);
	memset(state + AT_IN_USE, 0xff, 64);
}

/* The bytes alone in memory, so that a sanitizer sees a read beyond them. */
static struct slice copy_of(const uint8_t *state, size_t n)
{
	uint8_t *copy = malloc(n + !n);

	assert_non_null(copy);
	memcpy(copy, state, n);
	return slice_of(copy, n);
}

static void of_all_that_a_processor_has_a_trace_keeps_three(void **state)
{
	uint8_t s[ALL];

	(void)state;
	fill(s);
	assert_int_equal(extended_state_keep(s, ALL), EXTENDED_STATE_SIZE);
	assert_int_equal(s[AT_FEATURES], X87 | SSE | AVX);
	assert_int_equal(s[AT_IN_USE], X87 | SSE | AVX);
	for (size_t i = 1; i < 8; i++)
		assert_int_equal(s[AT_FEATURES + i] | s[AT_IN_USE + i], 0);
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(s[AT_COMPACTED + i] | s[AT_X87_ADDRESS + i], 0);
}

static void too_few_bytes_are_not_kept(void **state)
{
	uint8_t s[ALL];

	(void)state;
	for (size_t n = 0; n < EXTENDED_STATE_LEGACY; n++) {
		fill(s);
		assert_int_equal(extended_state_keep(s, n), 0);
	}
}

static void without_its_registers_there_is_no_avx(void **state)
{
	uint8_t s[ALL];

	(void)state;
	for (size_t n = EXTENDED_STATE_LEGACY; n < EXTENDED_STATE_SIZE; n += 8) {
		size_t kept;

		fill(s);
		kept = extended_state_keep(s, n);
		assert_true(kept <= n);
		assert_false(extended_state_has_avx(slice_of(s, kept)));
	}
}

static void zeros_at_the_end_are_left_out(void **state)
{
	uint8_t s[ALL] = {0};
	struct extended_text t;

	(void)state;
	s[AT_FEATURES] = s[AT_IN_USE] = X87 | SSE | AVX;
	assert_int_equal(extended_state_keep(s, EXTENDED_STATE_SIZE), AT_IN_USE + 1);
	assert_true(extended_state_text(slice_of(s, AT_IN_USE + 1), 15, &t));
	assert_string_equal(t.name, "ymm15");
	assert_int_equal(strlen(t.value), 2 + 64);
	assert_true(t.is_zero);
}

static void vectors_are_told_from_their_highest_digit_on(void **state)
{
	uint8_t s[ALL] = {0};
	struct extended_text t;

	(void)state;
	s[AT_FEATURES] = s[AT_IN_USE] = X87 | SSE;
	s[AT_XMM + 16] = 0x78;
	s[AT_XMM + 16 + 15] = 0x12;
	s[AT_YMM + 16] = 0x34;
	assert_true(extended_state_text(slice_of(s, EXTENDED_STATE_SIZE), 1, &t));
	assert_string_equal(t.name, "xmm1");
	assert_string_equal(t.value, "0x12000000000000000000000000000078");
	assert_false(t.is_zero);
	s[AT_FEATURES] = s[AT_IN_USE] = X87 | SSE | AVX;
	assert_true(extended_state_text(slice_of(s, EXTENDED_STATE_SIZE), 1, &t));
	assert_string_equal(t.name, "ymm1");
	assert_string_equal(t.value,
			    "0x0000000000000000000000000000003412000000000000000000000000000078");
}

static void an_empty_state_tells_nothing(void **state)
{
	uint8_t v[EXTENDED_VECTOR_SIZE];
	struct extended_text t;

	(void)state;
	assert_false(extended_state_has_avx(slice_of(NULL, 0)));
	assert_int_equal(extended_state_vector(slice_of(NULL, 0), 0, v), 0);
	assert_false(extended_state_text(slice_of(NULL, 0), 0, &t));
}

/* A trace may hold any bytes, cut anywhere. */
static void a_state_of_any_length_is_read_within_it(void **state)
{
	uint8_t s[ALL];

	(void)state;
	fill(s);
	for (size_t n = 1; n <= EXTENDED_STATE_SIZE; n++) {
		struct slice cut = copy_of(s, n);
		struct extended_text t;

		for (unsigned i = 0; i < EXTENDED_VECTORS; i++) {
			bool avx = n > AT_FEATURES;

			assert_true(extended_state_text(cut, i, &t));
			assert_int_equal(t.name[0], avx ? 'y' : 'x');
			assert_int_equal(strlen(t.value), 2 + (avx ? 64 : 32));
		}
		free((void *)(uintptr_t)cut.at);
	}
}

static void what_is_not_in_use_is_zero(void **state)
{
	uint8_t s[ALL];
	struct extended_text t;

	(void)state;
	fill(s);
	s[AT_IN_USE] = (uint8_t) ~(SSE | AVX); /* and bits of what nobody knows */
	assert_true(extended_state_text(slice_of(s, ALL), 3, &t));
	assert_true(t.is_zero);
	s[AT_IN_USE] = SSE;
	assert_true(extended_state_text(slice_of(s, ALL), 3, &t));
	assert_memory_equal(t.value, "0x00000000000000000000000000000000", 34);
	assert_false(t.is_zero);
	memset(s + AT_FEATURES, 0, 8); /* FXSAVE has no header */
	s[AT_IN_USE] = 0;
	assert_true(extended_state_text(slice_of(s, EXTENDED_STATE_LEGACY), 3, &t));
	assert_string_equal(t.name, "xmm3");
	assert_false(t.is_zero);
}

/* The compacted form has these three in the same places (SDM volume 1, 13.4.3): of a state that
 * says so nothing else is read. */
static void the_compacted_form_is_read_alike(void **state)
{
	uint8_t s[ALL];
	struct extended_text standard, compacted;

	(void)state;
	fill(s);
	memset(s + AT_COMPACTED, 0, 8);
	assert_true(extended_state_text(slice_of(s, ALL), 7, &standard));
	s[AT_COMPACTED] = X87 | SSE | AVX;
	s[AT_COMPACTED + 7] = 0x80;
	assert_true(extended_state_text(slice_of(s, ALL), 7, &compacted));
	assert_string_equal(compacted.value, standard.value);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_all_that_a_processor_has_a_trace_keeps_three),
		cmocka_unit_test(too_few_bytes_are_not_kept),
		cmocka_unit_test(without_its_registers_there_is_no_avx),
		cmocka_unit_test(zeros_at_the_end_are_left_out),
		cmocka_unit_test(vectors_are_told_from_their_highest_digit_on),
		cmocka_unit_test(an_empty_state_tells_nothing),
		cmocka_unit_test(a_state_of_any_length_is_read_within_it),
		cmocka_unit_test(what_is_not_in_use_is_zero),
		cmocka_unit_test(the_compacted_form_is_read_alike),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
