/* SPDX-License-Identifier: MIT */
/* The branch list: every entry of a task's history, calls indented, library code and loops folded,
 * gaps and not-taken branches shown.
 *
 * Its lines are made by decoder/fold.h, anew when the history or the folding changes; depth and
 * partners of calls and returns come from calls.h. A row is made when it is drawn. Requests of its
 * own fold and unfold, go from one end of a call to the other, or to the call that an entry lies
 * in. */
#include <inttypes.h>
#include <stdlib.h>

#include "decoder/own_code.h"
#include "decoder/signals.h"
#include "tui/label.h"

enum {
	INDENT = 2,
	INDENT_PART = 4, /* at most this part of the column */
	FROM_MIN = 24,
	KIND_WIDTH = 8,
};

struct branch_list {
	struct fold fold;
	bool folded;    /* loops are */
	uint8_t *sides; /* enum fold_side of each entry; NULL: no code of the user's ran */
	unsigned tick_width;
};

static const enum style kind_styles[BT_BRANCH_KINDS] = {
	[BT_BRANCH_CALL] = STYLE_CALL,      [BT_BRANCH_ICALL] = STYLE_CALL,
	[BT_BRANCH_RET] = STYLE_RETURN,     [BT_BRANCH_ASYNC] = STYLE_SYSTEM,
	[BT_BRANCH_SYSCALL] = STYLE_SYSTEM, [BT_BRANCH_GAP] = STYLE_GAP,
};

static unsigned digits_of_last_tick(const struct history *h)
{
	unsigned digits = 1;

	for (size_t i = h->count; i-- > 0;) {
		uint64_t tick = h->entries[i].tick;

		if (tick == BT_TICKS_UNKNOWN)
			continue;
		while (tick /= 10)
			digits++;
		break;
	}
	return digits < 4 ? 4 : digits;
}

static int refold_branches(struct viewer *v, struct branch_list *b, struct bt_error *err)
{
	const struct fold_options o = {.stop = v->stopped ? v->stop_index : SIZE_MAX,
				       .sides = v->libraries_shown ? NULL : b->sides,
				       .loops = b->folded};

	fold_release(&b->fold);
	return fold_init(&b->fold, &v->history, &o, err);
}

/* Where no code of the user's ran, all is shown. */
static int find_sides(struct viewer *v, struct branch_list *b, struct bt_error *err)
{
	struct own_code *own;
	int rc;

	free(b->sides);
	b->sides = malloc(v->history.count + 1);
	if (!b->sides)
		return bt_no_memory(err, NULL);
	rc = own_code_open(&own, v->m, v->s, v->snap, viewer_thread(v, v->task), err);
	if (rc)
		return rc;
	if (!own_code_sides(own, &v->history, v->history.entries, v->history.count, b->sides)) {
		free(b->sides);
		b->sides = NULL;
	}
	own_code_close(own);
	return 0;
}

static int branch_view_load(struct viewer *v, struct view *view, struct bt_error *err)
{
	struct branch_list *b = view->state;
	int rc;

	if (!b) {
		b = view->state = calloc(1, sizeof *b);
		if (!b)
			return bt_no_memory(err, NULL);
		b->folded = true;
	}
	b->tick_width = digits_of_last_tick(&v->history);
	rc = find_sides(v, b, err);
	return rc ? rc : refold_branches(v, b, err);
}

static void branch_view_release(struct view *view)
{
	struct branch_list *b = view->state;

	if (b) {
		fold_release(&b->fold);
		free(b->sides);
	}
	free(b);
	view->state = NULL;
}

static size_t branch_view_count(const struct view *view)
{
	const struct branch_list *b = view->state;

	return b && b->fold.count ? b->fold.count : 1;
}

static const struct fold_line *line_at(const struct branch_list *b, size_t line)
{
	return line < b->fold.count ? &b->fold.lines[line] : NULL;
}

static void put_gutter(const struct branch_list *b, const struct fold_line *l, struct row *out)
{
	for (unsigned i = 0; i < l->nesting; i++)
		row_put(out, STYLE_DIM, "|");
	row_pad(out, b->fold.nesting);
}

static void put_tick(const struct branch_list *b, uint64_t tick, struct row *out)
{
	if (tick == BT_TICKS_UNKNOWN)
		row_put(out, STYLE_DIM, "%*s", (int)b->tick_width, "?");
	else
		row_put(out, STYLE_DIM, "%*" PRIu64, (int)b->tick_width, tick);
	row_put(out, STYLE_NORMAL, "  ");
}

