/* SPDX-License-Identifier: MIT */
#include "lib/clock.h"

#include <time.h>

static uint64_t now_of(clockid_t clock)
{
	struct timespec now = {0};

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t monotonic_now(void) { return now_of(CLOCK_MONOTONIC); }

struct bt_clock bt_clock_start(void) { return (struct bt_clock){.begun = monotonic_now()}; }

uint64_t bt_clock_now(const struct bt_clock *c) { return monotonic_now() - c->begun; }

uint64_t clock_used_by_thread(void) { return now_of(CLOCK_THREAD_CPUTIME_ID); }

uint64_t clock_used_by_process(pid_t pid)
{
	clockid_t clock;

	return clock_getcpuclockid(pid, &clock) ? 0 : now_of(clock);
}

uint64_t bt_clock_at(const struct bt_clock *c, uint64_t monotonic)
{
	return monotonic > c->begun ? monotonic - c->begun : 0;
}
