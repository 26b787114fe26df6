/* SPDX-License-Identifier: MIT */
#include "tui/branch_moves.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/cause/focus.h"
#include "lib/name_pattern.h"
#include "tui/branch_row.h"
#include "tui/busy.h"

enum {
	RUN_MAX = 4096, /* instructions looked at before a branch, for a line of a source */
};

void branch_moves_to(struct viewer *v, struct view *view, size_t entry)
{
	struct branch_list *b = view->state;
	size_t before = view->cursor, line = fold_line_of(&b->fold, entry);

	if (branch_list_leaves_out(b, entry)) {
		viewer_message(v, "the filter leaves it out: & and Enter show everything");
		return;
	}
	if (branch_list_entry(v, b, line) != entry ||
	    branch_list_line(b, line)->kind == FOLD_LOOP ||
	    branch_list_line(b, line)->kind == FOLD_LIBRARY) {
		uint32_t from = b->fold.count ? b->fold.lines[before].entry : 0;

		if (!branch_list_open(v, view, entry, entry + 1))
			return;
		before = fold_line_of(&b->fold, from);
		line = fold_line_of(&b->fold, entry);
	}
	view_jump(view, line);
	if (before != view->cursor)
		view->before_jump = before + 1;
}

/* Where the cursor stands among the entries: at one, or where the task stopped, before one. */
static size_t entry_at(const struct branch_list *b, const struct view *view, bool *is_entry)
{
	const struct fold_line *l = branch_list_line(b, view->cursor);

	*is_entry = l && l->kind != FOLD_STOP;
	return l ? l->entry : 0;
}

/* Searching. */

static bool search_test(void *arg, struct viewer *v, size_t i)
{
	(void)arg;
	return branch_row_matches(v, &v->search, i);
}

static bool heading_matches(struct viewer *v, struct view *view, size_t line)
{
	const struct branch_list *b = view->state;
	struct row row;

	if (branch_list_line(b, line)->kind == FOLD_ENTRY ||
	    branch_list_line(b, line)->kind == FOLD_CALL)
		return false;
	row_init(&row, v->screen.utf8);
	view->ops->row(v, view, line, &row);
	return search_matches(&v->search, row.text);
}

/* A walk through the lines and what is folded into them: once around, from the cursor. */
struct find_walk {
	struct viewer *v;
	struct view *view;
	struct branch_list *b;
	struct busy *busy;
};

static bool entry_is_found(struct find_walk *w, size_t entry)
{
	if (branch_list_leaves_out(w->b, entry) || !entry_matches(&w->b->found, w->v, entry))
		return false;
	branch_moves_to(w->v, w->view, entry);
	return true;
}

/* Of the entries [from, end), or from the last to the first. */
static bool find_entry(struct find_walk *w, size_t from, size_t end, bool backward)
{
	for (size_t i = 0; i < end - from && from < end; i++) {
		if (!busy_goes_on(w->busy))
			return false;
		if (entry_is_found(w, backward ? end - 1 - i : from + i))
			return true;
	}
	return false;
}

static bool find_heading(struct find_walk *w, size_t line)
{
	if (!heading_matches(w->v, w->view, line))
		return false;
	view_jump(w->view, line);
	return true;
}

/* On the line of the cursor what is folded into it comes behind it. */
static size_t folded_from(const struct branch_list *b, size_t line)
{
	const struct fold_line *l = branch_list_line(b, line);

	return l->entry + (l->kind == FOLD_ENTRY || l->kind == FOLD_CALL);
}

static bool find_in_line(struct find_walk *w, size_t line, bool backward)
{
	size_t from = branch_list_line(w->b, line)->entry, end = branch_list_end(w->v, w->b, line);

	return backward ? find_entry(w, from, end, true) || find_heading(w, line)
			: find_heading(w, line) || find_entry(w, from, end, false);
}

