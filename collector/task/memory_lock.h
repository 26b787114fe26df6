/* SPDX-License-Identifier: MIT */
/* mlockall(2) locks every mapping, also a backend's memory, which is not the program's: it must
 * neither count nor stay locked. The supervisor calls this at exits of system calls. No state. */
#ifndef BT_MEMORY_LOCK_H
#define BT_MEMORY_LOCK_H

struct task;

/* To be called at the exit of a system call (task->syscall, task->regs): an mlockall gets the
 * effect that it would have without the backend's memory (process->limits.share). The result in
 * task->regs may change. */
void memory_lock_syscall_left(struct task *task);

#endif
