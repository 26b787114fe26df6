/* SPDX-License-Identifier: MIT */
/* Which pages of a range are in memory or swapped out. Private memory of no file is zero in all the
 * others, and a program may reserve a terabyte of it (GHC's heap, AddressSanitizer's shadow). */
#ifndef BT_PRESENT_PAGES_H
#define BT_PRESENT_PAGES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum present_pages_by {
	PRESENT_PAGES_BY_SCAN,    /* PAGEMAP_SCAN, since Linux 6.7: skips whole page tables */
	PRESENT_PAGES_BY_ENTRIES, /* /proc/PID/pagemap itself: some seconds for a terabyte */
};

struct present_pages {
	int pagemap;
	enum present_pages_by by;
	uint64_t at, end; /* the range not looked at yet */
};

/* Looks at [start, end), page aligned, of tid, which is stopped. False: its page map cannot be
 * opened. */
bool present_pages_open(struct present_pages *p, pid_t tid, uint64_t start, uint64_t end);

/* The next run of such pages. False: there is none. Where the kernel does not tell, the rest is
 * one run. */
bool present_pages_next(struct present_pages *p, uint64_t *start, uint64_t *end);

void present_pages_close(struct present_pages *p);

#endif
