/* SPDX-License-Identifier: MIT */
/* The snapshot's threads and their stacks, and all other tasks. Enter goes to a task's history, and
 * from a frame to the call that made it.
 *
 * A stack is that of the report, with its frames, arguments and words. It is made when its thread
 * is first unfolded. Only some threads are unfolded at first: there may be thousands. The lines are
 * made anew when one is folded or unfolded. */
#include <inttypes.h>
#include <stdlib.h>

#include "decoder/cause/own_code.h"
#include "decoder/model/signals.h"
#include "syscalls/syscall_names.h"
#include "tui/busy.h"
#include "tui/report_rows.h"

enum {
	OPEN_MAX = 64, /* threads whose stacks are unwound without being asked for */
};

#define NO_GROUP SIZE_MAX

struct threads {
	struct lines lines; /* first: the view's lines operations see the state as a struct lines */
	const struct model_snapshot *snap;
	size_t count;
	bool *open;                  /* stacks shown, by thread */
	struct report_lines *stacks; /* by thread; no text: not made yet */
	struct own_code *own;        /* NULL: nothing is known of it */
	bool all;                    /* frames of libraries are not folded */
};

/* Stacks that are not made yet take their time; where the user stops that, they stay folded. */
static void open_or_fold(struct viewer *v, struct threads *t, size_t i, struct busy *busy)
{
	if (!t->open[i] || t->stacks[i].text.len || busy_at(busy, i))
		return;
	t->open[i] = false;
	viewer_message(v, "stopped: f shows the stack of a thread");
}

/* The report's words of the thread's stack. */
static void add_stack(struct viewer *v, struct threads *t, size_t i)
{
	const struct focus focus = {
		.snap = v->snap,
		.task = model_task(v->m, v->task),
		.thread = viewer_thread(v, v->task),
		.history = v->history,
		.end = v->stop_index,
	};
	const struct report_options options = {.utf8 = v->screen.utf8,
					       .all = v->library_frames_shown};
	struct report_about about;
	struct slice line;
	struct bt_error err;
	size_t at = 0;
	unsigned part;

	if (!t->stacks[i].text.len &&
	    report_make_stack_lines(&t->stacks[i], v->m, v->s, &focus, v->snap->threads[i],
				    &options, t->own, &err))
		t->lines.failed = true;
	while (report_lines_next(&t->stacks[i], &at, &line, &about, &part)) {
		struct target target = report_rows_target(&about, part, i);

		if (!target.history) {
			target.history = true;
			target.task = v->snap->threads[i]->task;
			target.position = v->snap->threads[i]->position;
		}
		report_rows_add(v, &t->lines, line, &target);
	}
}

static void add_thread(struct viewer *v, struct threads *t, size_t i)
{
	const struct bt_record_thread *rec = v->snap->threads[i];
	const struct model_task *task = model_task(v->m, rec->task);
	struct target target = {
		.history = true,
		.task = rec->task,
		.position = rec->position,
		.group = i,
		.has_place = true,
		.place = {.addr = rec->regs.rip,
			  .space = v->snap->rec->space,
			  .epoch = rec->epoch,
			  .entry = NO_ENTRY},
	};
	char call[IN_SYSCALL_MAX];
	struct own_place place;
	struct row row;

	if (t->own && t->open[i] && own_code_frame(t->own, v->snap, rec, &place)) {
		target.place.addr = place.addr;
		target.place.is_return = place.is_return;
	}
	row_init(&row, v->screen.utf8);
	row_put(&row, rec->task == v->snap->rec->task ? STYLE_FAULT : STYLE_HEADING,
		"task %" PRIu32, rec->task);
	if (task) {
		row_put(&row, STYLE_HEADING, ", tid %" PRIu32 ", ", task->tid);
		row_outside(&row, STYLE_HEADING, task->command, 40);
	}
	if (rec->point.tick != BT_TICKS_UNKNOWN)
		row_put(&row, STYLE_DIM, ", tick %" PRIu64, rec->point.tick);
	if (rec->in_syscall)
		row_put(&row, STYLE_SYSTEM, ", %s", in_syscall(&rec->regs, call));
	lines_add(&t->lines, &row, &target);
	if (t->open[i])
		add_stack(v, t, i);
}

static void put_thread_end(struct row *row, const struct bt_record_exit *e)
{
	char name[SIGNAL_NAME_MAX];

	if (!e)
		row_put(row, STYLE_DIM, ", its end is not in the trace");
	else if (e->kind == BT_EXIT_SIGNAL)
		row_put(row, STYLE_FAULT, ", killed by %s", signal_name(e->status, name));
	else if (e->kind == BT_EXIT_STATUS)
		row_put(row, STYLE_NORMAL, ", exited with status %" PRIu32, e->status);
	else
		row_put(row, STYLE_DIM, ", vanished");
}

