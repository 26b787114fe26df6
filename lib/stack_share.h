/* SPDX-License-Identifier: MIT */
/* How much of each thread's stack a snapshot keeps. Used by the recorder and the import of core
 * files. Pure. */
#ifndef BT_STACK_SHARE_H
#define BT_STACK_SHARE_H

#include <stddef.h>
#include <stdint.h>

enum {
	STACK_SHARE_MOST = 8 << 20,    /* bytes of one stack: the usual limit, so that the first
					  callers of an overflow are kept */
	STACK_SHARE_LEAST = 256 << 10, /* for each stack, even of thousands */
	STACK_SHARE_ALL =
		32
		<< 20, /* of all threads but the snapshot's own, unless the least comes to more */
};

/* The most bytes to keep of each of n threads' stacks with these sizes: the same for all. Larger
 * stacks get the room that smaller ones leave. A multiple of the page, from STACK_SHARE_LEAST to
 * STACK_SHARE_MOST. */
uint64_t stack_share(const uint64_t *sizes, size_t n);

#endif
