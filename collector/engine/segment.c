/* SPDX-License-Identifier: MIT */
#include "collector/engine/segment.h"

#include <stdlib.h>
#include <string.h>

#include "collector/engine/address_lists.h"
#include "lib/large_array.h"
#include "lib/page.h"

enum {
	NONE = ADDRESS_LISTS_NONE, /* end of a list */
	FIRST_CAP = 1024,
	LONG_PAGES = 8, /* one that touches more pages than this stands in the list of long ones
			   instead */
	FREED = 0,      /* died of a number that is given back: nothing dies in generation 0 */
};

/* All segments that began at one pc are a fragment, the newest first; its head is found by pc. Each
 * living one stands also in a list per page that it touches, so that a kill looks at few: most
 * programs end before there is any, so those from `listed` on wait for it. The dead leave these
 * lists when somebody comes by. */
struct link {
	uint32_t segment, next;
};

struct page {
	uint64_t number;
	uint32_t first; /* link; NONE: nothing there now */
	bool used;
};

struct segment_table {
	unsigned holders;
	struct segment *segments;
	uint32_t *older; /* by number: the next in the fragment of its pc; of a freed number the
			    next free one */
	size_t count, cap, older_cap;
	uint32_t free_number; /* the first freed */
	size_t dead;          /* in the table, not freed */
	uint32_t generation;
	struct address_lists heads; /* of fragments, by pc */

	size_t listed; /* segments before this are on lists */
	struct link *links;
	size_t link_count, link_cap;
	uint32_t free_link;
	struct page *pages; /* open addressing by number */
	size_t page_count, page_cap;
	uint32_t long_ones; /* list of links */
};

static size_t hash(uint64_t key)
{
	key *= 0x9E3779B97F4A7C15u;
	return (size_t)(key ^ key >> 32);
}

static uint64_t first_page(const struct segment *s) { return page_number(s->pc); }

static uint64_t last_page(const struct segment *s) { return page_number(s->end - 1); }

static bool is_long(const struct segment *s) { return last_page(s) - first_page(s) >= LONG_PAGES; }

struct segment_table *segment_table_new(void)
{
	struct segment_table *t = calloc(1, sizeof *t);

	if (!t)
		return NULL;
	t->holders = 1;
	t->free_number = t->free_link = t->long_ones = NONE;
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
	free(t->links);
	free(t->pages);
	free(t);
}

/* A copy of count elements with room for cap of them; *failed when there is no memory. */
static void *copied(const void *from, size_t count, size_t cap, size_t size, bool *failed)
{
	void *to;

	if (!cap)
		return NULL;
	to = malloc(cap * size);
	if (to)
		memcpy(to, from, count * size);
	*failed |= !to;
	return to;
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
	c->links = copied(t->links, t->link_count, t->link_cap, sizeof *t->links, &failed);
	c->pages = copied(t->pages, t->page_cap, t->page_cap, sizeof *t->pages, &failed);
	if (!failed)
		return c;
	segment_table_put(c);
	return NULL;
}

static struct page *page_of(const struct segment_table *t, uint64_t number)
{
	size_t i = hash(number) & (t->page_cap - 1);

