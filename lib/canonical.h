/* SPDX-License-Identifier: MIT */
/* Canonical addresses, those that memory can have: with four levels of page tables bits 48 to 63
 * equal bit 47 (Intel SDM volume 1, 3.3.7.1). With five it is bit 56, but Linux gives such
 * addresses only to programs that ask for them. Pure; for everybody. */
#ifndef BT_CANONICAL_H
#define BT_CANONICAL_H

#include <stdbool.h>
#include <stdint.h>

/* The first address behind the lower half, where programs live. */
#define BT_USER_END (UINT64_C(1) << 47)

/* Whether addr is canonical. A jump or an access elsewhere is a general protection fault. */
static inline bool is_canonical(uint64_t addr) { return addr + BT_USER_END < 2 * BT_USER_END; }

#endif
