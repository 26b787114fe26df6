/* SPDX-License-Identifier: MIT */
/* Segments are numbered, and never change but by dying. All that began at one address are a list,
 * the newest first, whose head is found by address (`heads`): segment_at() takes the one that lived
 * in the generation asked for.
 *
 * To die is to get a generation as its end. segment_kill() finds living segments by the pages that
 * they touch; the lists for that are made when something is killed for the first time, as in most
 * programs nothing is.
 *
 * segment_collect() gives the numbers of the dead back, once no record refers to them. */
#include "collector/history/segment.h"

#include <stdlib.h>
#include <string.h>

#include "collector/history/address_lists.h"
#include "collector/history/page_lists.h"
#include "lib/large_array.h"
#include "lib/page.h"

enum {
	NONE = ADDRESS_LISTS_NONE, /* end of a list */
	LONG_PAGES = 8, /* one that touches more pages than this stands on LONG_PAGE instead */
	FREED = 0,      /* died of a number that is given back: nothing dies in generation 0 */
};

/* On the last page of all there is no code: its list has the long ones. */
#define LONG_PAGE UINT64_MAX - 1, UINT64_MAX

/* Lists by pc, and lists by page. Segments from `listed` on are not on the lists by page yet. A
 * dead one leaves these when a walk meets it. */
struct segment_table {
	unsigned holders;
	struct segment *segments;
	uint32_t *older; /* by number: the next in the list of its pc; of a freed number the next
			    free one */
	size_t count, cap, older_cap;
	uint32_t free_number; /* the first freed */
	size_t dead;          /* in the table, not freed */
	uint32_t generation;
	struct address_lists heads; /* of the lists by pc */

	size_t listed; /* segments before this are on lists */
	struct page_lists pages;
};

static bool is_long(const struct segment *s)
{
	return page_number(s->end - 1) - page_number(s->pc) >= LONG_PAGES;
}

struct segment_table *segment_table_new(void)
{
	struct segment_table *t = calloc(1, sizeof *t);

	if (!t)
		return NULL;
	t->holders = 1;
	t->free_number = NONE;
	if (address_lists_init(&t->heads))
		return t;
	free(t);
	return NULL;
}

struct segment_table *segment_table_get(struct segment_table *t)
{
	t->holders++;
	return t;
}

unsigned segment_table_holders(const struct segment_table *t) { return t->holders; }

size_t segment_table_memory(const struct segment_table *t)
{
	return t->cap * sizeof *t->segments + t->older_cap * sizeof *t->older;
}

void segment_table_put(struct segment_table *t)
{
	if (!t || --t->holders)
		return;
	large_array_free(t->segments, t->cap, sizeof *t->segments);
	large_array_free(t->older, t->older_cap, sizeof *t->older);
	address_lists_release(&t->heads);
	page_lists_release(&t->pages);
	free(t);
}

struct segment_table *segment_table_copy(const struct segment_table *t)
{
	struct segment_table *c = malloc(sizeof *c);
	bool failed = false;

	if (!c)
		return NULL;
	*c = *t;
	c->holders = 1;
	c->segments = large_array_copy(t->segments, t->count, t->cap, sizeof *t->segments);
	c->older = large_array_copy(t->older, t->count, t->older_cap, sizeof *t->older);
	failed |= t->cap && !c->segments;
	failed |= t->older_cap && !c->older;
	failed |= !address_lists_copy(&c->heads, &t->heads);
	failed |= !page_lists_copy(&c->pages, &t->pages);
	if (!failed)
		return c;
	segment_table_put(c);
	return NULL;
}

static bool grow_segments(struct segment_table *t)
{
	if (t->free_number != NONE || (t->count < t->cap && t->count < t->older_cap))
		return true;
	return t->count < NONE / 2 &&
	       large_array_reserve((void **)&t->older, &t->older_cap, t->count + 1,
				   sizeof *t->older) &&
	       large_array_reserve((void **)&t->segments, &t->cap, t->count + 1,
				   sizeof *t->segments);
}

/* Needs room for LONG_PAGES entries, which the caller has made. */
static void put_on_pages(struct segment_table *t, uint32_t n)
{
	const struct segment *s = &t->segments[n];

	if (is_long(s))
		page_lists_add(&t->pages, LONG_PAGE, n);
	else
		page_lists_add(&t->pages, s->pc, s->end, n);
}

/* Enters the segments that are not on the lists by page yet. False without memory. */
static bool list_all(struct segment_table *t)
{
	for (; t->listed < t->count; t->listed++) {
		if (t->segments[t->listed].died != SEGMENT_ALIVE)
			continue;
		if (!page_lists_reserve(&t->pages, LONG_PAGES))
			return false;
		put_on_pages(t, (uint32_t)t->listed);
	}
	return true;
}

/* The newest segment that began at pc, or NONE. */
static uint32_t head_of(const struct segment_table *t, uint64_t pc)
{
	uint32_t n = address_lists_first(&t->heads, pc);

	while (n != NONE && t->segments[n].pc != pc)
		n = address_lists_next(&t->heads, pc, n);
	return n;
}

