/* SPDX-License-Identifier: MIT */
/* The last branches in columns: tick, kind, from -> to; calls indented, library code and loops
 * folded, gaps as lines.
 *
 * Entries that pass the filter are selected, library code (own_code.h) and loops are folded
 * (fold.h), and the line to begin with is found from the end. Of a long history only the newest
 * WINDOW entries are looked at first. If the first line lies near the window's beginning, the
 * window grows, as a loop may begin earlier. Then depth and columns of the lines are measured, and
 * they are written.
 *
 * Where no code of the user's ran, or only branches of one function are asked for, library code is
 * shown as any other.
 *
 * The verdict stands above them: which branches can be relied on. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/cause/own_code.h"
#include "decoder/model/calls_made.h"
#include "decoder/model/verdict.h"
#include "decoder/report/report_private.h"
#include "syscalls/syscall_names.h"

enum {
	INDENT_MAX = 20,
	WINDOW = 1 << 14, /* entries that are looked at first, of a history that has more */
	WINDOW_GROWTH = 8,
	FUNCTIONS_SHOWN = 8,
	FROM_WIDTH_MAX = 64, /* a longer place pushes its arrow to the right */
	FROM_WIDTH_MIN = 20, /* also on the narrowest terminal */
	NARROW = 100,
	BEFORE_FROM = 12, /* columns of a row but for its tick */
};

struct branch_rows {
	struct history shown; /* the newest entries that pass the filter; its array is owned */
	size_t count;         /* of all that pass it */
	struct own_code *own; /* NULL: library code is not to be folded */
	bool folded;          /* library code is */
	struct fold fold;
	size_t first; /* line of fold to begin with */
	int *depth;   /* of each line from first on */
	unsigned tick_width;
	size_t from_width;
	struct calls_made calls;
};

/* Whether the longer phrases have no room. */
static bool is_narrow(const struct report *r) { return r->t.width && r->t.width < NARROW; }

static bool is_call(const struct history_entry *e)
{
	return e->kind == BT_BRANCH_CALL || e->kind == BT_BRANCH_ICALL ||
	       e->kind == BT_BRANCH_ASYNC;
}

/* Of the entries from `from` on; without a filter all those before pass. */
static int select_entries(struct report *r, struct branch_rows *b, size_t from,
			  struct bt_error *err)
{
	b->shown = (struct history){.task = r->focus.history.task};
	b->shown.entries = calloc(r->focus.end - from + 1, sizeof *b->shown.entries);
	if (!b->shown.entries)
		return bt_no_memory(err, NULL);
	for (size_t i = from; i < r->focus.end; i++)
		if (focus_shows(&r->focus.history, &r->focus.history.entries[i], r->s,
				r->o->function))
			b->shown.entries[b->shown.count++] = r->focus.history.entries[i];
	b->count = from + b->shown.count;
	return 0;
}

/* How much deeper in calls the task is after a line. Folded library code counts as one call,
 * however deep it goes. */
static int depth_change(const struct branch_rows *b, const struct fold_line *line)
{
	const struct history_entry *e = &b->shown.entries[line->entry];

	return line->kind == FOLD_ENTRY ? is_call(e) - (e->kind == BT_BRANCH_RET) : 0;
}

/* How deep in calls each line lies, the shallowest one 0. */
static int measure_depth(struct branch_rows *b, struct bt_error *err)
{
	int depth = 0, least = 0;

	b->depth = calloc(b->fold.count - b->first + 1, sizeof *b->depth);
	if (!b->depth)
		return bt_no_memory(err, NULL);
	for (size_t i = b->first; i < b->fold.count; i++) {
		b->depth[i - b->first] = depth;
		depth += depth_change(b, &b->fold.lines[i]);
		if (b->depth[i - b->first] < least)
			least = b->depth[i - b->first];
	}
	for (size_t i = b->first; i < b->fold.count; i++)
		b->depth[i - b->first] -= least;
	return 0;
}

/* The place, and for inlined code its own function in brackets. */
static void put_place(struct report *r, uint32_t space, uint32_t epoch, uint64_t addr)
{
	struct location loc;
	char name[80];

	symbols_lookup(r->s, space, epoch, addr, false, &loc);
	if (r->t.width && *loc.file)
		loc.offset = 0; /* the line says it, in less room */
	text_place(&r->t, &loc, true);
	if (loc.inlined_count && *loc.inlined[0].function) {
		text_brief_name(name, sizeof name, loc.inlined[0].function);
		text_printf(&r->t, " [");
		text_outside(&r->t, name);
		text_printf(&r->t, "]");
	}
	text_line(&r->t, loc.file, loc.line, false);
}

