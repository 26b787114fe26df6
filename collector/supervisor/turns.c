/* SPDX-License-Identifier: MIT */
/* Turns: one task of a unit runs user code at a time. Halting them, for snapshots of a whole
 * process. */
#include "collector/supervisor/supervisor_private.h"

#include <errno.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "collector/tracee/tracee.h"

#define STOP_PATIENCE_NS 500000000u
/* A task has used its slice up after this: half of what lies between two ticks, so that one that
 * had the turn for about all of that has. */
#define SLICE_NS (SUPERVISOR_SLICE_MS * UINT64_C(1000000) / 2)

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

void supervisor_resume_task(struct supervisor *sup, struct task *task)
{
	int rc, signo = task->pending_signal;

	/* QUIRK(stop-left): killed where it waited, it has stopped once more: it is resumed from
	 * there when that is served. */
	if (supervisor_has_event(sup, task->tid))
		return;
	task->pending_signal = 0;
	task->spins = false;
	task->ran = sup->slices;
	if (task->native) {
		/* Until the place is found, system calls are watched for libraries that are loaded;
		 * and for an execve that gains privileges, where those would be lost. */
		bool watch =
			sup->watch_execs || (task->process && task->process->space->from_missing);

		task_set_state(task, TASK_NATIVE);
		tracee_resume(task->tid, watch ? PTRACE_SYSCALL : PTRACE_CONT, signo);
		return;
	}
	if (!task->in_syscall && !task->mid_run)
		supervisor_serve_stop_points(sup, task);
	sup->backend.ticks ^= sup->options.switch_history && !task->in_syscall;
	task_set_state(task, task->in_syscall ? TASK_IN_SYSCALL : TASK_RUNNING);
	if (task->mid_run) {
		task->mid_run = false;
		if (sup->backend.ops->proceed(&sup->backend, task))
			supervisor_look_after(sup, task);
		return;
	}
	rc = sup->backend.ops->resume(&sup->backend, task, signo, task->pending_action);
	if (rc == BACKEND_WAITS)
		enqueue_first(task->unit, task);
	else if (rc)
		supervisor_look_after(sup, task);
}

