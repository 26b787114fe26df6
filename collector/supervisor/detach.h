/* SPDX-License-Identifier: MIT */
/* Tasks that are left to run on unseen, and why. Reasons that arise anywhere are put into
 * process->leaving; the process is detached at the next tick. */
#ifndef BT_DETACH_H
#define BT_DETACH_H

#include "collector/supervisor/supervisor.h"

/* Lets a stopped task run on unrecorded for good, and frees it. The session is told the reason.
 * in_memory: it goes on in its memory as that is. */
void detach_task(struct supervisor *sup, struct task *task, const char *reason, bool in_memory);

/* Detaches every task that can be left right now; to be called again at later ticks until none is
 * left. */
void detach_all(struct supervisor *sup, const char *reason);

/* What is in the space is not known for certain any more (s->unread): the processes in it are
 * leaving, before they run on. */
void detach_unread(const struct supervisor *sup, const struct address_space *s);

/* QUIRK(init-fault): delivered to the first process of a PID namespace, the signal of a fault would
 * be dropped and the instruction fault again, for ever; detached, it dies of it: it is leaving. */
void detach_init(struct process *process);

/* To be called at the caller's ticks: detaches the processes that are leaving. */
void detach_leaving(struct supervisor *sup);

/* The task is at the entry of a system call (task->syscall, task->regs). A program that gains
 * privileges at its execve would lose them under a tracer: it is detached before, and freed. True
 * when it was. */
bool detach_before_exec(struct supervisor *sup, struct task *task);

#endif
