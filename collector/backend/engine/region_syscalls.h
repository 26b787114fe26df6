/* SPDX-License-Identifier: MIT */
/* What the program's system calls do to the engine's region: a program may unmap all that it does
 * not know, or map over it. Used by watch.c at entries, by engine.c at exits, and by
 * engine_space.c. No task runs in a region that is not whole. */
#ifndef BT_REGION_SYSCALLS_H
#define BT_REGION_SYSCALLS_H

#include "collector/backend/engine/engine_private.h"

/* The task is at the entry of a call (task->syscall): whether it may harm the region. Nobody enters
 * that until watch_forget_task(). */
bool region_before_syscall(struct task *task);

/* It is at the exit. Where the region is not whole any more, it is made anew before the task runs
 * on in the cache; where something of the program's lies there now, everything is stepped from here
 * on. */
void region_after_syscall(const struct backend *b, struct task *task);

/* Gives the space an empty cache, and nothing of the region that there was. False when that cannot
 * be now: another task was stopped in it. */
bool region_begin_anew(const struct backend *b, struct engine_space *es, const struct task *task);

#endif