bool branch_moves_find(struct viewer *v, struct view *view, bool backward, struct busy *busy)
{
	struct branch_list *b = view->state;
	struct find_walk w = {.v = v, .view = view, .b = b, .busy = busy};
	size_t count, line;

	if (!branch_list_read_all(v, view) || !b->fold.count)
		return false;
	count = b->fold.count;
	line = view->cursor;
	busy->total = v->history.count;
	if (b->serial != v->search.serial)
		entry_match_release(&b->found);
	b->serial = v->search.serial;
	b->found.test = search_test;
	if (!backward && find_entry(&w, folded_from(b, line), branch_list_end(v, b, line), false))
		return true;
	for (size_t n = 1; n < count && !busy->stopped; n++) {
		bool wrapped = backward ? line == 0 : line + 1 >= count;

		line = wrapped ? (backward ? count - 1 : 0) : backward ? line - 1 : line + 1;
		if (wrapped)
			viewer_message(v, "the search went on from the %s",
				       backward ? "end" : "beginning");
		if (find_in_line(&w, line, backward))
			return true;
	}
	line = view->cursor;
	if (!busy->stopped && backward &&
	    find_entry(&w, folded_from(b, line), branch_list_end(v, b, line), true))
		return true;
	/* At last where it began. */
	return !busy->stopped &&
	       (find_heading(&w, line) ||
		find_entry(&w, branch_list_line(b, line)->entry, folded_from(b, line), false));
}

/* From one end of a call to the other, and steps. */

static void go_to_line_of(struct viewer *v, struct view *view, uint32_t entry,
			  const char *otherwise)
{
	struct branch_list *b = view->state;

	if (entry == CALLS_NONE)
		viewer_message(v, "%s", otherwise);
	else
		view_jump(view, fold_line_of(&b->fold, entry));
}

/* The entry at the cursor, or before where the task stopped. */
static uint32_t entry_here(const struct branch_list *b, const struct view *view)
{
	bool is_entry;
	size_t at = entry_at(b, view, &is_entry);

	return is_entry ? (uint32_t)at : at ? (uint32_t)at - 1 : CALLS_NONE;
}

static uint32_t match_of_cursor(struct viewer *v, struct view *view)
{
	uint32_t entry = branch_list_entry(v, view->state, view->cursor);

	return entry == CALLS_NONE ? CALLS_NONE : v->calls.partner[entry];
}

static uint32_t caller_of_cursor(struct viewer *v, struct view *view)
{
	uint32_t from = entry_here(view->state, view);

	return from == CALLS_NONE ? CALLS_NONE : v->calls.caller[from];
}

/* Of a history that is there in part the older branches may have it. */
static void go_to_other(struct viewer *v, struct view *view,
			uint32_t (*find)(struct viewer *, struct view *), const char *otherwise)
{
	uint32_t entry = find(v, view);

	if (entry == CALLS_NONE && v->history.is_part) {
		if (!branch_list_read_all(v, view))
			return;
		entry = find(v, view);
	}
	go_to_line_of(v, view, entry, otherwise);
}

static void do_match(struct viewer *v, struct view *view)
{
	go_to_other(v, view, match_of_cursor,
		    "no call or return, or its other end is not in the history");
}

static void do_caller(struct viewer *v, struct view *view)
{
	go_to_other(v, view, caller_of_cursor, "its call is not in the history");
}

static void do_out(struct viewer *v, struct view *view)
{
	struct branch_list *b = view->state;
	uint32_t from = entry_here(b, view),
		 caller = from == CALLS_NONE ? CALLS_NONE : v->calls.caller[from],
		 ret = caller == CALLS_NONE ? CALLS_NONE : v->calls.partner[caller];

	if (ret == CALLS_NONE)
		viewer_message(v, "the function does not return in the history");
	else
		view_jump(view, fold_line_of(&b->fold, ret + 1 < v->history.count ? ret + 1 : ret));
}

static void step_cursor(struct viewer *v, struct view *view, bool backward)
{
	struct branch_list *b = view->state;
	bool is_entry;
	size_t at = entry_at(b, view, &is_entry), count = v->history.count;

	do {
		if (backward ? at == 0 : is_entry ? at + 1 >= count : at >= count) {
			view_move(view, backward ? -1 : 1); /* the line of the task's stop */
			return;
		}
		at = backward ? at - 1 : is_entry ? at + 1 : at;
		is_entry = true;
	} while (branch_list_leaves_out(b, at));
	branch_moves_to(v, view, at);
}

static void do_step(struct viewer *v, struct view *view) { step_cursor(v, view, false); }
static void do_step_back(struct viewer *v, struct view *view) { step_cursor(v, view, true); }

static uint32_t depth_at(const struct viewer *v, const struct branch_list *b, size_t line)
{
	size_t entry = branch_list_line(b, line)->entry;

	return entry < v->history.count ? v->calls.depth[entry]
	       : entry                  ? v->calls.depth[entry - 1]
					: 0;
}

