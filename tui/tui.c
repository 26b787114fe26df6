/* SPDX-License-Identifier: MIT */
/* The viewer's loop: draw, wait for a key, serve its request. keymap.h makes a request of a key. A
 * request goes to the focused view first (view_ops.request); those it does not serve have a row in
 * the table of handlers. Drawing lays out the views (layout.h), has the code panes follow the
 * cursor, and asks each view that shows for its lines, one by one. Lines off the screen are never
 * made.
 *
 * A search looks through the lines of a view as they would be drawn; that of the branch list looks
 * into folded ones, too. It may be long, so it shows how far it is, and can be stopped (busy.h).
 *
 * tui_run() opens screen and viewer, and gives the terminal back before it returns. */
#include "tui/tui.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/array_size.h"
#include "tui/branch_moves.h"
#include "tui/busy.h"
#include "tui/layout.h"

enum {
	SIDEWAYS = 8,
	PROMPT_MAX = 256,
};

static struct view *focused_view(struct viewer *v) { return &v->views[v->focus]; }

static void draw_status(struct viewer *v, const char *text)
{
	struct row row;

	if (v->screen.rows < 2)
		return;
	row_init(&row, v->screen.utf8);
	row_put(&row, STYLE_NORMAL, "%s", text);
	screen_row(&v->screen, v->screen.rows - 1, 0, v->screen.columns, &row, 0, EMPHASIS_NONE,
		   NULL);
}

static bool is_process(const struct model_task *t) { return t->how != BT_TASK_THREAD; }

static bool has_processes(const struct model *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->task_count && n < 2; i++)
		n += is_process(&m->tasks[i]);
	return n > 1;
}

/* A key that leads nowhere in this trace is not named. */
static bool leads_somewhere(const struct viewer *v, enum request r)
{
	if (r == REQUEST_PREV_MOMENT)
		return v->snap && v->snap > v->m->snapshots;
	return r != REQUEST_PROCESSES || has_processes(v->m);
}

/* The bottom line, where there is no message: the keys of the view, as many as there is room for.
 */
static void draw_hints(struct viewer *v)
{
	static const char always[] = "h help  q close";
	size_t room = v->screen.columns > 0 ? (size_t)v->screen.columns : 0, used = 0, len;
	char text[PROMPT_MAX] = "";

	for (size_t i = 0; i < key_hint_count; i++) {
		const struct key_hint *hint = &key_hints[i];
		const char *key = keymap_name(hint->request, &len);
		size_t more = len + strlen(hint->word) + sizeof "   " - 1;

		if (hint->view != v->focus || used + more + sizeof always > room ||
		    used + more + sizeof always > sizeof text || !leads_somewhere(v, hint->request))
			continue;
		snprintf(text + used, sizeof text - used, "%.*s %s  ", (int)len, key, hint->word);
		used += more;
	}
	snprintf(text + used, sizeof text - used, "%s", always);
	draw_status(v, text);
}

/* Searching. */

/* As it is shown, or with all of its names. */
static bool line_matches(struct viewer *v, struct view *view, size_t line)
{
	bool whole = false;
	struct row row;

	do {
		row_init(&row, v->screen.utf8);
		row.whole = whole;
		view->ops->row(v, view, line, &row);
		if (search_matches(&v->search, row.text))
			return true;
		whole = !whole && row.cut;
	} while (whole);
	return false;
}

static bool find_line(struct viewer *v, struct view *view, bool backward, struct busy *busy)
{
	size_t count = view_count(view), line = view->cursor;

	for (size_t n = 1; n <= count && busy_goes_on(busy); n++) {
		bool wrapped = backward ? line == 0 : line + 1 >= count;

		line = wrapped ? (backward ? count - 1 : 0) : backward ? line - 1 : line + 1;
		if (wrapped)
			viewer_message(v, "the search went on from the %s",
				       backward ? "end" : "beginning");
		if (!line_matches(v, view, line))
			continue;
		view_jump(view, line);
		return true;
	}
	return false;
}

