/* SPDX-License-Identifier: MIT */
#include "tui/branch_list.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/cause/own_code.h"
#include "tui/branch_row.h"
#include "tui/busy.h"

enum {
	AT_ONCE = 1 << 16, /* entries that are looked at before the user is asked */
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

/* ignored: marks that count for nothing. busy may be NULL; returns 1 when it was stopped: the lines
 * are as before. */
static int refold_branches(struct viewer *v, struct branch_list *b, uint8_t ignored,
			   struct busy *busy, struct bt_error *err)
{
	struct history_watch watch = {0};
	const struct fold_options o = {.stop = v->stopped ? v->stop_index : SIZE_MAX,
				       .sides = v->libraries_shown || b->filtered ? NULL : b->sides,
				       .marks = b->marks,
				       .ignored = ignored,
				       .loops = b->folded,
				       .watch = busy ? &watch : NULL};
	struct fold fold;
	int rc;

	if (busy) {
		watch = busy_watch(busy);
		busy->what = "folding";
	}
	rc = fold_init(&fold, &v->history, &o, err);
	if (rc)
		return rc;
	fold_release(&b->fold);
	b->fold = fold;
	return 0;
}

/* Where no code of the user's ran, all is shown. busy may be NULL; returns 1 when it was stopped.
 */
static int find_sides(struct viewer *v, struct branch_list *b, struct busy *busy,
		      struct bt_error *err)
{
	const struct history *h = &v->history;
	size_t touched = 0, n;
	struct own_code *own;
	bool stopped = false;
	int rc;

	free(b->sides);
	b->sides = malloc(v->history.count + 1);
	if (!b->sides)
		return bt_no_memory(err, NULL);
	rc = own_code_open(&own, v->m, v->s, v->snap, viewer_thread(v, v->task), err);
	if (rc)
		return rc;
	for (size_t i = 0; i < h->count && !stopped; i += n) {
		n = h->count - i < AT_ONCE ? h->count - i : AT_ONCE;
		touched += own_code_sides(own, h, h->entries + i, n, b->sides + i);
		stopped = busy && !busy_at(busy, i);
	}
	own_code_close(own);
	if (!touched || stopped) {
		free(b->sides);
		b->sides = NULL;
	}
	return stopped;
}

static void forget_marks(struct branch_list *b)
{
	free(b->marks);
	b->marks = NULL;
	b->opened = b->filtered = false;
	branch_filter_release(&b->filter);
	entry_match_release(&b->found);
}

/* busy may be NULL; returns 1 when it was stopped: the list must be made of something else then. */
static int load_list(struct viewer *v, struct view *view, struct busy *busy, struct bt_error *err)
{
	struct branch_list *b = view->state;
	int rc;

	if (!b) {
		b = view->state = calloc(1, sizeof *b);
		if (!b)
			return bt_no_memory(err, NULL);
		b->folded = true;
	}
	forget_marks(b);
	b->tick_width = digits_of_last_tick(&v->history);
	rc = find_sides(v, b, busy, err);
	return rc ? rc : refold_branches(v, b, 0, busy, err);
}

/* Returns 1 when it was stopped. */
static int load_all(struct viewer *v, struct view *view, struct bt_error *err)
{
	struct busy busy;

	busy_begin(&busy, &v->screen, "looking for your own code", v->history.count);
	return load_list(v, view, &busy, err);
}

/* Loads the newest entries again, when work on all entries has been stopped. */
static int load_newest(struct viewer *v, struct view *view, struct bt_error *err)
{
	int rc = viewer_read_newest(v, err);

	return rc ? rc : load_list(v, view, NULL, err);
}

int branch_list_load(struct viewer *v, struct view *view, struct bt_error *err)
{
	int rc = load_all(v, view, err);

	if (rc != 1)
		return rc;
	viewer_message(v, STOPPED_READING);
	return load_newest(v, view, err);
}

void branch_list_release(struct view *view)
{
	struct branch_list *b = view->state;

	if (b) {
		forget_marks(b);
		fold_release(&b->fold);
		free(b->sides);
	}
	free(b);
	view->state = NULL;
}

const struct fold_line *branch_list_line(const struct branch_list *b, size_t line)
{
	return line < b->fold.count ? &b->fold.lines[line] : NULL;
}

uint32_t branch_list_entry(const struct viewer *v, const struct branch_list *b, size_t line)
{
	const struct fold_line *l = branch_list_line(b, line);

	return l && l->kind != FOLD_STOP && l->entry < v->history.count ? l->entry : CALLS_NONE;
}

size_t branch_list_end(const struct viewer *v, const struct branch_list *b, size_t line)
{
	return line + 1 < b->fold.count ? b->fold.lines[line + 1].entry : v->history.count;
}

bool branch_list_leaves_out(const struct branch_list *b, size_t entry)
{
	return b->filtered && (b->marks[entry] & FOLD_LEFT_OUT);
}

/* Lines that are to be found again, as entries. */
struct marked_lines {
	uint32_t cursor, before, marks[MARKS];
};

/* A mark is a line + 1, or 0. */
static uint32_t entry_of_mark(const struct branch_list *b, size_t mark)
{
	return mark && mark - 1 < b->fold.count ? b->fold.lines[mark - 1].entry : 0;
}

static struct marked_lines keep_lines(const struct view *view)
{
	const struct branch_list *b = view->state;
	const struct fold_line *l = branch_list_line(b, view->cursor);
	struct marked_lines k = {.cursor = l ? l->entry : 0,
				 .before = entry_of_mark(b, view->before_jump)};