static void put_indent(struct report *r, int depth)
{
	text_printf(&r->t, "%*s", 2 * (depth > INDENT_MAX ? INDENT_MAX : depth), "");
}

static void put_from(struct report *r, const struct branch_rows *b, size_t i)
{
	const struct history_entry *e = &b->shown.entries[b->fold.lines[i].entry];

	put_indent(r, b->depth[i - b->first]);
	put_place(r, e->space, e->epoch, e->from);
}

/* Whether a line shows an entry in columns. */
static bool has_columns(const struct branch_rows *b, const struct fold_line *line)
{
	return line->kind == FOLD_CALL ||
	       (line->kind == FOLD_ENTRY && b->shown.entries[line->entry].kind != BT_BRANCH_GAP);
}

/* How wide the first column may be, so that the second one has as much room. */
static size_t half_of(unsigned width, unsigned tick_width)
{
	size_t taken = BEFORE_FROM + tick_width + sizeof " -> " - 1;

	return width < taken + 2 * FROM_WIDTH_MIN ? FROM_WIDTH_MIN : (width - taken) / 2;
}

/* How wide the first column and ticks are. */
static void measure_columns(struct report *r, struct branch_rows *b)
{
	size_t mark = r->t.buf.len, width, most = FROM_WIDTH_MAX;

	for (size_t i = b->first; i < b->fold.count; i++) {
		const struct history_entry *e = &b->shown.entries[b->fold.lines[i].entry];
		unsigned digits = 1;

		if (!has_columns(b, &b->fold.lines[i]))
			continue;
		for (uint64_t t = e->tick == BT_TICKS_UNKNOWN ? 0 : e->tick; t >= 10; t /= 10)
			digits++;
		if (digits > b->tick_width)
			b->tick_width = digits;
		put_from(r, b, i);
		width = text_width(&r->t, mark);
		r->t.buf.len = mark;
		if (width > b->from_width && width <= FROM_WIDTH_MAX)
			b->from_width = width;
	}
	if (r->t.width)
		most = half_of(r->t.width, b->tick_width);
	if (b->from_width > most)
		b->from_width = most;
}

static void put_gap(struct report *r, const struct branch_rows *b, const struct history_entry *e)
{
	const char *why = e->to < BT_GAP_REASONS ? bt_gap_info[e->to].text : "unknown reason";

	text_mark(&r->t, TEXT_MISSING);
	text_printf(&r->t, "  %*s  ~~~ ", (int)b->tick_width, "");
	if (e->from)
		text_printf(&r->t, "%" PRIu64 " branches are missing: %s\n", e->from, why);
	else
		text_printf(&r->t, "branches are missing: %s\n", why);
}

static void put_loop(struct report *r, const struct branch_rows *b, size_t i)
{
	const struct fold_line *line = &b->fold.lines[i];
	size_t lines = 0;

	for (size_t j = i + 1; j < b->fold.count && b->fold.lines[j].nesting > line->nesting; j++)
		lines++;
	text_printf(&r->t, "  %*s  %-7s ", (int)b->tick_width, "", "loop");
	put_indent(r, b->depth[i - b->first]);
	text_printf(&r->t, "%u rounds of the next %zu line%s, the last one shown\n", line->count,
		    lines, lines == 1 ? "" : "s");
}

/* Branches of a library, from a line of the user's own code to the next. */
static void put_library(struct report *r, const struct branch_rows *b, size_t i)
{
	char text[FOLDED_TEXT_MAX];

	own_code_folded_text(r->s, b->shown.entries, &b->fold.lines[i], text);
	text_mark(&r->t, TEXT_QUIET);
	text_printf(&r->t, "  %*s  %-7s ", (int)b->tick_width, "", "...");
	put_indent(r, b->depth[i - b->first]);
	text_outside(&r->t, text);
	text_printf(&r->t, "\n");
}

/* Looks for the calls of the lines that are shown. */
static int find_calls(struct report *r, struct branch_rows *b, struct bt_error *err)
{
	uint64_t first = BT_TICKS_UNKNOWN, last = 0;

	for (size_t i = b->first; i < b->fold.count; i++) {
		const struct history_entry *e = &b->shown.entries[b->fold.lines[i].entry];

		if (b->fold.lines[i].kind != FOLD_ENTRY || e->kind != BT_BRANCH_SYSCALL ||
		    e->tick == BT_TICKS_UNKNOWN)
			continue;
		first = e->tick < first ? e->tick : first;
		last = e->tick > last ? e->tick : last;
	}
	return first == BT_TICKS_UNKNOWN
		       ? 0
		       : calls_made_find(&b->calls, r->m, r->focus.history.task, first, last, err);
}

