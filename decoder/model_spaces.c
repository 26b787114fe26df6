/* SPDX-License-Identifier: MIT */
#include "decoder/model_private.h"
#include "lib/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	/* Code pages are looked up through this many copies of an address space. */
	ANCESTORS_MAX = 256,
};

static uint32_t space_of_event(const struct bt_record *rec)
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

static long find_space(const struct model_private *p, uint32_t number)
{
	size_t lo = 0, hi = p->space_count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (p->spaces[mid].number < number)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < p->space_count && p->spaces[lo].number == number ? (long)lo : SPACE_NONE;
}

/* Every space that a record names exists, also where its SPACE record was lost. */
void spaces_collect(struct loader *l)
{
	const struct model *m = l->m;
	struct model_private *p = l->p;
	size_t n = loader_count(l, BT_RECORD_SPACE) + loader_count(l, BT_RECORD_MAP) +
		   loader_count(l, BT_RECORD_UNMAP) + loader_count(l, BT_RECORD_CODE),
	       count = 0, kept = 0;
	uint32_t *numbers = loader_array(l, n, sizeof *numbers);

	for (size_t i = 0; numbers && i < m->event_count; i++)
		if (space_of_event(&m->events[i].rec))
			numbers[count++] = space_of_event(&m->events[i].rec);
	if (numbers)
		qsort(numbers, count, sizeof *numbers, compare_u32);
	for (size_t i = 0; i < count; i++)
		if (!i || numbers[i] != numbers[kept - 1])
			numbers[kept++] = numbers[i];
	if (arena_charge(&p->arena, kept * (sizeof *p->spaces + sizeof *p->origins))) {
		p->spaces = loader_array(l, kept, sizeof *p->spaces);
		p->origins = loader_array(l, kept, sizeof *p->origins);
		p->space_count = p->spaces && p->origins ? kept : 0;
	}
	for (size_t i = 0; i < p->space_count; i++) {
		space_init(&p->spaces[i], numbers[i]);
		p->origins[i].parent = SPACE_NONE;
	}
	free(numbers);
	p->pages = loader_array(l, loader_count(l, BT_RECORD_CODE), sizeof *p->pages);
}

void spaces_on_space(struct loader *l, const struct model_event *e)
{
	const struct bt_record_space *r = &e->rec.u.space;
	struct model_private *p = l->p;
	long child = find_space(p, r->space), parent = find_space(p, r->parent);

	/* A space that has already begun stays what it is. */
	if (child < 0 || parent < 0 || child == parent || p->spaces[child].count ||
	    p->origins[child].parent >= 0)
		return;
	p->origins[child] = (struct origin){.parent = parent, .epoch = r->parent_epoch};
	space_copy(&p->spaces[child], &p->arena, &p->spaces[parent], r->parent_epoch);
}

void spaces_on_map(struct loader *l, const struct model_event *e)
{
	const struct bt_record_map *r = &e->rec.u.map;
	struct model_map map = {.start = r->start,
				.end = r->end,
				.offset = r->offset,
				.dev = r->dev,
				.ino = r->ino,
				.prot = r->prot,
				.shared = r->shared,
				.path = (const char *)r->path.at,
				.build_id = r->build_id};
	long i = find_space(l->p, r->space);

	if (i >= 0)
		space_map(&l->p->spaces[i], &l->p->arena, r->epoch, &map);
}

void spaces_on_unmap(struct loader *l, const struct model_event *e)
{
	const struct bt_record_unmap *r = &e->rec.u.unmap;
	long i = find_space(l->p, r->space);

	if (i >= 0)
		space_unmap(&l->p->spaces[i], &l->p->arena, r->epoch, r->start, r->end);
}

