/* SPDX-License-Identifier: MIT */
/* Which addresses can be those of memory: with four levels of page tables bits 48 to 63 are as bit
 * 47 is (Intel SDM volume 1, 3.3.7.1). With five it is bit 56, but Linux gives such addresses only
 * to programs that ask for them. Pure; for everybody. */
#ifndef BT_CANONICAL_H
#define BT_CANONICAL_H

#include <stdbool.h>
#include <stdint.h>

/* The first address behind the lower half, which is the one that programs have. */
#define BT_USER_END (UINT64_C(1) << 47)

/* Whether a jump or an access there gets as far as a page table; any other is a general protection
 * fault. */
static inline bool is_canonical(uint64_t addr) { return addr + BT_USER_END < 2 * BT_USER_END; }

#endif
