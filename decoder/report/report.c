/* SPDX-License-Identifier: MIT */
/* The report is text in one buffer, printed at the end: a header, the moment in words, stacks
 * (report_stacks.c), the last branches (report_branches.c), system calls, registers, then
 * processes, snapshots, what is missing, and notes (report_recording.c). Here is the order of
 * sections, the header, the moment in words and the registers. Every section is about the moment
 * and the task that focus.h has chosen. */
#include "decoder/report/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "decoder/cause/fault.h"
#include "decoder/cause/own_code.h"
#include "decoder/model/last_words.h"
#include "decoder/model/signals.h"
#include "decoder/report/report_private.h"
#include "decoder/symbols/source.h"
#include "lib/array_size.h"
#include "lib/escape.h"
#include "lib/extended_state.h"
#include "lib/output.h"

enum {
	SUMMARY_VALUES = 3,  /* of the instruction; the rest is in the report */
	SUMMARY_WORDS = 3,   /* lines of standard error, the last ones */
	HEADING_LINES = 2,   /* with the empty one before it */
	SUMMARY_BYTES = 140, /* of a line from outside: it takes two lines of the screen */
	SCREEN_WIDTH = 80,
	CONTINUATION_WIDTH = 40, /* of a line that is too wide, at least: it goes on with a word */
};

void report_slice(struct text *t, struct slice s)
{
	char *copy = slice_dup(s);

	text_outside(t, copy ? copy : "");
	free(copy);
}

size_t report_screen_lines(const struct report *r)
{
	size_t lines = 0, from = 0;

	for (size_t i = 0; i < r->t.buf.len; i++) {
		size_t width;

		if (r->t.buf.data[i] != '\n')
			continue;
		width = text_width(&(struct text){.buf = {.data = r->t.buf.data, .len = i}}, from);
		lines += 1 + (width > SCREEN_WIDTH ? (width - SCREEN_WIDTH) / CONTINUATION_WIDTH + 1
						   : 0);
		from = i + 1;
	}
	return lines;
}

void report_outside(struct report *r, const char *text)
{
	size_t len = strlen(text), keep = SUMMARY_BYTES;

	if (!r->o->summary || len <= SUMMARY_BYTES) {
		text_outside(&r->t, text);
		return;
	}
	while (keep && ((unsigned char)text[keep] & 0xc0) == 0x80)
		keep--; /* not in the midst of a character */
	bt_escape(&r->t.buf, slice_of(text, keep), r->t.utf8);
	text_printf(&r->t, "...");
}

void report_heading(struct report *r, const char *text)
{
	report_about_nothing(r);
	text_printf(&r->t, "\n");
	report_about(r, &(struct report_about){.kind = REPORT_HEADING});
	text_mark(&r->t, TEXT_HEADING);
	text_printf(&r->t, "%s\n", text);
	report_about_nothing(r);
}

/* Arguments as one would type them, but for what quoting would need. */
static void put_command(struct report *r, struct slice argv)
{
	text_printf(&r->t, argv.len ? "Program   " : "Program   unknown: the capture does not say");
	for (size_t at = 0; at < argv.len;) {
		size_t len = strnlen((const char *)argv.at + at, argv.len - at);
		bool quoted = !len || memchr(argv.at + at, ' ', len);

		text_printf(&r->t, at ? " " : "");
		text_printf(&r->t, quoted ? "'" : "");
		report_slice(&r->t, slice_of(argv.at + at, len));
		text_printf(&r->t, quoted ? "'" : "");
		at += len + 1;
	}
	text_printf(&r->t, "\n");
}

/* Of a line that began at byte `from` a summary has what takes two lines of the screen: arguments
 * may be thousands. */
static void cut_line(struct report *r, size_t from)
{
	struct buf *b = &r->t.buf;

	if (!r->o->summary || b->len - from <= SUMMARY_BYTES)
		return;
	b->len = from + SUMMARY_BYTES;
	while (b->len > from && (b->data[b->len] & 0xc0) == 0x80)
		b->len--; /* not in the midst of a character */
	text_printf(&r->t, "...\n");
}

