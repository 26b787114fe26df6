/* SPDX-License-Identifier: MIT */
/* The result of a system call of x86-64 in rax: a value, or the negative of an errno up to 4095
 * (Linux: MAX_ERRNO, include/linux/err.h). An address of the upper half is a value. Pure; for
 * everybody. */
#ifndef BT_CALL_RESULT_H
#define BT_CALL_RESULT_H

#include <stdbool.h>
#include <stdint.h>

/* Whether the call failed. */
static inline bool call_has_failed(uint64_t result) { return result >= (uint64_t)-4095; }

#endif
