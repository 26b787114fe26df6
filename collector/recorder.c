/* SPDX-License-Identifier: MIT */
/* The main loop, and one row per kind of event. */
#include "collector/recorder_private.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>

#include "collector/program.h"
#include "collector/record_observer.h"
#include "collector/snapshot.h"
#include "collector/tracee/tracee.h"

#define FLUSH_INTERVAL_NS 1000000000u

enum {
	SYSCALLS_PER_RECORD =
		1 << 14, /* about; fewer when something else is to be told of the task */
};

void recorder_note(struct recorder *r, const struct task *task, const char *fmt, ...)
{
	struct bt_record_note rec = {.task = task ? task->number : 0};
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	rec.text = bt_str(text);
	RECORDER_EVENT(r, task && task->unit ? task->unit->number : 0, NOTE, &rec);
}

static void set_pace(struct recorder *r, bool hurried)
{
	r->hurried = hurried;
	r->calm = 0;
	r->on_pace(r->on_tick_arg,
		   hurried ? RECORDER_SLICE_MS : RECORDER_SLICE_MS * RECORDER_SLICES);
}

void recorder_hurry(struct recorder *r)
{
	if (!r->hurried && r->on_pace)
		set_pace(r, true);
}

void recorder_serve_tick(struct recorder *r)
{
	if (!*r->tick)
		return;
	*r->tick = 0;
	r->slices += r->hurried ? 1 : RECORDER_SLICES;
	if (recorder_preempt(r))
		r->calm = 0;
	else if (r->hurried && ++r->calm >= RECORDER_SLICES)
		set_pace(r, false);
	affinity_look(&r->affinity, &r->tasks);
	recorder_look_at_files(r);
	if (r->slices - r->told < RECORDER_SLICES)
		return;
	r->told = r->slices;
	recorder_count_histories(r);
	r->on_tick(r->on_tick_arg, r);
}

void recorder_keep_requested(struct recorder *r, struct task *task)
{
	task->process->snapshot_wanted = false;
	snapshot_take(r, task, BT_SNAPSHOT_REQUEST, 0, "btrec snap");
	r->request_kept += task->process->request_mark == r->request;
}

void recorder_serve_snapshot(struct recorder *r, struct task *task)
{
	if (task->process->snapshot_wanted && !r->frozen)
		recorder_keep_requested(r, task);
}

void recorder_serve_stop_points(struct recorder *r, struct task *task)
{
	enum stop_point_side place;
	char text[STOP_POINT_TEXT];

	while (!r->frozen && (place = stop_point_side(task)) != STOP_POINT_AHEAD) {
		stop_point_print(task->stop_point++, text, sizeof text);
		if (place == STOP_POINT_PASSED) {
			recorder_note(r, task, "--snap-at %s: the task was never there", text);
			continue;
		}
		r->stop_points_kept++;
		snapshot_take(r, task, BT_SNAPSHOT_REQUEST, 0, text);
	}
}

static void slice_over(struct recorder *r, struct task *task)
{
	recorder_serve_snapshot(r, task);
	recorder_serve_stop_points(r, task);
	recorder_make_ready(r, task);
}

void recorder_on_backend_stop(struct recorder *r, struct task *task, const struct wait_event *ev)
{
	siginfo_t info;
	enum backend_stop stop = r->backend.ops->stopped(&r->backend, task, ev, &info);

	if (stop != BACKEND_GONE)
		recorder_count_history(r, task);
	if (stop != BACKEND_RUNS || record_syscalls(task) >= SYSCALLS_PER_RECORD)
		record_write_syscalls(r->writer, task);
	if (stop != BACKEND_RUNS)
		recorder_follow_mappings(r, task);
	/* Not before a signal: what it comes from was made of what is known. */
	if (stop != BACKEND_RUNS && stop != BACKEND_GONE && stop != BACKEND_SIGNAL)
		recorder_reread_files(r, task);
	switch (stop) {
	case BACKEND_RUNS:
		return;
	case BACKEND_GONE:
		recorder_look_after(r, task);
		return;
	case BACKEND_SLICE:
		slice_over(r, task);
		return;
	case BACKEND_SPINS:
		task->spins = true;
		slice_over(r, task);
		return;
	case BACKEND_SYSCALL_ENTER:
		recorder_syscall_entered(r, task);
		return;
	case BACKEND_SYSCALL_EXIT:
		recorder_syscall_left(r, task);
		return;
	case BACKEND_MID_RUN:
		task->mid_run = true;
		recorder_make_ready(r, task);
		return;
	case BACKEND_SIGNAL:
		recorder_signal_arrived(r, task, &info);
		return;
	case BACKEND_HANDLER:
		recorder_handler_entered(r, task);
		return;
	}
}

static void on_early_stop(struct recorder *r, struct task *task, const struct wait_event *ev)
{
	/* Before its execve: nothing of the program's. A signal goes on. */
	(void)r;
	tracee_resume(task->tid, PTRACE_CONT, ev->type == WAIT_SIGNAL ? ev->value : 0);
}

