/* SPDX-License-Identifier: MIT */
/* malloc's heap in large pages, if the kernel gives them: a page of 2 MiB costs as much as some
 * twenty of 4 KiB, each of which takes a fault. Used by `btrec run` alone, once, when the recorder
 * is a process of its own. */
#ifndef BT_LARGE_HEAP_H
#define BT_LARGE_HEAP_H

/* Further allocations of less than 1 MiB lie in large pages. Exceptions: the first 2 MiB or less,
 * which suffice for a short run, and allocations behind some 20 MiB. Takes addresses at once,
 * memory as it is written to. Call it when no fork is about to copy that memory, which would split
 * the pages. Without memory nothing changes. */
void large_heap_begin(void);

#endif
