/* SPDX-License-Identifier: MIT */
/* The main loop, one row per kind of event, and one per kind of stop. A stop of a task that runs
 * under the backend goes to the backend first, which says what it means to the program
 * (backend_stop). */
#include "collector/supervisor/supervisor.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>

#include "collector/supervisor/program.h"
#include "collector/supervisor/scheduler.h"
#include "collector/supervisor/supervisor_private.h"
#include "collector/tracee/tracee.h"

void supervisor_note(const struct supervisor *sup, const struct task *task, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	sup->observer->ops->note(sup->observer->arg, task, text);
}

/* ---- Ticks ---- */

static void set_pace(struct supervisor *sup, bool hurried)
{
	sup->hurried = hurried;
	sup->calm = 0;
	sup->on_pace(sup->on_tick_arg,
		     hurried ? SUPERVISOR_SLICE_MS : SUPERVISOR_SLICE_MS * SUPERVISOR_SLICES);
}

void supervisor_hurry(struct supervisor *sup)
{
	if (!sup->hurried && sup->on_pace)
		set_pace(sup, true);
}

/* Tells the backend of running tasks whose time is over (task->due). A task that has stopped
 * meanwhile is looked at again; one that stands still when it goes on. */
static void serve_due(struct supervisor *sup)
{
	enum {
		AGAIN_NS = 100000,
	};
	struct backend *b = &sup->backend;
	uint64_t now = b->due ? bt_clock_now(sup->clock) : 0, next = 0;

	if (!b->due || now < b->due)
		return;
	for (struct task *task = sup->tasks.first; task; task = task->next) {
		if (!task->due || task->state != TASK_RUNNING)
			continue;
		if (task->due <= now && event_queue_has(&sup->events, task->host_tid))
			task->due = now + AGAIN_NS;
		else if (task->due <= now)
			b->ops->due(b, task);
		if (task->due > now && (!next || task->due < next))
			next = task->due;
	}
	b->due = next;
}

/* Does what is due at a tick, if the caller's timer has ticked. */
static void serve_tick(void *arg)
{
	struct supervisor *sup = arg;

	serve_due(sup);
	if (!*sup->tick)
		return;
	*sup->tick = 0;
	sup->slices += sup->hurried ? 1 : SUPERVISOR_SLICES;
	if (supervisor_preempt(sup))
		sup->calm = 0;
	else if (sup->hurried && ++sup->calm >= SUPERVISOR_SLICES)
		set_pace(sup, false);
	affinity_look(&sup->affinity, &sup->tasks);
	supervisor_look_at_files(sup);
	if (sup->slices - sup->told < SUPERVISOR_SLICES)
		return;
	sup->told = sup->slices;
	sup->session->ops->on_tick(sup->session, sup);
	sup->on_tick(sup->on_tick_arg, sup);
}

/* ---- Stops under the backend ---- */

void supervisor_serve_stop_points(struct supervisor *sup, struct task *task)
{
	enum stop_point_side side;

	const struct function_stop *stop;

	while (!sup->frozen && (side = stop_point_side(task)) != STOP_POINT_AHEAD)
		sup->session->ops->on_stop_point(sup->session, sup, task, side);
	stop = sup->frozen ? NULL : task_function_stop(task);
	if (!stop)
		return;
	task->told.rip = task->regs.rip;
	task->told.rsp = task->regs.rsp;
	sup->session->ops->on_function(sup->session, sup, task, stop->function);
}

static void slice_over(struct supervisor *sup, struct task *task)
{
	sup->session->ops->on_slice(sup->session, sup, task);
	supervisor_serve_stop_points(sup, task);
	supervisor_make_ready(sup, task);
}

void supervisor_on_backend_stop(struct supervisor *sup, struct task *task,
				const struct wait_event *ev)
{
	siginfo_t info;
	enum backend_stop stop;

	task->signal_sent = false;
	stop = sup->backend.ops->stopped(&sup->backend, task, ev, &info);
	if (stop != BACKEND_GONE)
		sup->session->ops->on_stop(sup->session, sup, task, stop == BACKEND_RUNS);
	if (stop != BACKEND_RUNS)
		supervisor_follow_mappings(sup, task);
	/* Not before a signal: a fault is explained by the code that was known when it came. */
	if (stop != BACKEND_RUNS && stop != BACKEND_GONE && stop != BACKEND_SIGNAL)
		supervisor_reread_files(sup, task);
	switch (stop) {
	case BACKEND_RUNS:
		scheduler_resumed(sup, task);
		return;
	case BACKEND_GONE:
		supervisor_look_after(sup, task);
		return;
	case BACKEND_SLICE:
		slice_over(sup, task);
		return;
	case BACKEND_SPINS:
		task->supervised->spins = true;
		slice_over(sup, task);
		return;
	case BACKEND_INSTRUCTION:
		sup->session->ops->on_instruction(sup->session, sup, task);
		supervisor_make_ready(sup, task);
		return;
	case BACKEND_SYSCALL_ENTER:
		supervisor_syscall_entered(sup, task);
		return;
	case BACKEND_SYSCALL_EXIT:
		supervisor_syscall_left(sup, task);
		return;
	case BACKEND_MID_RUN:
		task->mid_run = true;
		supervisor_make_ready(sup, task);
		return;
	case BACKEND_SIGNAL:
		supervisor_signal_arrived(sup, task, &info);
		return;
	case BACKEND_HANDLER:
		supervisor_handler_entered(sup, task);
		return;
	}
}

/* ---- Events ---- */

static void on_early_stop(const struct task *task, const struct wait_event *ev)
{
	/* Before its execve: nothing of the program's. A signal goes on. */
	tracee_resume(task->host_tid, PTRACE_CONT, ev->type == WAIT_SIGNAL ? ev->value : 0);
}

