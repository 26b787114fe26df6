/* SPDX-License-Identifier: MIT */
#include "lib/large_array.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/page.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

enum {
	FIRST_BYTES = 1 << 15,
	STEP = 1 << 16, /* the least growth in bytes; more for a large array: 1/PART of it */
	PART = 4,
	READY_MOST = 1 << 22, /* a step of at most this size is populated at once: that costs less
				 than the faults */
	ADDRESSES = 1 << 19,  /* addresses are reserved in multiples of this, so that few steps need
				 to remap */
};

/* The size of the address range of an array of this many bytes. */
static size_t mapped_size(size_t bytes) { return (bytes + ADDRESSES - 1) / ADDRESSES * ADDRESSES; }

static size_t next_bytes(size_t bytes)
{
	if (!bytes)
		return FIRST_BYTES;
	return page_up(bytes + (bytes / PART > STEP ? bytes / PART : STEP));
}

static void *map_memory(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

bool large_array_reserve(void **array, size_t *cap, size_t needed, size_t size)
{
	size_t old = page_up(*cap * size), bytes = old;
	void *at = *array;

	if (needed <= *cap)
		return true;
	if (needed > SIZE_MAX / 2 / size)
		return false;
	while (bytes / size < needed)
		bytes = next_bytes(bytes);
	if (mapped_size(bytes) != mapped_size(old))
		at = old ? mremap(at, mapped_size(old), mapped_size(bytes), MREMAP_MAYMOVE)
			 : map_memory(mapped_size(bytes));
	if (!at || at == MAP_FAILED)
		return false;
	if (old && bytes - old <= READY_MOST)
		madvise((char *)at + old, bytes - old,
			MADV_POPULATE_WRITE); /* before Linux 5.14 page by page */
	*array = at;
	*cap = bytes / size;
	return true;
}

void *large_array_copy(const void *array, size_t count, size_t cap, size_t size)
{
	void *at = cap ? map_memory(mapped_size(cap * size)) : NULL;

	if (at && count)
		memcpy(at, array, count * size);
	return at;
}

void large_array_free(void *array, size_t cap, size_t size)
{
	if (array && cap)
		munmap(array, mapped_size(cap * size));
}
