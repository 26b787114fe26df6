/* SPDX-License-Identifier: MIT */
/* Turns: one task of a unit runs user code at a time. Halting them, for snapshots of a whole
 * process. */
#include "collector/recorder_private.h"

#include <errno.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "collector/tracee/tracee.h"

#define STOP_PATIENCE_NS 500000000u
/* A task has used its slice up after this: half of what lies between two ticks, so that one that
 * had the turn for about all of that has. */
#define SLICE_NS (RECORDER_SLICE_MS * UINT64_C(1000000) / 2)

static void enqueue_behind(struct unit *u, struct task *before, struct task *task)
{
	task->queued = true;
	u->ready++;
	task->ready_before = before;
	task->ready_next = before ? before->ready_next : u->ready_first;
	*(before ? &before->ready_next : &u->ready_first) = task;
	*(task->ready_next ? &task->ready_next->ready_before : &u->ready_last) = task;
}

/* For which others are to stop: when they have, it is its turn. */
static void enqueue_first(struct unit *u, struct task *task)
{
	task_set_state(task, TASK_READY);
	enqueue_behind(u, NULL, task);
	if (!u->early_last)
		u->early_last = task;
}

/* Whoever gave up the turn for a call is not to wait for a slice of each that computes: until its
 * own is used up it comes before them. */
static void enqueue(struct unit *u, struct task *task)
{
	bool early = task->turn_used < SLICE_NS && !task->spins;

	task_set_state(task, TASK_READY);
	if (task->queued)
		return;
	enqueue_behind(u, early ? u->early_last : u->ready_last, task);
	if (early)
		u->early_last = task;
	else
		task->turn_used = 0;
}

void recorder_resume_task(struct recorder *r, struct task *task)
{
	int rc, signo = task->pending_signal;

	/* QUIRK(stop-left): killed where it waited, it has stopped once more: it is resumed from
	 * there when that is served. */
	if (recorder_has_event(r, task->tid))
		return;
	task->pending_signal = 0;
	task->spins = false;
	task->ran = r->slices;
	if (task->native) {
		/* Until the place is found, system calls are watched for libraries that are loaded;
		 * and for an execve that gains privileges, where those would be lost. */
		bool watch =
			r->watch_execs || (task->process && task->process->space->from_missing);

		task_set_state(task, TASK_NATIVE);
		tracee_resume(task->tid, watch ? PTRACE_SYSCALL : PTRACE_CONT, signo);
		return;
	}
	if (!task->in_syscall && !task->mid_run)
		recorder_serve_stop_points(r, task);
	r->backend.ticks ^= r->options.switch_history && !task->in_syscall;
	task_set_state(task, task->in_syscall ? TASK_IN_SYSCALL : TASK_RUNNING);
	if (task->mid_run) {
		task->mid_run = false;
		if (r->backend.ops->proceed(&r->backend, task))
			recorder_look_after(r, task);
		return;
	}
	rc = r->backend.ops->resume(&r->backend, task, signo, task->pending_action);
	if (rc == BACKEND_WAITS)
		enqueue_first(task->unit, task);
	else if (rc)
		recorder_look_after(r, task);
}

void recorder_look_after(struct recorder *r, const struct task *task)
{
	if (recorder_has_event(r, task->tid) || !tracee_is_left_stopped(task->tid))
		return;
	recorder_note(r, task,
		      "the kernel refused a ptrace request, and nothing sound is left to go on "
		      "with: the process is killed");
	kill(task->process->pid, SIGKILL);
}

static void ready_remove(struct unit *u, struct task *task)
{
	if (!task->queued)
		return;
	if (u->early_last == task)
		u->early_last = task->ready_before;
	*(task->ready_before ? &task->ready_before->ready_next : &u->ready_first) =
		task->ready_next;
	*(task->ready_next ? &task->ready_next->ready_before : &u->ready_last) = task->ready_before;
	task->ready_next = task->ready_before = NULL;
	task->queued = false;
	u->ready--;
}

