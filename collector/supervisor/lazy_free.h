/* SPDX-License-Identifier: MIT */
/* QUIRK(madv-free): pages that are freed by MADV_FREE (madvise(2)) may be zero, or as they were, at
 * any moment until they are written: as the kernel wants. No log of calls can say when. So they are
 * zero at once, as on a machine without free memory. Where the kernel would come to pages of a file
 * it would say EINVAL, and would have freed those before them: it is said without a call, as if
 * they were not freed yet. A range that it does not look at fails in either way. Used by the
 * supervisor, for calls of which a log is kept. */
#ifndef BT_LAZY_FREE_H
#define BT_LAZY_FREE_H

#include "collector/task/task.h"

/* The task is at the entry of task->syscall: if that frees pages, it is changed. */
void lazy_free_entered(struct task *task);

/* It has left the call: the arguments that were changed are put back. */
void lazy_free_left(struct task *task);

#endif