static const char *kind_text(const struct history_entry *e)
{
	if (e->kind == BT_BRANCH_JCC)
		return e->flags & BT_BRANCH_TAKEN ? "jcc" : "jcc not";
	return bt_branch_info[e->kind].name;
}

/* Puts the arrow, which stands directly behind the first place, under the others; nearer where the
 * line would be too wide for the terminal; in a line of its own where it would be, still. */
static void align_arrow(struct report *r, const struct branch_rows *b, size_t i, size_t from,
			size_t arrow)
{
	size_t before = BEFORE_FROM + b->tick_width, behind = text_width(&r->t, arrow), pad = 0,
	       width = text_width(&r->t, from) - behind;
	struct slice rest = slice_of(r->t.buf.data + arrow, r->t.buf.len - arrow);
	uint8_t *copy = malloc(rest.len);

	if (!copy) {
		r->t.buf.failed = true;
		return;
	}
	memcpy(copy, rest.at, rest.len);
	r->t.buf.len = arrow;
	if (width < b->from_width)
		pad = b->from_width - width;
	if (r->t.width && before + width + pad + behind > r->t.width)
		pad = before + width + behind < r->t.width ? r->t.width - before - width - behind
							   : 0;
	if (r->t.width && before + width + behind > r->t.width) {
		text_printf(&r->t, "\n%*s", (int)before + 1, "");
		put_indent(r, b->depth[i - b->first]);
	} else {
		text_printf(&r->t, "%*s", (int)pad, "");
	}
	buf_put(&r->t.buf, copy, rest.len);
	free(copy);
}

static void put_entry(struct report *r, const struct branch_rows *b, size_t i)
{
	const struct fold_line *line = &b->fold.lines[i];
	const struct history_entry *e = &b->shown.entries[line->entry];
	char name[SYSCALL_NAME_MAX];
	uint64_t nr = 0;
	uint32_t space, epoch;
	bool compat = false,
	     known = e->kind == BT_BRANCH_SYSCALL && calls_made_at(&b->calls, e, &nr, &compat);
	size_t from, arrow;

	if (e->tick == BT_TICKS_UNKNOWN)
		text_printf(&r->t, "  %*s  ", (int)b->tick_width, "?");
	else
		text_printf(&r->t, "  %*" PRIu64 "  ", (int)b->tick_width, e->tick);
	text_printf(&r->t, "%-7s ", kind_text(e));
	from = r->t.buf.len;
	put_from(r, b, i);
	arrow = r->t.buf.len;
	text_printf(&r->t, " -> ");
	if (known)
		text_printf(&r->t, "%s, then ",
			    (compat ? syscall_name_32 : syscall_name)(nr, name));
	history_target(&r->focus.history, e, &space, &epoch);
	put_place(r, space, epoch, e->to);
	if (line->kind == FOLD_CALL)
		text_printf(&r->t, is_narrow(r) ? " (%u branch%s)" : ", back after %u branch%s",
			    line->count, line->count == 1 ? "" : "es");
	align_arrow(r, b, i, from, arrow);
	text_printf(&r->t, "\n");
}

static void put_rows(struct report *r, struct branch_rows *b)
{
	for (size_t i = b->first; i < b->fold.count; i++) {
		const struct fold_line *line = &b->fold.lines[i];

		if (line->kind == FOLD_LOOP)
			put_loop(r, b, i);
		else if (line->kind == FOLD_LIBRARY)
			put_library(r, b, i);
		else if (has_columns(b, line))
			put_entry(r, b, i);
		else
			put_gap(r, b, &b->shown.entries[line->entry]);
	}
}

/* The line to begin with, so that `count` lines are shown besides headings; a loop is not cut in
 * two. */
static size_t first_line(const struct fold *f, size_t count)
{
	size_t i = f->count, shown = 0;

	while (i > 0 && (!count || shown < count))
		shown += f->lines[--i].kind != FOLD_LOOP;
	while (i > 0 && f->lines[i].nesting)
		i--;
	return i;
}

