/* SPDX-License-Identifier: MIT */
/* mlockall(2) is about everything that is mapped, and a backend's memory is not the program's: it
 * neither counts nor stays locked. */
#ifndef BT_MEMORY_LOCK_H
#define BT_MEMORY_LOCK_H

struct task;

/* At the exit of a system call (task->syscall, task->regs): makes of an mlockall what it would be
 * without the backend's memory (process->limits.share). The result in task->regs may change. */
void memory_lock_syscall_left(struct task *task);

#endif
