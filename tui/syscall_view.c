/* SPDX-License-Identifier: MIT */
/* The system calls of the task shown, until the moment shown, as strace(1) writes them. Enter goes
 * to the call in the list of branches. */
#include <inttypes.h>
#include <stdlib.h>

#include "decoder/model/system_calls.h"
#include "tui/branch_list.h"
#include "tui/label.h"

enum {
	SHOWN = 10000, /* the newest */
	TICK_WIDTH = 12,
	HANGING = 4,
};

/* The lines of the calls, and how to find them among the branches. */
struct syscalls {
	struct lines lines; /* first: operations of lines.h */
	const struct model_snapshot *snap;
	uint32_t task;
};

static bool same_tick(const struct system_call *a, const struct system_call *b)
{
	return a->tick == b->tick && a->tick != BT_TICKS_UNKNOWN;
}

/* position: its tick. group: calls of the same tick before it. frame: 1 if it had not ended. */
static void add_call(struct viewer *v, struct lines *l, const struct system_call *call,
		     size_t before)
{
	const struct target target = {.history = true,
				      .task = v->task,
				      .position = call->tick,
				      .group = before,
				      .frame = !call->known.has_result};
	struct buf text = {0};
	struct row row;

	row_init(&row, v->screen.utf8);
	if (call->tick == BT_TICKS_UNKNOWN)
		row_put(&row, STYLE_DIM, "?");
	else
		row_put(&row, STYLE_DIM, "%" PRIu64, call->tick);
	row_pad(&row, TICK_WIDTH);
	syscall_put_call(&text, &call->known);
	buf_u8(&text, 0);
	row_outside(&row, STYLE_SYSTEM, text.failed ? "" : (const char *)text.data, 0);
	buf_reset(&text);
	syscall_put_result(&text, &call->known);
	buf_u8(&text, 0);
	row_outside(&row, syscall_has_failed(&call->known) ? STYLE_FAULT : STYLE_NORMAL,
		    text.failed ? "" : (const char *)text.data, 0);
	lines_add_wrapped(l, &row, screen_width(&v->screen), TICK_WIDTH + HANGING, &target);
	buf_release(&text);
}

static int syscall_view_load(struct viewer *v, struct view *view, struct bt_error *err)
{
	const struct system_calls_wanted wanted = {
		.task = v->task,
		.until = v->snap && v->stopped ? v->snap->rec->seq : UINT64_MAX,
		.most = SHOWN,
	};
	struct syscalls *s = view->state;
	bool begins = !s || s->snap != v->snap || s->task != v->task;
	size_t whole = s ? lines_whole(&s->lines, view->cursor) : 0, before = 0;
	struct system_calls calls;
	struct lines *l;
	struct row row;
	int rc;

	lines_view_release(view);
	s = view->state = calloc(1, sizeof *s);
	if (!s)
		return bt_no_memory(err, NULL);
	s->snap = v->snap;
	s->task = v->task;
	l = &s->lines;
	rc = system_calls_find(&calls, v->m, &wanted, err);
	if (!rc && calls.before) {
		row_init(&row, v->screen.utf8);
		row_put(&row, STYLE_GAP, "%" PRIu64 " older ones are not shown", calls.before);
		lines_add(l, &row, NULL);
	}
	for (size_t i = 0; !rc && i < calls.count; i++) {
		before = i && same_tick(&calls.at[i - 1], &calls.at[i]) ? before + 1 : 0;
		add_call(v, l, &calls.at[i], before);
	}
	if (!rc && !calls.count) {
		row_init(&row, v->screen.utf8);
		row_put(&row, STYLE_DIM, "no system call of task %" PRIu32 " is in the trace",
			v->task);
		lines_add(l, &row, NULL);
	}
	if (!rc)
		rc = lines_view_end(l, err);
	view->cursor = lines_first_piece(l, begins ? SIZE_MAX : whole);
	system_calls_release(&calls);
	return rc;
}

/* The entry of the call that comes `before` others of its tick. Where the history has fewer of
 * them, which a gap explains, it is the last one. NO_ENTRY: it has none. */
static size_t entry_of(const struct history *h, uint64_t tick, size_t before)
{
	size_t found = NO_ENTRY;

	for (size_t i = 0; i < h->count; i++) {
		const struct history_entry *e = &h->entries[i];

		if (e->kind != BT_BRANCH_SYSCALL || e->tick != tick)
			continue;
		found = i;
		if (!before--)
			break;
	}
	return found;
}

static void go_to_call(struct viewer *v, const struct target *t)
{
	struct view *list = &v->views[VIEW_BRANCHES];
	uint64_t tick = t->position;
	size_t before = t->group, entry;

	if (tick == BT_TICKS_UNKNOWN) {
		viewer_message(v, "the trace does not tell where this call was made");
		return;
	}
	/* The first entry of a part stands for older ones. */
	if (v->history.is_part && (v->history.count < 2 || tick <= v->history.entries[1].tick) &&
	    !branch_list_read_all(v, list))
		return;
	entry = entry_of(&v->history, tick, before);
	if (entry == NO_ENTRY && t->frame && v->stopped) {
		viewer_message(v, "it had not ended: the task stood in it");
		branch_view_go(v,
			       v->stop_index < v->history.count
				       ? v->history.entries[v->stop_index].number
				       : v->history.next,
			       true);
		viewer_open(v, VIEW_BRANCHES);
		return;
	}
	if (entry == NO_ENTRY) {
		viewer_message(v, "its branch is not in the history: %s",
			       v->history.count ? "it was made before, or in a gap"
						: "the trace keeps none of this task");
		return;
	}
	branch_view_show(v, entry);
}

static bool syscall_view_request(struct viewer *v, struct view *view, enum request r)
{
	const struct target *target = lines_view_target(view);

	if (r != REQUEST_ENTER || !target || !target->history)
		return false;
	go_to_call(v, target);
	return true;
}

static void syscall_view_title(struct viewer *v, const struct view *view, struct row *out)
{
	(void)view;
	row_put(out, STYLE_NORMAL, " of task %" PRIu32, v->task);
}

const struct view_ops syscall_view = {
	.id = VIEW_SYSCALLS,
	.name = "system calls",
	.load = syscall_view_load,
	.release = lines_view_release,
	.count = lines_view_count,
	.row = lines_view_row,
	.title = syscall_view_title,
	.request = syscall_view_request,
};