static void put_recorded(struct report *r, const struct bt_record_header *h)
{
	time_t seconds = (time_t)(h->started / 1000000000);
	struct tm tm;
	char when[40] = "";

	if (gmtime_r(&seconds, &tm))
		strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S UTC", &tm);
	text_printf(&r->t, "Recorded  %s, backend ", when);
	report_slice(&r->t, h->backend);
	text_printf(&r->t, ", branches from ");
	report_slice(&r->t, h->source);
	text_printf(&r->t, h->parallel ? ", threads side by side" : "");
	if (h->from.len) {
		text_printf(&r->t, ", from ");
		report_slice(&r->t, h->from);
		text_printf(&r->t, " on");
	}
	text_printf(&r->t, "\n");
	if (!h->cpu.len && !h->kernel.len)
		return; /* a capture may not say */
	text_printf(&r->t, "          on ");
	report_slice(&r->t, h->cpu);
	text_printf(&r->t, h->cpu.len && h->kernel.len ? ", " : "");
	report_slice(&r->t, h->kernel);
	text_printf(&r->t, "\n");
}

void report_exit(struct report *r, enum bt_exit_kind kind, uint32_t status, bool core)
{
	char name[SIGNAL_NAME_MAX];

	switch (kind) {
	case BT_EXIT_STATUS:
		text_printf(&r->t, "exited with status %u", status);
		break;
	case BT_EXIT_SIGNAL:
		text_printf(&r->t, "killed by %s%s", signal_name(status, name),
			    core ? ", core dumped" : "");
		break;
	default:
		text_printf(&r->t, "vanished");
	}
}

static void put_program_end(struct report *r)
{
	enum bt_exit_kind kind;
	uint32_t status;
	bool core;

	text_printf(&r->t, "Ended     ");
	if (focus_exit(r->m, &kind, &status, &core))
		report_exit(r, kind, status, core);
	else
		text_printf(&r->t, r->m->trace->being_written
					   ? "not yet"
					   : "unknown: the trace ends before the program did");
	text_printf(&r->t, "\n");
}

void report_header(struct report *r)
{
	const struct bt_record_header *h = &r->m->trace->header;

	size_t from = r->t.buf.len;

	put_command(r, h->argv);
	cut_line(r, from);
	if (!r->o->summary)
		put_recorded(r, h);
	put_program_end(r);
}

static void put_fault_title(struct report *r)
{
	const struct model_snapshot *snap = r->focus.snap;
	const struct model_task *task = model_task(r->m, snap->rec->task);
	char name[SIGNAL_NAME_MAX], code[SIGNAL_NAME_MAX];
	uint64_t since;

	text_printf(&r->t, "  ");
	if (snap->signal) {
		signal_name(snap->signal->signo, name);
		signal_code_name(snap->signal->signo, snap->signal->code, code);
		text_printf(&r->t, "%s (%s) in ", name, code);
	}
	text_printf(&r->t, "task %u", snap->rec->task);
	if (task) {
		text_printf(&r->t, ", thread %u of process %u ", task->tid, task->pid);
		text_outside(&r->t, task->command);
	}
	if (snap->rec->point.tick != BT_TICKS_UNKNOWN)
		text_printf(&r->t, ", tick %" PRIu64, snap->rec->point.tick);
	since = model_since_main(r->m, snap->rec->task, snap->rec->point.tick);
	if (since != BT_TICKS_UNKNOWN)
		text_printf(&r->t, " (%" PRIu64 " since main)", since);
	text_printf(&r->t, "\n");
}

/* Writes the place that a value points to, where it is known. */
static void put_target(struct report *r, const struct fault *f, uint64_t value)
{
	const struct space_map *map = trace_index_map_at(r->m->index, f->space, f->epoch, value);
	struct location loc;

	if (!map)
		return;
	text_printf(&r->t, "  ");
	symbols_lookup(r->s, f->space, f->epoch, value, false, &loc);
	if (*loc.function || loc.in_file || map->prot & 4) {
		text_place(&r->t, &loc, true);
		return;
	}
	text_outside(&r->t, *map->path ? map->path : "anonymous memory");
	text_printf(&r->t, "+0x%" PRIx64, loc.vaddr);
}

static void put_no_insn(struct report *r, const struct fault *f)
{
	text_printf(&r->t, "  0x%" PRIx64 ":", f->where);
	for (size_t i = 0; i < f->code_len; i++)
		text_printf(&r->t, " %02x", f->code[i]);
	if (f->is_32_bit)
		text_printf(&r->t, " 32-bit code, which is not shown\n");
	else if (!f->code_len)
		text_printf(&r->t, " no code in the trace\n");
	else
		text_printf(&r->t, f->code_is_cut ? ", the beginning of an instruction\n"
						  : ", no instruction that is known\n");
}

