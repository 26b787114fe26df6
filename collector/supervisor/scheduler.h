/* SPDX-License-Identifier: MIT */
/* Which tasks run user code, and when. A stopped task is put into its unit's queue; a scheduler
 * takes it out and resumes it. There are two schedulers: turns.c runs one task of a unit at a time,
 * so that a run can be replayed; side_by_side.c runs all. A task in the kernel has no turn. Used by
 * the supervisor's files alone. */
#ifndef BT_SCHEDULER_H
#define BT_SCHEDULER_H

#include "collector/supervisor/supervised.h"
#include "collector/supervisor/supervisor.h"

/* A task has used its slice up after so many nanoseconds. It is half the time between two ticks: a
 * task that had the turn for nearly all of that time has used it up. */
#define SLICE_NS (SUPERVISOR_SLICE_MS * UINT64_C(1000000) / 2)

struct scheduler_ops {
	/* Resumes the tasks of the unit that may run now. */
	void (*schedule)(struct supervisor *sup, struct unit *unit);

	/* The stopped task can run on. True: it may do so at once. */
	bool (*goes_on)(struct supervisor *sup, struct task *task);

	/* The task waits in the queue now. */
	void (*waits)(struct supervisor *sup, struct task *task);

	/* The task does not use its turn, if it has it. Returns whether others may run now. */
	bool (*leaves)(struct supervisor *sup, struct task *task);

	/* The task is at the entry of a system call. False: it waits in the queue before it makes
	 * the call. */
	bool (*may_call)(struct supervisor *sup, const struct task *task);

	/* The call has been entered. */
	void (*called)(struct supervisor *sup, struct task *task);

	/* Tasks of the unit wait, and a slice is over: asks the running ones to stop. */
	void (*preempt)(struct supervisor *sup, struct unit *unit);
};

extern const struct scheduler_ops turns_scheduler, side_by_side_scheduler;

/* Takes the task out of its unit's queue, if it is there. */
void scheduler_dequeue(struct task *task);

/* Puts the task at the front of the queue: it runs when others have stopped for it. */
void scheduler_enqueue_first(struct task *task);

/* The backend has resumed the task: ends its turn where it may wait for others now
 * (task.in_unseen_call). */
void scheduler_resumed(struct supervisor *sup, struct task *task);

/* Whether the task must not run on: its process is to be detached. A task that was stopped in the
 * midst of a step runs on, to where it can be detached. */
bool scheduler_stays(const struct task *task);

#endif
