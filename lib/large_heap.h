/* SPDX-License-Identifier: MIT */
/* malloc's heap in large pages, where the kernel gives them: a page of 2 MiB costs as much as some
 * twenty of 4 KiB, each of which takes a fault. Used by `btrec run` alone, once, when the recorder
 * is a process of its own. */
#ifndef BT_LARGE_HEAP_H
#define BT_LARGE_HEAP_H

/* What the process allocates from here on, in blocks of less than 1 MiB, lies in large pages: but
 * for the first 2 MiB or less, which are all that a short run needs, and what comes behind some 20
 * MiB. Takes addresses at once, memory as it is written to. To be called where nothing of it is
 * about to be copied by a fork: that would split them. Without memory nothing changes. */
void large_heap_begin(void);

#endif