static void search_on(struct viewer *v, bool backward)
{
	struct view *view = focused_view(v);
	struct busy busy;

	if (!v->search.set) {
		viewer_message(v, "nothing to search for: / begins");
		return;
	}
	busy_begin(&busy, &v->screen, "searching", view_count(view));
	if (!(view->ops->find ? view->ops->find : find_line)(v, view, backward, &busy))
		viewer_message(v, busy.stopped ? "the search was stopped" : "not found");
}

static void search_begin(struct viewer *v, bool backward)
{
	char text[PROMPT_MAX], why[SEARCH_WHY_MAX];

	if (!screen_prompt(&v->screen, backward ? "?" : "/", text, sizeof text))
		return;
	v->search.backward = backward;
	if (*text && !search_set(&v->search, text, why))
		viewer_message(v, "no regular expression: %s", why);
	else
		search_on(v, backward);
}

/* Requests, each in its row of the table below. */

static void do_down(struct viewer *v) { view_move(focused_view(v), 1); }
static void do_up(struct viewer *v) { view_move(focused_view(v), -1); }
static void do_page_down(struct viewer *v)
{
	view_scroll(focused_view(v), focused_view(v)->height);
}
static void do_page_up(struct viewer *v)
{
	view_scroll(focused_view(v), -(long)focused_view(v)->height);
}
static void do_half_down(struct viewer *v)
{
	view_scroll(focused_view(v), (focused_view(v)->height + 1) / 2);
}
static void do_half_up(struct viewer *v)
{
	view_scroll(focused_view(v), -(long)(focused_view(v)->height + 1) / 2);
}
static void do_first(struct viewer *v) { view_jump(focused_view(v), 0); }
static void do_last(struct viewer *v) { view_jump(focused_view(v), SIZE_MAX); }
static void do_search(struct viewer *v) { search_begin(v, false); }
static void do_search_up(struct viewer *v) { search_begin(v, true); }
static void do_next(struct viewer *v) { search_on(v, v->search.backward); }
static void do_previous(struct viewer *v) { search_on(v, !v->search.backward); }
static void do_summary(struct viewer *v) { viewer_open(v, VIEW_SUMMARY); }
static void do_branches(struct viewer *v) { viewer_open(v, VIEW_BRANCHES); }
static void do_threads(struct viewer *v) { viewer_open(v, VIEW_THREADS); }
static void do_registers(struct viewer *v) { viewer_open(v, VIEW_REGISTERS); }
static void do_syscalls(struct viewer *v) { viewer_open(v, VIEW_SYSCALLS); }
/* One that was stopped is made again: it is of a part. */
static void do_tree(struct viewer *v)
{
	v->views[VIEW_TREE].stale |= v->history.is_part;
	viewer_open(v, VIEW_TREE);
}
static void do_processes(struct viewer *v) { viewer_open(v, VIEW_PROCESSES); }
static void do_help(struct viewer *v) { viewer_open(v, VIEW_HELP); }
static void do_redraw(struct viewer *v) { screen_redraw(&v->screen); }
static void do_suspend(struct viewer *v) { screen_suspend(&v->screen); }
static void do_quit(struct viewer *v) { v->quit = true; }

static void do_stop(struct viewer *v) { viewer_message(v, "nothing runs; Q quits"); }

/* Keys of the branch list in a code pane, while another view is beside it. */
static void do_in_branches(struct viewer *v)
{
	viewer_message(v, "this key moves in the branches: b shows them");
}

static void do_goto(struct viewer *v)
{
	char place[PROMPT_MAX];

	if (!screen_prompt(&v->screen, "go to TICK, FUNCTION, FILE:LINE or 0xADDRESS: ", place,
			   sizeof place) ||
	    !*place)
		return;
	viewer_open(v, VIEW_BRANCHES);
	branch_moves_goto(v, &v->views[VIEW_BRANCHES], place);
}

/* Shows the history of the task that a filter names. False: there is none. */
static bool show_thread(struct viewer *v, uint32_t number)
{
	const struct report_options o = {.has_thread = true, .thread = number};
	struct bt_error err;
	struct focus f;

	if (focus_choose(&f, v->m, &o)) {
		viewer_message(v, "no such task or thread: %u", number);
		return false;
	}
	if (f.task->task != v->task && viewer_show(v, v->snap, f.task->task, &err)) {
		viewer_fail(v, &err);
		return false;
	}
	return true;
}

