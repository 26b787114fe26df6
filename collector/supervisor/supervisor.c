/* SPDX-License-Identifier: MIT */
/* The main loop, and one row per kind of event. */
#include "collector/supervisor/supervisor_private.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>

#include "collector/record/record_observer.h"
#include "collector/record/snapshot.h"
#include "collector/supervisor/program.h"
#include "collector/tracee/tracee.h"

#define FLUSH_INTERVAL_NS 1000000000u

enum {
	SYSCALLS_PER_RECORD =
		1 << 14, /* about; fewer when something else is to be told of the task */
};

void supervisor_note(struct supervisor *sup, const struct task *task, const char *fmt, ...)
{
	struct bt_record_note rec = {.task = task ? task->number : 0};
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	rec.text = bt_str(text);
	SUPERVISOR_EVENT(sup, task && task->unit ? task->unit->number : 0, NOTE, &rec);
}

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

void supervisor_serve_tick(struct supervisor *sup)
{
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
	supervisor_count_histories(sup);
	sup->on_tick(sup->on_tick_arg, sup);
}

void supervisor_keep_requested(struct supervisor *sup, struct task *task)
{
	task->process->snapshot_wanted = false;
	snapshot_take(sup, task, BT_SNAPSHOT_REQUEST, 0, "btrec snap");
	sup->request_kept += task->process->request_mark == sup->request;
}

void supervisor_serve_snapshot(struct supervisor *sup, struct task *task)
{
	if (task->process->snapshot_wanted && !sup->frozen)
		supervisor_keep_requested(sup, task);
}

void supervisor_serve_stop_points(struct supervisor *sup, struct task *task)
{
	enum stop_point_side place;
	char text[STOP_POINT_TEXT];

	while (!sup->frozen && (place = stop_point_side(task)) != STOP_POINT_AHEAD) {
		stop_point_print(task->stop_point++, text, sizeof text);
		if (place == STOP_POINT_PASSED) {
			supervisor_note(sup, task, "--snap-at %s: the task was never there", text);
			continue;
		}
		sup->stop_points_kept++;
		snapshot_take(sup, task, BT_SNAPSHOT_REQUEST, 0, text);
	}
}

static void slice_over(struct supervisor *sup, struct task *task)
{
	supervisor_serve_snapshot(sup, task);
	supervisor_serve_stop_points(sup, task);
	supervisor_make_ready(sup, task);
}

