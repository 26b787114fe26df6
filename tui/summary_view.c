/* SPDX-License-Identifier: MIT */
/* The summary: the program, its end, the fault, the snapshots, and the gaps of the trace. All lines
 * are made when the view is loaded (lines.h), each with the place that it leads to; long texts are
 * wrapped to the screen, so a change of its size loads the view again. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/failed_calls.h"
#include "decoder/failures.h"
#include "decoder/fault.h"
#include "decoder/last_words.h"
#include "decoder/signals.h"
#include "decoder/verdict.h"
#include "decoder/wait_groups.h"
#include "lib/escape.h"
#include "tui/label.h"

enum {
	NAME_WIDTH = 12,
	FAILURE_WIDTH = 38, /* of a failure up to its command */
};

static const char *const snapshot_kinds[BT_SNAPSHOT_KINDS] = {
	[BT_SNAPSHOT_FAULT] = "fault, handled",      [BT_SNAPSHOT_SIGNAL] = "signal, handled",
	[BT_SNAPSHOT_FATAL] = "fatal signal",        [BT_SNAPSHOT_EXIT] = "exit",
	[BT_SNAPSHOT_REQUEST] = "requested",         [BT_SNAPSHOT_IMPORT] = "imported",
	[BT_SNAPSHOT_FUNCTION] = "function entered", [BT_SNAPSHOT_FAILURE] = "exit with failure",
};

static void begin_row(struct viewer *v, struct row *row, const char *name)
{
	row_init(row, v->screen.utf8);
	row_put(row, STYLE_HEADING, "%s", name);
	row_pad(row, NAME_WIDTH);
}

static void add_command(struct viewer *v, struct lines *l)
{
	struct slice argv = v->m->trace->header.argv;
	struct row row;

	begin_row(v, &row, "command");
	while (argv.len) {
		size_t n = strnlen((const char *)argv.at, argv.len);
		char *arg = slice_dup(slice_take(&argv, n));

		row_outside(&row, STYLE_NORMAL, arg ? arg : "", 0);
		row_put(&row, STYLE_NORMAL, " ");
		free(arg);
		slice_take(&argv, argv.len > 0);
	}
	lines_add(l, &row, NULL);
}

static void add_end(struct viewer *v, struct lines *l)
{
	const struct bt_record_end *end = v->m->end;
	char name[SIGNAL_NAME_MAX];
	struct row row;

	begin_row(v, &row, "end");
	if (!end)
		row_put(&row, STYLE_GAP, "%s", model_unclosed(v->m));
	else if (end->kind == BT_EXIT_SIGNAL)
		row_put(&row, STYLE_FAULT, "killed by %s", signal_name(end->status, name));
	else if (end->kind == BT_EXIT_STATUS)
		row_put(&row, STYLE_NORMAL, "exited with status %" PRIu32, end->status);
	else
		row_put(&row, STYLE_NORMAL, "how it ended is not known");
	lines_add(l, &row, NULL);
	if (v->m->stopped) {
		char *text = slice_dup(v->m->stopped->text);

		begin_row(v, &row, "");
		row_put(&row, STYLE_GAP, "recording stopped early: ");
		row_outside(&row, STYLE_GAP, text ? text : "", 0);
		lines_add(l, &row, NULL);
		free(text);
	}
}

static void add_snapshot(struct viewer *v, struct lines *l, const struct model_snapshot *snap,
			 const char *heading)
{
	const struct bt_record_snapshot *s = snap->rec;
	char name[SIGNAL_NAME_MAX], code[SIGNAL_NAME_MAX];
	struct target target = {
		.history = true,
		.task = s->task,
		.position = s->position,
		.snapshot = snap,
		.has_place = true,
		.place = {.addr = s->point.rip,
			  .space = s->space,
			  .epoch = s->epoch,
			  .entry = NO_ENTRY},
	};
	struct row row;

	begin_row(v, &row, heading);
	row_put(&row, STYLE_MARK, "%s", snap == v->snap ? "> " : "  ");
	row_put(&row, STYLE_NORMAL, "%s",
		s->kind < BT_SNAPSHOT_KINDS ? snapshot_kinds[s->kind] : "of an unknown kind");
	if (snap->signal)
		row_put(&row, STYLE_FAULT, " %s (%s)", signal_name(snap->signal->signo, name),
			signal_code_name(snap->signal->signo, snap->signal->code, code));
	row_put(&row, STYLE_NORMAL, ", task %" PRIu32 ", at ", s->task);
	label_code(v, &row, s->space, s->epoch, s->point.rip, false, 0);
	lines_add(l, &row, &target);
}

