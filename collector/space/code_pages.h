/* SPDX-License-Identifier: MIT */
/* Copies of the pages of code of an address space, by address. Spaces that a fork made of one
 * another have one table as long as they have the same code; tables that were copied have the bytes
 * of their pages in common. Counted. Used by address spaces, left caches and the decoding of Intel
 * PT. */
#ifndef BT_CODE_PAGES_H
#define BT_CODE_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/page.h"

struct code_pages; /* opaque */
struct page_batch; /* opaque */

/* An empty table with one user, or a copy of one. NULL without memory. */
struct code_pages *code_pages_new(void);
struct code_pages *code_pages_copy(const struct code_pages *from);

struct code_pages *code_pages_get(struct code_pages *t);
void code_pages_put(struct code_pages *t); /* of NULL: nothing */
unsigned code_pages_users(const struct code_pages *t);

/* The bytes of the page that begins at addr, NULL when it has none. Valid until the page is set or
 * dropped. */
const uint8_t *code_pages_find(const struct code_pages *t, uint64_t addr);

/* The page that begins at addr has these bytes from now on. Returns the copy, NULL without memory.
 */
const uint8_t *code_pages_set(struct code_pages *t, uint64_t addr, const uint8_t bytes[BT_PAGE]);

/* Pages that are read together: memory for `count` of them, made ready at once, their bytes one
 * behind the other from *bytes on. NULL without memory. It goes with the last of its pages, once it
 * has been put. */
struct page_batch *code_pages_batch_new(size_t count, uint8_t **bytes);
void code_pages_batch_put(struct page_batch *b);
/* The page that begins at addr, which the table has not got, is page i of the batch from now on.
 * False without memory. */
bool code_pages_take(struct code_pages *t, uint64_t addr, struct page_batch *b, size_t i);

/* The page that begins at addr, which this table has not got and the other has, is that one's from
 * now on. Returns it, NULL without memory. */
const uint8_t *code_pages_share(struct code_pages *t, uint64_t addr,
				const struct code_pages *other);

/* The number of the bytes of the page that begins at addr, which must be there. The observer sets
 * it (observer.h); 0: not yet. Valid as long as the page. */
uint64_t *code_pages_content(const struct code_pages *t, uint64_t addr);

/* Whether [start, end) touches a page of it. */
bool code_pages_touch(const struct code_pages *t, uint64_t start, uint64_t end);

/* Shows where each page begins, in no order; how many there are. */
void code_pages_each(const struct code_pages *t, void (*page)(void *arg, uint64_t addr), void *arg);
size_t code_pages_count(const struct code_pages *t);

/* Forgets the pages that [start, end) touches. Returns how many there were. */
size_t code_pages_drop(struct code_pages *t, uint64_t start, uint64_t end);

#endif
