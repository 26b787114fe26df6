/* SPDX-License-Identifier: MIT */
/* Finds the contents of fresh pages, and compares them with the pages that lay there before: ld.so
 * maps a whole library, then its segments over that, and most bytes stay the same. Used by the
 * replay log. */
#ifndef BT_MAPPED_PAGES_H
#define BT_MAPPED_PAGES_H

#include "collector/tracee/tracee.h"
#include "lib/buf.h"

/* Calls found() for each run of pages of [start, end) that can be read and are not zero, by
 * address. tid is stopped. */
void mapped_pages_find(pid_t tid, uint64_t start, uint64_t end,
		       void (*found)(void *arg, uint64_t addr, const uint8_t *bytes, size_t n),
		       void *arg);

/* The same of private memory of no file: pages that are neither in memory nor swapped out are zero,
 * and are not read. */
void mapped_pages_find_memory(pid_t tid, uint64_t start, uint64_t end,
			      void (*found)(void *arg, uint64_t addr, const uint8_t *bytes,
					    size_t n),
			      void *arg);

/* Zeroed: nothing was taken. */
struct replaced_pages {
	uint64_t start;
	struct buf bytes;
};

/* At the entry of a call: if it maps a file privately in the place of pages that can be read, all
 * of them are kept, as far as they are not too many. Those of the call before are forgotten. */
void replaced_pages_take(struct replaced_pages *r, pid_t tid, const struct tracee_syscall *call);

/* Nothing was kept. */
void replaced_pages_forget(struct replaced_pages *r);

/* Behind it: whether [start, end) is what was kept, and holds the same bytes as before. */
bool replaced_pages_are_same(const struct replaced_pages *r, pid_t tid, uint64_t start,
			     uint64_t end);

void replaced_pages_release(struct replaced_pages *r);

#endif
