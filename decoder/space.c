/* SPDX-License-Identifier: MIT */
#include "decoder/space.h"

#include <stdlib.h>
#include <string.h>

enum {
	LIVE_BLOCK = 256,
	/* What the index may need for one mapping: two bounds, and slots in two nodes on each of up
	   to 32 levels. */
	INDEX_COST = 2 * 8 + 2 * 32 * 8,
};

static const uint32_t open_ended = UINT32_MAX;

struct live_block {
	size_t count;
	struct model_map *at[LIVE_BLOCK];
};

struct live_pos {
	size_t block, index;
};

void space_init(struct space *s, uint32_t number) { *s = (struct space){.number = number}; }

static void live_release(struct live *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->blocks[i]);
	free(l->blocks);
	*l = (struct live){0};
}

void space_release(struct space *s)
{
	live_release(&s->live);
	free(s->maps);
	free(s->bounds);
	free(s->slots);
	free(s->node_slots);
}

/* The first mapping that ends behind addr. */
static struct live_pos live_find(const struct live *l, uint64_t addr)
{
	size_t lo = 0, hi = l->count;
	struct live_pos pos;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct live_block *b = l->blocks[mid];

		if (b->at[b->count - 1]->end > addr)
			hi = mid;
		else
			lo = mid + 1;
	}
	pos = (struct live_pos){.block = lo};
	if (lo == l->count)
		return pos;
	for (lo = 0, hi = l->blocks[pos.block]->count; lo < hi;) {
		size_t mid = lo + (hi - lo) / 2;

		if (l->blocks[pos.block]->at[mid]->end > addr)
			hi = mid;
		else
			lo = mid + 1;
	}
	pos.index = lo;
	return pos;
}

static struct model_map *live_at(const struct live *l, struct live_pos pos)
{
	return pos.block < l->count ? l->blocks[pos.block]->at[pos.index] : NULL;
}

static bool live_add_block(struct live *l, size_t at)
{
	struct live_block *b = malloc(sizeof *b);

	if (b && l->count == l->cap) {
		size_t cap = l->cap ? l->cap * 2 : 8;
		struct live_block **blocks = realloc(l->blocks, cap * sizeof *blocks);

		if (blocks) {
			l->blocks = blocks;
			l->cap = cap;
		}
	}
	if (!b || l->count == l->cap) {
		free(b);
		return false;
	}
	b->count = 0;
	memmove(l->blocks + at + 1, l->blocks + at, (l->count - at) * sizeof *l->blocks);
	l->blocks[at] = b;
	l->count++;
	return true;
}