void supervisor_on_backend_stop(struct supervisor *sup, struct task *task,
				const struct wait_event *ev)
{
	siginfo_t info;
	enum backend_stop stop = sup->backend.ops->stopped(&sup->backend, task, ev, &info);

	if (stop != BACKEND_GONE)
		supervisor_count_history(sup, task);
	if (stop != BACKEND_RUNS || record_syscalls(task) >= SYSCALLS_PER_RECORD)
		record_write_syscalls(sup->writer, task);
	if (stop != BACKEND_RUNS)
		supervisor_follow_mappings(sup, task);
	/* Not before a signal: what it comes from was made of what is known. */
	if (stop != BACKEND_RUNS && stop != BACKEND_GONE && stop != BACKEND_SIGNAL)
		supervisor_reread_files(sup, task);
	switch (stop) {
	case BACKEND_RUNS:
		return;
	case BACKEND_GONE:
		supervisor_look_after(sup, task);
		return;
	case BACKEND_SLICE:
		slice_over(sup, task);
		return;
	case BACKEND_SPINS:
		task->spins = true;
		slice_over(sup, task);
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

static void on_early_stop(struct supervisor *sup, struct task *task, const struct wait_event *ev)
{
	/* Before its execve: nothing of the program's. A signal goes on. */
	(void)sup;
	tracee_resume(task->tid, PTRACE_CONT, ev->type == WAIT_SIGNAL ? ev->value : 0);
}

static void on_syscall_or_signal(struct supervisor *sup, struct task *task,
				 const struct wait_event *ev)
{
	if (!task->recorded)
		on_early_stop(sup, task, ev);
	else if (task->native && ev->type == WAIT_SIGNAL)
		supervisor_on_native_signal(sup, task, ev);
	else if (task->native)
		supervisor_on_native_syscall(sup, task);
	else if (task->start_pending && ev->type == WAIT_SIGNAL)
		supervisor_on_first_signal(sup, task, ev);
	else if (task->start_pending)
		supervisor_on_first_syscall(sup, task);
	else {
		if (ev->type == WAIT_SIGNAL)
			supervisor_note_signal(task, ev->value);
		supervisor_on_backend_stop(sup, task, ev);
	}
}

/* An event of a task that is not in the table: a new one that stops before its parent reports it is
 * entered. What is about to end, or was forgotten, goes its way. */
static struct task *stranger(struct supervisor *sup, const struct wait_event *ev)
{
	if (ev->type == WAIT_INTERRUPT || ev->type == WAIT_GROUP_STOP)
		return task_add(&sup->tasks, ev->tid);
	if (ev->type != WAIT_EXITED && ev->type != WAIT_KILLED)
		tracee_resume(ev->tid, PTRACE_CONT, ev->type == WAIT_SIGNAL ? ev->value : 0);
	return NULL;
}

static void dispatch(struct supervisor *sup, const struct wait_event *ev)
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
		task = stranger(sup, ev);
	if (task)
		rows[ev->type](sup, task, ev);
	supervisor_release_front(sup);
}

void supervisor_flush_due(struct supervisor *sup)
{
	uint64_t now = bt_clock_now(sup->clock);

	if (now - sup->last_flush < FLUSH_INTERVAL_NS)
		return;
	sup->last_flush = now;
	trace_writer_flush(sup->writer);
}

void supervisor_init(struct supervisor *sup, struct trace_writer *w, const struct backend_ops *ops,
		     const struct supervisor_options *options)
{
	const struct processor here = processor_probe(), plain = {.fast_loop = !here.fast_loop};

	*sup = (struct supervisor){.writer = w,
				   .clock = trace_writer_clock(w),
				   .observer = record_observer(w),
				   .options = *options,
				   .watch_execs = !program_privileges_survive()};
	sup->backend = (struct backend){.ops = ops,
					.observer = &sup->observer,
					.clock = trace_writer_clock(w),
					.cache = options->cache,
					.ticks = !options->history,
					.pmu = options->pmu,
					.parallel = options->parallel,
					.processor = options->plain_processor ? plain : here,
					.alarm_each = options->alarm_each,
					.predict_eagerly = options->predict_eagerly};
	if (!ops->native && !options->parallel && !options->unbound && !options->from)
		affinity_begin(&sup->affinity);
}

/* Statuses are told of by SIGCHLD (supervisor_queue.c), of stops only where that is not ignored, as
 * the user's may be. */
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
	while (supervisor_next_event(sup, &ev)) {
		dispatch(sup, &ev);
		supervisor_serve_tick(sup);
	}
	sigaction(SIGCHLD, &before, NULL);
	sigprocmask(SIG_SETMASK, &mask, NULL);
}

static void release_tasks(struct supervisor *sup)
{
	sup->frozen = true; /* nobody gets a turn any more */
	while (sup->tasks.first)
		supervisor_forget(sup, sup->tasks.first);
	free(sup->queue);
	free(sup->queued_of);
	sup->queue = NULL;
	sup->queued_of = NULL;
	if (sup->backend.ops->close)
		sup->backend.ops->close(&sup->backend);
}

void supervisor_abandon(struct supervisor *sup, const char *dir)
{
	release_tasks(sup);
	trace_writer_discard(sup->writer, dir);
}

void supervisor_release(struct supervisor *sup)
{
	struct bt_record_end rec = {.kind = (uint8_t)sup->outcome.kind,
				    .status = (uint32_t)sup->outcome.status};

	if (!sup->outcome.ended)
		rec.kind = BT_EXIT_UNKNOWN;
	release_tasks(sup);
	SUPERVISOR_EVENT(sup, 0, END, &rec);
	trace_writer_close(sup->writer);
}
