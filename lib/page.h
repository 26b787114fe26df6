/* SPDX-License-Identifier: MIT */
/* Pages of memory: what mmap(2) and mprotect(2) deal in. x86-64 has them of 4 KiB, whatever the
 * kernel (Intel SDM volume 3, 4.5). Pure; for everybody. */
#ifndef BT_PAGE_H
#define BT_PAGE_H

#include <stdint.h>

enum {
	BT_PAGE_BITS = 12,
	BT_PAGE = 1 << BT_PAGE_BITS,
	BT_LARGE_PAGE = 2 << 20, /* what madvise(MADV_HUGEPAGE) asks for */
};

/* Where the page begins that addr lies on. */
static inline uint64_t page_down(uint64_t addr) { return addr & ~(uint64_t)(BT_PAGE - 1); }

/* The first beginning of a page at addr or behind it; 0: there is none, as addr lies on the last
 * page of all. */
static inline uint64_t page_up(uint64_t addr) { return page_down(addr + BT_PAGE - 1); }

/* The number of the page that addr lies on, counted from address 0. */
static inline uint64_t page_number(uint64_t addr) { return addr >> BT_PAGE_BITS; }

#endif
