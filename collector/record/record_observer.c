/* SPDX-License-Identifier: MIT */
#include "collector/record/record_observer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "collector/record/replay_log.h"
#include "collector/record/task_record.h"
#include "collector/task/task.h"
#include "format/syscall_codec.h"
#include "lib/page.h"

static void record_space(void *arg, const struct address_space *s,
			 const struct address_space *parent)
{
	struct trace_writer *w = arg;
	struct bt_record_space rec = {.seq = trace_writer_next_seq(w),
				      .time = bt_clock_now(trace_writer_clock(w)),
				      .space = s->number,
				      .parent = parent ? parent->number : 0,
				      .parent_epoch = parent ? parent->epoch : 0};

	trace_writer_event(w, s->unit, BT_RECORD_SPACE, &rec);
}

static void record_map(void *arg, const struct address_space *s, const struct mapping *m)
{
	struct trace_writer *w = arg;
	struct bt_record_map rec = {
		.seq = trace_writer_next_seq(w),
		.space = s->number,
		.epoch = s->epoch,
		.start = m->start,
		.end = m->end,
		.prot = m->prot,
		.shared = m->shared,
		.offset = m->offset,
		.dev = m->dev,
		.ino = m->ino,
		.path = bt_str(m->path),
		.build_id = slice_of(m->build_id, m->build_id_len),
	};

	trace_writer_event(w, s->unit, BT_RECORD_MAP, &rec);
}

static void record_unmap(void *arg, const struct address_space *s, const struct mapping *m)
{
	struct trace_writer *w = arg;
	struct bt_record_unmap rec = {.seq = trace_writer_next_seq(w),
				      .space = s->number,
				      .epoch = s->epoch,
				      .start = m->start,
				      .end = m->end};

	trace_writer_event(w, s->unit, BT_RECORD_UNMAP, &rec);
}

/* *object: the number of the object that holds the bytes. */
static void record_code(void *arg, const struct address_space *s, uint64_t addr,
			const uint8_t *bytes, uint64_t *object)
{
	struct trace_writer *w = arg;
	struct bt_record_code rec = {.space = s->number, .epoch = s->epoch, .addr = addr};

	if (!*object)
		*object = trace_writer_code(w, bytes, BT_PAGE);
	rec.object = *object;
	rec.seq = trace_writer_next_seq(w);
	trace_writer_event(w, s->unit, BT_RECORD_CODE, &rec);
}

static void record_branches(void *arg, const struct branch_run *run)
{
	struct bt_record_branches rec = {.task = run->task,
					 .first = run->first,
					 .count = run->count,
					 .tick = run->before.tick,
					 .transfers = run->before.transfers,
					 .epoch = run->before.epoch,
					 .space = run->before.space};

	trace_writer_history(arg, &rec, run->entries);
}

static void record_note(void *arg, const struct task *task, const char *text)
{
	struct trace_writer *w = arg;
	struct bt_record_note rec = {.seq = trace_writer_next_seq(w),
				     .time = bt_clock_now(trace_writer_clock(w)),
				     .task = task ? task->number : 0,
				     .text = bt_str(text)};

	trace_writer_event(w, task && task->unit ? task->unit->number : 0, BT_RECORD_NOTE, &rec);
}

static void record_syscall(void *arg, struct task *task, const struct bt_syscall *call,
			   const struct bt_syscall_details *details)
{
	struct task_record *record = task->record;

	(void)arg;
	if (details)
		bt_details_encode(&record->details_codec, &record->details, record->count, details);
	if (!record->count++)
		record->tick = record->codec.tick = call->tick;
	bt_syscall_encode(&record->codec, &record->bytes, call);
}

static void record_logged(void *arg, struct task *task, const struct bt_logged_call *call)
{
	struct task_record *record = task->record;

	(void)arg;
	if (record->log)
		replay_log_made(record->log, task, call);
}

static void record_instruction(void *arg, const struct task *task)
{
	struct task_record *record = task->record;

	(void)arg;
	if (record->log)
		replay_log_instruction(record->log, task);
}

static void record_processor(void *arg, const struct task *task, const struct processor_change *c)
{
	struct trace_writer *w = arg;
	struct bt_record_sched rec = {.seq = trace_writer_next_seq(w),
				      .time = c->time,
				      .task = task->number,
				      .cpu = c->cpu + 1,
				      .what = (uint8_t)c->what,
				      .position = c->position + 1};

	trace_writer_event(w, task->unit->number, BT_RECORD_SCHED, &rec);
}

void record_write_syscalls(struct trace_writer *w, struct task *task)
{
	struct task_record *record = task->record;
	struct bt_record_calls rec = {.task = task->number};
	char text[80];

	if (record->log)
		replay_log_flush(record->log);
	if (!record->count)
		return;
	rec.tick = record->tick;
	rec.count = record->count;
	rec.calls = slice_of(record->bytes.data, record->bytes.len);
	rec.details = slice_of(record->details.data, record->details.len);
	if (!record->bytes.failed && !record->details.failed) {
		rec.seq = trace_writer_next_seq(w);
		rec.time = bt_clock_now(trace_writer_clock(w));
		trace_writer_event(w, task->unit->number, BT_RECORD_CALLS, &rec);
	} else {
		snprintf(text, sizeof text,
			 "out of memory: %" PRIu64 " system calls are not recorded", record->count);
		record_note(w, task, text);
	}
	record->count = 0;
	buf_reset(&record->bytes);
	buf_reset(&record->details);
	record->details_codec = (struct bt_details_codec){0};
}

struct observer record_observer(struct trace_writer *w)
{
	static const struct observer_ops ops = {
		.space = record_space,
		.mapped = record_map,
		.unmapped = record_unmap,
		.code = record_code,
		.branches = record_branches,
		.syscall = record_syscall,
		.logged = record_logged,
		.instruction = record_instruction,
		.processor = record_processor,
		.note = record_note,
	};

	return (struct observer){.ops = &ops, .arg = w};
}
