/* SPDX-License-Identifier: MIT */
/* While records are applied, `live` has the mappings of the newest epoch, sorted by address.
 * Applying a record carves its range out of them: every mapping there ends at the record's epoch,
 * and its parts outside the range begin anew as mappings of their own. A MAP then inserts its
 * mapping into the hole. Mappings that ended stay in `maps`.
 *
 * space_maps_index() builds a segment tree. Its leaves are the ranges between two neighbours of all
 * starts and ends. A mapping stands at those O(log n) nodes that together cover its addresses. All
 * mappings of one node have addresses in common, so their epochs do not overlap and can be
 * searched. A lookup goes from the leaf of an address up to the root and searches the epoch at each
 * node. */
#include "format/space_maps.h"

#include <stdlib.h>
#include <string.h>

#include "lib/grow.h"

enum {
	/* Most bytes of index for one mapping: two bounds, and slots in two nodes on each of 32
	   levels. */
	INDEX_COST = 2 * 8 + 2 * 32 * 8,
};

static const uint32_t open_ended = UINT32_MAX;

void space_maps_init(struct space_maps *s, uint32_t number)
{
	*s = (struct space_maps){.number = number};
}

void space_maps_release(struct space_maps *s)
{
	live_maps_release(&s->live);
	free(s->maps);
	free(s->bounds);
	free(s->slots);
	free(s->node_slots);
}

/* A new mapping for the part [start, end) of `of`. NULL past the budget or without memory. */
static struct space_map *add_map(struct space_maps *s, struct arena *a, const struct space_map *of,
				 uint32_t epoch, uint64_t start, uint64_t end)
{
	struct space_map *m, **maps = array_grow(s->maps, s->count, &s->cap, sizeof *maps);

	if (!maps) {
		a->failed = true;
		return NULL;
	}
	s->maps = maps;
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
		m->memory = m; /* else m is a part or a copy of another mapping */
	s->maps[s->count++] = m;
	return m;
}

static void insert_map(struct space_maps *s, struct arena *a, struct live_pos *pos,
		       const struct space_map *of, uint64_t start, uint64_t end)
{
	struct space_map *m = start < end ? add_map(s, a, of, s->epoch, start, end) : NULL;

	if (m && !live_maps_insert(&s->live, pos, m)) {
		m->end_epoch = m->first_epoch;
		a->failed = true;
	}
}

/* Ends everything in [start, end) at the current epoch. Returns the position for a mapping of that
 * range. */
static struct live_pos carve_range(struct space_maps *s, struct arena *a, uint64_t start,
				   uint64_t end)
{
	struct live_pos pos = live_maps_find(&s->live, start);
	struct space_map *old;

	while ((old = live_maps_at(&s->live, pos)) && old->start < end) {
		old->end_epoch = s->epoch;
		live_maps_remove(&s->live, &pos);
		insert_map(s, a, &pos, old, old->start, start < old->start ? old->start : start);
		if (old->end > end) {
			struct live_pos behind = pos;

			insert_map(s, a, &behind, old, end, old->end);
			break;
		}
	}
	/* An insert may have split the block. */
	return live_maps_find(&s->live, start);
}

static void advance_epoch(struct space_maps *s, uint32_t epoch)
{
	if (epoch == open_ended)
		epoch--;
	if (epoch > s->epoch)
		s->epoch = epoch;
}

void space_maps_add(struct space_maps *s, struct arena *a, uint32_t epoch,
		    const struct space_map *map)
{
	struct live_pos pos;

	if (map->start >= map->end || a->over || a->failed)
		return;
	advance_epoch(s, epoch);
	pos = carve_range(s, a, map->start, map->end);
	insert_map(s, a, &pos, map, map->start, map->end);
}

void space_maps_remove(struct space_maps *s, struct arena *a, uint32_t epoch, uint64_t start,
		       uint64_t end)
{
	if (start >= end || a->over || a->failed)
		return;
	advance_epoch(s, epoch);
	carve_range(s, a, start, end);
}

static int compare_start(const void *a, const void *b)
{
	const struct space_map *x = *(struct space_map *const *)a,
			       *y = *(struct space_map *const *)b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->first_epoch < y->first_epoch ? -1 : x->first_epoch > y->first_epoch;
}

void space_maps_copy(struct space_maps *child, struct arena *a, const struct space_maps *parent,
		     uint32_t epoch)
{
	const struct space_map **valid;
	size_t count = 0;

	/* One byte for each mapping looked at: bounds the work of many copies of a space with a
	 * long past. */
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

		insert_map(child, a, &end, valid[i], valid[i]->start, valid[i]->end);
	}
	free(valid);
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The index of the last bound <= addr. There is one. */
static size_t range_of(const struct space_maps *s, uint64_t addr)
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

static bool index_bounds(struct space_maps *s)
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

