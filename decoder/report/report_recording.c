/* SPDX-License-Identifier: MIT */
/* The contents of a recording beside the moment: processes, snapshots, files whose symbols are
 * missing, notes and damage. */
#include <inttypes.h>
#include <stdio.h>

#include "decoder/model/signals.h"
#include "decoder/report/report_private.h"

static bool is_process_start(const struct model_task *task) { return task->how != BT_TASK_THREAD; }

static void put_process(struct report *r, const struct model_task *task)
{
	report_about(r, &(struct report_about){
				.kind = REPORT_TASK, .task = task->task, .position = UINT64_MAX});
	text_printf(&r->t, "  process %u, task %u ", task->pid, task->task);
	text_outside(&r->t, task->command);
	text_printf(&r->t, ": ");
	if (task->exit)
		report_exit(r, task->exit->kind, task->exit->status, task->exit->core);
	else
		text_printf(&r->t, "its end is not in the trace");
	text_printf(&r->t, "\n");
}

static void put_processes(struct report *r)
{
	enum { SHOWN = 20 };
	size_t count = 0, left = 0;

	for (size_t i = 0; i < r->m->task_count; i++)
		count += is_process_start(&r->m->tasks[i]);
	if (count < 2)
		return;
	report_heading(r, "Processes");
	for (size_t i = 0, shown = 0; i < r->m->task_count; i++) {
		const struct model_task *task = &r->m->tasks[i];
		bool killed = task->exit && task->exit->kind == BT_EXIT_SIGNAL;

		if (!is_process_start(task) || (shown >= SHOWN && !killed))
			continue;
		put_process(r, task);
		shown++;
		left = count - shown;
	}
	if (left)
		text_printf(&r->t, "  and %zu more that no signal killed\n", left);
}

static const char *const snapshot_texts[BT_SNAPSHOT_KINDS] = {
	[BT_SNAPSHOT_FAULT] = "fault, handled",
	[BT_SNAPSHOT_SIGNAL] = "signal, handled",
	[BT_SNAPSHOT_FATAL] = "fatal signal",
	[BT_SNAPSHOT_EXIT] = "exit",
	[BT_SNAPSHOT_REQUEST] = "on request",
	[BT_SNAPSHOT_IMPORT] = "imported",
	[BT_SNAPSHOT_FUNCTION] = "function entered",
	[BT_SNAPSHOT_FAILURE] = "exit with failure",
	[BT_SNAPSHOT_MESSAGE] = "first message to standard error",
};

static void put_snapshots(struct report *r)
{
	enum { SHOWN = 20 };
	size_t skipped = r->m->snapshot_count > SHOWN ? r->m->snapshot_count - SHOWN : 0;

	if (r->m->snapshot_count < 2 && (!r->m->snapshot_count || r->focus.snap))
		return;
	report_heading(r, "Snapshots");
	if (skipped)
		text_printf(&r->t, "  %zu older ones, not shown\n", skipped);
	for (size_t i = skipped; i < r->m->snapshot_count; i++) {
		const struct model_snapshot *s = &r->m->snapshots[i];
		char name[SIGNAL_NAME_MAX], label[80];

		report_about(r, &(struct report_about){.kind = REPORT_MOMENT,
						       .snap = s,
						       .task = s->rec->task,
						       .position = s->rec->position,
						       .has_place = true,
						       .space = s->rec->space,
						       .epoch = s->rec->epoch,
						       .addr = s->rec->point.rip});
		text_printf(&r->t, "  %u: %s", s->rec->snapshot,
			    s->rec->kind < BT_SNAPSHOT_KINDS ? snapshot_texts[s->rec->kind] : "?");
		if (s->rec->label.len) {
			snprintf(label, sizeof label, "%.*s", (int)s->rec->label.len,
				 (const char *)s->rec->label.at);
			text_printf(&r->t, " (");
			text_outside(&r->t, label);
			text_printf(&r->t, ")");
		}
		if (s->signal)
			text_printf(&r->t, ", %s", signal_name(s->signal->signo, name));
		text_printf(&r->t, ", task %u at ", s->rec->task);
		if (s->rec->point.tick == BT_TICKS_UNKNOWN)
			text_printf(&r->t, "0x%" PRIx64, s->rec->point.rip);
		else
			text_printf(&r->t, "tick %" PRIu64, s->rec->point.tick);
		if (s->rec->depth)
			text_printf(&r->t, ", inside %u signal handler%s", s->rec->depth,
				    s->rec->depth == 1 ? "" : "s");
		text_printf(&r->t, "\n");
	}
}

