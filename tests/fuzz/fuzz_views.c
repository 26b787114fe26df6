/* SPDX-License-Identifier: MIT */
/* A whole trace in memory through the viewer's views, without a terminal: every view at several
 * sizes, with its requests. Whatever the bytes are, cursors stay on lines and no row has a
 * character that acts on a terminal. */
#include "tests/fuzz/fuzz.h"

#include "lib/array_size.h"
#include "lib/escape.h"
#include "tests/fuzz/trace_bytes.h"
#include "tui/branch_moves.h"
#include "tui/busy.h"
#include "tui/layout.h"

enum {
	LINES = 40, /* looked at from each end of a view */
	SIZES = 4,
};

static const int sizes[SIZES][2] = {{30, 100}, {10, 40}, {5, 20}, {1, 1}};

static const enum view_id mains[] = {VIEW_SUMMARY,  VIEW_BRANCHES, VIEW_THREADS,   VIEW_REGISTERS,
				     VIEW_SYSCALLS, VIEW_TREE,     VIEW_PROCESSES, VIEW_HELP};

static const enum request requests[] = {
	REQUEST_LIBRARIES, REQUEST_FOLD, REQUEST_TARGET,    REQUEST_MATCH, REQUEST_CALLER,
	REQUEST_STEP_BACK, REQUEST_STEP, REQUEST_OVER_BACK, REQUEST_OVER,  REQUEST_OUT,
	REQUEST_SAME_BACK, REQUEST_SAME, REQUEST_FOLD,      REQUEST_ENTER};

static const char *const filters[] = {"kind:call", "!module:lib* function:m*", "0x", "file:a.c:1",
				      ""};
static const char *const places[] = {"1", "0x1000", "main", "a.c:1"};

static void look_at_row(struct viewer *v, struct view *view, size_t line)
{
	struct row row;

	row_init(&row, v->screen.utf8);
	view->ops->row(v, view, line, &row);
	MUST(row.len < ROW_BYTES && row.span_count <= ROW_SPANS && !row.text[row.len]);
	for (size_t i = 0, n; i < row.len; i += n) {
		n = bt_printable((const uint8_t *)row.text + i, row.len - i);
		MUST(n && (v->screen.utf8 || n == 1));
	}
}

static void look_at_view(struct viewer *v, struct view *view)
{
	size_t count = view_count(view), height = view->height > 0 ? (size_t)view->height : 1;
	struct row row;

	MUST(count && view->cursor < count && view->top <= view->cursor &&
	     view->cursor < view->top + height);
	for (size_t i = 0; i < count && i < LINES; i++) {
		look_at_row(v, view, i);
		look_at_row(v, view, count - 1 - i);
	}
	row_init(&row, v->screen.utf8);
	if (view->ops->title)
		view->ops->title(v, view, &row);
}

static void look_at_screen(struct viewer *v)
{
	layout(v);
	viewer_follow_cursor(v);
	for (size_t i = 0; i < VIEW_COUNT; i++)
		if (v->views[i].height)
			look_at_view(v, &v->views[i]);
}

/* From the end to the beginning, in steps that grow. */
static void walk(struct viewer *v, enum view_id id)
{
	viewer_open(v, id);
	view_jump(&v->views[id], SIZE_MAX);
	for (long step = 1; !v->quit && step < LINES; step += step + 1) {
		struct view *view = &v->views[id];

		look_at_screen(v);
		for (size_t i = 0; view->ops->request && i < ARRAY_SIZE(requests); i++) {
			v->focus = id;
			view->ops->request(v, view, requests[i]);
			look_at_screen(v);
		}
		viewer_open(v, id);
		view_scroll(view, -step);
	}
}

/* What asks for a text: a search, the filter, goto. */
static void look_for_texts(struct viewer *v)
{
	struct view *list = &v->views[VIEW_BRANCHES];
	char why[SEARCH_WHY_MAX];
	struct busy busy;

	viewer_open(v, VIEW_BRANCHES);
	MUST(search_set(&v->search, "call|x", why));
	busy_begin(&busy, &v->screen, "searching", 0);
	branch_moves_find(v, list, false, &busy);
	branch_moves_find(v, list, true, &busy);
	look_at_screen(v);
	for (size_t i = 0; !v->quit && i < ARRAY_SIZE(filters); i++) {
		struct branch_filter filter;

		MUST(branch_filter_parse(&filter, filters[i], why));
		branch_list_filter(v, list, &filter);
		branch_filter_release(&filter);
		look_at_screen(v);
	}
	for (size_t i = 0; !v->quit && i < ARRAY_SIZE(places); i++) {
		branch_moves_goto(v, list, places[i]);
		look_at_screen(v);
	}
}

/* choice: of a size and of UTF-8, from the input: all of them for each would be slow. */
static void look_at_trace(const struct trace_file *files, size_t n, unsigned choice)
{
	struct viewer v = {.screen = {.utf8 = choice & 1}};
	struct report_options options = {.count = 0};
	struct focus begin;
	struct symbols *s;
	struct bt_error err;
	struct trace *t;
	struct model *m;

	if (trace_open_memory(&t, files, n, &err))
		return;
	MUST(!model_load(&m, t, &err));
	MUST(!symbols_open(&s, m, &err));
	v.screen.rows = sizes[choice / 2 % SIZES][0];
	v.screen.columns = sizes[choice / 2 % SIZES][1];
	MUST(!focus_choose(&begin, m, &options));
	MUST(!viewer_init(&v, m, s, &begin, &err));
	for (size_t i = 0; i < ARRAY_SIZE(mains); i++)
		walk(&v, mains[i]);
	if (!v.quit)
		look_for_texts(&v);
	viewer_release(&v);
	symbols_close(s);
	model_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace_file files[TRACE_BYTES_FILES] = {{.number = 0}};
	struct buf wrapped[TRACE_BYTES_FILES];
	size_t n = trace_bytes_wrap(data, size, files, wrapped);

	look_at_trace(files, n, size ? data[size - 1] : 0);
	trace_bytes_release(wrapped, n);
	return 0;
}