static void on_syscall_or_signal(struct recorder *r, struct task *task, const struct wait_event *ev)
{
	if (!task->recorded)
		on_early_stop(r, task, ev);
	else if (task->native && ev->type == WAIT_SIGNAL)
		recorder_on_native_signal(r, task, ev);
	else if (task->native)
		recorder_on_native_syscall(r, task);
	else if (task->start_pending && ev->type == WAIT_SIGNAL)
		recorder_on_first_signal(r, task, ev);
	else if (task->start_pending)
		recorder_on_first_syscall(r, task);
	else {
		if (ev->type == WAIT_SIGNAL)
			recorder_note_signal(task, ev->value);
		recorder_on_backend_stop(r, task, ev);
	}
}

/* An event of a task that is not in the table: a new one that stops before its parent reports it is
 * entered. What is about to end, or was forgotten, goes its way. */
static struct task *stranger(struct recorder *r, const struct wait_event *ev)
{
	if (ev->type == WAIT_INTERRUPT || ev->type == WAIT_GROUP_STOP)
		return task_add(&r->tasks, ev->tid);
	if (ev->type != WAIT_EXITED && ev->type != WAIT_KILLED)
		tracee_resume(ev->tid, PTRACE_CONT, ev->type == WAIT_SIGNAL ? ev->value : 0);
	return NULL;
}

static void dispatch(struct recorder *r, const struct wait_event *ev)
{
	static void (*const rows[WAIT_TYPES])(struct recorder *, struct task *,
					      const struct wait_event *) = {
		[WAIT_EXITED] = recorder_on_gone,
		[WAIT_KILLED] = recorder_on_gone,
		[WAIT_SYSCALL] = on_syscall_or_signal,
		[WAIT_SIGNAL] = on_syscall_or_signal,
		[WAIT_NEW_TASK] = recorder_on_new_task,
		[WAIT_EXEC] = recorder_on_exec,
		[WAIT_EXITING] = recorder_on_exiting,
		[WAIT_GROUP_STOP] = recorder_on_group_stop,
		[WAIT_INTERRUPT] = recorder_on_interrupt,
	};
	struct task *task = task_find(&r->tasks, ev->tid);

	if (ev->tid == r->initial_pid && (ev->type == WAIT_EXITED || ev->type == WAIT_KILLED))
		recorder_note_outcome(r, ev);
	if (!task)
		task = stranger(r, ev);
	if (task)
		rows[ev->type](r, task, ev);
	recorder_release_front(r);
}

void recorder_flush_due(struct recorder *r)
{
	uint64_t now = bt_clock_now(r->clock);

	if (now - r->last_flush < FLUSH_INTERVAL_NS)
		return;
	r->last_flush = now;
	trace_writer_flush(r->writer);
}

void recorder_init(struct recorder *r, struct trace_writer *w, const struct backend_ops *ops,
		   const struct recorder_options *options)
{
	const struct processor here = processor_probe(), plain = {.fast_loop = !here.fast_loop};

	*r = (struct recorder){.writer = w,
			       .clock = trace_writer_clock(w),
			       .observer = record_observer(w),
			       .options = *options,
			       .watch_execs = !program_privileges_survive()};
	r->backend = (struct backend){.ops = ops,
				      .observer = &r->observer,
				      .clock = trace_writer_clock(w),
				      .cache = options->cache,
				      .ticks = !options->history,
				      .pmu = options->pmu,
				      .parallel = options->parallel,
				      .processor = options->plain_processor ? plain : here,
				      .alarm_each = options->alarm_each,
				      .predict_eagerly = options->predict_eagerly};
	if (!ops->native && !options->parallel && !options->unbound && !options->from)
		affinity_begin(&r->affinity);
}

/* Statuses are told of by SIGCHLD (recorder_queue.c), of stops only where that is not ignored, as
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

void recorder_run(struct recorder *r)
{
	struct sigaction before;
	struct wait_event ev;
	sigset_t mask;

	hear_of_statuses(&before, &mask);
	while (recorder_next_event(r, &ev)) {
		dispatch(r, &ev);
		recorder_serve_tick(r);
	}
	sigaction(SIGCHLD, &before, NULL);
	sigprocmask(SIG_SETMASK, &mask, NULL);
}

static void release_tasks(struct recorder *r)
{
	r->frozen = true; /* nobody gets a turn any more */
	while (r->tasks.first)
		recorder_forget(r, r->tasks.first);
	free(r->queue);
	free(r->queued_of);
	r->queue = NULL;
	r->queued_of = NULL;
	if (r->backend.ops->close)
		r->backend.ops->close(&r->backend);
}

void recorder_abandon(struct recorder *r, const char *dir)
{
	release_tasks(r);
	trace_writer_discard(r->writer, dir);
}

void recorder_release(struct recorder *r)
{
	struct bt_record_end rec = {.kind = (uint8_t)r->outcome.kind,
				    .status = (uint32_t)r->outcome.status};

	if (!r->outcome.ended)
		rec.kind = BT_EXIT_UNKNOWN;
	release_tasks(r);
	RECORDER_EVENT(r, 0, END, &rec);
	trace_writer_close(r->writer);
}
