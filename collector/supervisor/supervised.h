/* SPDX-License-Identifier: MIT */
/* The supervisor's parts of a task and of a unit, besides those that all share (task.h). Used by
 * the supervisor's files alone: rooms below do not see it. */
#ifndef BT_SUPERVISED_H
#define BT_SUPERVISED_H

#include "collector/task/task.h"

/* Of a task: task->supervised. */
struct supervised {
	pid_t parent_tid;      /* the parent's host_tid when it made the task */
	bool first_stop_seen;  /* its own first stop has come; else only its parent's event */
	bool started;          /* the session knows that it runs */
	bool ended;            /* the session knows how it ended, or that it was detached */
	bool start_pending;    /* it was native until now: the session is to be told of its start */
	unsigned orphan_ticks; /* ticks that it has waited for its parent's event */

	/* Its turn. */
	struct task *ready_next, *ready_before; /* in its unit's queue */
	bool queued;
	uint64_t turn_began, turn_used; /* ns; used: of its slice, before the present turn */
	bool spins;                     /* its turn ended because it only waited for others */
	unsigned ran;                   /* the slice in which it was last resumed */

	/* Its system call. */
	bool untraced_child;     /* a clone() from whose flags CLONE_UNTRACED was taken */
	bool frees_at_once;      /* an MADV_FREE that was made MADV_DONTNEED (lazy_free.h) */
	bool request;            /* the prctl that btrec.h makes */
	bool answered;           /* the session answers the call: the kernel does not make it */
	bool stopped_in_syscall; /* its process was stopped during the call, which Linux may then
				    end (signal(7)) */
	unsigned ignored_before; /* process->signals_ignored when the call began */
	bool affinity_syscall;   /* the call asks for an affinity, or sets one */
	uint64_t waited;         /* ns that it had waited for a processor, at the last look */
};

/* Of a unit: unit->turns. */
struct unit_turns {
	struct task *ready_first, *ready_last; /* the queue: tasks with some of their slice left
						  come first */
	struct task *early_last;               /* the last of these; NULL: none */
	bool asked;                            /* all running tasks have been asked to stop */
	struct task
		*dumps; /* side by side: the task that a signal ends with a core file; NULL: none */
	uint32_t last;  /* the task that ran last */
	struct bt_point left_at; /* that task's point at the end of its turn */
};

/* Adds a task, in state TASK_NEW and without a process, or a unit. NULL without memory. */
struct task *supervised_task(struct task_table *t, pid_t tid);
struct unit *supervised_unit(struct task_table *t);

#endif