static void put_title(struct report *r, const struct branch_rows *b)
{
	text_printf(&r->t, "\n");
	text_mark(&r->t, TEXT_HEADING);
	report_about(r, &(struct report_about){.kind = REPORT_HISTORY,
					       .task = r->focus.history.task,
					       .position = UINT64_MAX});
	text_printf(&r->t, "Last branches of task %u", r->focus.history.task);
	if (r->o->function) {
		text_printf(&r->t, " from or to ");
		text_outside(&r->t, r->o->function);
	}
	text_printf(&r->t,
		    is_narrow(r) ? " (%zu in the trace)\n  Oldest first: tick, kind, from -> to\n"
				 : " (%zu in the trace), oldest first: tick, kind, from -> to\n",
		    /* A gap stands for those that are not read. */
		    r->focus.history.unread ? b->count - 1 + (size_t)r->focus.history.unread
					    : b->count);
	report_about(r, &(struct report_about){.kind = REPORT_REMARK});
	if (r->focus.history.unread)
		text_printf(&r->t,
			    "  The oldest %" PRIu64 " of them are not read, and nothing is said of "
			    "them.\n",
			    r->focus.history.unread);
	if (r->focus.history.is_part && verdict_is_possible(r->m))
		text_printf(
			&r->t,
			"  Only the newest %zu of them have been read, and this is about these: "
			"older ones are read when the cursor comes to them.\n",
			r->focus.history.count - 1);
	if (b->folded)
		text_printf(&r->t, "  Code of libraries is folded; --all shows every branch.\n");
	if (focus_is_outside(&r->focus))
		text_printf(&r->t,
			    "  Task %u is no part of snapshot %u: what it did is shown to its end, "
			    "also what came after that moment.\n",
			    r->focus.task->task, r->focus.snap->rec->snapshot);
}

/* Writes the verdict and its subject: an entry of the history, or the moment behind all of them. */
static void put_contradiction(struct report *r, const struct verdict *v)
{
	const struct history_entry *e = &r->focus.history.entries[v->from];

	text_printf(&r->t, "  Inconsistent: ");
	if (v->reason == VERDICT_NOT_THERE) {
		text_printf(&r->t, "%s.\n", verdict_text(v->reason));
		return;
	}
	text_printf(&r->t, "do not rely on branches from entry %" PRIu64, e->number);
	if (e->tick != BT_TICKS_UNKNOWN)
		text_printf(&r->t, ", tick %" PRIu64 ",", e->tick);
	text_printf(&r->t, " on");
	if (bt_branch_kind_is_branch(e->kind))
		text_printf(&r->t, " (%s at 0x%" PRIx64 ")", bt_branch_info[e->kind].name, e->from);
	text_printf(&r->t, ": %s.\n", verdict_text(v->reason));
}

static void put_verdict(struct report *r, const struct verdict *v)
{
	char words[VERDICT_WORDS_MAX];

	if (v->state == VERDICT_INCONSISTENT)
		put_contradiction(r, v);
	else if (*verdict_words(v, words))
		text_printf(&r->t, "  %s.\n", words);
}

static const char *why_none(const struct report *r)
{
	const struct bt_record_header *h = &r->m->trace->header;

	if (slice_is(h->source, "none") && slice_is(h->backend, "pmu"))
		return ": recorded natively (--backend pmu) with --source none, neither ticks nor "
		       "branches were counted";
	if (slice_is(h->source, "none") && !slice_is(h->backend, "import"))
		return ": recorded with --history off, ticks were counted and branches were not "
		       "kept";
	return r->o->function ? ": no such function in this history" : "";
}

/* Folds b->shown. Library code is folded unless nothing else ran. */
static int fold_shown(struct report *r, struct branch_rows *b, struct bt_error *err)
{
	struct fold_options o = {.stop = SIZE_MAX, .loops = true};
	uint8_t *sides = b->own ? malloc(b->shown.count + 1) : NULL;
	int rc;

	if (b->own && !sides)
		return bt_no_memory(err, NULL);
	if (b->own &&
	    own_code_sides(b->own, &r->focus.history, b->shown.entries, b->shown.count, sides))
		o.sides = sides;
	rc = fold_init(&b->fold, &b->shown, &o, err);
	b->folded = o.sides != NULL;
	free(sides);
	return rc;
}

/* The lines to show, of the entries from `from` on. */
static int fold_entries(struct report *r, struct branch_rows *b, size_t from, size_t count,
			struct bt_error *err)
{
	int rc;

	fold_release(&b->fold);
	free(b->shown.entries);
	rc = select_entries(r, b, from, err);
	if (!rc)
		rc = fold_shown(r, b, err);
	if (!rc)
		b->first = first_line(&b->fold, count);
	return rc;
}

/* Whether what the first line is may depend on entries before the window. A loop that begins before
 * the window begins in its first third here, since three rounds are in it: its rounds would be too
 * few. Where no code of the user's is in the window, it may be before it. */
static bool needs_more(const struct branch_rows *b)
{
	return b->first == b->fold.count || b->fold.lines[b->first].entry < b->shown.count / 2 ||
	       (b->own && !b->folded);
}

