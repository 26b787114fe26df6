/* SPDX-License-Identifier: MIT */
/* System calls by the numbers that they have for 64-bit code, whichever of the kernel's tables they
 * were made by. */
#ifndef BT_SYSCALL_NUMBERS_H
#define BT_SYSCALL_NUMBERS_H

#include <stdbool.h>

#include "collector/tracee.h"

/* Whether it is the call of which nr is the number for 64-bit code. Of the table for 32-bit code
 * only the calls are known that are looked for by this; those it has in several forms are one (mmap
 * and mmap2, signal, sigaction and rt_sigaction). */
bool syscall_is(const struct tracee_syscall *call, long nr);

#endif