static bool is_running(const struct task *task, const struct unit *u)
{
	return task->unit == u && task->state == TASK_RUNNING;
}

/* Of a unit whose tasks run side by side all that run. */
static void preempt_all(struct recorder *r, const struct unit *u)
{
	unsigned left = u->running;

	for (struct task *task = r->tasks.first; task && left; task = task->next)
		if (is_running(task, u)) {
			left--;
			r->backend.ops->stop_soon(&r->backend, task);
		}
}

/* Whether the unit has running tasks. now: they are asked to stop; those that do not are again at
 * each tick. */
static bool look_at_running(struct recorder *r, struct unit *u, bool now)
{
	if (u->running && now && !u->asked) {
		u->asked = true;
		preempt_all(r, u);
	}
	return u->running;
}

/* Of a process that is to be detached, nobody runs on but who was stopped in the midst of
 * something: to where it can be detached. */
static bool stays(const struct task *task) { return task->process->leaving && !task->mid_run; }

/* The first that waits and may run now, NULL: none. */
static struct task *first_to_run(const struct recorder *r, const struct unit *u,
				 enum backend_company *company)
{
	struct task *task = u->ready_first;

	*company = COMPANY_ANY;
	while (task && (stays(task) ||
			(r->backend.ops->company &&
			 (*company = r->backend.ops->company(&r->backend, task)) == COMPANY_LATER)))
		task = task->ready_next;
	return task;
}

/* Of those that wait one that was stopped in the midst of what it ran in (SIGSTOP), else the task:
 * who is to be alone comes behind it. */
static struct task *in_the_midst(const struct unit *u, struct task *task)
{
	struct task *other = u->ready_first;

	while (other && !other->mid_run)
		other = other->ready_next;
	return other ? other : task;
}

/* What is not replayed: nobody waits for anybody, but where the backend has to change what others
 * are running in. */
static void schedule_all(struct recorder *r, struct unit *u)
{
	enum backend_company company;
	struct task *task;

	/* The core file is to show the others where they stopped. */
	if (u->dumps && is_running(u->dumps, u))
		return;
	u->dumps = NULL;
	while ((task = first_to_run(r, u, &company)) && !r->frozen) {
		if (company != COMPANY_ANY && look_at_running(r, u, company == COMPANY_NONE))
			return;
		if (company == COMPANY_NONE)
			task = in_the_midst(u, task);
		if (task->pending_signal && task->pending_action == BT_ACTION_CORE)
			u->dumps = task;
		ready_remove(task->unit, task);
		recorder_resume_task(r, task);
		if (u->dumps)
			return;
	}
}

static bool side_by_side(const struct recorder *r)
{
	return r->backend.ops->native || r->backend.parallel;
}

static void begin_turn(const struct recorder *r, struct unit *u, struct task *task)
{
	u->current = task;
	task->turn_began = bt_clock_now(r->clock);
}

static void end_turn(const struct recorder *r, struct unit *u)
{
	u->current->turn_used += bt_clock_now(r->clock) - u->current->turn_began;
	u->left_at = task_point(u->current);
	u->current = NULL;
}

/* It would only wait for others. It gets a turn now and then all the same: it may be to have a
 * signal. */
static bool still_spins(struct recorder *r, const struct unit *u, struct task *task)
{
	return task->spins && r->slices - task->ran < u->ready &&
	       r->backend.ops->still_spins(&r->backend, task);
}

/* The first whose turn it is and who does something with it; where there is none the first, and
 * *all_spin. */
static struct task *next_in_turn(struct recorder *r, const struct unit *u, bool *all_spin)
{
	enum {
		LOOKS = 8, /* at tasks that wait: each costs some microseconds */
	};
	struct task *first = NULL;
	int looks = 0;

	*all_spin = false;
	for (struct task *task = u->ready_first; task; task = task->ready_next) {
		if (stays(task))
			continue;
		if (looks == LOOKS || !still_spins(r, u, task))
			return task;
		looks++;
		first = first ? first : task;
	}
	*all_spin = first;
	return first;
}

