/* SPDX-License-Identifier: MIT */
#include "lib/stack_share.h"

#include "lib/page.h"

/* The bytes kept of all stacks if each may keep this many. */
static uint64_t all_of(const uint64_t *sizes, size_t n, uint64_t most)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += sizes[i] < most ? sizes[i] : most;
	return sum;
}

uint64_t stack_share(const uint64_t *sizes, size_t n)
{
	uint64_t share = STACK_SHARE_LEAST;

	if (all_of(sizes, n, STACK_SHARE_MOST) <= STACK_SHARE_ALL)
		return STACK_SHARE_MOST;
	for (uint64_t step = STACK_SHARE_MOST / 2; step >= BT_PAGE; step /= 2)
		if (share + step < STACK_SHARE_MOST &&
		    all_of(sizes, n, share + step) <= STACK_SHARE_ALL)
			share += step;
	return share;
}
