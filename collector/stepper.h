/* SPDX-License-Identifier: MIT */
/* What other backends use of the stepper, beside its operations: they hand it the instructions that they do not run themselves.
 * task->backend is the stepper's own state in all of this. */
#ifndef BT_STEPPER_H
#define BT_STEPPER_H

#include <signal.h>

#include "collector/task.h"

/* To be called before user code runs that will trap: unblocks SIGTRAP where the program blocks it, until the stepper is next at a system call or a
 * delivery. Returns 0; nonzero when the stepper must be resumed instead, because a signal comes first or the task is gone. */
int stepper_hide_trap(struct task *task);

/* A SIGTRAP that is no trap of ours has come. True: it was sent while the program blocks it, and is kept for later; the task runs on without it. May
 * change *info to the one that was sent first. */
bool stepper_keep_trap(struct task *task, siginfo_t *info);

#endif
