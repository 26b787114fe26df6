/* SPDX-License-Identifier: MIT */
/* Each space has its mappings (space_maps) and its origin: the parent that it was copied from, and
 * the parent's epoch then. A copy has its parent's mappings from the start. It does not have its
 * parent's code pages: a look-up goes from a space to its parent, at the epoch of the copy, until
 * it finds a page.
 *
 * All code pages stand in one array, sorted by space, address, epoch and seq. The page of an epoch
 * is the newest one that is not younger. It counts only if the same was mapped at its address when
 * it was read: otherwise the code of a library that was unmapped would be taken for that of the
 * next one there.
 *
 * A recorder stores a page when code on it first runs, which may be later than the epoch since
 * which the page has held these bytes. So where no page is old enough the oldest younger one is
 * taken. */
#include "format/trace_index.h"

#include <stdlib.h>
#include <string.h>

#include "format/trace_objects.h"
#include "lib/array_size.h"
#include "lib/bisect.h"
#include "lib/page.h"

enum {
	/* Spaces that one look-up of a code page goes through. */
	ANCESTORS_MAX = 256,
	SPACE_NONE = -1,
};

struct code_page {
	uint32_t space, epoch;
	uint64_t addr, seq;
	struct slice bytes;
	const struct space_map *map; /* at addr then; NULL: none is known */
};

/* The space it was copied from: the parent's place in spaces, or SPACE_NONE. */
struct space_origin {
	long parent;
	uint32_t epoch;
};

struct trace_index {
	struct arena *arena;          /* borrowed */
	struct trace_objects objects; /* until the index is finished */
	struct space_maps *spaces;    /* sorted by number */
	struct space_origin *origins;
	size_t space_count;
	struct code_page *pages; /* sorted by space, addr, epoch, seq once finished */
	size_t page_count;
	size_t dangling; /* CODE records whose object is not there */
};

struct trace_index *trace_index_new(struct arena *a)
{
	struct trace_index *x = calloc(1, sizeof *x);

	if (x)
		x->arena = a;
	return x;
}

void trace_index_free(struct trace_index *x)
{
	if (!x)
		return;
	trace_objects_release(&x->objects);
	for (size_t i = 0; i < x->space_count; i++)
		space_maps_release(&x->spaces[i]);
	free(x->spaces);
	free(x->origins);
	free(x->pages);
	free(x);
}

void trace_index_add_object(struct trace_index *x, const struct bt_record_object *r)
{
	trace_objects_add(&x->objects, x->arena, r);
}

/* 0: the record names no space. */
static uint32_t space_of_record(const struct bt_record *rec)
{
	switch (rec->kind) {
	case BT_RECORD_SPACE:
		return rec->u.space.space;
	case BT_RECORD_MAP:
		return rec->u.map.space;
	case BT_RECORD_UNMAP:
		return rec->u.unmap.space;
	case BT_RECORD_CODE:
		return rec->u.code.space;
	default:
		return 0;
	}
}

static int compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static long find_space(const struct trace_index *x, uint32_t number)
{
	size_t i;

	BISECT(i, x->space_count, x->spaces[i].number < number);
	return i < x->space_count && x->spaces[i].number == number ? (long)i : SPACE_NONE;
}

/* A zeroed array, also for n == 0. NULL without memory, and the arena says so. */
static void *new_array(struct trace_index *x, size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	if (!p)
		x->arena->failed = true;
	return p;
}

static void begin_spaces(struct trace_index *x, const uint32_t *numbers, size_t n)
{
	if (!arena_charge(x->arena, n * (sizeof *x->spaces + sizeof *x->origins)))
		return;
	x->spaces = new_array(x, n, sizeof *x->spaces);
	x->origins = new_array(x, n, sizeof *x->origins);
	x->space_count = x->spaces && x->origins ? n : 0;
	for (size_t i = 0; i < x->space_count; i++) {
		space_maps_init(&x->spaces[i], numbers[i]);
		x->origins[i].parent = SPACE_NONE;
	}
}

/* The numbers of all spaces that records name, each once: also of those whose SPACE record is lost.
 */
