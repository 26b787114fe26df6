/* SPDX-License-Identifier: MIT */
#include "decoder/symbols/strange_time.h"

#include <stddef.h>
#include <time.h>

static const uint64_t second = 1000000000; /* ns */

static uint64_t now(void)
{
	struct timespec t = {0};

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * second + (uint64_t)t.tv_nsec;
}

void strange_time_begin(struct strange_time *t)
{
	if (t && !t->depth++)
		t->begun = now();
}

void strange_time_end(struct strange_time *t)
{
	if (t && !--t->depth)
		t->spent += now() - t->begun;
}

bool strange_time_is_over(struct strange_time *t)
{
	if (!t || t->over)
		return t;
	t->over = t->spent + (t->depth ? now() - t->begun : 0) > t->most;
	return t->over;
}