static void do_filter(struct viewer *v)
{
	char text[PROMPT_MAX], why[SEARCH_WHY_MAX];
	struct branch_filter filter;

	if (!screen_prompt(&v->screen, "&", text, sizeof text))
		return;
	if (!branch_filter_parse(&filter, text, why)) {
		viewer_message(v, "no filter: %s", why);
	} else if (!filter.has_thread || show_thread(v, filter.thread)) {
		viewer_open(v, VIEW_BRANCHES);
		if (filter.count || !filter.has_thread)
			branch_list_filter(v, &v->views[VIEW_BRANCHES], &filter);
	}
	branch_filter_release(&filter);
}

static void show_moment(struct viewer *v, bool backward)
{
	const struct model *m = v->m;
	size_t at = v->snap ? (size_t)(v->snap - m->snapshots) : m->snapshot_count;
	struct bt_error err;

	if (backward ? at == 0 : at + 1 >= m->snapshot_count) {
		viewer_message(v, backward ? "no moment before this one was kept"
					   : "no moment behind this one was kept");
		return;
	}
	at = backward ? at - 1 : at + 1;
	if (viewer_show(v, &m->snapshots[at], m->snapshots[at].rec->task, &err)) {
		viewer_fail(v, &err);
		return;
	}
	branch_view_go(v, m->snapshots[at].rec->position, false);
	if (!*v->message) /* nothing of it was stopped */
		viewer_message(v, "moment %zu of %zu", at + 1, m->snapshot_count);
}

static void do_next_moment(struct viewer *v) { show_moment(v, false); }
static void do_prev_moment(struct viewer *v) { show_moment(v, true); }

static void do_right(struct viewer *v)
{
	if (focused_view(v)->left + SIDEWAYS < ROW_BYTES)
		focused_view(v)->left += SIDEWAYS;
}

static void do_left(struct viewer *v)
{
	focused_view(v)->left -=
		focused_view(v)->left < SIDEWAYS ? focused_view(v)->left : SIDEWAYS;
}

/* The key behind m or '. */
static int mark_key(struct viewer *v)
{
	int key;

	do
		key = screen_key(&v->screen);
	while (key == SCREEN_RESIZED);
	return key;
}

static void do_mark(struct viewer *v)
{
	int key = mark_key(v);

	if (key < 'a' || key > 'z') {
		viewer_message(v, "marks are the letters a to z");
		return;
	}
	focused_view(v)->marks[key - 'a'] = focused_view(v)->cursor + 1;
	viewer_message(v, "mark %c is set", key);
}

static void do_to_mark(struct viewer *v)
{
	struct view *view = focused_view(v);
	int key = mark_key(v);
	size_t mark = key == '\''                ? view->before_jump
		      : key >= 'a' && key <= 'z' ? view->marks[key - 'a']
						 : 0;

	if (mark)
		view_jump(view, mark - 1);
	else
		viewer_message(v, "no such mark");
}

static void do_enter(struct viewer *v)
{
	/* A view without an answer of its own has nothing to go into. */
	(void)v;
}

static void step_pane(struct viewer *v, size_t by)
{
	enum view_id panes[3];
	size_t n = layout_panes(v, panes), i = 0;

	while (i < n && panes[i] != v->focus)
		i++;
	v->focus = panes[(i + by) % n];
}

static void do_next_pane(struct viewer *v) { step_pane(v, 1); }

static void do_prev_pane(struct viewer *v)
{
	enum view_id panes[3];

	step_pane(v, layout_panes(v, panes) - 1);
}

static void do_code(struct viewer *v)
{
	struct view *top = layout_main(v);

	if (!top->ops->place) {
		viewer_message(v, "this view is not about code");
	} else if (layout_can_split(v)) {
		v->code_shown = !v->code_shown;
	} else {
		v->code_shown = true;
		v->focus = v->focus == top->ops->id ? v->code_pane : top->ops->id;
	}
}

static void do_close(struct viewer *v)
{
	if (v->focus != layout_main(v)->ops->id)
		v->focus = layout_main(v)->ops->id;
	else if (v->open_count > 1)
		v->focus = v->open[--v->open_count - 1];
	else
		v->quit = true;
}

