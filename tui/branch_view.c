/* SPDX-License-Identifier: MIT */
/* The branch list: every entry of a task's history, calls indented, library code and loops folded,
 * gaps and not-taken branches shown, in the words of the report.
 *
 * Its lines are branch_list.h's; depth and partners of calls and returns come from calls.h. A row
 * is made when it is drawn. Its own requests fold, open and filter; branch_moves.c has those that
 * move. */
#include <inttypes.h>

#include "decoder/cause/own_code.h"
#include "decoder/model/signals.h"
#include "tui/branch_moves.h"
#include "tui/branch_row.h"
#include "tui/label.h"

enum {
	WIDE = 100, /* columns, for more words, as in the report */
};

static size_t branch_view_count(const struct view *view)
{
	const struct branch_list *b = view->state;

	return b && b->fold.count ? b->fold.count : 1;
}

static void put_gutter(const struct branch_list *b, const struct fold_line *l, struct row *out)
{
	for (unsigned i = 0; i < l->nesting; i++)
		row_put(out, STYLE_DIM, "|");
	row_pad(out, b->fold.nesting);
}

static void put_tick(const struct branch_list *b, const struct history_entry *e, struct row *out)
{
	if (e->kind == BT_BRANCH_GAP)
		row_pad(out, out->width + b->tick_width);
	else if (e->tick == BT_TICKS_UNKNOWN)
		row_put(out, STYLE_DIM, "%*s", (int)b->tick_width, "?");
	else
		row_put(out, STYLE_DIM, "%*" PRIu64, (int)b->tick_width, e->tick);
	row_put(out, STYLE_NORMAL, "  ");
}

static void put_loop(const struct branch_list *b, size_t line, struct row *out)
{
	const struct fold_line *l = branch_list_line(b, line);
	size_t lines = 0;

	while (line + 1 + lines < b->fold.count &&
	       b->fold.lines[line + 1 + lines].nesting > l->nesting)
		lines++;
	row_put(out, STYLE_MARK,
		"loop    %" PRIu32 " rounds of the next %zu line%s, the last one shown", l->count,
		lines, lines == 1 ? "" : "s");
}

static void put_stop(struct viewer *v, struct row *out)
{
	const struct bt_record_signal *signal =
		v->snap->rec->task == v->task ? v->snap->signal : NULL;
	const struct bt_record_thread *t = viewer_thread(v, v->task);
	char name[SIGNAL_NAME_MAX];

	if (signal)
		row_put(out, STYLE_FAULT, "=> %s at ", signal_name(signal->signo, name));
	else
		row_put(out, STYLE_FAULT, "=> stood at ");
	label_code(v, out, v->snap->rec->space, t ? t->epoch : v->snap->rec->epoch, v->stop_rip,
		   false, 0);
}

static void branch_view_row(struct viewer *v, const struct view *view, size_t line, struct row *out)
{
	const struct branch_list *b = view->state;
	const struct fold_line *l = branch_list_line(b, line);
	const struct history_entry *e =
		l && l->entry < v->history.count ? &v->history.entries[l->entry] : NULL;
	char folded[FOLDED_TEXT_MAX];

	if (!l) {
		row_put(out, STYLE_DIM, "the trace has no branches of this task");
		return;
	}
	put_gutter(b, l, out);
	if (l->kind == FOLD_STOP) {
		row_pad(out, b->fold.nesting + b->tick_width + 2);
		put_stop(v, out);
	} else if (l->kind == FOLD_LOOP) {
		row_pad(out, b->fold.nesting + b->tick_width + 2);
		put_loop(b, line, out);
	} else if (l->kind == FOLD_LIBRARY) {
		row_pad(out, b->fold.nesting + b->tick_width + 2);
		row_put(out, STYLE_DIM, "...     ");
		own_code_folded_text(v->s, v->history.entries, l, folded);
		row_outside(out, STYLE_DIM, folded, sizeof folded);
	} else {
		put_tick(b, e, out);
		branch_row_put(v, out, l->entry,
			       view->width > (int)out->width ? (unsigned)view->width - out->width
							     : 0,
			       true);
		if (l->kind == FOLD_CALL)
			row_put(out, STYLE_DIM,
				view->width < WIDE ? " (%" PRIu32 " branch%s)"
						   : ", back after %" PRIu32 " branch%s",
				l->count, l->count == 1 ? "" : "es");
	}
}

static void branch_view_title(struct viewer *v, const struct view *view, struct row *out)
{
	const struct model_task *t = model_task(v->m, v->task);
	const struct branch_list *b = view->state;

	row_put(out, STYLE_NORMAL, " of task %" PRIu32, v->task);
	if (t && *t->command) {
		row_put(out, STYLE_NORMAL, ", ");
		row_outside(out, STYLE_NORMAL, t->command, 20);
	}
	if (v->snap && !v->stopped)
		row_put(out, STYLE_NORMAL, ", to its end: no part of the moment");
	if (v->target_shown)
		row_put(out, STYLE_NORMAL, ", code at the target");
	if (b->filtered) {
		row_put(out, STYLE_NORMAL, ", only ");
		row_outside(out, STYLE_NORMAL, b->filter.typed, 40);
	}
}

