/* SPDX-License-Identifier: MIT */
/* The summary of the trace, in the words of the report (decoder/report/report_lines.h): each line
 * with the code that it is about, and where Enter leads. The code of a frame is the call that made
 * it. Long lines are wrapped, so a change of the screen's width lays them out again. The cursor
 * begins at the first frame of the user's own code whose source can be read. */
#include <stdlib.h>
#include <string.h>

#include "decoder/cause/own_code.h"
#include "tui/label.h"
#include "tui/layout.h"
#include "tui/report_rows.h"
#include "tui/source_file.h"

enum {
	BELOW = 2,      /* lines wanted below the one that it begins at */
	LINE_TRIED = 8, /* bytes of a source line, to see whether it can be read */
};

struct summary {
	struct lines lines; /* first: operations of lines.h */
	struct report_lines report;
	const struct model_snapshot *snap; /* the moment that the report is about */
	uint32_t task;
	size_t first;   /* the ordinal of the line that it begins at */
	bool all;       /* frames of libraries are not folded */
	size_t missing; /* files that were known to be missing */
	bool of_part;   /* older branches had not been read */
};

/* The branches themselves have views. */
static void add_branch_hint(struct viewer *v, struct lines *l, const struct target *target)
{
	size_t list_len, tree_len;
	const char *list = keymap_name(REQUEST_BRANCHES, &list_len),
		   *tree = keymap_name(REQUEST_TREE, &tree_len);
	struct row row;

	row_init(&row, v->screen.utf8);
	row_put(&row, STYLE_MARK, "  %.*s shows them, %.*s as a tree of calls.", (int)list_len,
		list, (int)tree_len, tree);
	lines_add(l, &row, target);
}

/* Lays the report out for the screen's width. */
static void lay_out(struct viewer *v, struct summary *s)
{
	struct report_about about;
	enum report_kind kind = REPORT_PLAIN;
	struct slice line;
	size_t at = 0, ordinal = 0;
	unsigned part;

	lines_release(&s->lines);
	while (report_lines_next(&s->report, &at, &line, &about, &part)) {
		struct target target = report_rows_target(&about, part, ordinal++);

		report_rows_add(v, &s->lines, line, &target);
		if (about.kind == REPORT_HISTORY && kind != REPORT_HISTORY)
			add_branch_hint(v, &s->lines, &target);
		kind = about.kind;
	}
}

/* Whether a line is about code whose source can be read; of_user: and is the user's own. */
static bool is_readable(struct viewer *v, const struct target *t, struct own_code *own,
			bool of_user)
{
	const struct view_place *p = &t->place;
	struct inlined_frame part = label_source(v, p);
	char line[LINE_TRIED];

	return symbols_source_line(v->s, part.file, part.line, line, sizeof line) &&
	       (!of_user ||
		own_code_has_part(own, p->space, p->epoch, p->addr - p->is_return, part.file));
}

/* The first line of a place in the user's own code whose source can be read; of a library's where
 * there is none; else where it happened; else the first. */
static size_t first_readable(struct viewer *v, const struct lines *l, struct own_code *own)
{
	size_t place = 0, found = 0;

	for (size_t i = 0; i < l->count; i++) {
		const struct target *t = &l->at[i].target;

		if (t->kind != REPORT_PLACE && t->kind != REPORT_FRAME)
			continue;
		place = place ? place : i;
		if (is_readable(v, t, own, true))
			return i;
		found = !found && is_readable(v, t, own, false) ? i : found;
	}
	return found ? found : place;
}

static size_t ordinal_of(const struct summary *s, size_t line)
{
	return line < s->lines.count ? s->lines.at[line].target.group : 0;
}

/* The ordinal of the line to begin at. */
static int find_first(struct viewer *v, struct summary *s, struct bt_error *err)
{
	struct own_code *own;
	int rc = own_code_open(&own, v->m, v->s, v->snap, viewer_thread(v, v->task), err);

	if (rc)
		return rc;
	s->first = ordinal_of(s, first_readable(v, &s->lines, own));
	own_code_close(own);
	return 0;
}

/* The first line of the report's next one. */
static size_t next_ordinal(const struct lines *l, size_t i)
{
	size_t ordinal = l->at[i].target.group;

	while (i < l->count && l->at[i].target.group == ordinal)
		i++;
	return i;
}