/* Nobody has anything to do but those who are in calls, or have been woken by one. They may only
 * want for the processor, which the one that spins has: it is given up some times, and each time
 * the task may spin for longer. */
static void run_though_spinning(struct unit *u, struct task *task)
{
	task->unwatched = u->yields == TURN_YIELDS;
	if (task->unwatched)
		return;
	u->yields++;
	sched_yield();
}

static void schedule_one(struct recorder *r, struct unit *u)
{
	struct bt_record_switch_ rec = {.unit = u->number, .from = u->last, .point = u->left_at};
	struct task *task;
	bool all_spin;

	if (u->current || r->frozen || !(task = next_in_turn(r, u, &all_spin)))
		return;
	ready_remove(u, task);
	task->unwatched = false;
	if (all_spin)
		run_though_spinning(u, task);
	begin_turn(r, u, task);
	if (u->last != task->number) {
		rec.to = task->number;
		if (u->last)
			RECORDER_EVENT(r, u->number, SWITCH, &rec);
		u->last = task->number;
	}
	recorder_resume_task(r, task);
}

static void schedule(struct recorder *r, struct unit *u)
{
	(side_by_side(r) ? schedule_all : schedule_one)(r, u);
	if (u->ready_first)
		recorder_hurry(r);
}

void recorder_give_up_turn(struct recorder *r, struct task *task)
{
	struct unit *u = task->unit;

	ready_remove(u, task);
	if (u->current == task)
		end_turn(r, u);
	else if (!r->backend.parallel)
		return;
	schedule(r, u);
}

void recorder_make_syscall(struct recorder *r, struct task *task)
{
	if (r->backend.parallel && r->backend.ops->company &&
	    r->backend.ops->company(&r->backend, task) != COMPANY_ANY) {
		enqueue(task->unit, task);
		schedule(r, task->unit);
		return;
	}
	recorder_resume_task(r, task);
	task->unit->yields = 0;
	recorder_give_up_turn(r, task);
	if (!side_by_side(r) && !task->syscall.compat &&
	    task->syscall.nr == SYS_sched_yield) /* what it waits for is others' to do */
		task->turn_used = SLICE_NS;
}

/* What is there is not known for certain any more: all that run in it are detached before they run
 * on. */
static void leave_unread(const struct recorder *r, const struct address_space *s)
{
	const char *why = s->unread == EACCES || s->unread == EPERM
				  ? "its memory may not be looked at any more (another user's, "
				    "made undumpable, or a program that may not be read) without "
				    "CAP_SYS_PTRACE: detached there"
				  : "its mappings cannot be read (no memory or descriptors left): "
				    "detached there";

	for (const struct task *task = r->tasks.first; task; task = task->next)
		if (task->process && task->process->space == s && !task->process->leaving)
			task->process->leaving = why;
}

/* Somebody has come who waits for the turn. */
static void tell_current(struct recorder *r, const struct unit *u)
{
	if (!u->current || u->current->state != TASK_RUNNING || !r->backend.ops->waited_for)
		return;
	u->current->unwatched = false;
	r->backend.ops->waited_for(&r->backend, u->current);
}

void recorder_make_ready(struct recorder *r, struct task *task)
{
	struct unit *u = task->unit;

	if (task->in_syscall ||
	    task->native) { /* the kernel's work is nobody's turn, nor is what is not recorded */
		recorder_resume_task(r, task);
		return;
	}
	if (task->process->space->unread && !r->backend.ops->native)
		leave_unread(r, task->process->space);
	if (u->current == task && !u->ready_first && !r->frozen && !stays(task)) {
		if (task->spins)
			run_though_spinning(u, task);
		recorder_resume_task(r, task);
		return;
	}
	if (u->current == task)
		end_turn(r, u);
	if (r->backend.ops->rest)
		r->backend.ops->rest(&r->backend, task);
	enqueue(u, task);
	if (!task->spins)
		tell_current(r, u);
	schedule(r, u);
}

