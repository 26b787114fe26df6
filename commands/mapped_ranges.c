/* SPDX-License-Identifier: MIT */
#include "commands/mapped_ranges.h"

#include <stdlib.h>
#include <string.h>

#include "format/log_values.h"
#include "lib/bisect.h"
#include "lib/canonical.h"
#include "lib/grow.h"

/* The index of a range: block m->count, none. */
struct range_index {
	size_t block, range;
};

static struct mapped_range *range_at(const struct mapped_ranges *m, struct range_index at)
{
	return at.block < m->count ? &m->blocks[at.block]->ranges[at.range] : NULL;
}

static uint64_t end_of(const struct mapped_block *b) { return b->ranges[b->count - 1].end; }

/* The first range that ends at addr or behind it. */
static struct range_index first_ending(const struct mapped_ranges *m, uint64_t addr)
{
	struct range_index at = {0};
	const struct mapped_block *b;

	BISECT(at.block, m->count, end_of(m->blocks[at.block]) < addr);
	if (at.block == m->count)
		return at;
	b = m->blocks[at.block];
	BISECT(at.range, b->count, b->ranges[at.range].end < addr);
	return at;
}

/* Moves all from the array's element `from` on to `to`. */
#define MOVE(array, count, from, to) \
	memmove((array) + (to), (array) + (from), ((count) - (from)) * sizeof *(array))

/* An empty block at that index. NULL without memory. */
static struct mapped_block *add_block(struct mapped_ranges *m, size_t index)
{
	struct mapped_block *b = malloc(sizeof *b);
	struct mapped_block **blocks =
		b ? array_grow(m->blocks, m->count, &m->room, sizeof(struct mapped_block *)) : NULL;

	if (!blocks) {
		free(b);
		return NULL;
	}
	b->count = 0;
	m->blocks = blocks;
	MOVE(m->blocks, m->count, index, index + 1);
	m->blocks[index] = b;
	m->count++;
	return b;
}

/* Makes two blocks of a full one. False without memory. */
static bool split_block(struct mapped_ranges *m, size_t index)
{
	struct mapped_block *upper = add_block(m, index + 1), *lower = m->blocks[index];

	if (!upper)
		return false;
	lower->count = MAPPED_BLOCK / 2;
	upper->count = MAPPED_BLOCK - lower->count;
	memcpy(upper->ranges, lower->ranges + lower->count, upper->count * sizeof *upper->ranges);
	return true;
}

/* Adds a range that touches none of those that are there. */
static bool add_range(struct mapped_ranges *m, uint64_t start, uint64_t end)
{
	struct range_index at = first_ending(m, start);
	struct mapped_block *b;

	if (m->ranges == MAPPED_RANGES_MOST || (!m->count && !add_block(m, 0)))
		return false;
	if (at.block == m->count || !m->ranges) { /* behind the last one */
		at.block = m->count - 1;
		at.range = m->blocks[at.block]->count;
	}
	if (m->blocks[at.block]->count == MAPPED_BLOCK) {
		if (!split_block(m, at.block))
			return false;
		if (at.range > MAPPED_BLOCK / 2) {
			at.block++;
			at.range -= MAPPED_BLOCK / 2;
		}
	}
	b = m->blocks[at.block];
	MOVE(b->ranges, b->count, at.range, at.range + 1);
	b->ranges[at.range] = (struct mapped_range){start, end};
	b->count++;
	m->ranges++;
	m->now += end - start;
	return true;
}

static void remove_block(struct mapped_ranges *m, size_t index)
{
	free(m->blocks[index]);
	MOVE(m->blocks, m->count, index + 1, index);
	m->count--;
}

/* Puts the ranges of that block and of the next one into one block where they leave room there. */
static void join_blocks(struct mapped_ranges *m, size_t index)
{
	struct mapped_block *lower, *upper;

	if (index + 1 >= m->count)
		return;
	lower = m->blocks[index];
	upper = m->blocks[index + 1];
	if (lower->count + upper->count > MAPPED_JOINED)
		return;
	memcpy(lower->ranges + lower->count, upper->ranges, upper->count * sizeof *upper->ranges);
	lower->count += upper->count;
	remove_block(m, index + 1);
}

static void remove_range(struct mapped_ranges *m, struct range_index at)
{
	struct mapped_block *b = m->blocks[at.block];

	m->now -= b->ranges[at.range].end - b->ranges[at.range].start;
	m->ranges--;
	MOVE(b->ranges, b->count, at.range + 1, at.range);
	if (!--b->count) {
		remove_block(m, at.block);
		return;
	}
	join_blocks(m, at.block);
	if (at.block)
		join_blocks(m, at.block - 1);
}

/* Maps [start, end), which may lie over what is there, or takes it away. */
static bool set_range(struct mapped_ranges *m, uint64_t start, uint64_t end, bool mapped)
{
	struct mapped_range left = {start, start}, right = {end, end}, *r;
	struct range_index at;

	if (start >= end || end > BT_USER_END)
		return true;
	/* What is left of those that it touches. */
	while ((r = range_at(m, at = first_ending(m, start))) && r->start <= end) {
		left.start = r->start < left.start ? r->start : left.start;
		right.end = r->end > right.end ? r->end : right.end;
		remove_range(m, at);
	}
	if (mapped && !add_range(m, left.start, right.end))
		return false;
	m->most = m->now > m->most ? m->now : m->most;
	return mapped || ((left.start == left.end || add_range(m, left.start, left.end)) &&
			  (right.start == right.end || add_range(m, right.start, right.end)));
}

bool mapped_ranges_change(struct mapped_ranges *m, const struct bt_record_log_shape *s)
{
	switch (s->what) {
	case BT_SHAPE_MAP:
		return set_range(m, s->start, s->end, true);
	case BT_SHAPE_UNMAP:
		return set_range(m, s->start, s->end, false);
	case BT_SHAPE_MOVE:
		return s->from > BT_USER_END ||
		       (set_range(m, s->from, s->from + (s->end - s->start), false) &&
			set_range(m, s->start, s->end, true));
	default:
		return true;
	}
}

void mapped_ranges_release(struct mapped_ranges *m)
{
	for (size_t i = 0; i < m->count; i++)
		free(m->blocks[i]);
	free(m->blocks);
	*m = (struct mapped_ranges){0};
}