void spaces_on_code(struct loader *l, const struct model_event *e)
{
	const struct bt_record_code *r = &e->rec.u.code;
	const struct object *o = loader_object(l, r->object);

	if (!o) {
		l->dangling++;
		return;
	}
	if (r->addr % BT_PAGE || !o->bytes.len)
		return;
	l->p->pages[l->p->page_count++] = (struct code_page){.space = r->space,
							     .epoch = r->epoch,
							     .addr = r->addr,
							     .seq = r->seq,
							     .bytes = o->bytes};
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

void spaces_finish(struct loader *l)
{
	struct model_private *p = l->p;
	char text[100];

	qsort(p->pages, p->page_count, sizeof *p->pages, compare_pages);
	for (size_t i = 0; i < p->space_count; i++)
		space_index(&p->spaces[i], &p->arena);
	for (size_t i = 0; i < p->space_count; i++)
		space_settle(&p->spaces[i]);
	for (size_t i = 0; i < p->page_count; i++)
		p->pages[i].map =
			model_map_at(l->m, p->pages[i].space, p->pages[i].epoch, p->pages[i].addr);
	if (!l->dangling)
		return;
	snprintf(text, sizeof text, "%zu code pages name bytes that are not in the trace",
		 l->dangling);
	loader_damage(l, "objects", 0, BT_E_CORRUPT, text);
}

void spaces_release(struct model_private *p)
{
	for (size_t i = 0; i < p->space_count; i++)
		space_release(&p->spaces[i]);
	free(p->spaces);
	free(p->origins);
	free(p->pages);
}

const struct model_map *model_map_at(const struct model *m, uint32_t space, uint32_t epoch,
				     uint64_t addr)
{
	long i = find_space(m->priv, space);

	return i < 0 ? NULL : space_map_at(&m->priv->spaces[i], epoch, addr);
}

size_t model_maps(const struct model *m, uint32_t space, uint32_t epoch,
		  const struct model_map ***out)
{
	long index = find_space(m->priv, space);
	const struct space *s = index < 0 ? NULL : &m->priv->spaces[index];
	size_t count = 0;

	*out = malloc((s && s->count ? s->count : 1) * sizeof **out);
	if (!*out)
		return 0;
	for (size_t i = 0; s && i < s->count; i++)
		if (s->maps[i]->first_epoch <= epoch && epoch < s->maps[i]->end_epoch)
			(*out)[count++] = s->maps[i];
	return count;
}

/* What is asked for; its mapping is looked up once it matters. */
struct place {
	long index; /* of the space */
	uint32_t space, epoch;
	uint64_t addr;
	const struct model_map *map;
	bool map_known;
};

size_t model_path_len(const char *path)
{
	static const char deleted[] = " (deleted)";
	size_t len = strlen(path), tail = sizeof deleted - 1;

	return len > tail && !strcmp(path + len - tail, deleted) ? len - tail : len;
}

/* A file that is gone since is the same file. */
static bool same_path(const char *a, const char *b)
{
	size_t len = model_path_len(a);

	return a == b || (len == model_path_len(b) && !memcmp(a, b, len));
}

/* Whether two mappings show the same at an address that both hold: the same bytes of a file,
 * however often it was mapped, or the same memory. */
static bool same_mapping(const struct model_map *a, const struct model_map *b)
{
	if (a == b)
		return true;
	if (!a || !b)
		return false;
	if (*a->path != '/' || *b->path != '/')
		return a->memory == b->memory;
	return a->dev == b->dev && a->ino == b->ino &&
	       a->offset - a->start == b->offset - b->start && same_path(a->path, b->path);
}

/* Whether the page was read where the same lay at its address as at the place. Most often both are
 * in one mapping. */
static bool is_of(const struct model_private *p, const struct code_page *page, struct place *at)
{
	if (page->map && page->space == at->space && page->map->first_epoch <= at->epoch &&
	    at->epoch < page->map->end_epoch)
		return true;
	if (!at->map_known)
		at->map = at->index < 0 ? NULL
					: space_map_at(&p->spaces[at->index], at->epoch, at->addr);
	at->map_known = true;
	return same_mapping(page->map, at->map);
}

/* The page of one space: the newest that is not younger than epoch, else NULL; in *later the oldest
 * younger one, or NULL. Only what is of the place. */
static const struct code_page *page_in_space(const struct model_private *p, uint32_t space,
					     uint32_t epoch, struct place *place,
					     const struct code_page **later)
{
	struct code_page key = {
		.space = space, .addr = place->addr, .epoch = epoch, .seq = UINT64_MAX};
	size_t lo = 0, hi = p->page_count;
	const struct code_page *at;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (compare_pages(&p->pages[mid], &key) <= 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	*later = NULL;
	at = lo ? &p->pages[lo - 1] : NULL;
	if (at && at->space == space && at->addr == place->addr && is_of(p, at, place))
		return at;
	at = lo < p->page_count ? &p->pages[lo] : NULL;
	if (at && at->space == space && at->addr == place->addr && is_of(p, at, place))
		*later = at;
	return NULL;
}

/* Code bytes may be written when a page is first executed, later than the epoch they have held
 * since: hence the oldest younger one. */
static const struct code_page *find_page(const struct model_private *p, uint32_t space,
					 uint32_t epoch, uint64_t addr)
{
	const struct code_page *found = NULL, *later, *fallback = NULL;
	long index = find_space(p, space);
	struct place place = {.index = index, .space = space, .epoch = epoch, .addr = addr};

	for (size_t depth = 0; depth < ANCESTORS_MAX; depth++) {
		found = page_in_space(p, space, epoch, &place, &later);
		if (!fallback)
			fallback = later;
		if (found || index < 0 || p->origins[index].parent < 0)
			break;
		epoch = p->origins[index].epoch;
		index = p->origins[index].parent;
		space = p->spaces[index].number;
	}
	return found ? found : fallback;
}

size_t model_code(const struct model *m, uint32_t space, uint32_t epoch, uint64_t addr,
		  uint8_t *out, size_t n)
{
	size_t done = 0;

	while (done < n) {
		uint64_t at = addr + done;
		size_t skip = at % BT_PAGE,
		       take = n - done < BT_PAGE - skip ? n - done : BT_PAGE - skip;
		const struct code_page *page = find_page(m->priv, space, epoch, at - skip);

		if (!page || page->bytes.len <= skip)
			break;
		if (take > page->bytes.len - skip)
			n = done + (take = page->bytes.len - skip);
		memcpy(out + done, page->bytes.at + skip, take);
		done += take;
	}
	return done;
}
