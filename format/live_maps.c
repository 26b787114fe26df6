/* SPDX-License-Identifier: MIT */
#include "format/live_maps.h"

#include <stdlib.h>
#include <string.h>

#include "format/space_maps.h"
#include "lib/bisect.h"
#include "lib/grow.h"

enum {
	LIVE_BLOCK = 256,
};

struct live_block {
	size_t count;
	struct space_map *at[LIVE_BLOCK];
};

void live_maps_release(struct live_maps *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->blocks[i]);
	free(l->blocks);
	*l = (struct live_maps){0};
}

static uint64_t block_end(const struct live_block *b) { return b->at[b->count - 1]->end; }

struct live_pos live_maps_find(const struct live_maps *l, uint64_t addr)
{
	struct live_pos pos = {.index = 0};
	const struct live_block *b;

	BISECT(pos.block, l->count, block_end(l->blocks[pos.block]) <= addr);
	if (pos.block == l->count)
		return pos;
	b = l->blocks[pos.block];
	BISECT(pos.index, b->count, b->at[pos.index]->end <= addr);
	return pos;
}

struct space_map *live_maps_at(const struct live_maps *l, struct live_pos pos)
{
	return pos.block < l->count ? l->blocks[pos.block]->at[pos.index] : NULL;
}

static bool add_block(struct live_maps *l, size_t at)
{
	struct live_block **blocks = array_grow(l->blocks, l->count, &l->cap, sizeof *blocks);
	struct live_block *b;

	if (!blocks)
		return false;
	l->blocks = blocks;
	b = malloc(sizeof *b);
	if (!b)
		return false;
	b->count = 0;
	memmove(l->blocks + at + 1, l->blocks + at, (l->count - at) * sizeof *l->blocks);
	l->blocks[at] = b;
	l->count++;
	return true;
}

bool live_maps_insert(struct live_maps *l, struct live_pos *pos, struct space_map *m)
{
	struct live_block *b;

	if (pos->block == l->count && l->count) {
		pos->block--;
		pos->index = l->blocks[pos->block]->count;
	}
	if (!l->count && !add_block(l, 0))
		return false;
	b = l->blocks[pos->block];
	if (b->count == LIVE_BLOCK) {
		struct live_block *upper;

		if (!add_block(l, pos->block + 1))
			return false;
		upper = l->blocks[pos->block + 1];
		b->count = upper->count = LIVE_BLOCK / 2;
		memcpy(upper->at, b->at + LIVE_BLOCK / 2, sizeof b->at / 2);
		if (pos->index > b->count) {
			pos->index -= b->count;
			pos->block++;
			b = upper;
		}
	}
	memmove(b->at + pos->index + 1, b->at + pos->index,
		(b->count - pos->index) * sizeof *b->at);
	b->at[pos->index++] = m;
	b->count++;
	if (pos->index == b->count)
		*pos = (struct live_pos){.block = pos->block + 1};
	return true;
}

void live_maps_remove(struct live_maps *l, struct live_pos *pos)
{
	struct live_block *b = l->blocks[pos->block];

	b->count--;
	memmove(b->at + pos->index, b->at + pos->index + 1,
		(b->count - pos->index) * sizeof *b->at);
	if (!b->count) {
		free(b);
		l->count--;
		memmove(l->blocks + pos->block, l->blocks + pos->block + 1,
			(l->count - pos->block) * sizeof *l->blocks);
		pos->index = 0;
	} else if (pos->index == b->count) {
		*pos = (struct live_pos){.block = pos->block + 1};
	}
}