/* The living segment of a list that is the same as s, or NONE. */
static uint32_t find_same(const struct segment_table *t, uint32_t head, const struct segment *s)
{
	for (uint32_t n = head; n != NONE; n = t->older[n]) {
		const struct segment *o = &t->segments[n];

		if (o->died == SEGMENT_ALIVE && o->from == s->from && o->end == s->end &&
		    o->to == s->to && o->kind == s->kind && o->tick == s->tick)
			return n;
	}
	return NONE;
}

/* Changes the head of the list of a pc; either may be NONE. */
static void change_head(struct segment_table *t, uint64_t pc, uint32_t old, uint32_t head)
{
	if (old != NONE)
		address_lists_remove(&t->heads, pc, old);
	if (head != NONE)
		address_lists_put(&t->heads, pc, head);
}

uint32_t segment_add(struct segment_table *t, const struct segment *s)
{
	uint32_t head = head_of(t, s->pc), n;

	if (s->pc > s->from || s->from >= s->end)
		return SEGMENT_NONE;
	n = find_same(t, head, s);
	if (n != NONE)
		return n;
	if (!grow_segments(t) || !address_lists_reserve(&t->heads, (uint32_t)t->count) ||
	    (t->free_number < t->listed && !page_lists_reserve(&t->pages, LONG_PAGES)))
		return SEGMENT_NONE;
	n = t->free_number;
	if (n != NONE)
		t->free_number = t->older[n];
	else
		n = (uint32_t)t->count++;
	t->segments[n] = *s;
	t->segments[n].born = t->generation;
	t->segments[n].died = SEGMENT_ALIVE;
	t->older[n] = head;
	change_head(t, s->pc, head, n);
	if (n < t->listed)
		put_on_pages(t, n);
	return n;
}

const struct segment *segment_get(const struct segment_table *t, uint32_t number)
{
	if (number >= t->count || t->segments[number].died == FREED)
		return NULL;
	return &t->segments[number];
}

const struct segment *segment_at(const struct segment_table *t, uint64_t pc, uint32_t generation)
{
	for (uint32_t n = head_of(t, pc); n != NONE; n = t->older[n])
		if (segment_lived(&t->segments[n], generation))
			return &t->segments[n];
	return NULL;
}

size_t segment_count(const struct segment_table *t) { return t->count; }

size_t segment_dead(const struct segment_table *t) { return t->dead; }

static void kill_one(struct segment_table *t, struct segment *s, uint64_t start, uint64_t end)
{
	if (s->died != SEGMENT_ALIVE || s->pc >= end || s->end <= start)
		return;
	s->died = t->generation + 1;
	t->dead++;
}

struct kill {
	struct segment_table *table;
	uint64_t start, end;
};

/* Lets a segment die if it overlaps [start, end). Whether it lives. */
static bool survives_change(void *arg, uint32_t n)
{
	const struct kill *k = arg;
	struct segment *s = &k->table->segments[n];

	kill_one(k->table, s, k->start, k->end);
	return s->died == SEGMENT_ALIVE;
}

static void kill_range(struct segment_table *t, uint64_t start, uint64_t end)
{
	struct kill k = {t, start, end};

	if (!list_all(t)) { /* no memory for lists */
		for (size_t i = 0; i < t->count; i++)
			kill_one(t, &t->segments[i], start, end);
		return;
	}
	page_lists_walk(&t->pages, start, end, survives_change, &k);
	page_lists_walk(&t->pages, LONG_PAGE, survives_change, &k);
}

uint32_t segment_kill(struct segment_table *t, uint64_t start, uint64_t end)
{
	if (start < end)
		kill_range(t, start, end);
	return ++t->generation;
}

uint32_t segment_retain(struct segment_table *t,
			bool (*stays)(void *arg, uint64_t start, uint64_t end), void *arg)
{
	for (size_t i = 0; i < t->count; i++) {
		struct segment *s = &t->segments[i];

		if (s->died == SEGMENT_ALIVE && !stays(arg, s->pc, s->end))
			kill_one(t, s, s->pc, s->end);
	}
	return ++t->generation;
}

uint32_t segment_generation(const struct segment_table *t) { return t->generation; }

/* Takes the dead off all lists by page, so that their numbers can be used again. */
static void unlink_dead(struct segment_table *t)
{
	struct kill none = {.table = t};

	page_lists_walk(&t->pages, 0, UINT64_MAX, survives_change, &none);
}

/* Frees those of a list that died in or before the generation. Returns its new head. */
static uint32_t collect_fragment(struct segment_table *t, uint32_t head, uint32_t generation)
{
	uint32_t *at = &head;

	while (*at != NONE) {
		uint32_t n = *at;

		if (t->segments[n].died > generation) {
			at = &t->older[n];
			continue;
		}
		*at = t->older[n];
		t->segments[n].died = FREED;
		t->older[n] = t->free_number;
		t->free_number = n;
		t->dead--;
	}
	return head;
}

void segment_collect(struct segment_table *t, uint32_t generation)
{
	if (!t->dead)
		return;
	if (generation == SEGMENT_ALIVE) /* no record is left anywhere; the living stay */
		generation--;
	unlink_dead(t);
	for (size_t i = 0; i < t->count;
	     i++) /* thousands may have died at one address: all at once */
		if (t->segments[i].died != FREED && t->segments[i].died <= generation) {
			uint64_t pc = t->segments[i].pc;
			uint32_t head = head_of(t, pc);

			change_head(t, pc, head, collect_fragment(t, head, generation));
		}
}