static void (*const handlers[REQUEST_COUNT])(struct viewer *) = {
	[REQUEST_DOWN] = do_down,           [REQUEST_UP] = do_up,
	[REQUEST_PAGE_DOWN] = do_page_down, [REQUEST_PAGE_UP] = do_page_up,
	[REQUEST_HALF_DOWN] = do_half_down, [REQUEST_HALF_UP] = do_half_up,
	[REQUEST_FIRST] = do_first,         [REQUEST_LAST] = do_last,
	[REQUEST_LEFT] = do_left,           [REQUEST_RIGHT] = do_right,
	[REQUEST_SEARCH] = do_search,       [REQUEST_SEARCH_UP] = do_search_up,
	[REQUEST_NEXT] = do_next,           [REQUEST_PREVIOUS] = do_previous,
	[REQUEST_MARK] = do_mark,           [REQUEST_TO_MARK] = do_to_mark,
	[REQUEST_ENTER] = do_enter,         [REQUEST_NEXT_PANE] = do_next_pane,
	[REQUEST_PREV_PANE] = do_prev_pane, [REQUEST_SUMMARY] = do_summary,
	[REQUEST_BRANCHES] = do_branches,   [REQUEST_THREADS] = do_threads,
	[REQUEST_REGISTERS] = do_registers, [REQUEST_SYSCALLS] = do_syscalls,
	[REQUEST_CODE] = do_code,           [REQUEST_HELP] = do_help,
	[REQUEST_REDRAW] = do_redraw,       [REQUEST_SUSPEND] = do_suspend,
	[REQUEST_CLOSE] = do_close,         [REQUEST_QUIT] = do_quit,
	[REQUEST_TREE] = do_tree,           [REQUEST_PROCESSES] = do_processes,
	[REQUEST_STOP] = do_stop,           [REQUEST_GOTO] = do_goto,
	[REQUEST_FILTER] = do_filter,       [REQUEST_NEXT_MOMENT] = do_next_moment,
	[REQUEST_OUT] = do_in_branches,     [REQUEST_PREV_MOMENT] = do_prev_moment,
	[REQUEST_STEP] = do_in_branches,    [REQUEST_STEP_BACK] = do_in_branches,
	[REQUEST_OVER] = do_in_branches,    [REQUEST_OVER_BACK] = do_in_branches,
	[REQUEST_SAME] = do_in_branches,    [REQUEST_SAME_BACK] = do_in_branches,
	[REQUEST_CALLER] = do_in_branches,
};

static void handle_request(struct viewer *v, enum request r)
{
	struct view *view = focused_view(v), *list = &v->views[VIEW_BRANCHES];

	if (view->ops->request && view->ops->request(v, view, r))
		return;
	if (view != list && layout_main(v) == list && branch_moves_request(v, list, r))
		return;
	if (handlers[r])
		handlers[r](v);
}

/* Drawing. */

static void draw_title(struct viewer *v, struct view *view)
{
	enum emphasis emphasis = view->ops->id == v->focus ? EMPHASIS_TITLE : EMPHASIS_TITLE_AWAY;
	char where[64];
	struct row row;
	int n;

	row_init(&row, v->screen.utf8);
	row_put(&row, STYLE_NORMAL, "[%s]", view->ops->name);
	if (view->ops->title)
		view->ops->title(v, view, &row);
	n = snprintf(where, sizeof where, " %zu/%zu", view_count(view) ? view->cursor + 1 : 0,
		     view_count(view));
	if (n > 0 && n < view->width)
		row_pad(&row, (unsigned)(view->width - n));
	screen_row(&v->screen, view->y + view->height, view->x, view->width, &row, 0, emphasis,
		   NULL);
	/* The line number stays where a long title would push it out. */
	row_init(&row, v->screen.utf8);
	row_put(&row, STYLE_NORMAL, "%s", where);
	if (n > 0 && n < view->width)
		screen_row(&v->screen, view->y + view->height, view->x + view->width - n, n, &row,
			   0, emphasis, NULL);
}

