/* SPDX-License-Identifier: MIT */
/* What the supervisor keeps of a task and of a unit, besides what all know (task.h). Who is below
 * the supervisor does not see it. */
#ifndef BT_SUPERVISED_H
#define BT_SUPERVISED_H

#include "collector/task/task.h"

/* Of a task: task->supervised. */
struct supervised {
	pid_t parent_tid;      /* its parent's when that made it */
	bool first_stop_seen;  /* its own first stop; else only its parent's event */
	bool started;          /* the session knows that it runs */
	bool ended;            /* the session knows how it ended, or that it was detached */
	bool start_pending;    /* it was native until now: the session is to be told of its start */
	unsigned orphan_ticks; /* for how long it has waited for its parent's event */

	/* Its turn. */
	struct task *ready_next, *ready_before; /* in its unit's queue */
	bool queued;
	uint64_t turn_began, turn_used; /* ns; used: of its slice, before the turn that it has */
	bool spins;   /* its turn ended because it only waited for what others do */
	unsigned ran; /* the slice in which it was last resumed */

	/* Its system call. */
	bool untraced_child;     /* a clone() from whose flags CLONE_UNTRACED was taken */
	bool request;            /* the prctl that btrec.h makes */
	bool stopped_in_syscall; /* its process was stopped meanwhile, for which Linux may end the
				    call (signal(7)) */
	unsigned ignored_before; /* process->signals_ignored when it began */
	bool affinity_syscall;   /* it asks for an affinity, or sets one */
	uint64_t waited;         /* for a processor, in nanoseconds, when that was last looked at */
};

/* Of a unit: unit->turns. */
struct unit_turns {
	struct task *ready_first, *ready_last; /* those that have some of their slice left come
						  first */
	struct task *early_last;               /* the last of them; NULL */
	bool asked;                            /* all that run have been asked to stop */
	struct task *dumps; /* is being ended by a signal that leaves a core file, where tasks run
			       side by side; NULL */
	uint32_t last;      /* task that ran last */
	struct bt_point left_at; /* where that one stood when its turn ended */
};

/* Adds a task, in state TASK_NEW and without a process, or a unit. NULL without memory. */
struct task *supervised_task(struct task_table *t, pid_t tid);
struct unit *supervised_unit(struct task_table *t);

#endif