static void put_insn(struct report *r, const struct fault *f)
{
	if (!f->has_insn) {
		put_no_insn(r, f);
		return;
	}
	text_printf(&r->t, "  0x%" PRIx64 ": ", f->where);
	text_outside(&r->t, f->insn_named);
	text_printf(&r->t, "\n");
	for (size_t i = 0; i < f->value_count && !(r->o->summary && i == SUMMARY_VALUES); i++) {
		const struct fault_value *v = &f->values[i];

		text_printf(&r->t,
			    v->is_address ? "      %s is at 0x%" PRIx64 : "      %s = 0x%" PRIx64,
			    v->name, v->value);
		put_target(r, f, v->value);
		if (v->is_held)
			text_printf(&r->t, ", holds 0x%" PRIx64, v->held);
		text_printf(&r->t, "\n");
	}
}

static void put_place(struct report *r, const struct fault *f, uint64_t addr, bool is_return)
{
	const struct bt_record_snapshot *rec = r->focus.snap->rec;
	const struct report_about about = {.kind = REPORT_PLACE,
					   .snap = r->focus.snap,
					   .task = f->waiting ? f->waiting->task : rec->task,
					   .position = f->waiting ? f->waiting->position
								  : rec->position,
					   .has_place = true,
					   .space = f->space,
					   .epoch = f->epoch,
					   .addr = addr,
					   .is_return = is_return};
	struct inlined_frame part;
	struct location loc;
	char source[400];

	report_about(r, &about);
	symbols_lookup(r->s, f->space, f->epoch, addr, is_return, &loc);
	text_printf(&r->t, "  ");
	text_frame(&r->t, &loc, 2, true);
	text_printf(&r->t, "\n");
	part = own_code_part(&loc);
	if (symbols_source_line(r->s, part.file, part.line, source, sizeof source)) {
		text_mark(&r->t, TEXT_SOURCE);
		text_printf(&r->t, "  %d: ", part.line);
		report_outside(r, source);
		text_printf(&r->t, "\n");
	}
}

/* Of an exit the place in libc, and the instruction there, tell nothing. */
static bool is_exit(const struct report *r)
{
	uint32_t kind = r->focus.snap->rec->kind;

	return kind == BT_SNAPSHOT_EXIT || kind == BT_SNAPSHOT_FAILURE;
}

static void put_where(struct report *r, const struct fault *f)
{
	bool is_here = f->where == f->pc || f->has_trapped || f->waiting;

	if (r->o->summary && is_exit(r)) {
		report_heading(r, "Where");
		put_place(r, f, f->has_caller ? f->caller : f->where,
			  f->has_caller ? f->caller_is_return : f->where_is_return);
		return;
	}
	report_heading(r, is_here ? "Where" : "Where it came from");
	put_place(r, f, f->where, f->where_is_return);
	if (f->waiting)
		report_wait(r, f->waiting);
	else if ((f->has_insn || is_here || f->pc_is_wild) && /* not of a caller */
		 !(r->o->summary && f->has_caller))
		put_insn(r, f);
	if (!f->has_caller)
		return;
	if (r->o->summary)
		text_printf(&r->t, "  called from\n");
	else
		report_heading(r, "Called from");
	put_place(r, f, f->caller, f->caller_is_return);
}

static void put_registers(struct report *r, const struct bt_record_thread *thread)
{
	enum {
		COLUMNS = 4,
		COLUMN_WIDTH = 26,
	};
	unsigned fit = r->t.width / COLUMN_WIDTH, columns = !r->t.width || fit > COLUMNS ? COLUMNS
							    : fit                        ? fit
											 : 1;

	text_printf(&r->t, "\n");
	text_mark(&r->t, TEXT_HEADING);
	text_printf(&r->t, "Registers of task %u\n", thread->task);
	for (unsigned i = 0; i < BT_REGS_SHOWN; i++)
		text_printf(&r->t, "  %-7s %016" PRIx64 "%s", bt_reg_info[bt_regs_shown[i]].name,
			    bt_regs_get(&thread->regs, bt_regs_shown[i]),
			    i % columns == columns - 1 || i == BT_REGS_SHOWN - 1 ? "\n" : "");
}