	while (t->pages[i].used && t->pages[i].number != number)
		i = (i + 1) & (t->page_cap - 1);
	return &t->pages[i];
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

/* Room for n more pages. Those with nothing on them go. */
static bool grow_pages(struct segment_table *t, size_t n)
{
	struct page *old = t->pages;
	size_t old_cap = t->page_cap, cap = FIRST_CAP, live = 0;

	if ((t->page_count + n) * 2 <= old_cap)
		return true;
	for (size_t i = 0; i < old_cap; i++)
		live += old[i].used && old[i].first != NONE;
	while (cap < (live + n) * 4)
		cap *= 2;
	t->pages = calloc(cap, sizeof *t->pages);
	if (!t->pages) {
		t->pages = old;
		return false;
	}
	t->page_cap = cap;
	t->page_count = live;
	for (size_t i = 0; i < old_cap; i++)
		if (old[i].used && old[i].first != NONE)
			*page_of(t, old[i].number) = old[i];
	free(old);
	return true;
}

static bool grow_links(struct segment_table *t, size_t n)
{
	size_t cap = t->link_cap ? t->link_cap * 2 : FIRST_CAP;
	struct link *links;

	if (t->link_count + n <= t->link_cap)
		return true;
	links = realloc(t->links, cap * sizeof *links);
	if (!links)
		return false;
	t->links = links;
	t->link_cap = cap;
	return true;
}

static void put_link(struct segment_table *t, uint32_t *list, uint32_t segment)
{
	uint32_t l = t->free_link;

	if (l != NONE)
		t->free_link = t->links[l].next;
	else
		l = (uint32_t)t->link_count++;
	t->links[l] = (struct link){segment, *list};
	*list = l;
}

/* Room for everything that segment n needs here has been made. */
static void put_on_pages(struct segment_table *t, uint32_t n)
{
	const struct segment *s = &t->segments[n];

	if (is_long(s)) {
		put_link(t, &t->long_ones, n);
		return;
	}
	for (uint64_t number = first_page(s); number <= last_page(s); number++) {
		struct page *p = page_of(t, number);

		if (!p->used) {
			*p = (struct page){.number = number, .first = NONE, .used = true};
			t->page_count++;
		}
		put_link(t, &p->first, n);
	}
}

/* Those that are not on the lists yet come to them. False without memory. */
static bool list_all(struct segment_table *t)
{
	for (; t->listed < t->count; t->listed++) {
		if (t->segments[t->listed].died != SEGMENT_ALIVE)
			continue;
		if (!grow_pages(t, LONG_PAGES) || !grow_links(t, LONG_PAGES))
			return false;
		put_on_pages(t, (uint32_t)t->listed);
	}
	return true;
}

/* The newest that began at pc, or NONE. */
static uint32_t head_of(const struct segment_table *t, uint64_t pc)
{
	uint32_t n = address_lists_first(&t->heads, pc);

	while (n != NONE && t->segments[n].pc != pc)
		n = address_lists_next(&t->heads, pc, n);
	return n;
}

/* Of a fragment the living segment that is the same, or NONE. */
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

/* Another head of the fragment of a pc; either may be NONE. */
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
	    (t->free_number < t->listed &&
	     (!grow_pages(t, LONG_PAGES) || !grow_links(t, LONG_PAGES))))
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

/* Lets those of a list die that overlap [start, end), and takes the dead off it. */
static void kill_in_list(struct segment_table *t, uint32_t *list, uint64_t start, uint64_t end)
{
	while (*list != NONE) {
		struct link *l = &t->links[*list];
		struct segment *s = &t->segments[l->segment];
		uint32_t gone = *list;

		kill_one(t, s, start, end);
		if (s->died == SEGMENT_ALIVE) {
			list = &l->next;
			continue;
		}
		*list = l->next;
		l->next = t->free_link;
		t->free_link = gone;
	}
}

static void kill_range(struct segment_table *t, uint64_t start, uint64_t end)
{
	uint64_t first = page_number(start), last = page_number(end - 1);

	if (!list_all(t)) { /* no memory for lists */
		for (size_t i = 0; i < t->count; i++)
			kill_one(t, &t->segments[i], start, end);
		return;
	}
	kill_in_list(t, &t->long_ones, start, end);
	if (!t->page_cap)
		return;
	if (last - first >=
	    t->page_cap) { /* a large unmapping: fewer pages are known than it has */
		for (size_t i = 0; i < t->page_cap; i++)
			if (t->pages[i].used)
				kill_in_list(t, &t->pages[i].first, start, end);
		return;
	}
	for (uint64_t number = first; number <= last; number++) {
		struct page *p = page_of(t, number);

		if (p->used)
			kill_in_list(t, &p->first, start, end);
	}
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

/* Takes the dead off all lists, so that their numbers can be used again. */
static void unlink_dead(struct segment_table *t)
{
	kill_in_list(t, &t->long_ones, 0, 0);
	for (size_t i = 0; i < t->page_cap; i++)
		if (t->pages[i].used)
			kill_in_list(t, &t->pages[i].first, 0, 0);
}

/* Frees those of a fragment that died in or before the generation. Returns its head then. */
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