/* Inserts before pos and moves pos behind the new mapping. */
static bool live_insert(struct live *l, struct live_pos *pos, struct model_map *m)
{
	struct live_block *b;

	if (pos->block == l->count && l->count) {
		pos->block--;
		pos->index = l->blocks[pos->block]->count;
	}
	if (!l->count && !live_add_block(l, 0))
		return false;
	b = l->blocks[pos->block];
	if (b->count == LIVE_BLOCK) {
		struct live_block *upper;

		if (!live_add_block(l, pos->block + 1))
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

/* Removes the mapping at pos; pos then is at the one behind it. */
static void live_remove(struct live *l, struct live_pos *pos)
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

/* A mapping of its own for [start, end) of `of`. NULL past the budget or without memory. */
static struct model_map *add_map(struct space *s, struct arena *a, const struct model_map *of,
				 uint32_t epoch, uint64_t start, uint64_t end)
{
	struct model_map *m;

	if (s->count == s->cap) {
		size_t cap = s->cap ? s->cap * 2 : 32;
		struct model_map **maps = realloc(s->maps, cap * sizeof *maps);

		if (!maps) {
			a->failed = true;
			return NULL;
		}
		s->maps = maps;
		s->cap = cap;
	}
	if (!arena_charge(a, INDEX_COST))
		return NULL;
	m = arena_alloc(a, sizeof *m);
	if (!m)
		return NULL;
	*m = *of;
	m->start = start;
	m->end = end;
	m->offset = of->offset + (start - of->start);
	m->first_epoch = epoch;
	m->end_epoch = open_ended;
	if (!m->memory)
		m->memory = m; /* else it is a part or a copy of another */
	s->maps[s->count++] = m;
	return m;
}

static void insert(struct space *s, struct arena *a, struct live_pos *pos,
		   const struct model_map *of, uint64_t start, uint64_t end)
{
	struct model_map *m = start < end ? add_map(s, a, of, s->epoch, start, end) : NULL;

	if (m && !live_insert(&s->live, pos, m)) {
		m->end_epoch = m->first_epoch;
		a->failed = true;
	}
}

/* Ends everything in [start, end) at the current epoch. The position returned is where a mapping of
 * that range goes. */
static struct live_pos carve(struct space *s, struct arena *a, uint64_t start, uint64_t end)
{
	struct live_pos pos = live_find(&s->live, start);
	const struct model_map *m;

	while ((m = live_at(&s->live, pos)) && m->start < end) {
		struct model_map *old = s->live.blocks[pos.block]->at[pos.index];

		old->end_epoch = s->epoch;
		live_remove(&s->live, &pos);
		insert(s, a, &pos, old, old->start, start < old->start ? old->start : start);
		if (old->end > end) {
			struct live_pos behind = pos;

			insert(s, a, &behind, old, end, old->end);
			break;
		}
	}
	/* Inserting a rest may have split the block. */
	return live_find(&s->live, start);
}

static void advance(struct space *s, uint32_t epoch)
{
	if (epoch == open_ended)
		epoch--;
	if (epoch > s->epoch)
		s->epoch = epoch;
}

void space_map(struct space *s, struct arena *a, uint32_t epoch, const struct model_map *map)
{
	struct live_pos pos;

	if (map->start >= map->end || a->over || a->failed)
		return;
	advance(s, epoch);
	pos = carve(s, a, map->start, map->end);
	insert(s, a, &pos, map, map->start, map->end);
}

void space_unmap(struct space *s, struct arena *a, uint32_t epoch, uint64_t start, uint64_t end)
{
	if (start >= end || a->over || a->failed)
		return;
	advance(s, epoch);
	carve(s, a, start, end);
}

static int compare_start(const void *a, const void *b)
{
	const struct model_map *x = *(struct model_map *const *)a,
			       *y = *(struct model_map *const *)b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->first_epoch < y->first_epoch ? -1 : x->first_epoch > y->first_epoch;
}

void space_copy(struct space *child, struct arena *a, const struct space *parent, uint32_t epoch)
{
	const struct model_map **valid;
	size_t count = 0;

	/* One byte a mapping looked at bounds the work of many copies of a space with a long past.
	 */
	if (!arena_charge(a, parent->count))
		return;
	valid = malloc((parent->count ? parent->count : 1) * sizeof *valid);
	if (!valid) {
		a->failed = true;
		return;
	}
	if (epoch == open_ended)
		epoch--;
	for (size_t i = 0; i < parent->count; i++)
		if (parent->maps[i]->first_epoch <= epoch && epoch < parent->maps[i]->end_epoch)
			valid[count++] = parent->maps[i];
	qsort(valid, count, sizeof *valid, compare_start);
	for (size_t i = 0; i < count && !a->over && !a->failed; i++) {
		struct live_pos end = {.block = child->live.count};

		insert(child, a, &end, valid[i], valid[i]->start, valid[i]->end);
	}
	free(valid);
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The index of the last bound <= addr, which is there. */
static size_t range_of(const struct space *s, uint64_t addr)
{
	size_t lo = 0, hi = s->bound_count;

	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->bounds[mid] <= addr)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

static bool index_bounds(struct space *s)
{
	size_t n = 0;

	s->bounds = malloc((s->count ? 2 * s->count : 1) * sizeof *s->bounds);
	if (!s->bounds)
		return false;
	for (size_t i = 0; i < s->count; i++) {
		s->bounds[n++] = s->maps[i]->start;
		s->bounds[n++] = s->maps[i]->end;
	}
	qsort(s->bounds, n, sizeof *s->bounds, compare_u64);
	for (size_t i = 0; i < n; i++)
		if (!i || s->bounds[i] != s->bounds[i - 1])
			s->bounds[s->bound_count++] = s->bounds[i];
	return true;
}

/* Visits the nodes that together cover the mapping; those of ranges [l, r) of a bottom-up segment
 * tree. With slots NULL only counts, one ahead, so that the sums become the node's first slots. */
static void spread(const struct space *s, struct model_map *m, uint32_t *node_slots,
		   struct model_map **slots)
{
	size_t leaves = s->bound_count - 1, l = range_of(s, m->start) + leaves,
	       r = range_of(s, m->end) + leaves;

	for (; l < r; l /= 2, r /= 2) {
		size_t nodes[2], count = 0;

		if (l & 1)
			nodes[count++] = l++;
		if (r & 1)
			nodes[count++] = --r;
		while (count--) {
			if (slots)
				slots[node_slots[nodes[count]]++] = m;
			else
				node_slots[nodes[count] + 1]++;
		}
	}
}

static bool index_slots(struct space *s)
{
	size_t nodes = s->bound_count ? 2 * (s->bound_count - 1) : 0;
	uint32_t *fill;

	s->node_slots = calloc(nodes + 2, sizeof *s->node_slots);
	fill = malloc((nodes + 2) * sizeof *fill);
	if (!s->node_slots || !fill) {
		free(fill);
		return false;
	}
	for (size_t i = 0; i < s->count; i++)
		spread(s, s->maps[i], s->node_slots, NULL);
	for (size_t i = 0; i <= nodes; i++)
		s->node_slots[i + 1] += s->node_slots[i];
	memcpy(fill, s->node_slots, (nodes + 2) * sizeof *fill);
	s->slots = malloc((s->node_slots[nodes] ? s->node_slots[nodes] : 1) * sizeof *s->slots);
	for (size_t i = 0; i < s->count && s->slots; i++)
		spread(s, s->maps[i], fill, s->slots);
	free(fill);
	return s->slots;
}

static struct model_map *memory_of(struct model_map *m)
{
	while (m->memory != m)
		m = m->memory = m->memory->memory;
	return m;
}

static bool is_file(const struct model_map *m) { return *m->path == '/'; }

static int compare_first(const void *a, const void *b)
{
	const struct model_map *x = *(struct model_map *const *)a,
			       *y = *(struct model_map *const *)b;

	if (x->first_epoch != y->first_epoch)
		return x->first_epoch < y->first_epoch ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

static int compare_end(const void *a, const void *b)
{
	const struct model_map *x = *(struct model_map *const *)a,
			       *y = *(struct model_map *const *)b;

	if (x->end_epoch != y->end_epoch)
		return x->end_epoch < y->end_epoch ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

static int compare_meeting(const struct model_map *ended, const struct model_map *begun)
{
	if (ended->end_epoch != begun->first_epoch)
		return ended->end_epoch < begun->first_epoch ? -1 : 1;
	return ended->end <= begun->start ? -1 : ended->start >= begun->end;
}

/* Where mappings change, records tell all of them anew. What lies where other memory lay until that
 * epoch is the same memory; where something was unmapped between, it is not. Those that end at an
 * epoch do not overlap, and neither do those that begin. */
static bool join_memory(const struct space *s)
{
	size_t n = s->count, e = 0, b = 0;
	struct model_map **ended = malloc((n ? n : 1) * sizeof *ended),
			 **begun = malloc((n ? n : 1) * sizeof *begun);
	bool good = ended && begun;

	for (size_t i = 0; good && i < n; i++)
		ended[i] = begun[i] = s->maps[i];
	if (good && n) {
		qsort(ended, n, sizeof *ended, compare_end);
		qsort(begun, n, sizeof *begun, compare_first);
	}
	while (good && e < n && b < n) {
		int order = compare_meeting(ended[e], begun[b]);

		if (!order && !is_file(ended[e]) && !is_file(begun[b]))
			memory_of(begun[b])->memory = memory_of(ended[e]);
		/* of two that overlap the one that reaches further may meet another */
		if (order ? order < 0 : ended[e]->end <= begun[b]->end)
			e++;
		else
			b++;
	}
	free(ended);
	free(begun);
	return good;
}

void space_settle(struct space *s)
{
	for (size_t i = 0; i < s->count; i++)
		s->maps[i]->memory = memory_of(s->maps[i]);
}

void space_index(struct space *s, struct arena *a)
{
	size_t kept = 0;

	live_release(&s->live);
	/* What a later record of the same epoch replaced was never to be seen. */
	for (size_t i = 0; i < s->count; i++)
		if (s->maps[i]->first_epoch < s->maps[i]->end_epoch)
			s->maps[kept++] = s->maps[i];
	s->count = kept;
	s->indexed = join_memory(s) && index_bounds(s) && index_slots(s);
	if (!s->indexed)
		a->failed = true;
	if (s->count)
		qsort(s->maps, s->count, sizeof *s->maps, compare_start);
}

const struct model_map *space_map_at(const struct space *s, uint32_t epoch, uint64_t addr)
{
	if (!s->indexed || !s->bound_count || addr < s->bounds[0] ||
	    addr >= s->bounds[s->bound_count - 1])
		return NULL;
	for (size_t node = range_of(s, addr) + s->bound_count - 1; node; node /= 2) {
		size_t lo = s->node_slots[node], hi = s->node_slots[node + 1];

		/* Mappings of one node share addresses, so their epochs do not overlap. */
		while (lo < hi) {
			size_t mid = lo + (hi - lo) / 2;

			if (s->slots[mid]->end_epoch > epoch)
				hi = mid;
			else
				lo = mid + 1;
		}
		if (lo < s->node_slots[node + 1] && s->slots[lo]->first_epoch <= epoch)
			return s->slots[lo];
	}
	return NULL;
}
