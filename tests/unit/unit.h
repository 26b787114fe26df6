/* SPDX-License-Identifier: MIT */
/* Included by every unit test: cmocka, after the headers that it needs. */
#ifndef BT_UNIT_H
#define BT_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Deterministic numbers (splitmix64): a failing test fails again. */
static inline uint64_t unit_random(uint64_t *state)
{
	uint64_t z = *state += 0x9E3779B97F4A7C15u;

	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
	z = (z ^ z >> 27) * 0x94D049BB133111EBu;
	return z ^ z >> 31;
}

#endif
