/* SPDX-License-Identifier: MIT */
/* The calls of the history shown, as a tree: each call lies in the one that it was made in. At
 * first the calls are unfolded that were open where the task stopped. Calls of one function that
 * follow each other have one line with their number until it is unfolded.
 *
 * Lines are made of what is unfolded, anew when that changes; of one function at most CHILDREN_MAX.
 * Enter goes to the call in the list of branches. */
#include <inttypes.h>
#include <stdlib.h>

#include "lib/grow.h"
#include "lib/hash_table.h"
#include "tui/branch_list.h"
#include "tui/label.h"

enum {
	CHILDREN_MAX = 20000,
	DEPTH_MAX = 2000,  /* of the tree: a recursion may be deeper */
	INDENT_PART = 4,   /* of the width at most: deeper ones stand there */
	LOOK_AHEAD = 1024, /* entries in which a call is looked for, for the mark of a line */
	TICK_WIDTH = 10,
	NAME_MIN = 20, /* columns for a name at least */
};

struct tree_line {
	uint32_t entry; /* the call; CALLS_NONE: a remark */
	uint32_t count; /* consecutive calls of one function; of a remark: the number of calls left
			   out */
	uint16_t depth;
};

struct tree {
	struct tree_line *lines;
	size_t count, cap;
	bool failed;
	struct hash_table open;  /* calls that are unfolded: entry + 1 */
	struct hash_table split; /* calls that begin a row of them and have lines of their own */
	uint32_t *last; /* of each call the last entry that lies in it, but for those in calls
			   deeper; itself where there is none */
};

static bool is_in(const struct hash_table *t, uint32_t entry)
{
	return hash_table_find(t, (uint64_t)entry + 1) != NULL;
}

static void toggle_in(struct tree *t, struct hash_table *table, uint32_t entry)
{
	struct hash_slot *slot = hash_table_find(table, (uint64_t)entry + 1);

	if (slot)
		hash_table_take_out(table, slot);
	else if (!hash_table_add(table, (struct hash_slot){(uint64_t)entry + 1, {1}}))
		t->failed = true;
}

static void add_line(struct tree *t, struct tree_line line)
{
	struct tree_line *lines =
		t->failed ? NULL : array_grow(t->lines, t->count, &t->cap, sizeof *lines);

	t->failed |= !lines;
	if (!lines)
		return;
	t->lines = lines;
	lines[t->count++] = line;
}

static bool is_call(const struct history_entry *e)
{
	return e->kind == BT_BRANCH_CALL || e->kind == BT_BRANCH_ICALL ||
	       e->kind == BT_BRANCH_ASYNC;
}

static bool find_last(struct viewer *v, struct tree *t)
{
	t->last = calloc(v->history.count + 1, sizeof *t->last);
	for (uint32_t i = 0; t->last && i < v->history.count; i++) {
		t->last[i] = i;
		if (v->calls.caller[i] != CALLS_NONE)
			t->last[v->calls.caller[i]] = i;
	}
	return t->last != NULL;
}

/* One past the last entry that lies in a call itself. */
static size_t end_of(const struct viewer *v, const struct tree *t, uint32_t call)
{
	return call == CALLS_NONE ? v->history.count : (size_t)t->last[call] + 1;
}

/* The next call that was made in `parent` (CALLS_NONE: outside of all), from entry `at` on; its end
 * when there is none. */
static size_t next_child(const struct viewer *v, const struct tree *t, uint32_t parent, size_t at)
{
	size_t end = end_of(v, t, parent);

	while (at < end) {
		if (v->calls.caller[at] == parent && is_call(&v->history.entries[at]))
			return at;
		at++;
	}
	return end;
}

/* Where to look for the call behind one: behind its return. */
static size_t entry_behind(const struct viewer *v, size_t call)
{
	uint32_t ret = v->calls.partner[call];

	return ret == CALLS_NONE || ret <= call ? call + 1 : (size_t)ret + 1;
}

static bool same_callee(const struct viewer *v, size_t a, size_t b)
{
	const struct history_entry *x = &v->history.entries[a], *y = &v->history.entries[b];

	return x->to == y->to && x->space == y->space && x->kind != BT_BRANCH_ASYNC;
}

/* A walk through the unfolded calls: for each of them where it goes on. */
struct tree_level {
	uint32_t parent, shown;
	size_t at;
	uint32_t row; /* calls that belong to a row which is split */
};

/* Adds the next line of a level. Returns its call; CALLS_NONE: the level has no more. */
static uint32_t add_next(struct viewer *v, struct tree *t, struct tree_level *l, uint16_t depth)
{
	size_t call = next_child(v, t, l->parent, l->at), end = end_of(v, t, l->parent), next;
	uint32_t count = 1;

	if (call >= end)
		return CALLS_NONE;
	if (l->shown++ == CHILDREN_MAX) {
		add_line(t, (struct tree_line){.entry = CALLS_NONE, .depth = depth});
		l->at = end;
		return CALLS_NONE;
	}
	next = entry_behind(v, call);
	if (!l->row) {
		size_t more = next_child(v, t, l->parent, next);

		while (more < end && same_callee(v, call, more)) {
			count++;
			next = entry_behind(v, more);
			more = next_child(v, t, l->parent, next);
		}
		if (count > 1 && is_in(&t->split, (uint32_t)call)) {
			l->row = count;
			count = 1;
			next = entry_behind(v, call);
		}
	}
	l->row -= l->row > 0;
	l->at = next;
	add_line(t, (struct tree_line){.entry = (uint32_t)call, .count = count, .depth = depth});
	return (uint32_t)call;
}

