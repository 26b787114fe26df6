/* SPDX-License-Identifier: MIT */
/* The effect of the program's system calls on the engine's region: a program may unmap all memory
 * that it does not know, or map over it. Used by watch.c at entries, by engine.c at exits, and by
 * engine_space.c. No task runs in a region that is not whole. */
#ifndef BT_REGION_SYSCALLS_H
#define BT_REGION_SYSCALLS_H

#include "collector/backend/engine/engine_private.h"

/* Whether the call at whose entry the task is (task->syscall) may harm the region. If so, no task
 * enters the cache until watch_forget_task(). */
bool region_before_syscall(struct task *task);

/* The task is at the exit of the call. A region that is not whole any more is made anew before the
 * task runs on in the cache. If memory of the program's lies there now, the process is stepped from
 * here on. */
void region_after_syscall(const struct backend *b, struct task *task);

/* Gives the space an empty cache, without the old region. False when that cannot be now, as another
 * task was stopped in the cache. */
bool region_begin_anew(const struct backend *b, struct engine_space *es, const struct task *task);

#endif