/* Visits the nodes that together cover the mapping, bottom-up. Puts the mapping into a slot of each
 * node. slots NULL: only counts, one node ahead, so that the sums become each node's first slot. */
static void spread_over_tree(const struct space_maps *s, struct space_map *m, uint32_t *node_slots,
			     struct space_map **slots)
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

static bool index_slots(struct space_maps *s)
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
		spread_over_tree(s, s->maps[i], s->node_slots, NULL);
	for (size_t i = 0; i <= nodes; i++)
		s->node_slots[i + 1] += s->node_slots[i];
	memcpy(fill, s->node_slots, (nodes + 2) * sizeof *fill);
	s->slots = malloc((s->node_slots[nodes] ? s->node_slots[nodes] : 1) * sizeof *s->slots);
	for (size_t i = 0; i < s->count && s->slots; i++)
		spread_over_tree(s, s->maps[i], fill, s->slots);
	free(fill);
	return s->slots;
}

static struct space_map *memory_root(struct space_map *m)
{
	while (m->memory != m)
		m = m->memory = m->memory->memory;
	return m;
}

static bool is_file(const struct space_map *m) { return *m->path == '/'; }

size_t space_map_path_len(const char *path)
{
	static const char deleted[] = " (deleted)";
	size_t len = strlen(path), tail = sizeof deleted - 1;

	return len > tail && !strcmp(path + len - tail, deleted) ? len - tail : len;
}

/* A file that was deleted since is the same file. */
static bool same_path(const char *a, const char *b)
{
	size_t len = space_map_path_len(a);

	return a == b || (len == space_map_path_len(b) && !memcmp(a, b, len));
}

bool space_map_is_same(const struct space_map *a, const struct space_map *b)
{
	if (a == b)
		return true;
	if (!a || !b)
		return false;
	if (!is_file(a) || !is_file(b))
		return a->memory == b->memory;
	return a->dev == b->dev && a->ino == b->ino &&
	       a->offset - a->start == b->offset - b->start && same_path(a->path, b->path);
}

static int compare_first(const void *a, const void *b)
{
	const struct space_map *x = *(struct space_map *const *)a,
			       *y = *(struct space_map *const *)b;

	if (x->first_epoch != y->first_epoch)
		return x->first_epoch < y->first_epoch ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

static int compare_end(const void *a, const void *b)
{
	const struct space_map *x = *(struct space_map *const *)a,
			       *y = *(struct space_map *const *)b;

	if (x->end_epoch != y->end_epoch)
		return x->end_epoch < y->end_epoch ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

static int compare_meeting(const struct space_map *ended, const struct space_map *begun)
{
	if (ended->end_epoch != begun->first_epoch)
		return ended->end_epoch < begun->first_epoch ? -1 : 1;
	return ended->end <= begun->start ? -1 : ended->start >= begun->end;
}

/* Joins the memory of mappings that a record repeated. A mapping that begins at the epoch and
 * address where another one ends is the same memory; behind an unmapping it is not. The mappings
 * that end at one epoch do not overlap, nor do those that begin at one epoch: so two sorted lists
 * can be merged. */
static bool join_memory(const struct space_maps *s)
{
	size_t n = s->count, e = 0, b = 0;
	struct space_map **ended = malloc((n ? n : 1) * sizeof *ended),
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
			memory_root(begun[b])->memory = memory_root(ended[e]);
		/* the one of the two that reaches further may meet another */
		if (order ? order < 0 : ended[e]->end <= begun[b]->end)
			e++;
		else
			b++;
	}
	free(ended);
	free(begun);
	return good;
}

void space_maps_settle(struct space_maps *s)
{
	for (size_t i = 0; i < s->count; i++)
		s->maps[i]->memory = memory_root(s->maps[i]);
}

void space_maps_index(struct space_maps *s, struct arena *a)
{
	size_t kept = 0;

	live_maps_release(&s->live);
	/* Drop mappings that a later record of the same epoch replaced: no epoch ever saw them. */
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

const struct space_map *space_maps_at(const struct space_maps *s, uint32_t epoch, uint64_t addr)
{
	if (!s->indexed || !s->bound_count || addr < s->bounds[0] ||
	    addr >= s->bounds[s->bound_count - 1])
		return NULL;
	for (size_t node = range_of(s, addr) + s->bound_count - 1; node; node /= 2) {
		size_t lo = s->node_slots[node], hi = s->node_slots[node + 1];

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

size_t space_maps_list(const struct space_maps *s, uint32_t epoch, const struct space_map ***out)
{
	size_t count = 0;

	*out = malloc((s && s->count ? s->count : 1) * sizeof **out);
	for (size_t i = 0; *out && s && i < s->count; i++)
		if (s->maps[i]->first_epoch <= epoch && epoch < s->maps[i]->end_epoch)
			(*out)[count++] = s->maps[i];
	return count;
}
