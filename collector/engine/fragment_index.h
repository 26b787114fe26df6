/* SPDX-License-Identifier: MIT */
/* Which fragments were made from the code of a page: what a code cache forgets is found without a
 * look at all it has. Fragments are entered in the order of their numbers. */
#ifndef BT_FRAGMENT_INDEX_H
#define BT_FRAGMENT_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fragment_link {
	uint32_t fragment, next;
};

struct indexed_page {
	uint64_t number;
	uint32_t first;
	bool used;
};

struct fragment_index {
	struct indexed_page *pages; /* open addressing */
	size_t page_count, page_cap;
	struct fragment_link *links;
	size_t link_count, link_cap;
	uint32_t free_link; /* first of those taken out, INDEX_END */
};

#define INDEX_END UINT32_MAX

void fragment_index_init(struct fragment_index *x);
void fragment_index_release(struct fragment_index *x);
/* *to is overwritten. False without memory. */
bool fragment_index_copy(struct fragment_index *to, const struct fragment_index *from);
/* Nothing is in it. */
void fragment_index_clear(struct fragment_index *x);

/* The fragment was made from code in [start, end), among others. False without memory: it may be
 * entered in part. */
bool fragment_index_add(struct fragment_index *x, uint64_t start, uint64_t end, uint32_t fragment);

/* Shows every fragment of the pages that [start, end) touches, once for each page; one for which
 * keep returns false is taken off that page. keep must not change the index. */
void fragment_index_walk(struct fragment_index *x, uint64_t start, uint64_t end,
			 bool (*keep)(void *arg, uint32_t fragment), void *arg);

#endif
