/* SPDX-License-Identifier: MIT */
/* Halting tasks where they are, for a look at a whole process: nobody gets a turn meanwhile. */
#include <sys/ptrace.h>

#include "collector/supervisor/supervisor_private.h"
#include "collector/tracee/tracee.h"

#define STOP_PATIENCE_NS 500000000u

bool supervisor_await_stop(struct supervisor *sup, pid_t tid)
{
	return event_queue_await(&sup->events, tid, sup->patience);
}

/* The task has stopped for an event that is served later: brings registers and history there. False
 * when the task has been resumed. */
static bool has_arrived(struct supervisor *sup, struct task *task)
{
	const struct backend_ops *ops = sup->backend.ops;
	enum wait_type type = event_queue_type(&sup->events, task->host_tid);
	struct bt_regs regs;

	if (ops->arrive && type == WAIT_EXITING && !tracee_get_regs(task->host_tid, &regs) &&
	    event_queue_holds(&sup->events, task->host_tid))
		ops->exiting(&sup->backend, task, &regs);
	if (!ops->arrive || type != WAIT_SIGNAL || !ops->arrive(&sup->backend, task))
		return true;
	event_queue_drop(&sup->events, task->host_tid);
	return false;
}

bool supervisor_halt(struct supervisor *sup, struct task *task)
{
	enum {
		STOPS = 4, /* stops of the backend that may come first: it may have to step on to
			      where the state is known */
	};
	bool ran = task->state == TASK_RUNNING;

	if (!task->supervised->started || task->native || task->state == TASK_NEW ||
	    task->state == TASK_EXITING)
		return false;
	for (int i = 0; i < STOPS && task->state == TASK_RUNNING; i++) {
		struct wait_event ev;

		/* The backend ends what it is in the midst of. Serving that stop makes registers
		 * and history agree. */
		sup->backend.ops->stop_soon(&sup->backend, task);
		if (!event_queue_has(&sup->events, task->host_tid) &&
		    !supervisor_await_stop(sup, task->host_tid))
			return false;
		if (event_queue_take(&sup->events, task->host_tid,
				     sup->backend.ops->native ? WAIT_INTERRUPT : WAIT_SIGNAL,
				     SIGTRAP, &ev))
			supervisor_on_backend_stop(sup, task, &ev);
		else if (event_queue_take(&sup->events, task->host_tid, WAIT_INTERRUPT, SIGTRAP,
					  &ev))
			supervisor_on_interrupt(sup, task, &ev);
		else if (sup->backend.ops->native)
			return !tracee_get_regs(task->host_tid, &task->regs);
		else if (has_arrived(sup, task))
			return true;
	}
	if (task->state == TASK_RUNNING &&
	    !sup->backend.ops->native) /* task->regs are those before its step */
		return true;
	if (!ran && (task->state == TASK_IN_SYSCALL || task->state == TASK_GROUP_STOPPED) &&
	    !event_queue_has(&sup->events, task->host_tid)) {
		task->interrupted = task->in_syscall;
		if (tracee_resume(task->host_tid, PTRACE_INTERRUPT, 0) ||
		    !supervisor_await_stop(sup, task->host_tid))
			return false;
	}
	return task->state == TASK_READY || task->mid_run ||
	       !tracee_get_regs(task->host_tid, &task->regs);
}

void supervisor_freeze(struct supervisor *sup)
{
	if (!sup->frozen)
		sup->patience = bt_clock_now(sup->clock) + STOP_PATIENCE_NS;
	sup->frozen = true;
}

void supervisor_thaw(struct supervisor *sup)
{
	sup->frozen = false;
	for (struct task *task = sup->tasks.first; task; task = task->next)
		if (task->unit)
			supervisor_schedule(sup, task->unit);
}