static size_t collect_spaces(const struct trace_events *events, uint32_t *numbers)
{
	size_t count = 0, kept = 0;

	for (size_t i = 0; i < events->count; i++)
		if (space_of_record(&events->at[i]->rec))
			numbers[count++] = space_of_record(&events->at[i]->rec);
	qsort(numbers, count, sizeof *numbers, compare_u32);
	for (size_t i = 0; i < count; i++)
		if (!i || numbers[i] != numbers[kept - 1])
			numbers[kept++] = numbers[i];
	return kept;
}

void trace_index_begin(struct trace_index *x, const struct trace_events *events)
{
	size_t pages = trace_events_count(events, BT_RECORD_CODE), named = pages;
	uint32_t *numbers;

	named += trace_events_count(events, BT_RECORD_SPACE) +
		 trace_events_count(events, BT_RECORD_MAP) +
		 trace_events_count(events, BT_RECORD_UNMAP);
	trace_objects_sort(&x->objects);
	numbers = new_array(x, named, sizeof *numbers);
	if (numbers)
		begin_spaces(x, numbers, collect_spaces(events, numbers));
	free(numbers);
	x->pages = new_array(x, pages, sizeof *x->pages);
}

static void apply_space(struct trace_index *x, const struct bt_record *rec)
{
	const struct bt_record_space *r = &rec->u.space;
	long child = find_space(x, r->space), parent = find_space(x, r->parent);

	/* A space that has begun already does not change. */
	if (child < 0 || parent < 0 || child == parent || x->spaces[child].count ||
	    x->origins[child].parent >= 0)
		return;
	x->origins[child] = (struct space_origin){.parent = parent, .epoch = r->parent_epoch};
	space_maps_copy(&x->spaces[child], x->arena, &x->spaces[parent], r->parent_epoch);
}

static void apply_map(struct trace_index *x, const struct bt_record *rec)
{
	const struct bt_record_map *r = &rec->u.map;
	struct space_map map = {
		.start = r->start,
		.end = r->end,
		.offset = r->offset,
		.dev = r->dev,
		.ino = r->ino,
		.prot = r->prot,
		.shared = r->shared,
		.path = (const char *)r->path.at,
		.build_id = r->build_id,
	};
	long i = find_space(x, r->space);

	if (i >= 0)
		space_maps_add(&x->spaces[i], x->arena, r->epoch, &map);
}

static void apply_unmap(struct trace_index *x, const struct bt_record *rec)
{
	const struct bt_record_unmap *r = &rec->u.unmap;
	long i = find_space(x, r->space);

	if (i >= 0)
		space_maps_remove(&x->spaces[i], x->arena, r->epoch, r->start, r->end);
}

static void apply_code(struct trace_index *x, const struct bt_record *rec)
{
	const struct bt_record_code *r = &rec->u.code;
	const struct trace_object *o = trace_objects_find(&x->objects, r->object);

	if (!o) {
		x->dangling++;
		return;
	}
	if (r->addr % BT_PAGE || !o->bytes.len)
		return;
	x->pages[x->page_count++] = (struct code_page){.space = r->space,
						       .epoch = r->epoch,
						       .addr = r->addr,
						       .seq = r->seq,
						       .bytes = o->bytes};
}

void trace_index_apply(struct trace_index *x, const struct bt_record *rec)
{
	static void (*const apply[])(struct trace_index * x, const struct bt_record *rec) = {
		[BT_RECORD_SPACE] = apply_space,
		[BT_RECORD_MAP] = apply_map,
		[BT_RECORD_UNMAP] = apply_unmap,
		[BT_RECORD_CODE] = apply_code,
	};

	if (rec->kind < ARRAY_SIZE(apply) && apply[rec->kind])
		apply[rec->kind](x, rec);
}

