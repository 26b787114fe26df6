/* SPDX-License-Identifier: MIT */
#include "collector/history/page_lists.h"

#include <stdlib.h>
#include <string.h>

#include "lib/page.h"

enum {
	FIRST_CAP = 256,
};

void page_lists_release(struct page_lists *l)
{
	hash_table_release(&l->pages);
	free(l->links);
	*l = (struct page_lists){0};
}

void page_lists_clear(struct page_lists *l)
{
	hash_table_clear(&l->pages);
	l->link_count = 0;
	l->free_link = 0;
}

bool page_lists_copy(struct page_lists *to, const struct page_lists *from)
{
	*to = (struct page_lists){.link_count = from->link_count,
				  .link_cap = from->link_count,
				  .free_link = from->free_link};
	to->links = from->link_count ? malloc(from->link_count * sizeof *to->links) : NULL;
	if (!hash_table_copy(&to->pages, &from->pages) || (from->link_count && !to->links)) {
		page_lists_release(to);
		return false;
	}
	if (from->link_count)
		memcpy(to->links, from->links, from->link_count * sizeof *to->links);
	return true;
}

static bool reserve_links(struct page_lists *l, size_t n)
{
	size_t cap = l->link_cap ? l->link_cap : FIRST_CAP;
	struct page_link *links;

	if (l->link_count + n <= l->link_cap)
		return true;
	while (cap < l->link_count + n)
		cap *= 2;
	links = cap < UINT32_MAX ? realloc(l->links, cap * sizeof *links) : NULL;
	if (!links)
		return false;
	l->links = links;
	l->link_cap = cap;
	return true;
}

bool page_lists_reserve(struct page_lists *l, size_t n)
{
	return hash_table_reserve(&l->pages, n) && reserve_links(l, n);
}

/* A link out of use; 0 without memory. */
static uint32_t new_link(struct page_lists *l)
{
	uint32_t link = l->free_link;

	if (!link)
		return reserve_links(l, 1) ? (uint32_t)++l->link_count : 0;
	l->free_link = l->links[link - 1].next;
	return link;
}

static void free_link(struct page_lists *l, uint32_t link)
{
	l->links[link - 1].next = l->free_link;
	l->free_link = link;
}

static bool add_to_page(struct page_lists *l, uint64_t page, uint32_t number)
{
	struct hash_slot *slot = hash_table_find(&l->pages, page);
	uint32_t first = slot ? (uint32_t)slot->number : 0, link;

	if (first && l->links[first - 1].number == number)
		return true;
	link = new_link(l);
	if (!link)
		return false;
	l->links[link - 1] = (struct page_link){number, first};
	if (slot) {
		slot->number = link;
		return true;
	}
	if (hash_table_add(&l->pages, (struct hash_slot){page, {link}}))
		return true;
	free_link(l, link);
	return false;
}

bool page_lists_add(struct page_lists *l, uint64_t start, uint64_t end, uint32_t number)
{
	for (uint64_t page = page_number(start); page <= page_number(end - 1); page++)
		if (!add_to_page(l, page, number))
			return false;
	return true;
}

struct page_walk {
	struct page_lists *lists;
	uint64_t first, last; /* pages */
	bool (*keep)(void *arg, uint32_t number);
	void *arg;
};

/* Whether nothing is left on the page. */
static bool walk_page(void *arg, struct hash_slot *page)
{
	const struct page_walk *w = arg;
	struct page_lists *l = w->lists;
	uint32_t first = (uint32_t)page->number, *at = &first;

	if (page->key < w->first || page->key > w->last)
		return false;
	while (*at) {
		struct page_link *link = &l->links[*at - 1];
		uint32_t gone = *at;

		if (w->keep(w->arg, link->number)) {
			at = &link->next;
			continue;
		}
		*at = link->next;
		free_link(l, gone);
	}
	page->number = first;
	return !first;
}

void page_lists_walk(struct page_lists *l, uint64_t start, uint64_t end,
		     bool (*keep)(void *arg, uint32_t number), void *arg)
{
	struct page_walk w = {l, page_number(start), page_number(end - 1), keep, arg};

	if (start >= end)
		return;
	if (w.last - w.first >= l->pages.cap) { /* fewer pages are known than the range has */
		hash_table_sweep(&l->pages, walk_page, &w);
		return;
	}
	for (uint64_t page = w.first; page <= w.last; page++) {
		struct hash_slot *slot = hash_table_find(&l->pages, page);

		if (slot && walk_page(&w, slot))
			hash_table_take_out(&l->pages, slot);
	}
}