/* The length of a text's next line: as many words as fit into the width. */
static size_t fitting_length(const char *text, size_t room)
{
	size_t len = strlen(text), cut = room;

	if (len <= room)
		return len;
	while (cut && text[cut] != ' ')
		cut--;
	if (cut)
		return cut;
	for (cut = room; cut && ((unsigned char)text[cut] & 0xc0) == 0x80; cut--)
		; /* not in the midst of a character */
	return cut ? cut : room;
}

/* Puts text from outside on as many lines as it needs. */
static void add_text(struct viewer *v, struct lines *l, const char *name, enum style style,
		     const char *text, const struct target *target)
{
	size_t room = v->screen.columns > NAME_WIDTH + NAME_WIDTH
			      ? (size_t)v->screen.columns - NAME_WIDTH
			      : NAME_WIDTH,
	       n;
	struct buf safe = {0};

	/* Escape first, so that the cut counts visible text. */
	bt_escape(&safe, slice_of(text, strlen(text)), v->screen.utf8);
	buf_u8(&safe, 0);
	for (char *p = (char *)safe.data; !safe.failed && *p; p += n + (p[n] == ' ')) {
		struct row row;
		char next;

		n = fitting_length(p, room);
		next = p[n];
		p[n] = '\0';
		begin_row(v, &row, p == (char *)safe.data ? name : "");
		row_outside(&row, style, p, 0);
		p[n] = next;
		lines_add(l, &row, target);
	}
	l->failed |= safe.failed;
	buf_release(&safe);
}

static void add_values(struct viewer *v, struct lines *l, const struct fault *f,
		       const struct target *target)
{
	for (size_t i = 0; i < f->value_count; i++) {
		const struct fault_value *value = &f->values[i];
		struct row row;

		begin_row(v, &row, i ? "" : "operands");
		row_outside(&row, STYLE_NORMAL, value->name, 0);
		row_put(&row, STYLE_DIM, value->is_address ? " is at " : " = ");
		row_put(&row, STYLE_ADDRESS, "0x%" PRIx64, value->value);
		label_pointer(v, &row, f->space, f->epoch, value->value);
		lines_add(l, &row, target);
	}
}

/* Lines of its standard error that say why the process ended, but for that of libc's message. */
static void add_telling_words(struct viewer *v, struct lines *l, const char *message)
{
	char line[LAST_WORDS_LINE_MAX];
	const char *name = "it says";
	struct kept_words w;

	last_words_begin_telling(&w, v->snap->last_words);
	while (last_words_next(&w, line)) {
		if (*message && strstr(line, message))
			continue;
		add_text(v, l, name, STYLE_FAULT, line, NULL);
		name = "";
	}
}

/* The moment shown, in words. */
static void add_fault(struct viewer *v, struct lines *l)
{
	const struct model_snapshot *snap = v->snap;
	struct target target = {.history = true,
				.task = snap->rec->task,
				.position = snap->rec->position,
				.snapshot = snap,
				.has_place = true};
	struct fault f;
	struct row row;

	fault_explain(&f, v->m, v->s, snap, viewer_thread(v, snap->rec->task),
		      v->task == snap->rec->task ? &v->history : NULL, v->stop_index);
	target.place = (struct view_place){
		.addr = f.where, .space = f.space, .epoch = f.epoch, .entry = NO_ENTRY};
	if (snap->signal) {
		char name[SIGNAL_NAME_MAX], code[SIGNAL_NAME_MAX];

		begin_row(v, &row, "signal");
		row_put(&row, STYLE_FAULT, "%s (%s)", signal_name(snap->signal->signo, name),
			signal_code_name(snap->signal->signo, snap->signal->code, code));
		row_put(&row, STYLE_NORMAL, " in task %" PRIu32, snap->rec->task);
		if (snap->rec->point.tick != BT_TICKS_UNKNOWN)
			row_put(&row, STYLE_NORMAL, " at tick %" PRIu64, snap->rec->point.tick);
		lines_add(l, &row, &target);
	}
	add_text(v, l, "what", STYLE_FAULT, f.text, &target);
	if (*f.message)
		add_text(v, l, "libc says", STYLE_FAULT, f.message, &target);
	add_telling_words(v, l, f.message);
	begin_row(v, &row, "where");
	label_code(v, &row, f.space, f.epoch, f.where, f.where_is_return, 0);
	lines_add(l, &row, &target);
	if (f.has_caller) {
		struct target caller = target;

		caller.place.addr = f.caller;
		begin_row(v, &row, "called from");
		label_code(v, &row, f.space, f.epoch, f.caller, f.caller_is_return, 0);
		lines_add(l, &row, &caller);
	}
	if (!f.has_insn)
		return;
	begin_row(v, &row, "instruction");
	row_outside(&row, STYLE_NORMAL, f.insn_named, 0);
	lines_add(l, &row, &target);
	add_values(v, l, &f, &target);
}