static int compare_pages(const void *a, const void *b)
{
	const struct code_page *x = a, *y = b;

	if (x->space != y->space)
		return x->space < y->space ? -1 : 1;
	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (x->epoch != y->epoch)
		return x->epoch < y->epoch ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

size_t trace_index_finish(struct trace_index *x)
{
	qsort(x->pages, x->page_count, sizeof *x->pages, compare_pages);
	for (size_t i = 0; i < x->space_count; i++)
		space_maps_index(&x->spaces[i], x->arena);
	for (size_t i = 0; i < x->space_count; i++)
		space_maps_settle(&x->spaces[i]);
	for (size_t i = 0; i < x->page_count; i++)
		x->pages[i].map = trace_index_map_at(x, x->pages[i].space, x->pages[i].epoch,
						     x->pages[i].addr);
	trace_objects_release(&x->objects);
	return x->dangling;
}

const struct space_map *trace_index_map_at(const struct trace_index *x, uint32_t space,
					   uint32_t epoch, uint64_t addr)
{
	long i = find_space(x, space);

	return i < 0 ? NULL : space_maps_at(&x->spaces[i], epoch, addr);
}

size_t trace_index_maps(const struct trace_index *x, uint32_t space, uint32_t epoch,
			const struct space_map ***out)
{
	long i = find_space(x, space);

	return space_maps_list(i < 0 ? NULL : &x->spaces[i], epoch, out);
}

/* The place that a look-up asks for. Its mapping is looked up once it is needed. */
struct index_place {
	long index; /* of the space */
	uint32_t space, epoch;
	uint64_t addr;
	const struct space_map *map;
	bool map_known;
};

/* Whether the same is mapped at the place as was at the page's address when it was read. Most often
 * both lie in one mapping. */
static bool is_of(const struct trace_index *x, const struct code_page *page, struct index_place *at)
{
	if (page->map && page->space == at->space && page->map->first_epoch <= at->epoch &&
	    at->epoch < page->map->end_epoch)
		return true;
	if (!at->map_known)
		at->map = at->index < 0 ? NULL
					: space_maps_at(&x->spaces[at->index], at->epoch, at->addr);
	at->map_known = true;
	return space_map_is_same(page->map, at->map);
}

/* The page of one space for the place: the newest that is not younger than epoch, or NULL. *later:
 * the oldest younger one, or NULL. */
static const struct code_page *page_in_space(const struct trace_index *x, uint32_t space,
					     uint32_t epoch, struct index_place *place,
					     const struct code_page **later)
{
	struct code_page key = {
		.space = space, .addr = place->addr, .epoch = epoch, .seq = UINT64_MAX};
	size_t i;
	const struct code_page *at;

	BISECT(i, x->page_count, compare_pages(&x->pages[i], &key) <= 0);
	*later = NULL;
	at = i ? &x->pages[i - 1] : NULL;
	if (at && at->space == space && at->addr == place->addr && is_of(x, at, place))
		return at;
	at = i < x->page_count ? &x->pages[i] : NULL;
	if (at && at->space == space && at->addr == place->addr && is_of(x, at, place))
		*later = at;
	return NULL;
}

static const struct code_page *find_page(const struct trace_index *x, uint32_t space,
					 uint32_t epoch, uint64_t addr)
{
	const struct code_page *found = NULL, *later, *fallback = NULL;
	long index = find_space(x, space);
	struct index_place place = {.index = index, .space = space, .epoch = epoch, .addr = addr};

	for (size_t depth = 0; depth < ANCESTORS_MAX; depth++) {
		found = page_in_space(x, space, epoch, &place, &later);
		if (!fallback)
			fallback = later;
		if (found || index < 0 || x->origins[index].parent < 0)
			break;
		epoch = x->origins[index].epoch;
		index = x->origins[index].parent;
		space = x->spaces[index].number;
	}
	return found ? found : fallback;
}

size_t trace_index_code(const struct trace_index *x, uint32_t space, uint32_t epoch, uint64_t addr,
			uint8_t *out, size_t n)
{
	size_t done = 0;

	while (done < n) {
		uint64_t at = addr + done;
		size_t skip = at % BT_PAGE,
		       take = n - done < BT_PAGE - skip ? n - done : BT_PAGE - skip;
		const struct code_page *page = find_page(x, space, epoch, at - skip);

		if (!page || page->bytes.len <= skip)
			break;
		if (take > page->bytes.len - skip)
			n = done + (take = page->bytes.len - skip);
		memcpy(out + done, page->bytes.at + skip, take);
		done += take;
	}
	return done;
}
