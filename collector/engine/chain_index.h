/* SPDX-License-Identifier: MIT */
/* Which chains were made from the code of a page: what a code cache forgets is found without a look at all it has. Chains are
 * entered in the order of their numbers. */
#ifndef BT_CHAIN_INDEX_H
#define BT_CHAIN_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct chain_link {
	uint32_t chain, next;
};

struct indexed_page {
	uint64_t number;
	uint32_t first;
	bool used;
};

struct chain_index {
	struct indexed_page *pages; /* open addressing */
	size_t page_count, page_cap;
	struct chain_link *links;
	size_t link_count, link_cap;
	uint32_t free_link; /* first of those taken out, INDEX_END */
};

#define INDEX_END UINT32_MAX

void chain_index_init(struct chain_index *x);
void chain_index_release(struct chain_index *x);
/* *to is overwritten. False without memory. */
bool chain_index_copy(struct chain_index *to, const struct chain_index *from);
/* Nothing is in it. */
void chain_index_clear(struct chain_index *x);

/* The chain was made from code in [start, end), among others. False without memory: it may be entered in part. */
bool chain_index_add(struct chain_index *x, uint64_t start, uint64_t end, uint32_t chain);

/* Shows every chain of the pages that [start, end) touches, once for each page; one for which keep returns false is taken off that
 * page. keep must not change the index. */
void chain_index_walk(struct chain_index *x, uint64_t start, uint64_t end, bool (*keep)(void *arg, uint32_t chain), void *arg);

#endif
