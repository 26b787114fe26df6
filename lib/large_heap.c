/* SPDX-License-Identifier: MIT */
#include "lib/large_heap.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "lib/page.h"

enum {
	ROOM = 24 << 20,
	BLOCKS_BELOW =
		1 << 20, /* larger ones are mapped: some of those are written to little by little */
};

void large_heap_begin(void)
{
	void *room;
	uintptr_t start;

	mallopt(M_TRIM_THRESHOLD, 2 * ROOM);
	mallopt(M_MMAP_THRESHOLD, ROOM + 1);
	room = malloc(ROOM);
	start = (uintptr_t)room;
	if (room) /* EINVAL where the kernel has none */
		madvise((void *)((start + BT_LARGE_PAGE) / BT_LARGE_PAGE * BT_LARGE_PAGE),
			ROOM - 2 * BT_LARGE_PAGE, MADV_HUGEPAGE);
	mallopt(M_MMAP_THRESHOLD, BLOCKS_BELOW);
	free(room); /* to the heap's top: it stays there */
}