static void put_gap(const struct history_entry *e, struct row *out)
{
	const char *why = e->to < BT_GAP_REASONS ? bt_gap_info[e->to].text : "no reason given";

	if (e->from)
		row_put(out, STYLE_GAP, "~~~ %" PRIu64 " branches are missing: %s", e->from, why);
	else
		row_put(out, STYLE_GAP, "~~~ branches are missing: %s", why);
}

static void put_extras(const struct history_entry *e, struct row *out)
{
	if (e->flags & BT_BRANCH_PREDICTION_KNOWN && e->flags & BT_BRANCH_MISPREDICTED)
		row_put(out, STYLE_MARK, "  mispredicted");
	if (e->cycles)
		row_put(out, STYLE_DIM, "  %u cycles", e->cycles);
}

/* Deep calls share the deepest indentation: the names need room too. */
static unsigned indent_of(uint32_t depth, unsigned columns)
{
	unsigned most = columns / INDENT_PART / INDENT * INDENT;

	return depth < most / INDENT ? depth * INDENT : most;
}

static void put_branch(struct viewer *v, const struct view *view, size_t i, struct row *out)
{
	const struct history_entry *e = &v->history.entries[i];
	unsigned indent, from, columns;
	uint32_t space, epoch;
	bool not_taken = e->kind == BT_BRANCH_JCC && !(e->flags & BT_BRANCH_TAKEN);

	row_put(out, kind_styles[e->kind], "%-*s", KIND_WIDTH,
		not_taken ? "jcc not" : bt_branch_info[e->kind].name);
	from = out->width;
	columns = view->width > (int)from ? ((unsigned)view->width - from) / 2 : 0;
	if (columns < FROM_MIN)
		columns = FROM_MIN;
	indent = indent_of(v->calls.depth[i], columns);
	row_pad(out, from + indent);
	label_code(v, out, e->space, e->epoch, e->from, false,
		   columns > indent + 2 ? columns - indent - 2 : 1);
	row_pad(out, from + columns - 1);
	row_put(out, STYLE_DIM, not_taken ? "    " : " -> ");
	history_target(&v->history, e, &space, &epoch);
	label_code(v, out, space, epoch, e->to, false, columns > 4 ? columns - 4 : 1);
	put_extras(e, out);
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
	const struct fold_line *l = line_at(b, line);
	const struct history_entry *e =
		l && l->entry < v->history.count ? &v->history.entries[l->entry] : NULL;

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
		row_put(out, STYLE_MARK, "loop    %" PRIu32 " rounds, the last one shown",
			l->count);
	} else if (l->kind == FOLD_LIBRARY) {
		row_pad(out, b->fold.nesting + b->tick_width + 2);
		row_put(out, STYLE_DIM, "...     %" PRIu32 " branch%s in libraries", l->count,
			l->count == 1 ? "" : "es");
	} else {
		put_tick(b, e->tick, out);
		if (e->kind == BT_BRANCH_GAP)
			put_gap(e, out);
		else
			put_branch(v, view, l->entry, out);
		if (l->kind == FOLD_CALL)
			row_put(out, STYLE_DIM, ", back after %" PRIu32, l->count);
	}
}

static void branch_view_title(struct viewer *v, const struct view *view, struct row *out)
{
	const struct model_task *t = model_task(v->m, v->task);

	(void)view;
	row_put(out, STYLE_NORMAL, " of task %" PRIu32, v->task);
	if (t && *t->command) {
		row_put(out, STYLE_NORMAL, ", ");
		row_outside(out, STYLE_NORMAL, t->command, 20);
	}
	if (v->snap && !v->stopped)
		row_put(out, STYLE_NORMAL, ", to its end: no part of the moment");
	if (v->target_shown)
		row_put(out, STYLE_NORMAL, ", code at the target");
}

