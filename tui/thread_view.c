/* SPDX-License-Identifier: MIT */
/* The snapshot's threads and their stacks, and all other tasks. Enter goes to a task's history.
 *
 * A stack is unwound when its thread is first unfolded, and checked against the calls that the
 * thread's history left open (callstack.h). Only some threads are unfolded at first: there may be
 * thousands. The lines are made anew when one is folded or unfolded. */
#include <inttypes.h>
#include <stdlib.h>

#include "decoder/model/signals.h"
#include "syscalls/syscall_names.h"
#include "tui/label.h"
#include "tui/thread_stack.h"

enum {
	FRAMES_INNER = 200, /* shown */
	FRAMES_OUTER = 50,
	OPEN_MAX = 64, /* threads whose stacks are unwound without being asked for */
	FRAME_INDENT = 7,
	CALLS_MAX = 20, /* shown of the open calls */
};

#define NO_GROUP SIZE_MAX

struct threads {
	struct lines lines; /* first: the view's lines operations see the state as a struct lines */
	const struct model_snapshot *snap;
	size_t count;
	bool *open;                  /* stacks shown, by thread */
	struct thread_stack *stacks; /* by thread */
};

static void add_frame(struct viewer *v, struct lines *l, const struct stack_frame *f, size_t n,
		      struct target target)
{
	const struct bt_record_thread *t = v->snap->threads[target.group];
	struct location loc;
	struct row row;

	target.kind = REPORT_FRAME;
	target.frame = n;
	target.has_place = true;
	target.place = (struct view_place){.addr = f->pc,
					   .space = v->snap->rec->space,
					   .epoch = t->epoch,
					   .is_return = f->is_return,
					   .entry = NO_ENTRY};
	symbols_lookup(v->s, target.place.space, t->epoch, f->pc, f->is_return, &loc);
	for (unsigned part = 0; part <= loc.inlined_count; part++) {
		target.place.part = part;
		row_init(&row, v->screen.utf8);
		if (part)
			row_pad(&row, FRAME_INDENT);
		else
			row_put(&row, STYLE_DIM, "  #%-3zu ", n);
		label_part(&row, &loc, part);
		if (part < loc.inlined_count)
			lines_add(l, &row, &target);
	}
	if (f->is_guess)
		row_put(&row, STYLE_GAP, " (" STACK_GUESS ")");
	if (f->is_history)
		row_put(&row, STYLE_GAP, " (" STACK_BY_HISTORY ")");
	lines_add(l, &row, &target);
}

static void add_remark(struct viewer *v, struct lines *l, const struct target *target,
		       const char *text, size_t n)
{
	struct row row;

	if (!*text)
		return;
	row_init(&row, v->screen.utf8);
	row_put(&row, STYLE_DIM, "        ");
	if (n)
		row_put(&row, STYLE_DIM, "%zu ", n);
	row_put(&row, STYLE_DIM, "%s", text);
	lines_add(l, &row, target);
}

/* Shows the open calls instead of a stack that cannot be trusted. */
static void add_open_calls(struct viewer *v, struct lines *l, const struct callstack *c,
			   const uint64_t *numbers, struct target target)
{
	size_t shown = 0;

	if (c->count)
		add_remark(v, l, &target,
			   "By the branch history these calls were open, innermost first:", 0);
	target.has_place = true;
	for (size_t i = c->count; i-- > 0 && shown < CALLS_MAX; shown++) {
		struct row row;

		target.place.addr = c->calls[i].from;
		target.position = numbers[i];
		row_init(&row, v->screen.utf8);
		row_put(&row, STYLE_DIM,
			c->calls[i].is_handler ? "          interrupted at "
					       : "          call at ");
		label_code(v, &row, target.place.space, target.place.epoch, target.place.addr,
			   false, 0);
		lines_add(l, &row, &target);
	}
	if (c->count > shown)
		add_remark(v, l, &target, "more", c->count - shown);
}

static void add_verdict(struct viewer *v, struct lines *l, const struct thread_stack *s,
			const struct target *target)
{
	char words[STACK_WORDS_MAX];

	add_remark(v, l, target, callstack_words(&s->check, words), 0);
	if (s->count == s->unwound && s->count == THREAD_STACK_MAX)
		add_remark(v, l, target, "Older frames are not shown.", 0);
	else if (!s->complete)
		add_remark(v, l, target,
			   callstack_end_words(&s->frames[s->unwound - 1], s->count > s->unwound),
			   0);
	if (s->check.verdict == STACK_DISAGREES)
		add_open_calls(v, l, &s->calls, s->numbers, *target);
}

/* Both ends of an endless recursion tell more than its middle. */
static void add_stack(struct viewer *v, struct lines *l, struct thread_stack *s,
		      const struct target *target)
{
	bool is_judged = false;

	if (!thread_stack_find(s, v, v->snap->threads[target->group])) {
		l->failed = true;
		return;
	}
	for (size_t i = 0; i < s->count; i++) {
		if (i == FRAMES_INNER && s->count > FRAMES_INNER + FRAMES_OUTER) {
			add_remark(v, l, target, "frames are left out",
				   s->count - FRAMES_INNER - FRAMES_OUTER);
			i = s->count - FRAMES_OUTER;
		}
		if (i >= s->unwound && !is_judged) {
			add_verdict(v, l, s, target);
			is_judged = true;
		}
		add_frame(v, l, &s->frames[i], i, *target);
	}
	if (!is_judged)
		add_verdict(v, l, s, target);
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
	struct row row;

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
		add_stack(v, &t->lines, &t->stacks[i], &target);
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
	lines_release(&t->lines);
	for (size_t i = 0; v->snap && i < v->snap->thread_count; i++)
		add_thread(v, t, i);
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
		thread_stack_release(&t->stacks[i]);
	if (t) {
		free(t->stacks);
		free(t->open);
	}
	lines_view_release(view);
}

static int thread_view_load(struct viewer *v, struct view *view, struct bt_error *err)
{
	struct threads *t = view->state;
	size_t count = v->snap ? v->snap->thread_count : 0;

	if (t && t->snap == v->snap)
		return 0;
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
	for (size_t i = 0; i < count && i < OPEN_MAX; i++)
		t->open[i] = true;
	fill_thread_lines(v, t);
	view->cursor = view->top = 0;
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

	if (!target || !target->history)
		return false;
	if (r == REQUEST_UNFOLD && target->group != NO_GROUP)
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