/* Over what the function at the cursor calls: by lines, so that what is folded stays so. */
static void step_over_call(struct viewer *v, struct view *view, bool backward)
{
	struct branch_list *b = view->state;
	size_t line = view->cursor, count = b->fold.count;
	uint32_t depth;

	if (!count)
		return;
	depth = depth_at(v, b, line);
	while (backward ? line > 0 : line + 1 < count) {
		line = backward ? line - 1 : line + 1;
		if (depth_at(v, b, line) <= depth) {
			view_jump(view, line);
			return;
		}
	}
	viewer_message(v, backward ? "nothing before it in this function or its callers"
				   : "nothing behind it in this function or its callers");
}

static void do_over(struct viewer *v, struct view *view) { step_over_call(v, view, false); }
static void do_over_back(struct viewer *v, struct view *view) { step_over_call(v, view, true); }

/* Goes from an entry on to the next one that is wanted. False: there is none, or the user has
 * stopped it. */
struct wanted_entry {
	bool (*is)(const struct wanted_entry *w, struct viewer *v, size_t i);
	const struct history_entry *like;
	uint64_t address;
	const char *name;
	struct entry_match *match;
};

static bool go_to_wanted(struct viewer *v, struct view *view, const struct wanted_entry *w,
			 size_t from, bool backward, struct busy *busy)
{
	const struct branch_list *b = view->state;
	size_t count = v->history.count;

	for (size_t i = from; backward ? i-- > 0 : i < count; i += !backward) {
		if (!busy_goes_on(busy))
			return false;
		if (branch_list_leaves_out(b, i) || !w->is(w, v, i))
			continue;
		branch_moves_to(v, view, i);
		return true;
	}
	return false;
}

static bool is_same_branch(const struct wanted_entry *w, struct viewer *v, size_t i)
{
	const struct history_entry *e = &v->history.entries[i];

	return e->from == w->like->from && e->space == w->like->space &&
	       bt_branch_kind_is_branch(e->kind);
}

static void go_to_same_branch(struct viewer *v, struct view *view, bool backward)
{
	uint32_t entry;
	struct busy busy;

	if (!branch_list_read_all(v, view))
		return;
	entry = branch_list_entry(v, view->state, view->cursor);
	if (entry == CALLS_NONE || !bt_branch_kind_is_branch(v->history.entries[entry].kind)) {
		viewer_message(v, "no branch is at the cursor");
		return;
	}
	busy_begin(&busy, &v->screen, "searching", v->history.count);
	if (!go_to_wanted(v, view,
			  &(struct wanted_entry){.is = is_same_branch,
						 .like = &v->history.entries[entry]},
			  backward ? entry : entry + 1, backward, &busy))
		viewer_message(v, busy.stopped ? "the search was stopped"
				  : backward   ? "it was not executed before"
					       : "it is not executed again");
}

static void do_same(struct viewer *v, struct view *view) { go_to_same_branch(v, view, false); }
static void do_same_back(struct viewer *v, struct view *view) { go_to_same_branch(v, view, true); }

/* Goto. */

static void go_to_tick(struct viewer *v, struct view *view, uint64_t tick)
{
	const struct history *h = &v->history;
	size_t found = h->count;

	for (size_t i = 0; i < h->count && found == h->count; i++)
		if (h->entries[i].tick != BT_TICKS_UNKNOWN && h->entries[i].tick >= tick)
			found = i;
	if (found == h->count)
		viewer_message(v, "the history ends before tick %" PRIu64, tick);
	else
		branch_moves_to(v, view, found);
}

/* Whether the straight-line code before an entry, its branch included, or its target has the
 * address. */
static bool is_at_address(const struct wanted_entry *w, struct viewer *v, size_t i)
{
	const struct history_entry *e = &v->history.entries[i];
	uint64_t start;

	if (!bt_branch_kind_is_branch(e->kind))
		return false;
	if (e->from == w->address || e->to == w->address)
		return true;
	return history_start(&v->history, i, &start) && start <= w->address &&
	       w->address <= e->from;
}

static bool is_named(const struct wanted_entry *w, struct viewer *v, size_t i)
{
	return entry_matches(w->match, v, i);
}

/* A line of a source may have run between two branches. */
static bool line_ran(struct viewer *v, size_t i, const char *place)
{
	const struct history_entry *e = &v->history.entries[i];
	struct history_insn *insns;
	long n = history_straight(&v->history, v->m, i, 0, &insns);
	bool ran = false;

	for (long k = n - 1; k >= 0 && !ran && n - k < RUN_MAX; k--)
		ran = focus_function_at(v->s, e->space, e->epoch, insns[k].addr, place) != NULL;
	free(insns);
	return ran;
}

/* The target of goto. */
struct sought {
	const char *name;
	bool is_line;
	const struct branch_list *b;
};

