/* SPDX-License-Identifier: MIT */
#include "import/importer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/importer_private.h"

void importer_fail(struct importer *im, enum bt_error_code code, const char *text)
{
	if (!im->error.code)
		bt_fail(&im->error, code, 0, "%s", text);
}

void importer_no_memory(struct importer *im)
{
	importer_fail(im, BT_E_NO_MEMORY, "out of memory for the import");
}

int importer_new(struct importer **out, const char *dir, struct bt_error *err)
{
	struct importer *im = calloc(1, sizeof *im);

	if (im && dir)
		im->dir = strdup(dir);
	if (!im || (dir && !im->dir)) {
		free(im);
		return bt_no_memory(err, NULL);
	}
	im->end.kind = BT_EXIT_UNKNOWN;
	im->header.parallel = true; /* captured programs run natively */
	*out = im;
	return 0;
}

struct bt_record_header *importer_header(struct importer *im) { return &im->header; }

uint64_t importer_samples(const struct importer *im) { return im->samples; }

uint64_t importer_branches(const struct importer *im) { return im->branches; }

bool importer_failed(const struct importer *im) { return im->error.code; }

struct trace_writer *importer_writer(struct importer *im)
{
	if (!im->writer && im->dir && !im->error.code &&
	    trace_writer_open(&im->writer, im->dir, &im->header, &im->error))
		return NULL;
	return im->error.code ? NULL : im->writer;
}

void importer_event(struct importer *im, enum bt_record_kind kind, const void *body)
{
	if (importer_writer(im))
		trace_writer_event(im->writer, IMPORTER_UNIT, kind, body);
	im->pending += 64;
}

/* The next number in the order of the trace. */
uint64_t importer_seq(struct importer *im)
{
	return importer_writer(im) ? trace_writer_next_seq(im->writer) : 0;
}

/* --- samples --- */

static void flush_all(struct importer *im)
{
	for (size_t i = 0; i < im->thread_count; i++)
		importer_flush_chunk(im, im->threads[i]);
	if (im->writer)
		trace_writer_flush(im->writer);
	im->pending = 0;
}

static void put_thread(struct importer *im, const struct import_sample *s,
		       const struct bt_record_snapshot *snap)
{
	struct bt_record_thread body = {.seq = importer_seq(im),
					.snapshot = snap->snapshot,
					.task = snap->task,
					.point = snap->point,
					.position = snap->position,
					.epoch = snap->epoch,
					.regs = *s->regs};
	struct bt_record_memory memory = {.snapshot = snap->snapshot,
					  .space = snap->space,
					  .addr = s->regs->rsp,
					  .bytes = s->stack};

	importer_event(im, BT_RECORD_THREAD, &body);
	if (!s->stack.len)
		return;
	memory.seq = importer_seq(im);
	importer_event(im, BT_RECORD_MEMORY, &memory);
	im->pending += s->stack.len;
}

static void put_snapshot(struct importer *im, const struct import_sample *s, const struct thread *t)
{
	struct bt_record_snapshot body = {.seq = importer_seq(im),
					  .time = s->time,
					  .snapshot = ++im->snapshots,
					  .task = t->task,
					  .kind = BT_SNAPSHOT_IMPORT,
					  .point = {.tick = BT_TICKS_UNKNOWN, .rip = s->ip},
					  .space = im->processes[t->process].space,
					  .epoch = im->processes[t->process].epoch,
					  .position = t->first + t->count,
					  .label = s->event,
					  .cpu = s->cpu,
					  .hw_index = s->hw_index};

	importer_event(im, BT_RECORD_SNAPSHOT, &body);
	im->pending += 64 + s->event.len;
	if (s->regs)
		put_thread(im, s, &body);
}

/* Keeps the buffered bytes within their limit. */
static void bound_pending(struct importer *im, struct thread *t)
{
	if (t->entries.len >= CHUNK_TARGET)
		importer_flush_chunk(im, t);
	if (im->pending >= PENDING_MAX)
		flush_all(im);
}

void importer_sample(struct importer *im, const struct import_sample *s)
{
	struct thread *t = importer_thread(im, s->id);
	size_t before;

	im->last_time = s->time;
	if (!t || !importer_give_task(im, t))
		return;
	im->processes[t->process].seen = true;
	before = t->entries.len;
	if (s->has_branches || (!im->traced && t->first + t->count))
		importer_begin_run(im, t);
	importer_put_branches(im, t, s->branches, s->branch_count);
	im->pending += t->entries.len - before;
	importer_put_code(im, t, s->ip, 1);
	put_snapshot(im, s, t);
	im->samples++;
	im->branches += s->branch_count;
	bound_pending(im, t);
}

void importer_traced(struct importer *im) { im->traced = true; }

bool importer_entry(struct importer *im, struct import_thread_id id, const struct bt_branch *b)
{
	struct thread *t = importer_thread(im, id);
	size_t before;
	bool put;

	if (!t || !importer_give_task(im, t))
		return false;
	im->processes[t->process].seen = true;
	before = t->entries.len;
	put = importer_put_entry(im, t, b);
	im->pending += t->entries.len - before;
	im->branches += b->kind != BT_BRANCH_GAP;
	bound_pending(im, t);
	return put;
}

void importer_lost(struct importer *im) { im->lost++; }

static void put_note(struct importer *im, const char *text)
{
	struct bt_record_note body = {
		.seq = importer_seq(im), .time = im->last_time, .text = bt_str(text)};

	if (importer_writer(im))
		trace_writer_event(im->writer, 0, BT_RECORD_NOTE, &body);
}

void importer_note(struct importer *im, const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	put_note(im, text);
}

void importer_warn(struct importer *im, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(im->warning, sizeof im->warning, fmt, args);
	va_end(args);
	put_note(im, im->warning);
}

const char *importer_warning(const struct importer *im) { return im->warning; }

uint32_t importer_task(struct importer *im, struct import_thread_id id, uint32_t *space,
		       uint32_t *epoch)
{
	struct thread *t = importer_thread(im, id);

	if (!t || !importer_give_task(im, t))
		return 0;
	*space = im->processes[t->process].space;
	*epoch = im->processes[t->process].epoch;
	return t->task;
}

/* --- the end --- */

static void release_importer(struct importer *im)
{
	importer_release_threads(im);
	code_files_release(&im->files);
	free(im->dir);
	free(im);
}

void importer_discard(struct importer *im)
{
	if (im->writer)
		trace_writer_discard(im->writer, im->dir);
	release_importer(im);
}

void importer_ended(struct importer *im, enum bt_exit_kind kind, uint32_t status)
{
	im->end = (struct bt_record_end){.kind = (uint8_t)kind, .status = status};
}

int importer_close(struct importer *im, struct bt_error *err)
{
	struct bt_record_end body = im->end;
	int rc = 0, stopped;

	body.time = im->last_time;
	flush_all(im);
	if (importer_writer(im)) {
		body.seq = importer_seq(im);
		trace_writer_event(im->writer, 0, BT_RECORD_END, &body);
		trace_writer_flush(im->writer);
		stopped = trace_writer_stopped(im->writer);
		if (stopped)
			bt_fail(&im->error, bt_code_of_errno(stopped), stopped,
				"cannot write the trace %s", im->dir);
	}
	if (im->error.code) {
		*err = im->error;
		rc = -(int)im->error.code;
		importer_discard(im);
		return rc;
	}
	if (im->writer)
		trace_writer_close(im->writer);
	release_importer(im);
	return 0;
}