void supervisor_look_after(struct supervisor *sup, const struct task *task)
{
	if (supervisor_has_event(sup, task->tid) || !tracee_is_left_stopped(task->tid))
		return;
	supervisor_note(sup, task,
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
static void preempt_all(struct supervisor *sup, const struct unit *u)
{
	unsigned left = u->running;

	for (struct task *task = sup->tasks.first; task && left; task = task->next)
		if (is_running(task, u)) {
			left--;
			sup->backend.ops->stop_soon(&sup->backend, task);
		}
}

/* Whether the unit has running tasks. now: they are asked to stop; those that do not are again at
 * each tick. */
static bool look_at_running(struct supervisor *sup, struct unit *u, bool now)
{
	if (u->running && now && !u->asked) {
		u->asked = true;
		preempt_all(sup, u);
	}
	return u->running;
}

/* Of a process that is to be detached, nobody runs on but who was stopped in the midst of
 * something: to where it can be detached. */
static bool stays(const struct task *task) { return task->process->leaving && !task->mid_run; }

/* The first that waits and may run now, NULL: none. */
static struct task *first_to_run(const struct supervisor *sup, const struct unit *u,
				 enum backend_company *company)
{
	struct task *task = u->ready_first;

	*company = COMPANY_ANY;
	while (task &&
	       (stays(task) ||
		(sup->backend.ops->company &&
		 (*company = sup->backend.ops->company(&sup->backend, task)) == COMPANY_LATER)))
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
static void schedule_all(struct supervisor *sup, struct unit *u)
{
	enum backend_company company;
	struct task *task;

	/* The core file is to show the others where they stopped. */
	if (u->dumps && is_running(u->dumps, u))
		return;
	u->dumps = NULL;
	while ((task = first_to_run(sup, u, &company)) && !sup->frozen) {
		if (company != COMPANY_ANY && look_at_running(sup, u, company == COMPANY_NONE))
			return;
		if (company == COMPANY_NONE)
			task = in_the_midst(u, task);
		if (task->pending_signal && task->pending_action == BT_ACTION_CORE)
			u->dumps = task;
		ready_remove(task->unit, task);
		supervisor_resume_task(sup, task);
		if (u->dumps)
			return;
	}
}

static bool side_by_side(const struct supervisor *sup)
{
	return sup->backend.ops->native || sup->backend.parallel;
}

static void begin_turn(const struct supervisor *sup, struct unit *u, struct task *task)
{
	u->current = task;
	task->turn_began = bt_clock_now(sup->clock);
}

static void end_turn(const struct supervisor *sup, struct unit *u)
{
	u->current->turn_used += bt_clock_now(sup->clock) - u->current->turn_began;
	u->left_at = task_point(u->current);
	u->current = NULL;
}

/* It would only wait for others. It gets a turn now and then all the same: it may be to have a
 * signal. */
static bool still_spins(struct supervisor *sup, const struct unit *u, struct task *task)
{
	return task->spins && sup->slices - task->ran < u->ready &&
	       sup->backend.ops->still_spins(&sup->backend, task);
}

/* The first whose turn it is and who does something with it; where there is none the first, and
 * *all_spin. */
static struct task *next_in_turn(struct supervisor *sup, const struct unit *u, bool *all_spin)
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
		if (looks == LOOKS || !still_spins(sup, u, task))
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

static void schedule_one(struct supervisor *sup, struct unit *u)
{
	struct bt_record_switch_ rec = {.unit = u->number, .from = u->last, .point = u->left_at};
	struct task *task;
	bool all_spin;

	if (u->current || sup->frozen || !(task = next_in_turn(sup, u, &all_spin)))
		return;
	ready_remove(u, task);
	task->unwatched = false;
	if (all_spin)
		run_though_spinning(u, task);
	begin_turn(sup, u, task);
	if (u->last != task->number) {
		rec.to = task->number;
		if (u->last)
			SUPERVISOR_EVENT(sup, u->number, SWITCH, &rec);
		u->last = task->number;
	}
	supervisor_resume_task(sup, task);
}

static void schedule(struct supervisor *sup, struct unit *u)
{
	(side_by_side(sup) ? schedule_all : schedule_one)(sup, u);
	if (u->ready_first)
		supervisor_hurry(sup);
}

void supervisor_give_up_turn(struct supervisor *sup, struct task *task)
{
	struct unit *u = task->unit;

	ready_remove(u, task);
	if (u->current == task)
		end_turn(sup, u);
	else if (!sup->backend.parallel)
		return;
	schedule(sup, u);
}

void supervisor_make_syscall(struct supervisor *sup, struct task *task)
{
	if (sup->backend.parallel && sup->backend.ops->company &&
	    sup->backend.ops->company(&sup->backend, task) != COMPANY_ANY) {
		enqueue(task->unit, task);
		schedule(sup, task->unit);
		return;
	}
	supervisor_resume_task(sup, task);
	task->unit->yields = 0;
	supervisor_give_up_turn(sup, task);
	if (!side_by_side(sup) && !task->syscall.compat &&
	    task->syscall.nr == SYS_sched_yield) /* what it waits for is others' to do */
		task->turn_used = SLICE_NS;
}

/* What is there is not known for certain any more: all that run in it are detached before they run
 * on. */
static void leave_unread(const struct supervisor *sup, const struct address_space *s)
{
	const char *why = s->unread == EACCES || s->unread == EPERM
				  ? "its memory may not be looked at any more (another user's, "
				    "made undumpable, or a program that may not be read) without "
				    "CAP_SYS_PTRACE: detached there"
				  : "its mappings cannot be read (no memory or descriptors left): "
				    "detached there";

	for (const struct task *task = sup->tasks.first; task; task = task->next)
		if (task->process && task->process->space == s && !task->process->leaving)
			task->process->leaving = why;
}

/* Somebody has come who waits for the turn. */
static void tell_current(struct supervisor *sup, const struct unit *u)
{
	if (!u->current || u->current->state != TASK_RUNNING || !sup->backend.ops->waited_for)
		return;
	u->current->unwatched = false;
	sup->backend.ops->waited_for(&sup->backend, u->current);
}

void supervisor_make_ready(struct supervisor *sup, struct task *task)
{
	struct unit *u = task->unit;

	if (task->in_syscall ||
	    task->native) { /* the kernel's work is nobody's turn, nor is what is not recorded */
		supervisor_resume_task(sup, task);
		return;
	}
	if (task->process->space->unread && !sup->backend.ops->native)
		leave_unread(sup, task->process->space);
	if (u->current == task && !u->ready_first && !sup->frozen && !stays(task)) {
		if (task->spins)
			run_though_spinning(u, task);
		supervisor_resume_task(sup, task);
		return;
	}
	if (u->current == task)
		end_turn(sup, u);
	if (sup->backend.ops->rest)
		sup->backend.ops->rest(&sup->backend, task);
	enqueue(u, task);
	if (!task->spins)
		tell_current(sup, u);
	schedule(sup, u);
}

bool supervisor_preempt(struct supervisor *sup)
{
	bool any = false;

	for (struct unit *u = sup->tasks.units; u; u = u->next) {
		if (!u->ready_first)
			continue;
		any = true;
		if (sup->backend.parallel)
			preempt_all(sup, u);
		else if (u->current && u->current->state == TASK_RUNNING)
			sup->backend.ops->stop_soon(&sup->backend, u->current);
	}
	return any;
}

/* It has stopped for something that is served later: registers and history are brought there. False
 * when it has been resumed. */
static bool has_arrived(struct supervisor *sup, struct task *task)
{
	const struct backend_ops *ops = sup->backend.ops;
	enum wait_type type = supervisor_event_type(sup, task->tid);
	struct bt_regs regs;

	if (ops->arrive && type == WAIT_EXITING && !tracee_get_regs(task->tid, &regs) &&
	    supervisor_event_holds(sup, task->tid))
		ops->exiting(&sup->backend, task, &regs);
	if (!ops->arrive || type != WAIT_SIGNAL || !ops->arrive(&sup->backend, task))
		return true;
	supervisor_drop_event(sup, task->tid);
	return false;
}

bool supervisor_halt(struct supervisor *sup, struct task *task)
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
		sup->backend.ops->stop_soon(&sup->backend, task);
		if (!supervisor_has_event(sup, task->tid) && !supervisor_await_stop(sup, task->tid))
			return false;
		if (supervisor_take_event(sup, task->tid,
					  sup->backend.ops->native ? WAIT_INTERRUPT : WAIT_SIGNAL,
					  SIGTRAP, &ev))
			supervisor_on_backend_stop(sup, task, &ev);
		else if (supervisor_take_event(sup, task->tid, WAIT_INTERRUPT, SIGTRAP, &ev))
			supervisor_on_interrupt(sup, task, &ev);
		else if (sup->backend.ops->native)
			return !tracee_get_regs(task->tid, &task->regs);
		else if (has_arrived(sup, task))
			return true;
	}
	if (task->state == TASK_RUNNING &&
	    !sup->backend.ops->native) /* the registers from before what it is in the middle of */
		return true;
	if (!ran && (task->state == TASK_IN_SYSCALL || task->state == TASK_GROUP_STOPPED) &&
	    !supervisor_has_event(sup, task->tid)) {
		task->interrupted = task->in_syscall;
		if (tracee_resume(task->tid, PTRACE_INTERRUPT, 0) ||
		    !supervisor_await_stop(sup, task->tid))
			return false;
	}
	return task->state == TASK_READY || task->mid_run ||
	       !tracee_get_regs(task->tid, &task->regs);
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
			schedule(sup, task->unit);
}

void supervisor_request_snapshot(struct supervisor *sup, struct task *task)
{
	switch (task->state) {
	case TASK_RUNNING:
		task->process->snapshot_wanted = true;
		sup->backend.ops->stop_soon(&sup->backend, task);
		break;
	case TASK_READY:
	case TASK_IN_SYSCALL:
	case TASK_GROUP_STOPPED:
		supervisor_freeze(sup);
		if (supervisor_halt(sup, task))
			supervisor_keep_requested(sup, task);
		else if (task->state != TASK_EXITING)
			task->process->snapshot_wanted = true; /* it waits uninterruptibly */
		supervisor_thaw(sup);
		break;
	default:
		break;
	}
}
