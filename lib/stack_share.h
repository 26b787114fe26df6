/* SPDX-License-Identifier: MIT */
/* How much of each thread's stack is kept of a moment, by the recorder and of a core file. Pure. */
#ifndef BT_STACK_SHARE_H
#define BT_STACK_SHARE_H

#include <stddef.h>
#include <stdint.h>

enum {
	STACK_SHARE_MOST = 8 << 20, /* bytes of one stack: the usual limit, so that who called what
				       overflowed it is there */
	STACK_SHARE_LEAST = 256 << 10, /* which each of them may have, of thousands */
	STACK_SHARE_ALL = 32 << 20, /* of all threads but the one that the moment is about, unless
				       the least comes to more */
};

/* How many bytes of a stack are kept at most, of n threads whose stacks have so many each: the same
 * for all. What some do not need is left to those that have more. A multiple of the page from the
 * least to the most. */
uint64_t stack_share(const uint64_t *sizes, size_t n);

#endif
