/* SPDX-License-Identifier: MIT */
#include "decoder/model/verdict.h"
#include "lib/array_size.h"
#include "tui/busy.h"
#include "tui/layout.h"
#include "tui/thread_stack.h"

#include <stdarg.h>
#include <stdio.h>

enum {
	/* Entries of a long history that are loaded until older ones are wanted, and entries of the
	 * longest that is not long. */
	FIRST_ENTRIES = 1 << 16,
	SHORT_HISTORY = 1 << 19,
	/* The same where the report has a verdict on them: as many as a recording keeps of a task.
	 * The window of a replay may have a hundred times as many. */
	FIRST_JUDGED = 1 << 20,
	SHORT_JUDGED = 1 << 21,
};

void viewer_message(struct viewer *v, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(v->message, sizeof v->message, fmt, ap);
	va_end(ap);
}

void viewer_fail(struct viewer *v, const struct bt_error *err)
{
	v->failure = *err;
	v->quit = true;
}

const struct bt_record_thread *viewer_thread(const struct viewer *v, uint32_t task)
{
	for (size_t i = 0; v->snap && i < v->snap->thread_count; i++)
		if (v->snap->threads[i]->task == task)
			return v->snap->threads[i];
	return NULL;
}

static void find_stop(struct viewer *v)
{
	const struct bt_record_thread *t = viewer_thread(v, v->task);

	v->stopped = t || (v->snap && v->snap->rec->task == v->task);
	v->stop_index = v->history.count;
	if (!v->stopped)
		return;
	v->stop_index = history_index(&v->history, t ? t->position : v->snap->rec->position);
	v->stop_rip = t ? t->regs.rip : v->snap->rec->point.rip;
}

/* Views that others move in, or show code in, before they are drawn. */
static const enum view_id eager[] = {VIEW_BRANCHES, VIEW_SOURCE, VIEW_DISASSEMBLY};

static int view_load(struct viewer *v, enum view_id id, struct bt_error *err)
{
	struct view *view = &v->views[id];

	view->stale = false;
	return view->ops->load(v, view, err);
}

/* Views whose lines are others when another moment or task is shown. */
static const enum view_id of_moment[] = {VIEW_BRANCHES, VIEW_THREADS, VIEW_REGISTERS, VIEW_SYSCALLS,
					 VIEW_TREE};

static void release_history(struct viewer *v)
{
	history_release(&v->history);
	calls_release(&v->calls);
	calls_made_release(&v->made);
}

static int load_first_part(const struct viewer *v, struct history *h, uint32_t task,
			   struct bt_error *err)
{
	bool judged = verdict_is_possible(v->m);

	return history_load_newest(h, v->m, task, judged ? FIRST_JUDGED : FIRST_ENTRIES,
				   judged ? SHORT_JUDGED : SHORT_HISTORY, err);
}

/* A history, instead of the one shown: its newest entries, for a first look, or all, unless the
 * user stops it: returns 1 then. Nothing has changed then, nor after an error. */
static int load_history(struct viewer *v, uint32_t task, bool all, struct bt_error *err)
{
	struct busy busy;
	const struct history_watch watch = busy_watch(&busy);
	struct calls_made made = {0};
	struct calls calls = {0};
	struct history h;
	int rc;

	busy_begin(&busy, &v->screen, "reading all branches", 0);
	rc = all ? history_load_watched(&h, v->m, task, &watch, err)
		 : load_first_part(v, &h, task, err);
	if (rc)
		return rc;
	busy.what = "finding the calls";
	rc = calls_init(&calls, &h, all ? &watch : NULL, err);
	if (!rc)
		rc = calls_made_find(&made, v->m, task, 0, BT_TICKS_UNKNOWN - 1, err);
	if (rc) {
		calls_made_release(&made);
		calls_release(&calls);
		history_release(&h);
		return rc;
	}
	release_history(v);
	v->history = h;
	v->calls = calls;
	v->made = made;
	return 0;
}

/* Whether the moment lies before the newest entries of a history, or near their beginning. */
static bool is_older(const struct viewer *v, const struct model_snapshot *snap, uint32_t task)
{
	const struct bt_record_thread *t = focus_thread(snap, task);
	bool stopped = t || (snap && snap->rec->task == task);

	return stopped && history_index(&v->history, t ? t->position : snap->rec->position) <
				  v->history.count / 2;
}

/* The history shown is another part of the task's. */
static void change_part(struct viewer *v)
{
	find_stop(v);
	v->has_place = false;
	v->code_stale = true;
	v->views[VIEW_TREE].stale = v->views[VIEW_SUMMARY].stale = true;
}

int viewer_read_all(struct viewer *v, struct bt_error *err)
{
	int rc;

	if (!v->history.is_part)
		return 0;
	rc = load_history(v, v->task, true, err);
	if (rc == 1)
		return rc;
	v->reads_all = true;
	change_part(v);
	return rc;
}

int viewer_read_newest(struct viewer *v, struct bt_error *err)
{
	int rc = load_history(v, v->task, false, err);

	v->reads_all = false;
	change_part(v);
	return rc;
}

int viewer_show(struct viewer *v, const struct model_snapshot *snap, uint32_t task,
		struct bt_error *err)
{
	int rc = 0;