	for (size_t i = 0; i < MARKS; i++)
		k.marks[i] = entry_of_mark(b, view->marks[i]);
	return k;
}

static void find_lines(struct view *view, const struct marked_lines *k)
{
	const struct branch_list *b = view->state;

	for (size_t i = 0; i < MARKS; i++)
		if (view->marks[i])
			view->marks[i] = fold_line_of(&b->fold, k->marks[i]) + 1;
	if (view->before_jump)
		view->before_jump = fold_line_of(&b->fold, k->before) + 1;
	view_centre(view, fold_line_of(&b->fold, k->cursor));
}

/* Entries that are older come before those that were there: the others stay the same. */
static void shift_lines(struct marked_lines *k, size_t by)
{
	k->cursor += (uint32_t)by;
	k->before += (uint32_t)by;
	for (size_t i = 0; i < MARKS; i++)
		k->marks[i] += (uint32_t)by;
}

bool branch_list_read_all(struct viewer *v, struct view *view)
{
	struct marked_lines k = keep_lines(view);
	size_t before = v->history.count;
	bool stopped = false;
	struct bt_error err;
	int rc;

	if (!v->history.is_part)
		return true;
	rc = viewer_read_all(v, &err);
	if (rc == 1) {
		viewer_message(v, STOPPED_READING);
		return false;
	}
	if (!rc)
		rc = load_all(v, view, &err);
	stopped = rc == 1;
	if (stopped) {
		viewer_message(v, STOPPED_READING);
		rc = load_newest(v, view, &err);
		before = v->history.count;
	}
	if (rc) {
		viewer_fail(v, &err);
		return false;
	}
	shift_lines(&k, v->history.count > before ? v->history.count - before : 0);
	find_lines(view, &k);
	return !stopped;
}

/* ignored: marks that count for nothing. False: also where the user has stopped it. */
static bool make_anew(struct viewer *v, struct view *view, const struct marked_lines *k,
		      uint8_t ignored)
{
	struct bt_error err;
	struct busy busy;
	int rc;

	busy_begin(&busy, &v->screen, "folding", v->history.count);
	rc = refold_branches(v, view->state, ignored, &busy, &err);
	if (rc == 1)
		viewer_message(v, "stopped: the lines are as before");
	else if (rc)
		viewer_fail(v, &err);
	else
		find_lines(view, k);
	return !rc;
}

/* Folds all lines again, those that were opened by hand too. */
static void close_all(const struct viewer *v, struct branch_list *b)
{
	for (size_t i = 0; b->opened && i < v->history.count; i++)
		b->marks[i] &= (uint8_t)~FOLD_OPEN;
	b->opened = false;
}

bool branch_list_toggle(struct viewer *v, struct view *view, bool *what)
{
	struct marked_lines k = keep_lines(view);

	*what = !*what;
	if (!make_anew(v, view, &k, FOLD_OPEN)) {
		*what = !*what;
		return false;
	}
	close_all(v, view->state);
	return true;
}

static uint8_t *marks_of(struct viewer *v, struct branch_list *b)
{
	struct bt_error err;

	if (!b->marks)
		b->marks = calloc(v->history.count + 1, sizeof *b->marks);
	if (!b->marks) {
		bt_no_memory(&err, NULL);
		viewer_fail(v, &err);
	}
	return b->marks;
}

bool branch_list_open(struct viewer *v, struct view *view, size_t first, size_t end)
{
	struct branch_list *b = view->state;
	struct marked_lines k = keep_lines(view);
	size_t count = end > first ? end - first : 0;
	uint8_t *marks = marks_of(v, b), *before = malloc(count + 1);
	struct bt_error err;
	bool made = false;

	if (marks && !before) {
		bt_no_memory(&err, NULL);
		viewer_fail(v, &err);
	}
	if (marks && before) {
		memcpy(before, marks + first, count);
		for (size_t i = first; i < end; i++)
			marks[i] |= FOLD_OPEN;
		made = make_anew(v, view, &k, 0);
		if (!made)
			memcpy(marks + first, before, count);
		b->opened |= made;
	}
	free(before);
	return made;
}

/* Sets the marks of the entries that the filter leaves out. Returns how many are left. */
static size_t mark_left_out(struct viewer *v, struct branch_list *b, uint8_t *marks,
			    struct branch_filter *filter)
{
	struct entry_match match = {.test = branch_filter_wants, .arg = filter};
	struct busy busy;
	size_t left = 0;

