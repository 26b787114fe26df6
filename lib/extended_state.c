/* SPDX-License-Identifier: MIT */
#include "lib/extended_state.h"

#include <stdio.h>
#include <string.h>

/* Intel SDM volume 1, tables 10-2 and 13-1; the kernel says in bytes that FXSAVE leaves to software
 * which components there are (struct _fpx_sw_bytes of Linux' asm/sigcontext.h holds them in frames
 * of signals; regsets have xfeatures in its first 8 bytes). */
enum {
	AT_X87_ADDRESS = 8,
	AT_XMM = 160,
	AT_FEATURES = 464,
	AT_IN_USE = 512,
	AT_YMM_UPPER = 576,
	HALF = 16,
	FEATURES_KEPT = 1 << 0 | 1 << 1 | 1 << 2, /* x87, SSE, AVX */
	FEATURE_SSE = 1 << 1,
	FEATURE_AVX = 1 << 2,
};

static void keep_features(uint8_t *word)
{
	word[0] &= FEATURES_KEPT;
	memset(word + 1, 0, 7);
}

size_t extended_state_keep(uint8_t *state, size_t n)
{
	if (n < EXTENDED_STATE_LEGACY)
		return 0;
	if (n > EXTENDED_STATE_SIZE)
		n = EXTENDED_STATE_SIZE;
	memset(state + AT_X87_ADDRESS, 0, 8);
	keep_features(state + AT_FEATURES);
	if (n >= AT_IN_USE + 16) {
		keep_features(state + AT_IN_USE);
		memset(state + AT_IN_USE + 8, 0, 8); /* it is not compacted */
	}
	if (n < EXTENDED_STATE_SIZE)
		state[AT_FEATURES] &= (uint8_t)~FEATURE_AVX;
	while (n && !state[n - 1])
		n--;
	return n;
}

bool extended_state_has_avx(struct slice state)
{
	return state.len > AT_FEATURES && state.at[AT_FEATURES] & FEATURE_AVX;
}

void extended_state_copy(struct slice state, size_t offset, uint8_t *out, size_t n)
{
	size_t there = state.len > offset ? state.len - offset : 0;

	if (there > n)
		there = n;
	if (there)
		memcpy(out, state.at + offset, there);
	memset(out + there, 0, n - there);
}

/* Whether XSAVE found a component in use; FXSAVE, which has no header, stores all that it knows. */
static bool is_in_use(struct slice state, uint8_t feature)
{
	uint8_t features, in_use;

	extended_state_copy(state, AT_FEATURES, &features, 1);
	extended_state_copy(state, AT_IN_USE, &in_use, 1);
	return !features || (in_use & feature);
}

static void take_half(struct slice state, uint8_t feature, size_t offset, uint8_t out[HALF])
{
	if (is_in_use(state, feature))
		extended_state_copy(state, offset, out, HALF);
	else
		memset(out, 0, HALF);
}

size_t extended_state_vector(struct slice state, unsigned n, uint8_t out[EXTENDED_VECTOR_SIZE])
{
	if (!state.len)
		return 0;
	take_half(state, FEATURE_SSE, AT_XMM + HALF * (size_t)n, out);
	if (!extended_state_has_avx(state))
		return HALF;
	take_half(state, FEATURE_AVX, AT_YMM_UPPER + HALF * (size_t)n, out + HALF);
	return EXTENDED_VECTOR_SIZE;
}

bool extended_state_text(struct slice state, unsigned n, struct extended_text *out)
{
	static const char digits[] = "0123456789abcdef";
	uint8_t bytes[EXTENDED_VECTOR_SIZE];
	size_t size = extended_state_vector(state, n, bytes);
	char *at = out->value;

	snprintf(out->name, sizeof out->name, "%cmm%u", size > HALF ? 'y' : 'x', n % 100);
	*at++ = '0';
	*at++ = 'x';
	out->is_zero = true;
	for (size_t i = size; i-- > 0;) {
		*at++ = digits[bytes[i] >> 4];
		*at++ = digits[bytes[i] & 15];
		out->is_zero &= !bytes[i];
	}
	*at = '\0';
	return size > 0;
}