static bool branch_view_place(struct viewer *v, const struct view *view, size_t line,
			      struct view_place *out)
{
	const struct branch_list *b = view->state;
	const struct bt_record_thread *t = viewer_thread(v, v->task);
	const struct fold_line *l = branch_list_line(b, line);
	const struct history_entry *e;

	if (!l)
		return false;
	if (l->kind == FOLD_STOP) {
		*out = (struct view_place){.addr = v->stop_rip,
					   .space = v->snap->rec->space,
					   .epoch = t ? t->epoch : v->snap->rec->epoch,
					   .entry = l->entry == v->history.count ? l->entry
										 : NO_ENTRY,
					   .stop = v->stop_rip};
		return true;
	}
	e = &v->history.entries[l->entry];
	if (e->kind == BT_BRANCH_GAP)
		return false;
	*out = (struct view_place){.addr = v->target_shown ? e->to : e->from,
				   .space = e->space,
				   .epoch = e->epoch,
				   .entry = v->target_shown ? NO_ENTRY : l->entry};
	if (v->target_shown)
		history_target(&v->history, e, &out->space, &out->epoch);
	return true;
}

/* Gives what a line stands for lines of its own. */
static void open_line(struct viewer *v, struct view *view, const struct fold_line *l)
{
	struct branch_list *b = view->state;
	size_t first = l->entry + (l->kind == FOLD_CALL), end = branch_list_end(v, b, view->cursor);

	if (l->kind == FOLD_LOOP) {
		size_t line = view->cursor + 1;

		while (line < b->fold.count && b->fold.lines[line].nesting > l->nesting)
			line++;
		end = line < b->fold.count ? b->fold.lines[line].entry : v->history.count;
	}
	branch_list_open(v, view, first, end);
}

static void toggle_loops(struct viewer *v, struct view *view)
{
	struct branch_list *b = view->state;

	if (branch_list_toggle(v, view, &b->folded))
		viewer_message(v, b->folded ? "loops are folded" : "every round is shown");
}

static void toggle_libraries(struct viewer *v, struct view *view)
{
	struct branch_list *b = view->state;

	if (!b->sides)
		viewer_message(v, "nothing but libraries ran: all is shown");
	else if (branch_list_toggle(v, view, &v->libraries_shown))
		viewer_message(v, v->libraries_shown ? "what ran in libraries is shown"
						     : "what ran in libraries is folded");
}

static void toggle_target(struct viewer *v)
{
	v->target_shown = !v->target_shown;
	viewer_message(v, v->target_shown ? "code at the target" : "code at the branch");
}

static bool branch_view_request(struct viewer *v, struct view *view, enum request r)
{
	const struct fold_line *l = branch_list_line(view->state, view->cursor);

	if (r == REQUEST_FOLD) {
		toggle_loops(v, view);
	} else if (r == REQUEST_LIBRARIES) {
		toggle_libraries(v, view);
	} else if (r == REQUEST_TARGET) {
		toggle_target(v);
	} else if (r == REQUEST_ENTER && l && l->kind != FOLD_ENTRY && l->kind != FOLD_STOP) {
		open_line(v, view, l);
	} else if (r == REQUEST_ENTER) {
		v->code_shown = true;
		v->focus = v->code_pane;
	} else {
		return branch_moves_request(v, view, r);
	}
	return true;
}

void branch_view_settle(struct viewer *v)
{
	struct view *view = &v->views[VIEW_BRANCHES];

	/* The first line stands for older branches. Where the user stops their reading, the cursor
	 * goes back: it would begin again. */
	if (v->history.is_part && view->height > 0 && !view->cursor &&
	    !branch_list_read_all(v, view) && !view->cursor)
		view_move(view, 1);
}

void branch_view_go(struct viewer *v, uint64_t position, bool comes_back)
{
	struct view *view = &v->views[VIEW_BRANCHES];
	struct branch_list *b = view->state;
	size_t line;

	if (v->history.is_part &&
	    position < v->history.entries[0].number + v->history.entries[0].from &&
	    !branch_list_read_all(v, view))
		return;
	line = fold_line_of(&b->fold, history_index(&v->history, position));

	/* Where the task stood comes before the entry of that number. */
	if (line && line < b->fold.count && b->fold.lines[line].kind != FOLD_STOP &&
	    b->fold.lines[line - 1].kind == FOLD_STOP)
		line--;
	if (comes_back)
		view->before_jump = view->cursor + 1;
	view_centre(view, line);
}

void branch_view_show(struct viewer *v, size_t entry)
{
	struct view *view = &v->views[VIEW_BRANCHES];
	const struct branch_list *b = view->state;
	uint64_t number = v->history.entries[entry].number;
	const struct fold_line *l = branch_list_line(b, fold_line_of(&b->fold, entry));

	if (l && (l->entry != entry || l->kind != FOLD_ENTRY) &&
	    !branch_list_open(v, view, entry, entry + 1))
		return;
	branch_view_go(v, number, true);
	viewer_open(v, VIEW_BRANCHES);
}

const struct view_ops branch_view = {
	.id = VIEW_BRANCHES,
	.name = "branches",
	.load = branch_list_load,
	.release = branch_list_release,
	.count = branch_view_count,
	.row = branch_view_row,
	.title = branch_view_title,
	.place = branch_view_place,
	.request = branch_view_request,
	.find = branch_moves_find,
};
