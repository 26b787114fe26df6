/* SPDX-License-Identifier: MIT */
/* Turns: one task of a unit runs user code at a time, for a slice where others wait. The session is
 * told of each change. */
#include <sched.h>
#include <sys/syscall.h>

#include "collector/supervisor/scheduler.h"
#include "collector/supervisor/supervisor_private.h"

static void begin_turn(const struct supervisor *sup, struct unit *u, struct task *task)
{
	u->current = task;
	task->supervised->turn_began = bt_clock_now(sup->clock);
}

static void end_turn(const struct supervisor *sup, struct unit *u)
{
	struct supervised *s = u->current->supervised;

	s->turn_used += bt_clock_now(sup->clock) - s->turn_began;
	u->turns->left_at = task_point(u->current);
	u->current = NULL;
}

/* Whether the task would only wait for others. It gets a turn now and then all the same: a signal
 * may be pending for it. */
static bool still_spins(struct supervisor *sup, const struct unit *u, struct task *task)
{
	return task->supervised->spins && sup->slices - task->supervised->ran < u->waiting &&
	       sup->backend.ops->still_spins(&sup->backend, task);
}

/* The first task of the queue that would do something with its turn. If all would only wait, the
 * first of all, and *all_spin is set. */
static struct task *next_in_turn(struct supervisor *sup, const struct unit *u, bool *all_spin)
{
	enum {
		LOOKS = 8, /* at tasks that wait: each costs some microseconds */
	};
	struct task *first = NULL;
	int looks = 0;

	*all_spin = false;
	for (struct task *task = u->turns->ready_first; task; task = task->supervised->ready_next) {
		if (scheduler_stays(task))
			continue;
		if (looks == LOOKS || !still_spins(sup, u, task))
			return task;
		looks++;
		first = first ? first : task;
	}
	*all_spin = first;
	return first;
}

/* All waiting tasks spin: they wait for tasks in calls, or woken by one. Those may only lack the
 * processor, so it is given up some times before the task runs unwatched. */
static void run_though_spinning(struct unit *u, struct task *task)
{
	task->unwatched = u->yields == TURN_YIELDS;
	if (task->unwatched)
		return;
	u->yields++;
	sched_yield();
}

static void tell_switch(struct supervisor *sup, struct unit *u, const struct task *task)
{
	struct unit_turns *turns = u->turns;

	if (turns->last && turns->last != task->number)
		sup->session->ops->on_switch(sup->session, sup, u, turns->last, task->number,
					     &turns->left_at);
	turns->last = task->number;
}

static void schedule_turn(struct supervisor *sup, struct unit *u)
{
	struct task *task;
	bool all_spin;

	if (u->current || sup->frozen || !(task = next_in_turn(sup, u, &all_spin)))
		return;
	scheduler_dequeue(task);
	task->unwatched = false;
	if (all_spin)
		run_though_spinning(u, task);
	begin_turn(sup, u, task);
	tell_switch(sup, u, task);
	supervisor_resume_task(sup, task);
}

static bool keeps_turn(struct supervisor *sup, struct task *task)
{
	struct unit *u = task->unit;

	if (u->current != task)
		return false;
	if (u->waiting || sup->frozen || scheduler_stays(task)) {
		end_turn(sup, u);
		return false;
	}
	if (task->supervised->spins)
		run_though_spinning(u, task);
	return true;
}

/* Another task waits for the turn now: tells the backend of the one that has it. */
static void tell_current(struct supervisor *sup, struct task *task)
{
	struct task *current = task->unit->current;

	if (task->supervised->spins || !current || current->state != TASK_RUNNING ||
	    !sup->backend.ops->waited_for)
		return;
	current->unwatched = false;
	sup->backend.ops->waited_for(&sup->backend, current);
}

static bool leave_turn(struct supervisor *sup, struct task *task)
{
	if (task->unit->current != task)
		return false;
	end_turn(sup, task->unit);
	return true;
}

static bool may_always_call(struct supervisor *sup, const struct task *task)
{
	(void)sup;
	(void)task;
	return true;
}

/* A task that calls sched_yield() waits for others: its slice counts as used up. */
static void note_yield(struct supervisor *sup, struct task *task)
{
	(void)sup;
	if (!task->syscall.compat && task->syscall.nr == SYS_sched_yield)
		task->supervised->turn_used = SLICE_NS;
}

static void preempt_current(struct supervisor *sup, struct unit *u)
{
	if (u->current && u->current->state == TASK_RUNNING)
		sup->backend.ops->stop_soon(&sup->backend, u->current);
}

const struct scheduler_ops turns_scheduler = {
	.schedule = schedule_turn,
	.goes_on = keeps_turn,
	.waits = tell_current,
	.leaves = leave_turn,
	.may_call = may_always_call,
	.called = note_yield,
	.preempt = preempt_current,
};