/* The first line about what happened; their number: there is none. */
static size_t find_title(const struct lines *l)
{
	size_t i = 0;

	while (i < l->count && l->at[i].target.kind != REPORT_CAUSE)
		i++;
	return i;
}

/* The line of what happened; behind its title where it has one. */
static size_t find_sentence(const struct lines *l)
{
	size_t title = find_title(l), i;

	if (title == l->count)
		return 0;
	i = next_ordinal(l, title);
	return i < l->count && l->at[i].target.kind == REPORT_CAUSE ? i : title;
}

/* The pane is as high as what happened and the first frame need to show at once. */
static void want_lines(struct view *view, const struct lines *l, size_t first)
{
	size_t title = find_title(l);

	view->wanted = first >= title ? first - title + 1 + BELOW : 0;
}

/* All down to the cursor, where the pane has room; else it begins with the heading, the title or
 * the sentence of what happened. */
static size_t first_shown(const struct viewer *v, const struct view *view, const struct lines *l)
{
	size_t sentence = find_sentence(l), room = layout_room(v, view), top = find_title(l);

	if (view->cursor + BELOW < room || top == l->count)
		return 0;
	top -= top > 0;
	while (top < sentence && view->cursor >= top + room)
		top = next_ordinal(l, top);
	return top <= view->cursor ? top : 0;
}

static size_t line_of_ordinal(const struct summary *s, size_t ordinal)
{
	size_t i = 0;

	while (i + 1 < s->lines.count && s->lines.at[i].target.group < ordinal)
		i++;
	return i;
}

static int make_report(struct viewer *v, struct summary *s, struct bt_error *err)
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
	int rc;

	report_lines_release(&s->report);
	rc = report_make_lines(&s->report, v->m, v->s, &focus, &options, err);
	s->snap = v->snap;
	s->task = v->task;
	s->all = v->library_frames_shown;
	s->of_part = v->history.is_part;
	symbols_missing(v->s, &s->missing);
	return rc;
}

static int summary_view_load(struct viewer *v, struct view *view, struct bt_error *err)
{
	struct summary *s = view->state;
	bool begins = !s || s->snap != v->snap || s->task != v->task, anew;
	size_t missing, first, ordinal = s ? ordinal_of(s, view->cursor) : 0;
	int rc = 0;

	if (!s)
		s = view->state = calloc(1, sizeof *s);
	if (!s)
		return bt_no_memory(err, NULL);
	symbols_missing(v->s, &missing);
	anew = begins || missing != s->missing || s->all != v->library_frames_shown ||
	       s->of_part != v->history.is_part;
	if (anew)
		rc = make_report(v, s, err);
	if (rc)
		return rc;
	lay_out(v, s);
	rc = lines_view_end(&s->lines, err);
	if (rc)
		return rc;
	if (anew)
		rc = find_first(v, s, err);
	if (rc)
		return rc;
	first = line_of_ordinal(s, s->first);
	want_lines(view, &s->lines, first);
	view->cursor = begins ? first : line_of_ordinal(s, ordinal);
	if (begins)
		view->top = first_shown(v, view, &s->lines);
	return 0;
}

static void summary_view_release(struct view *view)
{
	struct summary *s = view->state;

	if (s)
		report_lines_release(&s->report);
	lines_view_release(view);
}

static bool summary_view_request(struct viewer *v, struct view *view, enum request r)
{
	const struct target *target = lines_view_target(view);

	if (r == REQUEST_LIBRARIES) {
		viewer_toggle_frames(v);
		return true;
	}
	if (r != REQUEST_ENTER || !target || !target->history)
		return false;
	viewer_follow(v, target);
	return true;
}

/* Lines without code show that of the nearest line before, then behind, that has some. */
static bool summary_view_place(struct viewer *v, const struct view *view, size_t line,
			       struct view_place *out)
{
	size_t count = view_count(view);

	for (size_t i = line + 1; i-- > 0;)
		if (lines_view_place(v, view, i, out))
			return true;
	for (size_t i = line; i < count; i++)
		if (lines_view_place(v, view, i, out))
			return true;
	return false;
}

const struct view_ops summary_view = {
	.id = VIEW_SUMMARY,
	.name = "summary",
	.load = summary_view_load,
	.release = summary_view_release,
	.count = lines_view_count,
	.row = lines_view_row,
	.place = summary_view_place,
	.request = summary_view_request,
};