/* The instructions of libraries are not looked up one by one: there are too many. */
static bool name_test(void *arg, struct viewer *v, size_t i)
{
	const struct sought *sought = arg;
	const struct history_entry *e = &v->history.entries[i];
	const uint8_t *sides = sought->b->sides;

	if (!bt_branch_kind_is_branch(e->kind))
		return false;
	if (focus_shows(&v->history, e, v->s, sought->name))
		return true;
	return sought->is_line && !(sides && (sides[i] & FOLD_FROM_LIBRARY)) &&
	       line_ran(v, i, sought->name);
}

/* Older branches first: the end is where most look from. */
static void go_to_place(struct viewer *v, struct view *view, const struct wanted_entry *w,
			const char *place)
{
	bool is_entry;
	size_t at = entry_at(view->state, view, &is_entry);
	struct busy busy;

	busy_begin(&busy, &v->screen, "searching", v->history.count);
	if (go_to_wanted(v, view, w, at, true, &busy))
		return;
	if (!busy.stopped && go_to_wanted(v, view, w, is_entry ? at + 1 : at, false, &busy))
		viewer_message(v, "not before the cursor: this is behind it");
	else if (busy.stopped)
		viewer_message(v, "the search was stopped");
	else
		viewer_message(v, "not in this history: %s", place);
}

void branch_moves_goto(struct viewer *v, struct view *view, const char *place)
{
	struct sought sought = {.name = place, .b = view->state};
	struct entry_match match = {.test = name_test, .arg = &sought};
	size_t len;
	int line;
	char *end;
	uint64_t number = strtoull(place, &end, 0);
	bool is_number = *place >= '0' && *place <= '9' && !*end;

	if (!branch_list_read_all(v, view))
		return;
	sought.is_line = match.with_run = source_position_parse(place, &len, &line);
	if (is_number && place[0] == '0' && (place[1] == 'x' || place[1] == 'X'))
		go_to_place(v, view, &(struct wanted_entry){.is = is_at_address, .address = number},
			    place);
	else if (is_number)
		go_to_tick(v, view, strtoull(place, NULL, 10));
	else
		go_to_place(v, view, &(struct wanted_entry){.is = is_named, .match = &match},
			    place);
	entry_match_release(&match);
}

static bool shows_function(void *arg, struct viewer *v, size_t i)
{
	return focus_shows(&v->history, &v->history.entries[i], v->s, arg);
}

/* Of the entries that are loaded. */
static bool find_newest(struct viewer *v, struct entry_match *match, struct busy *busy,
			uint64_t *number)
{
	for (size_t i = v->stop_index; i-- > 0 && busy_goes_on(busy);) {
		if (!entry_matches(match, v, i))
			continue;
		*number = v->history.entries[i].number;
		return true;
	}
	return false;
}

enum branch_found branch_moves_newest(struct viewer *v, struct view *view, const char *function)
{
	struct entry_match match = {.test = shows_function, .arg = (void *)(uintptr_t)function};
	struct busy busy;
	uint64_t number;
	bool found, stopped;

	busy_begin(&busy, &v->screen, "searching", v->stop_index);
	found = find_newest(v, &match, &busy, &number);
	stopped = busy.stopped;
	if (!found && !stopped && v->history.is_part) {
		stopped = !branch_list_read_all(v, view);
		busy_begin(&busy, &v->screen, "searching", v->stop_index);
		found = !stopped && find_newest(v, &match, &busy, &number);
		stopped |= busy.stopped;
	}
	entry_match_release(&match);
	if (found)
		branch_view_go(v, number, false);
	else if (stopped && !v->quit)
		viewer_message(v, "the search was stopped");
	return found ? BRANCH_FOUND : stopped ? BRANCH_SEARCH_STOPPED : BRANCH_NOT_THERE;
}

static void (*const moves[REQUEST_COUNT])(struct viewer *, struct view *) = {
	[REQUEST_MATCH] = do_match,
	[REQUEST_CALLER] = do_caller,
	[REQUEST_OUT] = do_out,
	[REQUEST_STEP] = do_step,
	[REQUEST_STEP_BACK] = do_step_back,
	[REQUEST_OVER] = do_over,
	[REQUEST_OVER_BACK] = do_over_back,
	[REQUEST_SAME] = do_same,
	[REQUEST_SAME_BACK] = do_same_back,
};

bool branch_moves_request(struct viewer *v, struct view *view, enum request r)
{
	if (moves[r])
		moves[r](v, view);
	return moves[r] != NULL;
}
