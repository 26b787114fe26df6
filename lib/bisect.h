/* SPDX-License-Identifier: MIT */
/* Binary search. Used by all that look something up in a sorted array. A macro, as each array has a
 * key of its own: no function is called for a comparison. */
#ifndef BT_BISECT_H
#define BT_BISECT_H

#include <stddef.h>

/* Sets i, a size_t of the caller's, to the first number in [0, count) for which `before`, an
 * expression of i, is false; to count if there is none. `before` has to be true up to some number,
 * and false from there on. */
#define BISECT(i, count, before)                                           \
	do {                                                               \
		size_t bisect_low = 0, bisect_high = (count);              \
                                                                           \
		while (bisect_low < bisect_high) {                         \
			(i) = bisect_low + (bisect_high - bisect_low) / 2; \
			if (before)                                        \
				bisect_low = (i) + 1;                      \
			else                                               \
				bisect_high = (i);                         \
		}                                                          \
		(i) = bisect_low;                                          \
	} while (0)

#endif