/* The lines to show, of no more entries than they need. */
static int find_lines(struct report *r, struct branch_rows *b, struct bt_error *err)
{
	size_t window = r->o->count && !r->o->function ? WINDOW : SIZE_MAX;

	for (;;) {
		size_t from = window < r->focus.end ? r->focus.end - window : 0;
		int rc = fold_entries(r, b, from, r->o->count, err);

		if (rc || !from || !needs_more(b))
			return rc;
		window *= WINDOW_GROWTH;
	}
}

/* Puts depth and columns of the lines that were found, and the calls that they show, into b. */
static int measure_lines(struct report *r, struct branch_rows *b, struct bt_error *err)
{
	int rc = measure_depth(b, err);

	if (!rc)
		rc = find_calls(r, b, err);
	if (!rc)
		measure_columns(r, b);
	return rc;
}

struct found_functions {
	const char *names[FUNCTIONS_SHOWN + 1];
	size_t count; /* FUNCTIONS_SHOWN + 1: more than are shown */
};

static void add_function(struct found_functions *f, const char *name)
{
	for (size_t i = 0; name && i < f->count; i++)
		if (!strcmp(f->names[i], name))
			return;
	if (name && f->count <= FUNCTIONS_SHOWN)
		f->names[f->count++] = name;
}

/* Which functions a name stands for, if they are several. */
static void put_functions(struct report *r, const struct branch_rows *b)
{
	struct found_functions f = {.count = 0};

	for (size_t i = 0; r->o->function && i < b->shown.count; i++) {
		const struct history_entry *e = &b->shown.entries[i];
		uint32_t space, epoch;

		history_target(&r->focus.history, e, &space, &epoch);
		add_function(&f,
			     focus_function_at(r->s, e->space, e->epoch, e->from, r->o->function));
		add_function(&f, focus_function_at(r->s, space, epoch, e->to, r->o->function));
	}
	if (f.count < 2)
		return;
	text_printf(&r->t, "  Functions of that name:");
	for (size_t i = 0; i < f.count && i < FUNCTIONS_SHOWN; i++) {
		text_printf(&r->t, i ? ", " : " ");
		text_outside(&r->t, f.names[i]);
	}
	text_printf(&r->t, f.count > FUNCTIONS_SHOWN ? " ...\n" : "\n");
}

static int put_branches(struct report *r, struct branch_rows *b, struct bt_error *err)
{
	struct verdict verdict;
	int rc =
		verdict_find(&verdict, &r->focus.history, r->focus.end, r->m, r->focus.thread, err);

	if (!rc && !r->o->all && !r->o->function)
		rc = own_code_open(&b->own, r->m, r->s, r->focus.snap, r->focus.thread, err);
	if (!rc)
		rc = find_lines(r, b, err);
	if (!rc)
		rc = measure_lines(r, b, err);
	if (rc)
		return rc;
	put_title(r, b);
	put_verdict(r, &verdict);
	put_functions(r, b);
	put_rows(r, b);
	if (!b->shown.count)
		text_printf(&r->t, "  none%s\n", why_none(r));
	return r->o->function && !b->shown.count;
}

static void release_branch_rows(struct branch_rows *b)
{
	own_code_close(b->own);
	fold_release(&b->fold);
	calls_made_release(&b->calls);
	free(b->shown.entries);
	free(b->depth);
}

int report_branch_rows(struct report *r, size_t from, size_t end, size_t count,
		       struct bt_error *err)
{
	struct branch_rows b = {.tick_width = 1};
	size_t before = r->focus.end;
	int rc;

	r->focus.end = end;
	rc = fold_entries(r, &b, from, count, err);
	if (!rc)
		rc = measure_lines(r, &b, err);
	if (!rc)
		put_rows(r, &b);
	r->focus.end = before;
	release_branch_rows(&b);
	return rc;
}

int report_branch_words(struct report *r, struct bt_error *err)
{
	struct branch_rows b = {.count = r->focus.history.is_part ? r->focus.task->branch_count
								  : r->focus.end};
	struct verdict verdict;
	int rc;

	if (!r->m->task_count)
		return 0;
	rc = verdict_find(&verdict, &r->focus.history, r->focus.end, r->m, r->focus.thread, err);
	if (rc)
		return rc;
	report_about_nothing(r);
	put_title(r, &b);
	put_verdict(r, &verdict);
	if (!b.count)
		text_printf(&r->t, "  none%s\n", why_none(r));
	return 0;
}

int report_branches(struct report *r, struct bt_error *err)
{
	struct branch_rows b = {.tick_width = 1};
	int rc = r->m->task_count ? put_branches(r, &b, err) : r->o->function != NULL;

	release_branch_rows(&b);
	return rc;
}
