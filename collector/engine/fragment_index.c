/* SPDX-License-Identifier: MIT */
#include "collector/engine/fragment_index.h"

#include <stdlib.h>
#include <string.h>

#include "lib/page.h"

enum {
	FIRST_CAP = 256,
};

void fragment_index_init(struct fragment_index *x)
{
	*x = (struct fragment_index){.free_link = INDEX_END};
}

void fragment_index_release(struct fragment_index *x)
{
	free(x->pages);
	free(x->links);
	fragment_index_init(x);
}

void fragment_index_clear(struct fragment_index *x)
{
	if (x->page_cap)
		memset(x->pages, 0, x->page_cap * sizeof *x->pages);
	x->page_count = x->link_count = 0;
	x->free_link = INDEX_END;
}

bool fragment_index_copy(struct fragment_index *to, const struct fragment_index *from)
{
	*to = *from;
	to->pages = malloc((from->page_cap ? from->page_cap : 1) * sizeof *to->pages);
	to->links = malloc((from->link_cap ? from->link_cap : 1) * sizeof *to->links);
	if (!to->pages || !to->links) {
		fragment_index_release(to);
		return false;
	}
	if (from->page_cap)
		memcpy(to->pages, from->pages, from->page_cap * sizeof *to->pages);
	if (from->link_count)
		memcpy(to->links, from->links, from->link_count * sizeof *to->links);
	return true;
}

static struct indexed_page *page_of(const struct fragment_index *x, uint64_t number)
{
	size_t i = (size_t)(number * 0x9E3779B97F4A7C15u >> 32) & (x->page_cap - 1);

	while (x->pages[i].used && x->pages[i].number != number)
		i = (i + 1) & (x->page_cap - 1);
	return &x->pages[i];
}

/* Room for one more page. Those with nothing on them go. */
static bool grow_pages(struct fragment_index *x)
{
	struct indexed_page *old = x->pages;
	size_t old_cap = x->page_cap, cap = FIRST_CAP, live = 0;

	if ((x->page_count + 1) * 2 <= old_cap)
		return true;
	for (size_t i = 0; i < old_cap; i++)
		live += old[i].used && old[i].first != INDEX_END;
	while (cap < (live + 1) * 4)
		cap *= 2;
	x->pages = calloc(cap, sizeof *x->pages);
	if (!x->pages) {
		x->pages = old;
		return false;
	}
	x->page_cap = cap;
	x->page_count = live;
	for (size_t i = 0; i < old_cap; i++)
		if (old[i].used && old[i].first != INDEX_END)
			*page_of(x, old[i].number) = old[i];
	free(old);
	return true;
}

static uint32_t new_link(struct fragment_index *x)
{
	size_t cap = x->link_cap ? x->link_cap * 2 : FIRST_CAP;
	struct fragment_link *links;
	uint32_t l = x->free_link;

	if (l != INDEX_END) {
		x->free_link = x->links[l].next;
		return l;
	}
	if (x->link_count == x->link_cap) {
		links = realloc(x->links, cap * sizeof *links);
		if (!links)
			return INDEX_END;
		x->links = links;
		x->link_cap = cap;
	}
	return (uint32_t)x->link_count++;
}

static bool add_to_page(struct fragment_index *x, uint64_t number, uint32_t fragment)
{
	struct indexed_page *p;
	uint32_t l;

	if (!grow_pages(x))
		return false;
	p = page_of(x, number);
	if (!p->used) {
		*p = (struct indexed_page){.number = number, .first = INDEX_END, .used = true};
		x->page_count++;
	}
	if (p->first != INDEX_END && x->links[p->first].fragment == fragment)
		return true;
	l = new_link(x);
	if (l == INDEX_END)
		return false;
	x->links[l] = (struct fragment_link){fragment, p->first};
	p->first = l;
	return true;
}

bool fragment_index_add(struct fragment_index *x, uint64_t start, uint64_t end, uint32_t fragment)
{
	for (uint64_t number = page_number(start); number <= page_number(end - 1); number++)
		if (!add_to_page(x, number, fragment))
			return false;
	return true;
}

static void walk_page(struct fragment_index *x, struct indexed_page *p,
		      bool (*keep)(void *arg, uint32_t fragment), void *arg)
{
	uint32_t *at = &p->first;

	while (*at != INDEX_END) {
		struct fragment_link *l = &x->links[*at];
		uint32_t gone = *at;

		if (keep(arg, l->fragment)) {
			at = &l->next;
			continue;
		}
		*at = l->next;
		l->next = x->free_link;
		x->free_link = gone;
	}
}

void fragment_index_walk(struct fragment_index *x, uint64_t start, uint64_t end,
			 bool (*keep)(void *arg, uint32_t fragment), void *arg)
{
	uint64_t first = page_number(start), last = page_number(end - 1);

	if (start >= end || !x->page_cap)
		return;
	if (last - first >= x->page_cap) { /* fewer pages are known than the range has */
		for (size_t i = 0; i < x->page_cap; i++)
			if (x->pages[i].used && x->pages[i].number >= first &&
			    x->pages[i].number <= last)
				walk_page(x, &x->pages[i], keep, arg);
		return;
	}
	for (uint64_t number = first; number <= last; number++) {
		struct indexed_page *p = page_of(x, number);

		if (p->used)
			walk_page(x, p, keep, arg);
	}
}
