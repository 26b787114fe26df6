/* SPDX-License-Identifier: MIT */
/* Multimap from page to number, so that a change of code finds what it concerns. Used by code
 * caches (fragments) and segment tables (segments). All zero is empty. A number stands on each page
 * at most once if numbers are entered in their order. */
#ifndef BT_PAGE_LISTS_H
#define BT_PAGE_LISTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/hash_table.h"

struct page_link {
	uint32_t number, next; /* the next link of the page */
};

/* Links are counted from 1 on; 0 ends a list. */
struct page_lists {
	struct hash_table
		pages; /* the first link by the page's number; pages with none are not there */
	struct page_link *links;
	size_t link_count, link_cap;
	uint32_t free_link; /* first of those taken out */
};

void page_lists_release(struct page_lists *l);
/* *to is overwritten. False without memory: it is empty. */
bool page_lists_copy(struct page_lists *to, const struct page_lists *from);
/* Nothing is in it. */
void page_lists_clear(struct page_lists *l);

/* Room for a number on n pages. False without memory. */
bool page_lists_reserve(struct page_lists *l, size_t n);

/* Enters the number on each page that [start, end) touches. False without memory: it may be entered
 * in part. */
bool page_lists_add(struct page_lists *l, uint64_t start, uint64_t end, uint32_t number);

/* Shows every number on the pages that [start, end) touches, once for each page; one for which keep
 * returns false is taken off that page. keep must not change the lists. */
void page_lists_walk(struct page_lists *l, uint64_t start, uint64_t end,
		     bool (*keep)(void *arg, uint32_t number), void *arg);

#endif