bool recorder_preempt(struct recorder *r)
{
	bool any = false;

	for (struct unit *u = r->tasks.units; u; u = u->next) {
		if (!u->ready_first)
			continue;
		any = true;
		if (r->backend.parallel)
			preempt_all(r, u);
		else if (u->current && u->current->state == TASK_RUNNING)
			r->backend.ops->stop_soon(&r->backend, u->current);
	}
	return any;
}

/* It has stopped for something that is served later: registers and history are brought there. False
 * when it has been resumed. */
static bool has_arrived(struct recorder *r, struct task *task)
{
	const struct backend_ops *ops = r->backend.ops;
	enum wait_type type = recorder_event_type(r, task->tid);
	struct bt_regs regs;

	if (ops->arrive && type == WAIT_EXITING && !tracee_get_regs(task->tid, &regs) &&
	    recorder_event_holds(r, task->tid))
		ops->exiting(&r->backend, task, &regs);
	if (!ops->arrive || type != WAIT_SIGNAL || !ops->arrive(&r->backend, task))
		return true;
	recorder_drop_event(r, task->tid);
	return false;
}

bool recorder_halt(struct recorder *r, struct task *task)
{
	enum {
		STOPS = 4, /* of the backend's own that may come first: it may have to step on to
			      where the state is known */
	};
	bool ran = task->state == TASK_RUNNING;

	if (!task->recorded || task->native || task->state == TASK_NEW ||
	    task->state == TASK_EXITING)
		return false;
	for (int i = 0; i < STOPS && task->state == TASK_RUNNING; i++) {
		struct wait_event ev;

		/* Its step ends by itself. Take that in, so that registers and history agree. */
		r->backend.ops->stop_soon(&r->backend, task);
		if (!recorder_has_event(r, task->tid) && !recorder_await_stop(r, task->tid))
			return false;
		if (recorder_take_event(r, task->tid,
					r->backend.ops->native ? WAIT_INTERRUPT : WAIT_SIGNAL,
					SIGTRAP, &ev))
			recorder_on_backend_stop(r, task, &ev);
		else if (recorder_take_event(r, task->tid, WAIT_INTERRUPT, SIGTRAP, &ev))
			recorder_on_interrupt(r, task, &ev);
		else if (r->backend.ops->native)
			return !tracee_get_regs(task->tid, &task->regs);
		else if (has_arrived(r, task))
			return true;
	}
	if (task->state == TASK_RUNNING &&
	    !r->backend.ops->native) /* the registers from before what it is in the middle of */
		return true;
	if (!ran && (task->state == TASK_IN_SYSCALL || task->state == TASK_GROUP_STOPPED) &&
	    !recorder_has_event(r, task->tid)) {
		task->interrupted = task->in_syscall;
		if (tracee_resume(task->tid, PTRACE_INTERRUPT, 0) ||
		    !recorder_await_stop(r, task->tid))
			return false;
	}
	return task->state == TASK_READY || task->mid_run ||
	       !tracee_get_regs(task->tid, &task->regs);
}

void recorder_freeze(struct recorder *r)
{
	if (!r->frozen)
		r->patience = bt_clock_now(r->clock) + STOP_PATIENCE_NS;
	r->frozen = true;
}

void recorder_thaw(struct recorder *r)
{
	r->frozen = false;
	for (struct task *task = r->tasks.first; task; task = task->next)
		if (task->unit)
			schedule(r, task->unit);
}

void recorder_request_snapshot(struct recorder *r, struct task *task)
{
	switch (task->state) {
	case TASK_RUNNING:
		task->process->snapshot_wanted = true;
		r->backend.ops->stop_soon(&r->backend, task);
		break;
	case TASK_READY:
	case TASK_IN_SYSCALL:
	case TASK_GROUP_STOPPED:
		recorder_freeze(r);
		if (recorder_halt(r, task))
			recorder_keep_requested(r, task);
		else if (task->state != TASK_EXITING)
			task->process->snapshot_wanted = true; /* it waits uninterruptibly */
		recorder_thaw(r);
		break;
	default:
		break;
	}
}
