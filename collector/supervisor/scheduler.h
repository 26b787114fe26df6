/* SPDX-License-Identifier: MIT */
/* Who runs user code when. A stopped task of a unit is put into the unit's queue; a scheduler takes
 * it out and resumes it. There are two: turns.c (one task of a unit at a time, so that what happens
 * can be replayed) and side_by_side.c. What the kernel does is nobody's turn. */
#ifndef BT_SCHEDULER_H
#define BT_SCHEDULER_H

#include "collector/supervisor/supervised.h"
#include "collector/supervisor/supervisor.h"

/* A task has used its slice up after so many nanoseconds: half of what lies between two ticks, so
 * that one that had the turn for about all of that has. */
#define SLICE_NS (SUPERVISOR_SLICE_MS * UINT64_C(1000000) / 2)

struct scheduler_ops {
	/* Resumes those of the unit that may run now. */
	void (*schedule)(struct supervisor *sup, struct unit *unit);

	/* The stopped task can run on. True: it may do so at once, and does not wait. */
	bool (*goes_on)(struct supervisor *sup, struct task *task);

	/* It waits in the queue now. */
	void (*waits)(struct supervisor *sup, struct task *task);

	/* It does not use its turn, if it has it. Whether others may run because of that. */
	bool (*leaves)(struct supervisor *sup, struct task *task);

	/* It is at the entry of a system call. False: the call is to be made when the scheduler
	 * lets it run. */
	bool (*may_call)(struct supervisor *sup, const struct task *task);

	/* The call has been entered. */
	void (*called)(struct supervisor *sup, struct task *task);

	/* Others of the unit wait, and a slice is over: asks those that run to stop. */
	void (*preempt)(struct supervisor *sup, struct unit *unit);
};

extern const struct scheduler_ops turns_scheduler, side_by_side_scheduler;

/* Takes the task out of its unit's queue, if it is there. */
void scheduler_dequeue(struct task *task);

/* Puts it before all others: when others have stopped for it, it is its turn. */
void scheduler_enqueue_first(struct task *task);

/* Of a process that is to be detached, nobody runs on but who was stopped in the midst of
 * something: to where it can be detached. */
bool scheduler_stays(const struct task *task);

#endif
