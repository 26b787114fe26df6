/* SPDX-License-Identifier: MIT */
/* The pages are an array sorted by address. watch.c makes each change in the tracee and reports it
 * here.
 *
 * Each opening of a page adds to its heat and to that of all pages; heat halves as time passes. A
 * hot page is compared instead of protected, for BACKOFF_NS at first and twice as long each further
 * time; time without a write makes that shorter again.
 *
 * A fork's child has the bytes of its parent's pages in common with it, until one of them changes.
 * When there are too many pages, open ones are forgotten. */
#include "collector/backend/engine/written_code/watched_pages.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "lib/bisect.h"
#include "lib/page.h"

#define HEAT_HALVES_NS 50000000u /* 50 ms */
#define BACKOFF_NS     20000000u
enum {
	HEAT_MAX = 12, /* of a page: an opening costs some 50 us, so this is two hundredths of the
			  time */
	ALL_HEAT_MAX = 400, /* of all pages together */
	BACKOFF_MAX = 8,
	SPARED_MAX = 16384, /* each thread may have a page for its signals, and one with its id */
};

struct shared_bytes {
	unsigned users;
	uint8_t bytes[BT_PAGE];
};

static struct shared_bytes *shared_of(const struct watched_page *p)
{
	return (struct shared_bytes *)(void *)((uintptr_t)p->bytes -
					       offsetof(struct shared_bytes, bytes));
}

void watched_drop_bytes(struct watched_page *p)
{
	if (p->bytes && !--shared_of(p)->users)
		free(shared_of(p));
	p->bytes = NULL;
}

bool watched_set_bytes(struct watched_page *p, const uint8_t *bytes)
{
	struct shared_bytes *own =
		p->bytes && shared_of(p)->users == 1 ? shared_of(p) : malloc(sizeof *own);

	if (!own)
		return false;
	memcpy(own->bytes, bytes, BT_PAGE);
	if (p->bytes != own->bytes)
		watched_drop_bytes(p);
	own->users = 1;
	p->bytes = own->bytes;
	return true;
}

static void free_page(struct watched_page *p)
{
	watched_drop_bytes(p);
	free(p);
}

void watched_release(struct watched_pages *w)
{
	for (size_t i = 0; i < w->count; i++)
		free_page(w->pages[i]);
	free(w->pages);
	free(w->spared);
	*w = (struct watched_pages){0};
}

static bool copy_page(struct watched_pages *to, const struct watched_page *from)
{
	struct watched_page *p = malloc(sizeof *p);

	if (!p)
		return false;
	*p = *from;
	to->pages[to->count++] = p;
	if (p->bytes)
		shared_of(p)->users++;
	return true;
}

bool watched_copy(struct watched_pages *to, const struct watched_pages *from)
{
	bool ok;

	*to = *from;
	to->suspended = 0;
	to->count = 0;
	to->pages = malloc((from->cap ? from->cap : 1) * sizeof *to->pages);
	to->spared = malloc((from->spared_cap ? from->spared_cap : 1) * sizeof *to->spared);
	ok = to->pages && to->spared;
	if (ok && from->spared_count)
		memcpy(to->spared, from->spared, from->spared_count * sizeof *to->spared);
	for (size_t i = 0; ok && i < from->count; i++)
		ok = copy_page(to, from->pages[i]);
	if (!ok)
		watched_release(to);
	return ok;
}

/* The index of the first page at addr or above. */
static size_t page_index(const struct watched_pages *w, uint64_t addr)
{
	size_t i;

	BISECT(i, w->count, w->pages[i]->addr < addr);
	return i;
}

struct watched_page *watched_find(const struct watched_pages *w, uint64_t addr)
{
	size_t at = page_index(w, addr);

	return at < w->count && w->pages[at]->addr == addr ? w->pages[at] : NULL;
}

/* Makes room by forgetting open pages. */
static void forget_idle(struct watched_pages *w)
{
	size_t kept = 0;

	for (size_t i = 0; i < w->count; i++)
		if (w->pages[i]->state == WATCH_OPEN)
			free_page(w->pages[i]);
		else
			w->pages[kept++] = w->pages[i];
	w->count = kept;
}

static bool grow_pages(struct watched_pages *w)
{
	size_t cap = w->cap ? w->cap * 2 : 64;
	struct watched_page **pages;

	if (w->count == WATCH_MAX)
		forget_idle(w);
	if (w->count == WATCH_MAX)
		return false;
	if (w->count < w->cap)
		return true;
	pages = realloc(w->pages, cap * sizeof *pages);
	if (!pages)
		return false;
	w->pages = pages;
	w->cap = cap;
	return true;
}

struct watched_page *watched_add(struct watched_pages *w, uint64_t addr)
{
	struct watched_page *p = watched_find(w, addr);
	size_t at;