/* The system calls that failed before the program ended itself. */
static int add_failed_calls(struct viewer *v, struct lines *l, struct bt_error *err)
{
	const struct focus focus = {.snap = v->snap, .task = model_task(v->m, v->snap->rec->task)};
	struct failed_calls f;
	int rc = failed_calls_find(&f, v->m, &focus, err);

	for (size_t i = 0; !rc && i < f.count; i++) {
		struct buf text = {0};

		syscall_put_call(&text, &f.shown[i]->known);
		syscall_put_result(&text, &f.shown[i]->known);
		buf_u8(&text, 0);
		add_text(v, l, i ? "" : "failed", STYLE_FAULT,
			 text.failed ? "" : (const char *)text.data, NULL);
		l->failed |= text.failed;
		buf_release(&text);
	}
	failed_calls_release(&f);
	return rc;
}

/* What the threads wait for: Enter goes to one's history. */
static int add_waits(struct viewer *v, struct lines *l, struct bt_error *err)
{
	struct wait_groups *g;
	int rc = wait_groups_find(&g, v->m, v->s, v->snap, WAIT_GROUPS_MAX, err);

	for (size_t i = 0; !rc && i < g->count; i++) {
		const struct wait_group *w = &g->at[i];
		struct target target = {
			.history = true, .task = w->thread->task, .position = w->thread->position};
		struct row row;

		begin_row(v, &row, i ? "" : "threads");
		row_put(&row, STYLE_NORMAL, "task %" PRIu32, w->thread->task);
		if (w->threads > 1)
			row_put(&row, STYLE_NORMAL, " and %zu more, each", w->threads - 1);
		row_put(&row, STYLE_NORMAL, " ");
		row_outside(&row, w->dead ? STYLE_FAULT : STYLE_NORMAL, w->text, 0);
		lines_add(l, &row, &target);
	}
	free(g);
	return rc;
}

/* The processes that failed: Enter goes to one's moment. */
static void add_failures(struct viewer *v, struct lines *l)
{
	size_t chosen[FAILURES_SHOWN], count;
	char text[FAILURE_TEXT_MAX];
	struct row row;

	if (!failures_are_told(v->m, v->snap))
		return;
	begin_row(v, &row, "failures");
	row_put(&row, STYLE_NORMAL, "%s", failures_heading(v->m, text));
	lines_add(l, &row, NULL);
	count = failures_choose(v->m, chosen);
	for (size_t i = 0; i < count; i++) {
		const struct model_failure *f = &v->m->failures[chosen[i]];
		const struct model_snapshot *snap = f->snap;
		struct target target = {.history = true,
					.task = snap ? snap->rec->task : f->task->task,
					.position = snap ? snap->rec->position : UINT64_MAX,
					.snapshot = snap};

		begin_row(v, &row, "");
		row_put(&row, STYLE_MARK, "%s", snap && snap == v->snap ? "> " : "  ");
		row_put(&row, STYLE_FAULT, "%s", failure_end(f, text));
		row_pad(&row, FAILURE_WIDTH);
		row_outside(&row, STYLE_NORMAL, failure_command(f, text), 0);
		if (!snap)
			row_put(&row, STYLE_GAP, " (not kept)");
		lines_add(l, &row, &target);
	}
	begin_row(v, &row, "");
	if (!*failures_rest(v->m, count, text))
		return;
	row_put(&row, STYLE_DIM, "  %s", text);
	lines_add(l, &row, NULL);
}

/* The last lines that the snapshot's process wrote to its standard error. */
static void add_last_words(struct viewer *v, struct lines *l)
{
	char line[LAST_WORDS_LINE_MAX];
	const char *name = "last words";
	struct kept_words w;

	last_words_begin(&w, v->snap->last_words);
	for (; last_words_next(&w, line); name = "")
		add_text(v, l, name, STYLE_NORMAL, line, NULL);
}

static void add_history(struct viewer *v, struct lines *l)
{
	const struct history *h = &v->history;
	struct verdict verdict;
	struct row row;

	begin_row(v, &row, "branches");
	row_put(&row, STYLE_NORMAL, "%zu of task %" PRIu32, h->count, v->task);
	if (h->count && h->entries[0].tick != BT_TICKS_UNKNOWN &&
	    h->entries[h->count - 1].tick != BT_TICKS_UNKNOWN)
		row_put(&row, STYLE_NORMAL, ", from tick %" PRIu64 " to %" PRIu64,
			h->entries[0].tick, h->entries[h->count - 1].tick);
	lines_add(l, &row, NULL);
	if (v->snap && !v->stopped) {
		begin_row(v, &row, "");
		row_put(&row, STYLE_GAP,
			"the task is no part of the moment: its history is shown to its end");
		lines_add(l, &row, NULL);
	}
	if (verdict_find(&verdict, h, v->stop_index, v->m,
			 v->snap ? viewer_thread(v, v->task) : NULL, NULL) ||
	    verdict.state == VERDICT_UNCHECKED)
		return;
	begin_row(v, &row, "");
	if (verdict.state == VERDICT_CONSISTENT)
		row_put(&row, STYLE_NORMAL, "consistent: the code leads from each to the next");
	else if (verdict.state == VERDICT_PARTLY && verdict.checked)
		row_put(&row, STYLE_GAP, "damaged: %zu of those left are checked, and consistent",
			verdict.checked);
	else if (verdict.state == VERDICT_PARTLY)
		row_put(&row, STYLE_GAP, "damaged: none of those left could be checked");
	else if (verdict.reason == VERDICT_NOT_THERE)
		row_put(&row, STYLE_GAP, "inconsistent: %s", verdict_text(verdict.reason));
	else
		row_put(&row, STYLE_GAP, "inconsistent from entry %" PRIu64 " on: %s",
			h->entries[verdict.from].number, verdict_text(verdict.reason));
	lines_add(l, &row, NULL);
}