static bool branch_view_place(struct viewer *v, const struct view *view, size_t line,
			      struct view_place *out)
{
	const struct branch_list *b = view->state;
	const struct bt_record_thread *t = viewer_thread(v, v->task);
	const struct fold_line *l = line_at(b, line);
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

/* A mark is a line + 1, or 0. */
static uint32_t entry_of_mark(const struct branch_list *b, size_t mark)
{
	return mark && mark - 1 < b->fold.count ? b->fold.lines[mark - 1].entry : 0;
}

/* Changes what is folded. Marks stay with their entries. Returns false without memory. */
static bool toggle_fold(struct viewer *v, struct view *view, bool *what)
{
	struct branch_list *b = view->state;
	const struct fold_line *l = line_at(b, view->cursor);
	uint32_t entry = l ? l->entry : 0, marked[MARKS],
		 before = entry_of_mark(b, view->before_jump);
	struct bt_error err;

	for (size_t i = 0; i < MARKS; i++)
		marked[i] = entry_of_mark(b, view->marks[i]);
	*what = !*what;
	if (refold_branches(v, b, &err)) {
		viewer_fail(v, &err);
		return false;
	}
	for (size_t i = 0; i < MARKS; i++)
		if (view->marks[i])
			view->marks[i] = fold_line_of(&b->fold, marked[i]) + 1;
	if (view->before_jump)
		view->before_jump = fold_line_of(&b->fold, before) + 1;
	view_centre(view, fold_line_of(&b->fold, entry));
	return true;
}

static void toggle_loops(struct viewer *v, struct view *view)
{
	struct branch_list *b = view->state;

	if (toggle_fold(v, view, &b->folded))
		viewer_message(v, b->folded ? "loops are folded" : "every round is shown");
}

static void toggle_libraries(struct viewer *v, struct view *view)
{
	struct branch_list *b = view->state;

	if (!b->sides)
		viewer_message(v, "nothing but libraries ran: all is shown");
	else if (toggle_fold(v, view, &v->libraries_shown))
		viewer_message(v, v->libraries_shown ? "what ran in libraries is shown"
						     : "what ran in libraries is folded");
}

static void go_to_entry(struct viewer *v, struct view *view, uint32_t entry, const char *otherwise)
{
	struct branch_list *b = view->state;

	if (entry == CALLS_NONE)
		viewer_message(v, "%s", otherwise);
	else
		view_jump(view, fold_line_of(&b->fold, entry));
}

static bool branch_view_request(struct viewer *v, struct view *view, enum request r)
{
	struct branch_list *b = view->state;
	const struct fold_line *l = line_at(b, view->cursor);
	uint32_t entry = l && l->entry < v->history.count ? l->entry : CALLS_NONE;

	if (r == REQUEST_FOLD || (r == REQUEST_ENTER && l && l->kind == FOLD_LOOP)) {
		toggle_loops(v, view);
	} else if (r == REQUEST_LIBRARIES || (r == REQUEST_ENTER && l && l->kind == FOLD_LIBRARY)) {
		toggle_libraries(v, view);
	} else if (r == REQUEST_TARGET) {
		v->target_shown = !v->target_shown;
		viewer_message(v, v->target_shown ? "code at the target" : "code at the branch");
	} else if (r == REQUEST_MATCH) {
		go_to_entry(v, view, entry == CALLS_NONE ? CALLS_NONE : v->calls.partner[entry],
			    "no call or return, or its other end is not in the history");
	} else if (r == REQUEST_CALLER) {
		uint32_t from = entry == CALLS_NONE && l && l->entry ? l->entry - 1 : entry;

		go_to_entry(v, view, from == CALLS_NONE ? CALLS_NONE : v->calls.caller[from],
			    "its call is not in the history");
	} else if (r == REQUEST_ENTER) {
		v->code_shown = true;
		v->focus = v->code_pane;
	} else {
		return false;
	}
	return true;
}

void branch_view_go(struct viewer *v, uint64_t position, bool comes_back)
{
	struct view *view = &v->views[VIEW_BRANCHES];
	struct branch_list *b = view->state;
	size_t line = fold_line_of(&b->fold, history_index(&v->history, position));

	/* Where the task stood comes before the entry of that number. */
	if (line && line < b->fold.count && b->fold.lines[line].kind != FOLD_STOP &&
	    b->fold.lines[line - 1].kind == FOLD_STOP)
		line--;
	if (comes_back)
		view->before_jump = view->cursor + 1;
	view_centre(view, line);
}

const struct view_ops branch_view = {
	.id = VIEW_BRANCHES,
	.name = "branches",
	.load = branch_view_load,
	.release = branch_view_release,
	.count = branch_view_count,
	.row = branch_view_row,
	.title = branch_view_title,
	.place = branch_view_place,
	.request = branch_view_request,
};