/* With --all, where the moment has them. */
static void put_vectors(struct report *r, const struct bt_record_thread *thread)
{
	struct extended_text v;
	size_t zeros = 0;

	for (unsigned i = 0; i < EXTENDED_VECTORS; i++) {
		if (!extended_state_text(thread->extended, i, &v))
			return;
		zeros += v.is_zero;
		if (!v.is_zero)
			text_printf(&r->t, "  %-7s %s\n", v.name, v.value);
	}
	if (zeros)
		text_printf(&r->t, "  " EXTENDED_ZERO "\n",
			    zeros < EXTENDED_VECTORS ? "other " : "");
}

/* In a summary: how many of the lines have no room. */
static size_t words_without_room(const struct report *r, struct kept_words w)
{
	char line[LAST_WORDS_LINE_MAX];
	size_t lines = 0;

	if (!r->o->summary)
		return 0;
	while (last_words_next(&w, line))
		lines++;
	return lines > SUMMARY_WORDS ? lines - SUMMARY_WORDS : 0;
}

/* Writes the process's last standard error: until the moment, or to its end. A summary leaves it
 * out where the lines that say why have been shown. */
static void put_last_words(struct report *r)
{
	struct kept_words w;
	char line[LAST_WORDS_LINE_MAX];

	last_words_begin_telling(&w, focus_last_words(&r->focus));
	if (r->o->summary && last_words_has_lines(&w))
		return;
	last_words_begin(&w, focus_last_words(&r->focus));
	if (!last_words_has_lines(&w))
		return;
	report_heading(r, w.earlier ? "What it wrote to its standard error last"
				    : "What it wrote to its standard error");
	for (size_t skipped = words_without_room(r, w); skipped; skipped--)
		if (!last_words_next(&w, line))
			return;
	while (last_words_next(&w, line)) {
		text_printf(&r->t, "  ");
		report_outside(r, line);
		text_printf(&r->t, "\n");
	}
}

/* Most often the history at hand is that of the moment's own task. */
static int explain_moment(struct report *r, struct fault *f, struct bt_error *err)
{
	const struct model_snapshot *snap = r->focus.snap;
	const struct history *h = &r->focus.history;

	if (!h->entries || h->task != snap->rec->task)
		return fault_explain_snapshot(f, r->m, r->s, snap, err);
	fault_explain(f, r->m, r->s, snap, focus_thread(snap, h->task), h,
		      history_index(h, snap->rec->position));
	return 0;
}

static int put_moment(struct report *r, struct bt_error *err)
{
	struct fault f;
	int rc;

	report_heading(r, "What happened");
	if (!r->focus.snap) {
		text_printf(&r->t, "  %s\n", focus_without_moment(r->m));
		report_telling_words(r, "");
		rc = report_failed_calls(r, err);
		report_failures(r);
		put_last_words(r);
		return rc;
	}
	rc = explain_moment(r, &f, err);
	if (rc)
		return rc;
	report_about_moment(r, REPORT_CAUSE);
	put_fault_title(r);
	text_mark(&r->t, TEXT_FAILURE);
	text_printf(&r->t, "  ");
	text_outside(&r->t, f.text);
	text_printf(&r->t, "\n");
	if (*f.message) {
		text_mark(&r->t, TEXT_REASON);
		text_printf(&r->t, "  libc says: ");
		text_outside(&r->t, f.message);
		text_printf(&r->t, "\n");
	}
	report_throws(r);
	report_telling_words(r, f.message);
	rc = report_failed_calls(r, err);
	if (rc)
		return rc;
	report_failures(r);
	if (fault_is_from_outside(r->m, r->focus.snap)) {
		rc = report_waits(r, err);
		if (rc)
			return rc;
	}
	put_where(r, &f);
	put_last_words(r);
	return 0;
}

static bool was_told(const struct report *r, const char *line)
{
	char told[LAST_WORDS_LINE_MAX];
	struct kept_words w;

	last_words_begin_telling(&w, focus_last_words(&r->focus));
	while (last_words_next(&w, told))
		if (!strcmp(told, line))
			return true;
	return false;
}

/* Writes the process's words that a summary has left out, as far as the screen has room behind all
 * else. */
