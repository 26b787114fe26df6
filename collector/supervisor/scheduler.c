/* SPDX-License-Identifier: MIT */
#include "collector/supervisor/scheduler.h"

#include <signal.h>
#include <sys/ptrace.h>

#include "collector/supervisor/detach.h"
#include "collector/supervisor/supervisor_private.h"
#include "collector/tracee/tracee.h"

static void enqueue_behind(struct unit *u, struct task *before, struct task *task)
{
	struct unit_turns *turns = u->turns;
	struct supervised *s = task->supervised;

	s->queued = true;
	u->waiting++;
	s->ready_before = before;
	s->ready_next = before ? before->supervised->ready_next : turns->ready_first;
	*(before ? &before->supervised->ready_next : &turns->ready_first) = task;
	*(s->ready_next ? &s->ready_next->supervised->ready_before : &turns->ready_last) = task;
}

void scheduler_enqueue_first(struct task *task)
{
	struct unit_turns *turns = task->unit->turns;

	task_set_state(task, TASK_READY);
	enqueue_behind(task->unit, NULL, task);
	if (!turns->early_last)
		turns->early_last = task;
}

/* A task that gave up its turn for a call must not wait for a slice of each task that computes:
 * until its own slice is used up it comes before them. */
static void enqueue_task(struct task *task)
{
	struct unit_turns *turns = task->unit->turns;
	bool early = task->supervised->turn_used < SLICE_NS && !task->supervised->spins;

	task_set_state(task, TASK_READY);
	if (task->supervised->queued)
		return;
	enqueue_behind(task->unit, early ? turns->early_last : turns->ready_last, task);
	if (early)
		turns->early_last = task;
	else
		task->supervised->turn_used = 0;
}

void scheduler_dequeue(struct task *task)
{
	struct supervised *s = task->supervised;
	struct unit_turns *turns = task->unit->turns;

	if (!s->queued)
		return;
	if (turns->early_last == task)
		turns->early_last = s->ready_before;
	*(s->ready_before ? &s->ready_before->supervised->ready_next : &turns->ready_first) =
		s->ready_next;
	*(s->ready_next ? &s->ready_next->supervised->ready_before : &turns->ready_last) =
		s->ready_before;
	s->ready_next = s->ready_before = NULL;
	s->queued = false;
	task->unit->waiting--;
}

bool scheduler_stays(const struct task *task) { return task->process->leaving && !task->mid_run; }

void supervisor_schedule(struct supervisor *sup, struct unit *u)
{
	sup->scheduler->schedule(sup, u);
	if (u->waiting)
		supervisor_hurry(sup);
}

/* System calls are watched while the place of --from is not found, as libraries may be loaded; and
 * where an execve could lose its privileges under a tracer. */
static void run_natively(struct supervisor *sup, struct task *task, int signo)
{
	bool watch = sup->watch_execs || (task->process && task->process->space->from_missing);

	task_set_state(task, TASK_NATIVE);
	tracee_resume(task->host_tid, watch ? PTRACE_SYSCALL : PTRACE_CONT, signo);
}

/* While it stood still its time was not looked at (supervisor.c, serve_due()). */
static void note_due(struct backend *b, const struct task *task)
{
	if (b->ops->due && task->due && (!b->due || task->due < b->due))
		b->due = task->due;
}

void supervisor_resume_task(struct supervisor *sup, struct task *task)
{
	int rc, signo = task->pending_signal;

	/* QUIRK(stop-left): it was killed where it waited, and has stopped once more. It is resumed
	 * when that stop is served. */
	if (event_queue_has(&sup->events, task->host_tid))
		return;
	task->pending_signal = 0;
	task->supervised->spins = false;
	task->supervised->ran = sup->slices;
	if (task->native) {
		run_natively(sup, task, signo);
		return;
	}
	if (!task->in_syscall && !task->mid_run)
		supervisor_serve_stop_points(sup, task);
	sup->backend.ticks ^= sup->options.tests->switch_history && !task->in_syscall;
	task_set_state(task, task->in_syscall ? TASK_IN_SYSCALL : TASK_RUNNING);
	if (task->state == TASK_RUNNING) {
		task->unit->turns->asked = false;
		note_due(&sup->backend, task);
	}
	if (task->mid_run) {
		task->mid_run = false;
		if (sup->backend.ops->proceed(&sup->backend, task))
			supervisor_look_after(sup, task);
		else
			scheduler_resumed(sup, task);
		return;
	}
	rc = sup->backend.ops->resume(&sup->backend, task, signo, task->pending_action);
	if (rc == BACKEND_WAITS)
		scheduler_enqueue_first(task);
	else if (rc)
		supervisor_look_after(sup, task);
	else
		scheduler_resumed(sup, task);
}

void scheduler_resumed(struct supervisor *sup, struct task *task)
{
	if (task->in_unseen_call)
		supervisor_give_up_turn(sup, task);
}

void supervisor_resume_native(struct supervisor *sup, struct task *task)
{
	supervisor_resume_task(sup, task);
}

void supervisor_look_after(struct supervisor *sup, const struct task *task)
{
	if (event_queue_has(&sup->events, task->host_tid) ||
	    !tracee_is_left_stopped(task->host_tid))
		return;
	supervisor_note(sup, task,
			"the kernel refused a ptrace request, and nothing sound is left to go on "
			"with: the process is killed");
	kill(task->process->host_pid, SIGKILL);
}

void supervisor_give_up_turn(struct supervisor *sup, struct task *task)
{
	scheduler_dequeue(task);
	if (sup->scheduler->leaves(sup, task))
		supervisor_schedule(sup, task->unit);
}

void supervisor_make_syscall(struct supervisor *sup, struct task *task)
{
	if (!sup->scheduler->may_call(sup, task)) {
		enqueue_task(task);
		supervisor_schedule(sup, task->unit);
		return;
	}
	supervisor_resume_task(sup, task);
	task->unit->yields = 0;
	supervisor_give_up_turn(sup, task);
	sup->scheduler->called(sup, task);
}

void supervisor_make_ready(struct supervisor *sup, struct task *task)
{
	if (task->in_syscall || task->native) { /* neither needs a turn */
		supervisor_resume_task(sup, task);
		return;
	}
	if (task->process->space->unread && !sup->backend.ops->native)
		detach_unread(sup, task->process->space);
	if (sup->scheduler->goes_on(sup, task)) {
		supervisor_resume_task(sup, task);
		return;
	}
	if (sup->backend.ops->rest)
		sup->backend.ops->rest(&sup->backend, task);
	enqueue_task(task);
	sup->scheduler->waits(sup, task);
	supervisor_schedule(sup, task->unit);
}

bool supervisor_preempt(struct supervisor *sup)
{
	bool any = false;

	for (struct unit *u = sup->tasks.units; u; u = u->next) {
		if (!u->waiting)
			continue;
		any = true;
		sup->scheduler->preempt(sup, u);
	}
	return any;
}
