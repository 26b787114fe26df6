/* SPDX-License-Identifier: MIT */
/* Tasks that are detached, and why. A reason that arises anywhere is put into process->leaving; the
 * process is detached at the next tick. Used by the supervisor, and by btrec run at each tick. A
 * detached task must keep nothing that could trap it. */
#ifndef BT_DETACH_H
#define BT_DETACH_H

#include "collector/supervisor/supervisor.h"

/* Lets a stopped task run on unrecorded for good, and frees it. The session is told the reason.
 * in_memory: it goes on in its memory as that is. */
void detach_task(struct supervisor *sup, struct task *task, const char *reason, bool in_memory);

/* Detaches every task that can be detached right now. To be called again at later ticks until none
 * is left. */
void detach_all(struct supervisor *sup, const char *reason);

/* The space's mappings could not be read (s->unread): its processes are to be detached before they
 * run on. */
void detach_unread(const struct supervisor *sup, const struct address_space *s);

/* QUIRK(init-fault): to the first process of a PID namespace the kernel delivers no signal of a
 * fault while it is traced, and the instruction faults for ever. Detached, the process dies of it:
 * so it is to be detached. */
void detach_init(struct process *process);

/* To be called at the caller's ticks: detaches the processes with a reason in process->leaving. */
void detach_leaving(struct supervisor *sup);

/* The task is at the entry of a system call (task->syscall, task->regs). A program that gains
 * privileges at its execve would lose them under a tracer: it is detached before, and freed. True
 * when it was. */
bool detach_before_exec(struct supervisor *sup, struct task *task);

#endif