static void add_missing(struct viewer *v, struct lines *l)
{
	static const char *const what[] = {
		[MISSING_FILE] = "the file is gone",
		[MISSING_CHANGED] = "the file is another one now",
		[MISSING_UNKNOWN] = "nothing tells whether this file ran",
		[MISSING_SYMBOLS] = "no symbols",
		[MISSING_DEBUG] = "no debug information",
		[MISSING_UNPACKED] = "its debug information cannot be unpacked",
		[MISSING_SPLIT] = "split debug information (.dwo) is not found",
		[MISSING_PACKAGE] = "split debug information (.dwp) needs libdw 0.191",
		[MISSING_SOURCE] = "newer than the program: other lines may have run",
	};
	size_t count;
	const struct missing_module *missing = symbols_missing(v->s, &count);

	for (size_t i = 0; i < count; i++) {
		struct row row;

		begin_row(v, &row, i ? "" : "missing");
		row_outside(&row, STYLE_NORMAL,
			    missing[i].source ? missing[i].source : missing[i].module, 0);
		row_put(&row, STYLE_GAP, ": %s", what[missing[i].what]);
		lines_add(l, &row, NULL);
	}
}

static void add_damage(struct viewer *v, struct lines *l)
{
	for (size_t i = 0; i < v->m->damage_count; i++) {
		const struct model_damage *d = &v->m->damage[i];
		struct row row;

		begin_row(v, &row,
			  i && d->torn == d[-1].torn ? ""
			  : d->torn                  ? "cut off"
						     : "damage");
		row_outside(&row, STYLE_NORMAL, d->file, 0);
		if (*d->file)
			row_put(&row, STYLE_NORMAL, ", byte %" PRIu64 ": ", d->offset);
		row_outside(&row, STYLE_GAP, model_damage_text(v->m, d), 0);
		lines_add(l, &row, NULL);
	}
}

static int summary_view_load(struct viewer *v, struct view *view, struct bt_error *err)
{
	struct lines *l = lines_view_begin(view, err);

	if (!l)
		return -BT_E_NO_MEMORY;
	add_command(v, l);
	add_end(v, l);
	if (v->snap)
		add_fault(v, l);
	else
		add_text(v, l, "what", STYLE_NORMAL, focus_without_moment(v->m), NULL);
	if (v->snap && fault_is_from_outside(v->m, v->snap) && add_waits(v, l, err))
		return -BT_E_NO_MEMORY;
	if (v->snap && add_failed_calls(v, l, err))
		return -BT_E_NO_MEMORY;
	add_failures(v, l);
	add_history(v, l);
	if (v->snap)
		add_last_words(v, l);
	for (size_t i = 0; i < v->m->snapshot_count; i++)
		add_snapshot(v, l, &v->m->snapshots[i], i ? "" : "snapshots");
	add_missing(v, l);
	add_damage(v, l);
	return lines_view_end(l, err);
}

static bool summary_view_request(struct viewer *v, struct view *view, enum request r)
{
	const struct target *target = lines_view_target(view);

	if (r != REQUEST_ENTER || !target || !target->history)
		return false;
	viewer_follow(v, target);
	return true;
}

/* Lines without code show the snapshot's. */
static bool summary_view_place(struct viewer *v, const struct view *view, size_t line,
			       struct view_place *out)
{
	if (lines_view_place(v, view, line, out))
		return true;
	if (!v->snap)
		return false;
	*out = (struct view_place){.addr = v->snap->rec->point.rip,
				   .space = v->snap->rec->space,
				   .epoch = v->snap->rec->epoch,
				   .entry = NO_ENTRY};
	return true;
}

const struct view_ops summary_view = {
	.id = VIEW_SUMMARY,
	.name = "summary",
	.load = summary_view_load,
	.release = lines_view_release,
	.count = lines_view_count,
	.row = lines_view_row,
	.place = summary_view_place,
	.request = summary_view_request,
};