static void put_words_in_room(struct report *r)
{
	size_t used = report_screen_lines(r) + 1; /* the heading */
	char line[LAST_WORDS_LINE_MAX];
	size_t before_heading, heading;
	struct kept_words w;

	for (size_t i = 1; i < r->t.buf.len; i++) /* empty lines can go */
		used -= r->t.buf.data[i] == '\n' && r->t.buf.data[i - 1] == '\n';

	last_words_begin_telling(&w, r->focus.snap ? focus_last_words(&r->focus) : NULL);
	if (!last_words_has_lines(&w) || used + 1 >= SUMMARY_LINES)
		return;
	last_words_begin(&w, focus_last_words(&r->focus));
	before_heading = r->t.buf.len;
	report_heading(r, "What else it wrote to its standard error");
	heading = r->t.buf.len;
	while (used < SUMMARY_LINES && last_words_next(&w, line)) {
		size_t before = report_screen_lines(r);

		if (!*line || was_told(r, line))
			continue;
		text_printf(&r->t, "  ");
		report_outside(r, line);
		text_printf(&r->t, "\n");
		used += report_screen_lines(r) - before;
	}
	if (r->t.buf.len == heading)
		r->t.buf.len = before_heading;
}

/* The last line may be the first part of a frame whose others have gone. */
static void mark_cut_frame(struct buf *b)
{
	static const char part[] = "inlined into\n", more[] = " ...\n";
	size_t len = sizeof part - 1;

	if (b->len < len || memcmp(b->data + b->len - len, part, len) != 0)
		return;
	b->len--;
	buf_put(b, more, sizeof more - 1);
}

/* Takes out empty lines, the last ones first, until a summary fits the screen: its sections have
 * headings. Where that is not enough its last lines go, outer frames of the stack. */
static void squeeze_summary(struct report *r)
{
	struct buf *b = &r->t.buf;
	size_t lines = report_screen_lines(r);

	for (size_t i = b->len; i-- > 1 && lines > SUMMARY_LINES;) {
		if (b->data[i] != '\n' || b->data[i - 1] != '\n')
			continue;
		memmove(b->data + i, b->data + i + 1, b->len - i - 1);
		b->len--;
		lines--;
	}
	while (b->len && report_screen_lines(r) > SUMMARY_LINES)
		do {
			b->len--;
		} while (b->len && b->data[b->len - 1] != '\n');
	mark_cut_frame(b);
}

/* The program, what happened, and the stacks. */
static int put_first_screen(struct report *r, struct bt_error *err)
{
	int rc;

	report_header(r);
	rc = put_moment(r, err);
	if (!rc)
		report_stacks(r);
	return rc;
}

static int put_report(struct report *r, struct bt_error *err)
{
	int rc = put_first_screen(r, err);

	if (rc)
		return rc;
	if (r->o->summary) {
		put_words_in_room(r);
		squeeze_summary(r);
		return 0;
	}
	rc = report_branches(r, err);
	if (rc < 0)
		return rc;
	if (report_last_calls(r, err))
		return -BT_E_NO_MEMORY;
	/* Those that matter stand beside the instruction already. */
	if (r->focus.snap && r->focus.thread)
		put_registers(r, r->focus.thread);
	if (r->focus.thread && r->o->all)
		put_vectors(r, r->focus.thread);
	report_recording(r);
	return rc;
}

/* The viewer has views for more about branches, registers and system calls. */
static int put_lines(struct report *r, struct bt_error *err)
{
	int rc = put_first_screen(r, err);

	if (rc)
		return rc;
	rc = report_branch_words(r, err);
	if (rc)
		return rc;
	report_recording(r);
	report_about_nothing(r);
	return 0;
}

int report_make_lines(struct report_lines *lines, const struct model *m, struct symbols *s,
		      const struct focus *focus, const struct report_options *o,
		      struct bt_error *err)
{
	struct report r = {
		.t.utf8 = o->utf8, .m = m, .s = s, .o = o, .focus = *focus, .lines = lines};
	int rc;

	*lines = (struct report_lines){0};
	rc = put_lines(&r, err);
	if (!rc && (r.t.buf.failed || lines->failed))
		rc = bt_no_memory(err, "the report");
	lines->text = r.t.buf;
	return rc;
}

int report_print(FILE *to, const struct model *m, struct symbols *s, const struct report_options *o,
		 struct bt_error *err)
{
	struct report r = {.t.utf8 = o->utf8,
			   .t.marks = o->marks,
			   .t.width = o->width,
			   .m = m,
			   .s = s,
			   .o = o};
	int rc = focus_open(&r.focus, m, o, err);

	if (!rc)
		rc = put_report(&r, err);
	if (r.t.buf.failed)
		rc = bt_no_memory(err, "the report");
	if (rc >= 0 && r.t.buf.len)
		rc = bt_output(to, r.t.buf.data, r.t.buf.len, err) ? -BT_E_IO : rc;
	focus_close(&r.focus);
	buf_release(&r.t.buf);
	return rc;
}
