/* SPDX-License-Identifier: MIT */
/* Pages of memory, the unit of mmap(2) and mprotect(2). They have 4 KiB on x86-64 (Intel SDM volume
 * 3, 4.5). Pure; for everybody. */
#ifndef BT_PAGE_H
#define BT_PAGE_H

#include <stdint.h>

enum {
	BT_PAGE_BITS = 12,
	BT_PAGE = 1 << BT_PAGE_BITS,
	BT_LARGE_PAGE = 2 << 20, /* the size that madvise(MADV_HUGEPAGE) asks for */
};

/* The protection of a mapping: bits as in mmap(2). Traces hold them. */
enum bt_protection {
	BT_PROT_READ = 1,
	BT_PROT_WRITE = 2,
	BT_PROT_EXEC = 4,
};

/* The beginning of addr's page. */
static inline uint64_t page_down(uint64_t addr) { return addr & ~(uint64_t)(BT_PAGE - 1); }

/* The first page boundary at addr or behind it; 0 if addr lies on the last page. */
static inline uint64_t page_up(uint64_t addr) { return page_down(addr + BT_PAGE - 1); }

/* The number of addr's page, counted from address 0. */
static inline uint64_t page_number(uint64_t addr) { return addr >> BT_PAGE_BITS; }

#endif