	for (size_t i = 0; (v->snap != snap || v->task != task) && i < ARRAY_SIZE(of_moment); i++)
		view_forget_marks(&v->views[of_moment[i]]);
	if (!v->history.entries || v->task != task) {
		rc = load_history(v, task, false, err);
	}
	if (!rc && v->history.is_part && (v->reads_all || is_older(v, snap, task)))
		rc = load_history(v, task, true, err);
	if (rc == 1) {
		viewer_message(v, STOPPED_READING);
		rc = 0;
	}
	v->snap = snap;
	v->task = task;
	find_stop(v);
	/* Others are loaded when they show: the stacks of a thousand threads take their time. */
	for (size_t i = 0; i < VIEW_COUNT; i++)
		v->views[i].stale = true;
	for (size_t i = 0; !rc && i < ARRAY_SIZE(eager); i++)
		rc = view_load(v, eager[i], err);
	v->code_stale = true;
	return rc;
}

void viewer_ready(struct viewer *v, enum view_id id)
{
	struct bt_error err;

	if (v->views[id].stale && view_load(v, id, &err))
		viewer_fail(v, &err);
}

void viewer_open(struct viewer *v, enum view_id id)
{
	size_t kept = 0;

	for (size_t i = 0; i < v->open_count; i++)
		if (v->open[i] != id)
			v->open[kept++] = v->open[i];
	v->open[kept++] = id;
	v->open_count = kept;
	v->focus = id;
	v->views[VIEW_SUMMARY].stale = true; /* more missing files may be known */
}

void viewer_toggle_frames(struct viewer *v)
{
	v->library_frames_shown = !v->library_frames_shown;
	v->views[VIEW_SUMMARY].stale = v->views[VIEW_THREADS].stale = true;
	view_forget_marks(&v->views[VIEW_SUMMARY]);
	view_forget_marks(&v->views[VIEW_THREADS]);
	viewer_message(v, v->library_frames_shown ? "frames of libraries are shown"
						  : "frames of libraries are folded");
}

/* Of a frame the call that made it, in the history of its task; a frame that no call there made
 * leads to the moment. */
static void find_call(struct viewer *v, struct target *to)
{
	const struct bt_record_thread *t = viewer_thread(v, to->task);
	struct thread_stack stack = {0};
	struct bt_error err;
	uint64_t number;
	int rc;

	if (!t || (to->kind != REPORT_FRAME && to->kind != REPORT_PLACE) || !to->place.is_return ||
	    (to->snapshot && to->snapshot != v->snap))
		return;
	rc = thread_stack_find(&stack, v, t, &err);
	if (rc)
		viewer_message(v, "%s",
			       rc == 1 ? "the search for its call was stopped: this is the moment"
				       : "out of memory");
	else if (to->kind == REPORT_FRAME ? thread_stack_call(&stack, to->frame, &number)
					  : thread_stack_returning(&stack, to->place.addr, &number))
		to->position = number;
	else
		viewer_message(v, "its call is not in the history: this is the moment");
	thread_stack_release(&stack);
}

void viewer_follow(struct viewer *v, const struct target *t)
{
	struct target to; /* a copy: showing something else makes the lines anew */
	struct bt_error err;
	bool same;

	if (!t || !t->history)
		return;
	to = *t;
	find_call(v, &to);
	same = to.task == v->task && (!to.snapshot || to.snapshot == v->snap);
	if (viewer_show(v, to.snapshot ? to.snapshot : v->snap, to.task, &err)) {
		viewer_fail(v, &err);
		return;
	}
	branch_view_go(v, to.position, same);
	viewer_open(v, VIEW_BRANCHES);
}

static bool same_place(const struct view_place *a, const struct view_place *b)
{
	return a->addr == b->addr && a->space == b->space && a->epoch == b->epoch &&
	       a->is_return == b->is_return && a->part == b->part && a->entry == b->entry &&
	       a->stop == b->stop;
}

void viewer_follow_cursor(struct viewer *v)
{
	struct view *top = layout_main(v);
	struct view_place p = {0};
	bool has = top->ops->place && top->cursor < view_count(top) &&
		   top->ops->place(v, top, top->cursor, &p);

	if (!v->code_shown || !top->ops->place ||
	    (!v->code_stale && has == v->has_place && same_place(&p, &v->place)))
		return;
	v->code_stale = false;
	v->has_place = has;
	v->place = p;
	source_view_show(v, has ? &p : NULL);
	disassembly_view_show(v, has ? &p : NULL);
}

static const struct view_ops *const view_table[VIEW_COUNT] = {
	[VIEW_SUMMARY] = &summary_view,    [VIEW_BRANCHES] = &branch_view,
	[VIEW_SOURCE] = &source_view,      [VIEW_DISASSEMBLY] = &disassembly_view,
	[VIEW_REGISTERS] = &register_view, [VIEW_THREADS] = &thread_view,
	[VIEW_SYSCALLS] = &syscall_view,   [VIEW_TREE] = &tree_view,
	[VIEW_PROCESSES] = &process_view,  [VIEW_HELP] = &help_view,
};

int viewer_init(struct viewer *v, struct model *m, struct symbols *s, const struct focus *begin,
		struct bt_error *err)
{
	int rc;

	v->m = m;
	v->s = s;
	for (size_t i = 0; i < VIEW_COUNT; i++)
		v->views[i].ops = view_table[i];
	rc = viewer_show(v, begin->snap, begin->task ? begin->task->task : 0, err);
	if (rc)
		return rc;
	v->code_shown = true;
	v->code_pane = VIEW_SOURCE;
	viewer_open(v, VIEW_SUMMARY);
	view_jump(&v->views[VIEW_BRANCHES], SIZE_MAX);
	return 0;
}

void viewer_release(struct viewer *v)
{
	for (size_t i = 0; i < VIEW_COUNT; i++)
		if (v->views[i].ops)
			v->views[i].ops->release(&v->views[i]);
	search_release(&v->search);
	release_history(v);
}