static void fill_lines(struct viewer *v, struct tree *t)
{
	struct tree_level *levels = calloc(DEPTH_MAX + 1, sizeof *levels);
	size_t depth = 0;

	t->count = 0;
	t->failed |= !levels;
	if (levels)
		levels[0] = (struct tree_level){.parent = CALLS_NONE};
	while (!t->failed) {
		uint32_t call = add_next(v, t, &levels[depth], (uint16_t)depth);

		if (call != CALLS_NONE && depth < DEPTH_MAX && is_in(&t->open, call) &&
		    t->lines[t->count - 1].count == 1)
			levels[++depth] =
				(struct tree_level){.parent = call, .at = (size_t)call + 1};
		else if (call == CALLS_NONE && !depth--)
			break;
	}
	free(levels);
	if (!t->count)
		add_line(t, (struct tree_line){.entry = CALLS_NONE});
}

/* Unfolds the calls that an entry lies in. */
static void open_path(struct viewer *v, struct tree *t, uint32_t entry)
{
	for (unsigned n = 0; entry != CALLS_NONE && n < DEPTH_MAX; n++) {
		if (is_call(&v->history.entries[entry]) && !is_in(&t->open, entry))
			toggle_in(t, &t->open, entry);
		entry = v->calls.caller[entry];
	}
}

/* Rows of calls that hide an unfolded one are split. */
static void split_path(struct viewer *v, struct tree *t, uint32_t entry)
{
	for (unsigned n = 0; entry != CALLS_NONE && n < DEPTH_MAX; n++) {
		uint32_t parent = v->calls.caller[entry];
		size_t first = SIZE_MAX;

		for (size_t at = parent == CALLS_NONE ? 0 : (size_t)parent + 1;
		     (at = next_child(v, t, parent, at)) < entry; at = entry_behind(v, at))
			first = first != SIZE_MAX && same_callee(v, first, at) ? first : at;
		if (first != SIZE_MAX && same_callee(v, first, entry) &&
		    !is_in(&t->split, (uint32_t)first))
			toggle_in(t, &t->split, (uint32_t)first);
		entry = parent;
	}
}

static size_t line_of(const struct tree *t, uint32_t entry)
{
	size_t found = 0;

	for (size_t i = 0; i < t->count && t->lines[i].entry <= entry; i++)
		found = i;
	return found;
}

static void tree_view_release(struct view *view)
{
	struct tree *t = view->state;

	if (!t)
		return;
	free(t->lines);
	free(t->last);
	hash_table_release(&t->open);
	hash_table_release(&t->split);
	free(t);
	view->state = NULL;
}

static int tree_view_load(struct viewer *v, struct view *view, struct bt_error *err)
{
	uint32_t last, open;
	struct tree *t;

	tree_view_release(view);
	/* Where the user stops that, the tree is of the newest. */
	if (!branch_list_read_all(v, &v->views[VIEW_BRANCHES]) && v->quit)
		return bt_no_memory(err, NULL);
	view->stale = false; /* it is made of what has just been read */
	last = v->stop_index ? (uint32_t)v->stop_index - 1 : CALLS_NONE;
	t = view->state = calloc(1, sizeof *t);
	if (!t || !find_last(v, t))
		return bt_no_memory(err, NULL);
	if (last != CALLS_NONE) {
		open = is_call(&v->history.entries[last]) ? last : v->calls.caller[last];
		open_path(v, t, last);
		split_path(v, t, open);
	}
	fill_lines(v, t);
	view->top = 0;
	view->cursor = last == CALLS_NONE ? 0 : line_of(t, last);
	return t->failed ? bt_no_memory(err, NULL) : 0;
}

static size_t tree_view_count(const struct view *view)
{
	const struct tree *t = view->state;

	return t ? t->count : 0;
}

/* Whether it may be unfolded. */
static bool has_calls(const struct viewer *v, const struct tree *t, uint32_t call)
{
	size_t end = end_of(v, t, call), n = 0;

	for (size_t i = (size_t)call + 1; i < end; i++)
		if (++n > LOOK_AHEAD ||
		    (is_call(&v->history.entries[i]) && v->calls.caller[i] == call))
			return true;
	return false;
}

/* The size of a call, in a few words. */
static void put_size(const struct viewer *v, const struct tree_line *l, struct row *out)
{
	uint32_t ret = v->calls.partner[l->entry];

	if (l->count > 1)
		row_put(out, STYLE_MARK, ", %" PRIu32 " times", l->count);
	else if (ret == CALLS_NONE)
		row_put(out, STYLE_CALL, ", has not returned");
	else
		row_put(out, STYLE_DIM, ", back after %" PRIu32 " branch%s", ret - l->entry - 1,
			ret - l->entry == 2 ? "" : "es");
}

