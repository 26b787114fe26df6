/* SPDX-License-Identifier: MIT */
/* A thread's list of robust futexes: which words the kernel writes at its end, so that others see
 * that their owner is gone (Documentation/locking/robust-futexes.rst). By thread id; works on
 * running threads, too. Used by watch.c before it protects a page. No state. */
#ifndef BT_ROBUST_LIST_H
#define BT_ROBUST_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	ROBUST_LISTS = 64,
};

/* Whether one of those words of n threads (ROBUST_LISTS at most), which share an address space, may
 * be in [start, end), as the lists are now. */
bool robust_lists_write(const pid_t *tids, size_t n, uint64_t start, uint64_t end);

/* Whether the list begins in [start, end) or close to it. */
bool robust_list_is_near(pid_t tid, uint64_t start, uint64_t end);

#endif
