/* SPDX-License-Identifier: MIT */
#include "collector/space/origins.h"

#include <stdlib.h>
#include <string.h>

#include "lib/bisect.h"
#include "lib/grow.h"

enum {
	ORIGINS_MAX = 1 << 12, /* ranges: programs map hundreds of files at most */
};

void origins_release(struct origins *o)
{
	free(o->list);
	*o = (struct origins){0};
}

/* The first range that ends behind addr. */
static size_t range_behind(const struct origins *o, uint64_t addr)
{
	size_t i;

	BISECT(i, o->count, addr >= o->list[i].end);
	return i;
}

static void insert_range(struct origins *o, size_t i, struct origin_range range)
{
	struct origin_range *list = o->count < ORIGINS_MAX
					    ? array_grow(o->list, o->count, &o->cap, sizeof *list)
					    : NULL;

	if (!list)
		return;
	o->list = list;
	memmove(list + i + 1, list + i, (o->count++ - i) * sizeof *list);
	list[i] = range;
}

/* The part of a range from `start` on. */
static struct origin_range part_from(struct origin_range range, uint64_t start)
{
	range.origin.offset += start - range.start;
	range.start = start;
	return range;
}

static void cut_out(struct origins *o, uint64_t start, uint64_t end)
{
	size_t i = range_behind(o, start), gone = 0;

	if (i < o->count && o->list[i].start < start) {
		struct origin_range behind = part_from(o->list[i], start);

		o->list[i++].end = start;
		insert_range(o, i, behind);
	}
	while (i + gone < o->count && o->list[i + gone].end <= end)
		gone++;
	memmove(o->list + i, o->list + i + gone, (o->count - i - gone) * sizeof *o->list);
	o->count -= gone;
	if (i < o->count && o->list[i].start < end)
		o->list[i] = part_from(o->list[i], end);
}

void origins_set(struct origins *o, uint64_t start, uint64_t end, const struct origin *origin)
{
	if (start >= end)
		return;
	if (o->count)
		cut_out(o, start, end);
	if (origin->ino)
		insert_range(o, range_behind(o, start), (struct origin_range){start, end, *origin});
}

void origins_move(struct origins *o, uint64_t from, uint64_t to, uint64_t n)
{
	struct origins moved = {0};
	const struct origin none = {0};

	for (size_t i = range_behind(o, from); i < o->count && o->list[i].start < from + n; i++) {
		struct origin_range r = o->list[i];

		r = r.start < from ? part_from(r, from) : r;
		r.end = r.end < from + n ? r.end : from + n;
		insert_range(&moved, moved.count, r);
	}
	origins_set(o, from, from + n, &none);
	origins_set(o, to, to + n, &none);
	for (size_t i = 0; i < moved.count; i++)
		origins_set(o, moved.list[i].start - from + to, moved.list[i].end - from + to,
			    &moved.list[i].origin);
	origins_release(&moved);
}

static bool add_part(struct mapping_list *l, const struct mapping *whole, uint64_t start,
		     uint64_t end, const struct origin *origin)
{
	struct mapping part = *whole;

	if (start >= end)
		return true;
	part.start = start;
	part.end = end;
	part.dev = origin->dev;
	part.ino = origin->ino;
	part.offset = origin->offset;
	return mappings_add(l, &part);
}

static bool add_parts(struct mapping_list *l, const struct origins *o, const struct mapping *m)
{
	const struct origin none = {0};
	uint64_t at = m->start;
	bool ok = true;

	if (m->ino || m->shared)
		return mappings_add(l, m);
	for (size_t i = range_behind(o, at); ok && i < o->count && o->list[i].start < m->end; i++) {
		struct origin_range r = o->list[i];

		r = r.start < at ? part_from(r, at) : r;
		r.end = r.end < m->end ? r.end : m->end;
		ok = add_part(l, m, at, r.start, &none) &&
		     add_part(l, m, r.start, r.end, &r.origin);
		at = r.end;
	}
	return ok && add_part(l, m, at, m->end, &none);
}

void origins_show(const struct origins *o, struct mapping_list *l)
{
	struct mapping_list parts = {0};
	bool ok = true;

	if (!o->count)
		return;
	for (size_t i = 0; ok && i < l->count; i++)
		ok = add_parts(&parts, o, &l->maps[i]);
	if (!ok) {
		mappings_release(&parts);
		return;
	}
	mappings_release(l);
	*l = parts;
}