static void put_caller(struct viewer *v, const struct history_entry *e, struct row *out)
{
	struct inlined_frame at = label_source(
		v, &(struct view_place){.addr = e->from, .space = e->space, .epoch = e->epoch});

	if (!*at.file)
		return;
	row_put(out, STYLE_DIM, "  at ");
	row_outside(out, STYLE_FILE, label_basename(at.file), 0);
	if (at.line)
		row_put(out, STYLE_FILE, ":%d", at.line);
}

/* The callee, where it was called, and how it went. Where a line has no room for all, the place is
 * left out, and then the name is cut. */
static void put_call(struct viewer *v, const struct tree_line *l, struct row *out)
{
	const struct history_entry *e = &v->history.entries[l->entry];
	unsigned columns = screen_width(&v->screen),
		 room = columns > out->width ? columns - out->width : 0;
	uint32_t space, epoch;
	struct row name, size, place;

	row_init(&name, out->utf8);
	row_init(&size, out->utf8);
	row_init(&place, out->utf8);
	history_target(&v->history, e, &space, &epoch);
	label_function(v, &name, space, epoch, e->to, ROW_BYTES);
	put_size(v, l, &size);
	put_caller(v, e, &place);
	if (e->kind == BT_BRANCH_ASYNC)
		row_put(out, STYLE_SYSTEM, "handler ");
	out->cut |= name.width + size.width + place.width > room;
	if (!out->whole && name.width + size.width + place.width > room)
		place.width = 0;
	room = room > size.width + place.width ? room - size.width - place.width : 0;
	label_function(v, out, space, epoch, e->to, room > NAME_MIN ? room : NAME_MIN);
	if (place.width)
		put_caller(v, e, out);
	put_size(v, l, out);
}

static void tree_view_row(struct viewer *v, const struct view *view, size_t line, struct row *out)
{
	const struct tree *t = view->state;
	const struct tree_line *l = &t->lines[line];
	unsigned most = screen_width(&v->screen) / INDENT_PART / 2,
		 indent = TICK_WIDTH + 2u * (l->depth < most ? l->depth : most);
	const struct history_entry *e;
	bool open;

	if (l->entry == CALLS_NONE) {
		row_pad(out, indent + 2);
		row_put(out, STYLE_DIM,
			line ? "more calls, which are not shown" : "the history has no calls");
		return;
	}
	e = &v->history.entries[l->entry];
	open = l->count == 1 && is_in(&t->open, l->entry);
	if (e->tick == BT_TICKS_UNKNOWN)
		row_put(out, STYLE_DIM, "?");
	else
		row_put(out, STYLE_DIM, "%" PRIu64, e->tick);
	row_pad(out, indent);
	row_put(out, STYLE_MARK, "%s",
		open                                        ? "- "
		: l->count > 1 || has_calls(v, t, l->entry) ? "+ "
							    : "  ");
	put_call(v, l, out);
}

static void tree_view_title(struct viewer *v, const struct view *view, struct row *out)
{
	(void)view;
	row_put(out, STYLE_NORMAL, " of task %" PRIu32, v->task);
	if (v->history.is_part)
		row_put(out, STYLE_NORMAL, ", in the newest %zu branches", v->history.count);
}

static bool tree_view_place(struct viewer *v, const struct view *view, size_t line,
			    struct view_place *out)
{
	const struct tree *t = view->state;
	const struct history_entry *e;

	if (line >= t->count || t->lines[line].entry == CALLS_NONE)
		return false;
	e = &v->history.entries[t->lines[line].entry];
	*out = (struct view_place){.addr = e->from,
				   .space = e->space,
				   .epoch = e->epoch,
				   .entry = t->lines[line].entry};
	return true;
}

static void toggle_line(struct viewer *v, struct view *view, const struct tree_line *l)
{
	struct tree *t = view->state;
	uint32_t entry = l->entry;
	struct bt_error err;

	toggle_in(t, l->count > 1 ? &t->split : &t->open, entry);
	fill_lines(v, t);
	view_forget_marks(view);
	view->cursor = line_of(t, entry);
	view_fit(view);
	if (t->failed) {
		bt_no_memory(&err, NULL);
		viewer_fail(v, &err);
	}
}

static bool tree_view_request(struct viewer *v, struct view *view, enum request r)
{
	const struct tree *t = view->state;
	const struct tree_line *l = view->cursor < t->count ? &t->lines[view->cursor] : NULL;

	if (!l || l->entry == CALLS_NONE)
		return false;
	if (r == REQUEST_FOLD)
		toggle_line(v, view, l);
	else if (r == REQUEST_ENTER)
		branch_view_show(v, l->entry);
	else
		return false;
	return true;
}

const struct view_ops tree_view = {
	.id = VIEW_TREE,
	.name = "calls",
	.load = tree_view_load,
	.release = tree_view_release,
	.count = tree_view_count,
	.row = tree_view_row,
	.title = tree_view_title,
	.place = tree_view_place,
	.request = tree_view_request,
};
