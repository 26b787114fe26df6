/* SPDX-License-Identifier: MIT */
/* System calls by the numbers that they have for 64-bit code, whichever of the kernel's tables they
 * were made by. Used by all that looks for certain calls (tracee.h, syscall_is()). Pure. */
#ifndef BT_SYSCALL_NUMBERS_H
#define BT_SYSCALL_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

/* Whether call nr, of the table for 32-bit code (compat) or for 64-bit code, is the one that has
 * the number `wanted` for 64-bit code. Of the table for 32-bit code only the calls are known that
 * are looked for by this; those it has in several forms are one (mmap and mmap2; signal, sigaction
 * and rt_sigaction). */
bool syscall_number_is(uint64_t nr, bool compat, long wanted);

#endif