	if (p)
		return p;
	if (!grow_pages(w))
		return NULL;
	p = calloc(1, sizeof *p);
	if (!p)
		return NULL;
	p->addr = addr;
	at = page_index(w, addr);
	memmove(w->pages + at + 1, w->pages + at, (w->count - at) * sizeof *w->pages);
	w->pages[at] = p;
	w->count++;
	return p;
}

struct watched_page *watched_protected(const struct watched_pages *w, uint64_t start, uint64_t end)
{
	if (!w->protected || start >= end)
		return NULL;
	for (size_t i = page_index(w, page_down(start)); i < w->count && w->pages[i]->addr < end;
	     i++)
		if (w->pages[i]->state == WATCH_PROTECTED)
			return w->pages[i];
	return NULL;
}

uint64_t watched_run(const struct watched_pages *w, const struct watched_page *p, uint64_t end)
{
	uint64_t at = p->addr;

	for (size_t i = page_index(w, at); i < w->count && at < end; i++) {
		const struct watched_page *q = w->pages[i];

		if (q->addr != at || q->state != WATCH_PROTECTED || q->prot != p->prot)
			break;
		at += BT_PAGE;
	}
	return at;
}

/* Sets the page's state, and keeps the counts. */
static void set_state(struct watched_pages *w, struct watched_page *p, enum watch_state state)
{
	w->protected -= p->state == WATCH_PROTECTED;
	w->compared -= p->state == WATCH_COMPARED;
	w->protected += state == WATCH_PROTECTED;
	w->compared += state == WATCH_COMPARED;
	p->state = (uint8_t)state;
}

/* Halves the heat for the time that has passed since *time. */
static void cool_heat(uint32_t *heat, uint64_t *time, uint64_t now)
{
	uint64_t halvings = (now - *time) / HEAT_HALVES_NS;

	if (now < *time || !halvings)
		return;
	*heat = halvings < 32 ? *heat >> halvings : 0;
	*time += halvings * HEAT_HALVES_NS;
}

void watched_opened(struct watched_pages *w, struct watched_page *p, uint64_t now)
{
	set_state(w, p, WATCH_OPEN);
	cool_heat(&p->heat, &p->heat_time, now);
	cool_heat(&w->heat, &w->heat_time, now);
	p->heat++;
	w->heat++;
	while (p->backoff &&
	       now - p->since > (uint64_t)BACKOFF_NS
					<< p->backoff) { /* it was left alone for as long as it had
							    been compared */
		p->backoff--;
		p->since += (uint64_t)BACKOFF_NS << p->backoff;
	}
}

void watched_protect(struct watched_pages *w, struct watched_page *p, uint64_t now)
{
	set_state(w, p, WATCH_PROTECTED);
	p->since = now;
}

bool watched_is_hot(struct watched_pages *w, struct watched_page *p, uint64_t now)
{
	cool_heat(&p->heat, &p->heat_time, now);
	cool_heat(&w->heat, &w->heat_time, now);
	return p->heat > HEAT_MAX || (w->heat > ALL_HEAT_MAX && p->heat > 1);
}

void watched_compare(struct watched_pages *w, struct watched_page *p, uint64_t now)
{
	p->until = now + ((uint64_t)BACKOFF_NS << p->backoff);
	p->backoff += p->backoff < BACKOFF_MAX;
	if (!w->compared || p->until < w->sweep)
		w->sweep = p->until;
	set_state(w, p, WATCH_COMPARED);
}

struct watched_page *watched_retry(struct watched_pages *w, size_t *at, uint64_t now)
{
	if (!*at) {
		if (!w->compared || now < w->sweep)
			return NULL;
		w->sweep = UINT64_MAX;
	}
	while (*at < w->count) {
		struct watched_page *p = w->pages[(*at)++];

		if (p->state == WATCH_COMPARED && p->until <= now) {
			set_state(w, p, WATCH_OPEN);
			return p;
		}
		if (p->state == WATCH_COMPARED && p->until < w->sweep)
			w->sweep = p->until;
	}
	return NULL;
}

bool watched_spare(struct watched_pages *w, uint64_t start, uint64_t end)
{
	size_t cap = w->spared_cap ? w->spared_cap * 2 : 8;
	struct watch_range *spared;

	start = page_down(start);
	end = page_up(end);
	for (size_t i = 0; i < w->spared_count; i++)
		if (w->spared[i].start == start && w->spared[i].end == end)
			return true;
	if (w->spared_count == SPARED_MAX)
		return false;
	if (w->spared_count == w->spared_cap) {
		spared = realloc(w->spared, cap * sizeof *spared);
		if (!spared)
			return false;
		w->spared = spared;
		w->spared_cap = cap;
	}
	w->spared[w->spared_count++] = (struct watch_range){start, end};
	return true;
}

bool watched_is_spared(const struct watched_pages *w, uint64_t page)
{
	for (size_t i = 0; i < w->spared_count; i++)
		if (w->spared[i].start < page + BT_PAGE && page < w->spared[i].end)
			return true;
	return false;
}