static void draw_view(struct viewer *v, struct view *view)
{
	size_t count = view_count(view);
	bool with_keys = view->ops->id == v->focus;

	for (int y = 0; y < view->height && view->top + (size_t)y < count; y++) {
		size_t line = view->top + (size_t)y;
		enum emphasis e = line != view->cursor ? EMPHASIS_NONE
				  : with_keys          ? EMPHASIS_CURSOR
						       : EMPHASIS_CURSOR_AWAY;
		struct row row;

		row_init(&row, v->screen.utf8);
		view->ops->row(v, view, line, &row);
		screen_row(&v->screen, view->y + y, view->x, view->width, &row, view->left, e,
			   v->search.set ? &v->search.expression : NULL);
	}
	if (view->titled)
		draw_title(v, view);
	if (view->x)
		screen_separator(&v->screen, view->y, view->x - 1, view->height + view->titled);
}

static void draw_screen(struct viewer *v)
{
	layout(v);
	branch_view_settle(v);
	viewer_follow_cursor(v);
	layout(v); /* the place may have no source */
	screen_clear(&v->screen);
	for (size_t i = 0; i < VIEW_COUNT; i++)
		if (v->views[i].height)
			draw_view(v, &v->views[i]);
	if (*v->message)
		draw_status(v, v->message);
	else
		draw_hints(v);
	v->message[0] = '\0';
	screen_cursor(&v->screen,
		      focused_view(v)->y + (int)(focused_view(v)->cursor - focused_view(v)->top),
		      focused_view(v)->x);
	screen_flush(&v->screen);
}

/* Views whose lines depend on the width. */
static const enum view_id wrapped[] = {VIEW_SUMMARY,  VIEW_THREADS,   VIEW_REGISTERS,
				       VIEW_SYSCALLS, VIEW_PROCESSES, VIEW_HELP};

static int handle_keys(struct viewer *v, struct bt_error *err)
{
	while (!v->quit) {
		int key;
		enum request r;

		if (v->screen.resized) {
			v->screen.resized = false;
			for (size_t i = 0; i < ARRAY_SIZE(wrapped); i++)
				v->views[wrapped[i]].stale = true;
			/* The pane with the focus keeps its cursor; others keep their middle
			 * line. */
			v->code_stale = v->focus == layout_main(v)->ops->id;
		}
		draw_screen(v);
		key = screen_key(&v->screen);
		if (key == SCREEN_ENDED)
			return bt_fail(err, BT_E_IO, 0, "the terminal went away");
		if (key == SCREEN_RESIZED)
			continue;
		r = keymap_lookup(key, v->focus);
		if (r == REQUEST_NONE)
			viewer_message(v, "this key does nothing here; h helps");
		else
			handle_request(v, r);
	}
	if (v->failure.code)
		*err = v->failure;
	return -(int)v->failure.code;
}

/* The cursor is at the newest branch from or to the function; n goes to older ones. Returns 0; 1
 * when there is none. */
static int begin_at(struct viewer *v, const char *function)
{
	char why[SEARCH_WHY_MAX];

	if (branch_moves_newest(v, &v->views[VIEW_BRANCHES], function) == BRANCH_NOT_THERE)
		return 1;
	viewer_open(v, VIEW_BRANCHES);
	if (!search_set_name(&v->search, function, why))
		viewer_message(v, "%s", why);
	v->search.backward = true;
	return 0;
}

int tui_run(struct model *m, struct symbols *s, const struct report_options *o,
	    struct bt_error *err)
{
	struct viewer *v;
	struct focus begin;
	int rc;

	if (focus_choose(&begin, m, o))
		return 1;
	v = calloc(1, sizeof *v);
	if (!v)
		return bt_no_memory(err, NULL);
	rc = screen_open(&v->screen, err);
	if (!rc) {
		rc = viewer_init(v, m, s, &begin, err);
		v->libraries_shown = o->all || o->function;
		v->library_frames_shown = o->all;
		if (!rc && o->has_thread)
			viewer_open(v, VIEW_BRANCHES);
		if (!rc && o->function)
			rc = begin_at(v, o->function);
		if (!rc)
			rc = handle_keys(v, err);
		screen_close(&v->screen);
	}
	viewer_release(v);
	free(v);
	return rc;
}
