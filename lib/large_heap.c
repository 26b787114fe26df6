/* SPDX-License-Identifier: MIT */
#include "lib/large_heap.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define LARGE_PAGE ((uintptr_t)2 << 20)

enum {
	ROOM = 24 << 20,
	BLOCKS_BELOW = 1 << 20, /* larger ones are mapped: some of those are written to little by little */
};

void large_heap_begin(void)
{
	char *room;
	uintptr_t first;

	mallopt(M_TRIM_THRESHOLD, 2 * ROOM);
	mallopt(M_MMAP_THRESHOLD, ROOM + 1);
	room = malloc(ROOM);
	first = ((uintptr_t)room + LARGE_PAGE) / LARGE_PAGE * LARGE_PAGE;
	if (room)
		madvise((void *)first, ROOM - 2 * LARGE_PAGE, MADV_HUGEPAGE); /* EINVAL where the kernel has none */
	mallopt(M_MMAP_THRESHOLD, BLOCKS_BELOW);
	free(room); /* to the heap's top: it stays there */
}