/* A task that is not in the snapshot. */
static void add_other(struct viewer *v, struct lines *l, const struct model_task *task)
{
	struct target target = {
		.history = true, .task = task->task, .position = UINT64_MAX, .group = NO_GROUP};
	struct row row;

	row_init(&row, v->screen.utf8);
	row_put(&row, STYLE_HEADING, "task %" PRIu32 ", pid %" PRIu32 ", tid %" PRIu32 ", ",
		task->task, task->pid, task->tid);
	row_outside(&row, STYLE_HEADING, task->command, 40);
	put_thread_end(&row, task->exit);
	row_put(&row, STYLE_DIM, ", %" PRIu64 " branches", task->branch_count);
	lines_add(l, &row, &target);
}

static void add_other_tasks(struct viewer *v, struct lines *l)
{
	bool any = false;
	struct row row;

	for (size_t i = 0; i < v->m->task_count; i++) {
		if (viewer_thread(v, v->m->tasks[i].task))
			continue;
		if (!any) {
			row_init(&row, v->screen.utf8);
			row_put(&row, STYLE_DIM, "not in this snapshot:");
			lines_add(l, &row, NULL);
		}
		any = true;
		add_other(v, l, &v->m->tasks[i]);
	}
}

static void fill_thread_lines(struct viewer *v, struct threads *t)
{
	struct busy busy;

	lines_release(&t->lines);
	busy_begin(&busy, &v->screen, "making stacks", v->snap ? v->snap->thread_count : 0);
	for (size_t i = 0; v->snap && i < v->snap->thread_count; i++) {
		open_or_fold(v, t, i, &busy);
		add_thread(v, t, i);
	}
	add_other_tasks(v, &t->lines);
	if (!t->lines.count) {
		struct row row;

		row_init(&row, v->screen.utf8);
		row_put(&row, STYLE_DIM, "the trace has no tasks");
		lines_add(&t->lines, &row, NULL);
	}
}

static void thread_view_release(struct view *view)
{
	struct threads *t = view->state;

	for (size_t i = 0; t && t->stacks && i < t->count; i++)
		report_lines_release(&t->stacks[i]);
	if (t) {
		own_code_close(t->own);
		free(t->stacks);
		free(t->open);
	}
	lines_view_release(view);
}

static int make_threads(struct viewer *v, struct view *view, struct bt_error *err)
{
	size_t count = v->snap ? v->snap->thread_count : 0;
	struct threads *t;

	thread_view_release(view);
	t = view->state = calloc(1, sizeof *t);
	if (t) {
		t->open = calloc(count + 1, sizeof *t->open);
		t->stacks = calloc(count + 1, sizeof *t->stacks);
	}
	if (!t || !t->open || !t->stacks)
		return bt_no_memory(err, NULL);
	t->snap = v->snap;
	t->count = count;
	t->all = v->library_frames_shown;
	for (size_t i = 0; i < count && i < OPEN_MAX; i++)
		t->open[i] = true;
	return v->snap ? own_code_open(&t->own, v->m, v->s, v->snap, viewer_thread(v, v->task), err)
		       : 0;
}

/* Frames of libraries are shown, or no longer. */
static void forget_stacks(struct viewer *v, struct threads *t)
{
	for (size_t i = 0; i < t->count; i++)
		report_lines_release(&t->stacks[i]);
	t->all = v->library_frames_shown;
}

static int thread_view_load(struct viewer *v, struct view *view, struct bt_error *err)
{
	struct threads *t = view->state;
	size_t whole;
	int rc = 0;

	if (!t || t->snap != v->snap) {
		view->cursor = view->top = 0;
		rc = make_threads(v, view, err);
		t = view->state;
	} else if (t->all != v->library_frames_shown) {
		forget_stacks(v, t);
	}
	if (rc)
		return rc;
	whole = lines_whole(&t->lines, view->cursor);
	fill_thread_lines(v, t);
	view->cursor = lines_first_piece(&t->lines, whole);
	return lines_view_end(&t->lines, err);
}

static void toggle_thread(struct viewer *v, struct view *view, size_t group)
{
	struct threads *t = view->state;

	t->open[group] = !t->open[group];
	fill_thread_lines(v, t);
	view_forget_marks(view);
	for (size_t i = 0; i < t->lines.count; i++)
		if (t->lines.at[i].target.history && t->lines.at[i].target.group == group) {
			view->cursor = i;
			break;
		}
	view_fit(view);
}

static bool thread_view_request(struct viewer *v, struct view *view, enum request r)
{
	const struct target *target = lines_view_target(view);

	if (r == REQUEST_LIBRARIES) {
		viewer_toggle_frames(v);
		return true;
	}
	if (!target || !target->history)
		return false;
	if (r == REQUEST_FOLD && target->group != NO_GROUP)
		toggle_thread(v, view, target->group);
	else if (r == REQUEST_ENTER)
		viewer_follow(v, target);
	else
		return false;
	return true;
}

const struct view_ops thread_view = {
	.id = VIEW_THREADS,
	.name = "threads",
	.load = thread_view_load,
	.release = thread_view_release,
	.count = lines_view_count,
	.row = lines_view_row,
	.place = lines_view_place,
	.request = thread_view_request,
};