	busy_begin(&busy, &v->screen, "filtering", v->history.count);
	for (size_t i = 0; i < v->history.count && busy_goes_on(&busy); i++) {
		bool wanted = entry_matches(&match, v, i);

		marks[i] = (b->opened ? b->marks[i] & FOLD_OPEN : 0) | (wanted ? 0 : FOLD_LEFT_OUT);
		left += wanted;
	}
	entry_match_release(&match);
	if (busy.stopped)
		viewer_message(v, "the filter was stopped: nothing has changed");
	else if (!left)
		viewer_message(v, "no branch passes this filter: nothing has changed");
	return busy.stopped ? 0 : left;
}

static bool show_all(struct viewer *v, struct view *view)
{
	struct branch_list *b = view->state;
	struct marked_lines k = keep_lines(view);

	bool was_filtered = b->filtered;

	b->filtered = false;
	if (!make_anew(v, view, &k, FOLD_LEFT_OUT)) {
		b->filtered = was_filtered;
		return false;
	}
	for (size_t i = 0; was_filtered && i < v->history.count; i++)
		b->marks[i] &= (uint8_t)~FOLD_LEFT_OUT;
	branch_filter_release(&b->filter);
	return true;
}

bool branch_list_filter(struct viewer *v, struct view *view, struct branch_filter *filter)
{
	struct branch_list *b = view->state, before;
	struct marked_lines k;
	uint8_t *marks;

	if (!branch_list_read_all(v, view))
		return false;
	k = keep_lines(view);
	if (!filter || !filter->count)
		return show_all(v, view);
	marks = malloc(v->history.count + 1);
	if (!marks || !mark_left_out(v, b, marks, filter)) {
		if (!marks)
			viewer_message(v, "out of memory for the filter");
		free(marks);
		return false;
	}
	before = *b;
	b->marks = marks;
	b->filtered = true;
	if (!make_anew(v, view, &k, 0)) {
		b->marks = before.marks;
		b->filtered = before.filtered;
		free(marks);
		return false;
	}
	free(before.marks);
	branch_filter_release(&b->filter);
	branch_filter_move(&b->filter, filter);
	return true;
}
