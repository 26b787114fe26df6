/* SPDX-License-Identifier: MIT */
#include "lib/clock.h"

#include <time.h>

static uint64_t monotonic_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

struct bt_clock bt_clock_start(void) { return (struct bt_clock){.begun = monotonic_now()}; }

uint64_t bt_clock_now(const struct bt_clock *c) { return monotonic_now() - c->begun; }

uint64_t bt_clock_at(const struct bt_clock *c, uint64_t monotonic)
{
	return monotonic > c->begun ? monotonic - c->begun : 0;
}