static const char *const missing_texts[] = {
	[MISSING_FILE] = "the file is gone",
	[MISSING_CHANGED] = "the file has changed since the recording: its symbols are not used",
	[MISSING_UNKNOWN] = "whether the file is the one that ran is not known (no build-id and no "
			    "code of it was recorded): its symbols are not used",
	[MISSING_SYMBOLS] = "stripped: only its exported functions have names",
	[MISSING_DEBUG] = "no debug information: no source lines",
	[MISSING_UNPACKED] = "its debug information is compressed, and cannot be unpacked (in "
			     "debug files libdw knows zstd from 0.189 on): no source lines",
	[MISSING_SPLIT] = "a .dwo file of its split debug information is not found: inlined "
			  "functions are not told",
	[MISSING_PACKAGE] = "its split debug information is in a .dwp file, which libdw reads from "
			    "0.191 on: inlined functions are not told",
	[MISSING_SOURCE] = "newer than the program: its lines may not be those that ran",
	[MISSING_KEPT] = "this file of the trace is damaged: not all names that it kept are known",
	[MISSING_VOUCHED] = "taken from --symbols on your word: nothing in the trace tells whether "
			    "it is the file that ran",
	[MISSING_REFUSED] = "the file is gone or has changed, and what --symbols names is another "
			    "one: it has another build-id, or other code, than what ran",
	[MISSING_SLOW] = "reading the copies of files in the trace has taken more than a minute, "
			 "as of files that are made to: the rest of their symbols is not read",
};

static void put_missing(struct report *r)
{
	enum {
		SOURCES = 10 /* a whole tree may have been checked out anew */
	};
	size_t count, sources = 0;
	const struct missing_module *missing = symbols_missing(r->s, &count);

	if (!count)
		return;
	report_heading(r, "Missing");
	for (size_t i = 0; i < count; i++) {
		if (missing[i].source && sources++ >= SOURCES)
			continue;
		text_printf(&r->t, "  ");
		text_outside(&r->t, missing[i].source ? missing[i].source : missing[i].module);
		text_printf(&r->t, ": %s", missing_texts[missing[i].what]);
		if (*missing[i].build_id && !missing[i].source)
			text_printf(&r->t, " (build-id %s)", missing[i].build_id);
		text_printf(&r->t, "\n");
	}
	if (sources > SOURCES)
		text_printf(&r->t, "  and %zu more source files that are newer than the program\n",
			    sources - SOURCES);
}

static void put_note(struct report *r, const struct bt_record *rec)
{
	if (rec->kind == BT_RECORD_NOTE) {
		text_printf(&r->t, "  ");
		if (rec->u.note.task)
			text_printf(&r->t, "task %u: ", rec->u.note.task);
		report_slice(&r->t, rec->u.note.text);
	} else if (rec->kind == BT_RECORD_DETACH) {
		text_printf(&r->t,
			    "  task %u was detached and ran on unrecorded: ", rec->u.detach.task);
		report_slice(&r->t, rec->u.detach.reason);
	}
	text_printf(&r->t, "\n");
}

/* --from names a place that no task came to: everything ran natively. */
static void put_never_reached(struct report *r)
{
	struct slice from = r->m->trace->header.from;

	for (size_t i = 0; i < r->m->events.count; i++)
		if (r->m->events.at[i]->rec.kind == BT_RECORD_START)
			return;
	if (!from.len)
		return;
	text_printf(&r->t, "  ");
	report_slice(&r->t, from);
	text_printf(&r->t, " was never reached: all of it ran natively, without branches\n");
}

static void put_damage(struct report *r)
{
	for (size_t i = 0; i < r->m->damage_count; i++) {
		const struct model_damage *d = &r->m->damage[i];

		text_printf(&r->t, "  ");
		if (*d->file)
			text_printf(&r->t, "%s, byte %" PRIu64 ": ", d->file, d->offset);
		text_outside(&r->t, model_damage_text(r->m, d));
		text_printf(&r->t, "\n");
	}
}

static void put_notes(struct report *r)
{
	size_t before = r->t.buf.len, heading;

	report_heading(r, "Notes");
	heading = r->t.buf.len;
	for (size_t i = 0; i < r->m->events.count; i++) {
		const struct bt_record *rec = &r->m->events.at[i]->rec;

		if (rec->kind == BT_RECORD_NOTE || rec->kind == BT_RECORD_DETACH)
			put_note(r, rec);
	}
	report_suppressed(r);
	put_never_reached(r);
	if (r->m->stopped) {
		text_printf(&r->t, "  recording stopped before the program ended: ");
		report_slice(&r->t, r->m->stopped->text);
		text_printf(&r->t, "\n");
	} else if (!r->m->end) {
		text_printf(&r->t, "  %s\n", model_unclosed(r->m));
	}
	put_damage(r);
	if (r->t.buf.len == heading)
		r->t.buf.len = before;
}

void report_recording(struct report *r)
{
	put_processes(r);
	put_snapshots(r);
	put_missing(r);
	put_notes(r);
}
