/* SPDX-License-Identifier: MIT */
/* System calls of both of the kernel's tables by their numbers for 64-bit code. Used through
 * syscall_is() (tracee.h). Pure. */
#ifndef BT_SYSCALL_NUMBERS_H
#define BT_SYSCALL_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>

#ifndef SYS_memfd_secret
#define SYS_memfd_secret 447 /* asm/unistd_64.h since Linux 5.14 */
#endif

/* Whether call nr, of the table for 32-bit code (compat) or for 64-bit code, is the one that has
 * the number `wanted` for 64-bit code. Of the table for 32-bit code it knows only the calls that
 * callers look for; several forms of one call count as one (mmap and mmap2; signal, sigaction and
 * rt_sigaction). */
bool syscall_number_is(uint64_t nr, bool compat, long wanted);

#endif