static void on_syscall_or_signal(struct supervisor *sup, struct task *task,
				 const struct wait_event *ev)
{
	if (!task->supervised->started)
		on_early_stop(task, ev);
	else if (task->native || task->supervised->start_pending)
		sup->session->ops->on_native_stop(sup->session, sup, task, ev);
	else {
		if (ev->type == WAIT_SIGNAL)
			supervisor_note_signal(task, ev->value);
		supervisor_on_backend_stop(sup, task, ev);
	}
}

/* An event of a task that is not in the table. A new task that stops before its parent's event is
 * entered. Any other is about to end, or was forgotten: it is resumed. */
static struct task *find_stranger(struct supervisor *sup, const struct wait_event *ev)
{
	if (ev->type == WAIT_INTERRUPT || ev->type == WAIT_GROUP_STOP)
		return supervised_task(&sup->tasks, ev->tid);
	if (ev->type != WAIT_EXITED && ev->type != WAIT_KILLED)
		tracee_resume(ev->tid, PTRACE_CONT, ev->type == WAIT_SIGNAL ? ev->value : 0);
	return NULL;
}

static void dispatch_event(struct supervisor *sup, const struct wait_event *ev)
{
	static void (*const rows[WAIT_TYPES])(struct supervisor *, struct task *,
					      const struct wait_event *) = {
		[WAIT_EXITED] = supervisor_on_gone,
		[WAIT_KILLED] = supervisor_on_gone,
		[WAIT_SYSCALL] = on_syscall_or_signal,
		[WAIT_SIGNAL] = on_syscall_or_signal,
		[WAIT_NEW_TASK] = supervisor_on_new_task,
		[WAIT_EXEC] = supervisor_on_exec,
		[WAIT_EXITING] = supervisor_on_exiting,
		[WAIT_GROUP_STOP] = supervisor_on_group_stop,
		[WAIT_INTERRUPT] = supervisor_on_interrupt,
	};
	struct task *task = task_find(&sup->tasks, ev->tid);

	if (ev->tid == sup->initial_pid && (ev->type == WAIT_EXITED || ev->type == WAIT_KILLED))
		supervisor_note_outcome(sup, ev);
	if (!task)
		task = find_stranger(sup, ev);
	if (task)
		rows[ev->type](sup, task, ev);
	supervisor_release_front(sup);
}

/* ---- Begin and end ---- */

static size_t calls_ahead(void *arg, struct task *task, const struct bt_logged_call **calls,
			  uint64_t *passed)
{
	struct supervisor *sup = arg;

	return sup->session->ops->calls_ahead(sup->session, sup, task, calls, passed);
}

static void calls_answered(void *arg, struct task *task, size_t n, const uint64_t *ticks)
{
	struct supervisor *sup = arg;

	sup->session->ops->on_calls_answered(sup->session, sup, task, n, ticks);
}

void supervisor_init(struct supervisor *sup, struct session *session,
		     const struct observer *observer, const struct bt_clock *clock,
		     const struct backend_ops *ops, const struct supervisor_options *options)
{
	static const struct test_knobs none = {0};
	const struct processor here = processor_probe(), plain = {.fast_loop = !here.fast_loop};
	const struct test_knobs *tests = options->tests ? options->tests : &none;

	*sup = (struct supervisor){
		.session = session,
		.observer = observer,
		.clock = clock,
		.scheduler = ops->native || options->parallel ? &side_by_side_scheduler
							      : &turns_scheduler,
		.options = *options,
		.watch_execs = !program_privileges_survive(),
	};
	sup->options.tests = tests;
	sup->events = (struct event_queue){.tasks = &sup->tasks,
					   .clock = clock,
					   .until = &sup->backend.due,
					   .on_wake = serve_tick,
					   .arg = sup};
	sup->backend = (struct backend){.ops = ops,
					.observer = observer,
					.clock = clock,
					.cache = options->cache,
					.ticks = options->ticks,
					.logged = options->logged,
					.answered = options->answered,
					.pmu = options->pmu,
					.parallel = options->parallel,
					.processor = tests->plain_processor ? plain : here,
					.tests = tests};
	if (session->ops->calls_ahead)
		sup->backend.answers = (struct answered_calls){
			.ahead = calls_ahead, .given = calls_answered, .arg = sup};
	if (!ops->native && !options->parallel && !options->unbound && !options->late_start)
		affinity_begin(&sup->affinity);
}

/* SIGCHLD tells of statuses (event_queue.h). The kernel sends it for stops only if it is not
 * ignored, as the user's may be. */
static void hear_of_statuses(struct sigaction *before, sigset_t *mask)
{
	const struct sigaction by_default = {.sa_handler = SIG_DFL};
	sigset_t told;

	sigemptyset(&told);
	sigaddset(&told, SIGCHLD);
	sigaction(SIGCHLD, &by_default, before);
	sigprocmask(SIG_BLOCK, &told, mask);
}

void supervisor_run(struct supervisor *sup)
{
	struct sigaction before;
	struct wait_event ev;
	sigset_t mask;

	hear_of_statuses(&before, &mask);
	while (event_queue_next(&sup->events, &ev)) {
		dispatch_event(sup, &ev);
		serve_tick(sup);
	}
	sigaction(SIGCHLD, &before, NULL);
	sigprocmask(SIG_SETMASK, &mask, NULL);
}

void supervisor_release(struct supervisor *sup)
{
	sup->frozen = true; /* nobody gets a turn any more */
	while (sup->tasks.first)
		supervisor_forget(sup, sup->tasks.first);
	event_queue_release(&sup->events);
	if (sup->backend.ops->close)
		sup->backend.ops->close(&sup->backend);
}
