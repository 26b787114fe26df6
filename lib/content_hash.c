/* SPDX-License-Identifier: MIT */
#include "lib/content_hash.h"

#include <string.h>

enum {
	LANES = 4, /* which do not wait for one another */
	WORD = 8,
};

static uint64_t word_at(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof v);
	return v;
}

static uint64_t fold(const uint64_t h[LANES], uint64_t multiplier)
{
	uint64_t all = h[0];

	for (int i = 1; i < LANES; i++)
		all = (all ^ all >> 29 ^ h[i]) * multiplier;
	return all ^ all >> 32;
}

struct content_hash content_hash(const void *bytes, size_t n)
{
	uint64_t h[LANES] = {n, ~(uint64_t)n, n << 32, ~(uint64_t)n << 32};
	const uint8_t *p = bytes;

	for (; n >= WORD * LANES; p += WORD * LANES, n -= WORD * LANES)
		for (int i = 0; i < LANES; i++) {
			h[i] = (h[i] ^ word_at(p + WORD * i)) * 0x9E3779B97F4A7C15u;
			h[i] ^= h[i] >> 32;
		}
	for (; n >= WORD; p += WORD, n -= WORD) {
		h[0] = (h[0] ^ word_at(p)) * 0x9E3779B97F4A7C15u;
		h[0] ^= h[0] >> 32;
	}
	for (; n; p++, n--)
		h[0] = (h[0] ^ *p) * 0x100000001B3u;
	return (struct content_hash){fold(h, 0xD6E8FEB86659FD93u), fold(h, 0xC2B2AE3D27D4EB4Fu)};
}
