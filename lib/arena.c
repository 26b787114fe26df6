/* SPDX-License-Identifier: MIT */
#include "lib/arena.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

enum {
	BLOCK_SIZE = 1 << 18,
	ALIGN = alignof(max_align_t),
};

struct arena_block {
	struct arena_block *next;
	size_t size;
	alignas(max_align_t) uint8_t bytes[];
};

void arena_init(struct arena *a, uint64_t budget) { *a = (struct arena){.budget = budget}; }

void arena_release(struct arena *a)
{
	for (struct arena_block *b = a->blocks, *next; b; b = next) {
		next = b->next;
		free(b);
	}
	a->blocks = NULL;
}

bool arena_charge(struct arena *a, uint64_t n)
{
	if (n > a->budget) {
		a->over = true;
		return false;
	}
	a->budget -= n;
	return true;
}

static bool add_block(struct arena *a, size_t n)
{
	size_t size = n > BLOCK_SIZE / 4 ? n : BLOCK_SIZE;
	struct arena_block *b = calloc(1, sizeof *b + size);

	if (!b) {
		a->failed = true;
		return false;
	}
	b->size = size;
	if (a->blocks && size != BLOCK_SIZE) {
		/* A large piece gets a block of its own behind the one in use. */
		b->next = a->blocks->next;
		a->blocks->next = b;
	} else {
		b->next = a->blocks;
		a->blocks = b;
		a->used = 0;
	}
	return true;
}

void *arena_alloc(struct arena *a, size_t n)
{
	struct arena_block *b = a->blocks;
	void *out;

	if (n > SIZE_MAX / 2 || !arena_charge(a, n))
		return NULL;
	n = (n + ALIGN - 1) / ALIGN * ALIGN;
	if (!b || n > b->size - a->used) {
		if (!add_block(a, n))
			return NULL;
		if (b && a->blocks == b)
			return b->next->bytes;
	}
	out = a->blocks->bytes + a->used;
	a->used += n;
	return out;
}

struct slice arena_slice(struct arena *a, struct slice s)
{
	uint8_t *copy = s.len ? arena_alloc(a, s.len + 1) : NULL;

	if (!copy)
		return slice_of("", 0);
	memcpy(copy, s.at, s.len);
	return slice_of(copy, s.len);
}
