/* SPDX-License-Identifier: MIT */
#include "collector/record/first_message.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "collector/history/branch_log.h"
#include "collector/record/pointed_memory.h"
#include "collector/record/recording_private.h"
#include "collector/record/snapshot.h"
#include "collector/task/last_words.h"
#include "collector/tracee/tracee.h"

enum {
	STACK_KEPT =
		16 << 10,    /* stdio puts a buffer of 8 KiB there to write to unbuffered streams */
	BRANCHES_KEPT = 256, /* branches before it, if only the newest are kept at the end */
	WORTH_DECODING = 1 << 16 /* takes 3 ms */
};

struct first_message {
	uint32_t task, space, epoch;
	uint64_t time, event;
	struct bt_point point;
	uint64_t passed;   /* entries that its history had had, about */
	bool is_found;     /* position is known, or never will be */
	uint64_t position; /* in the history; 0: the history does not reach back to it */
	uint32_t depth;    /* of signal handlers */
	struct bt_regs regs;
	uint8_t *extended; /* lib/extended_state.h */
	size_t extended_len;
	struct memory_range ranges[POINTED_RANGES_MAX + 1];
	uint64_t held[POINTED_RANGES_MAX + 1]; /* bytes of each that could be read */
	size_t count;
	uint8_t *bytes; /* of all ranges, one behind the other */
};

void first_message_free(struct first_message *m)
{
	if (m) {
		free(m->extended);
		free(m->bytes);
	}
	free(m);
}

static uint64_t branches_passed(const struct task *task)
{
	return task->log ? branch_log_passed(task->log) : task->ring.next;
}

static void read_memory(struct first_message *m, const struct task *task)
{
	uint64_t all = 0, at = 0;

	m->ranges[0] = pointed_stack(task, task->regs.rsp, STACK_KEPT);
	m->count = 1 + pointed_memory(task, m->ranges[0], true, m->ranges + 1);
	for (size_t i = 0; i < m->count; i++)
		all += m->ranges[i].end - m->ranges[i].start;
	m->bytes = malloc(all ? all : 1);
	for (size_t i = 0; m->bytes && i < m->count; i++) {
		const struct memory_range *range = &m->ranges[i];

		m->held[i] = tracee_read(task->host_tid, range->start, m->bytes + at,
					 range->end - range->start);
		at += range->end - range->start;
	}
}

static void hold_extended(struct first_message *m, const struct task *task)
{
	uint8_t bytes[TRACEE_EXTENDED];
	struct slice extended = snapshot_extended(task, bytes);

	if (!extended.len || !(m->extended = malloc(extended.len)))
		return;
	memcpy(m->extended, bytes, extended.len);
	m->extended_len = extended.len;
}

void first_message_hold(const struct recording *r, const struct task *task, uint64_t event)
{
	if (last_words_begin_here(task))
		first_message_hold_here(r, task, event);
}

void first_message_hold_here(const struct recording *r, const struct task *task, uint64_t event)
{
	struct process_record *record = task->process->record;
	struct first_message *m;

	if (record->message || task_tick(task) == BT_TICKS_UNKNOWN || !(m = calloc(1, sizeof *m)))
		return;
	m->task = task->number;
	m->space = task->process->space->number;
	m->epoch = task->process->space->epoch;
	m->event = event;
	m->time = bt_clock_now(r->clock);
	m->point = task_point(task);
	m->passed = branches_passed(task);
	m->depth = task->depth;
	m->regs = task->regs;
	hold_extended(m, task);
	read_memory(m, task);
	record->message = m;
}

bool first_message_is_due(const struct task *task)
{
	const struct tracee_syscall *c = &task->syscall;

	return task->process->record->message && task->in_syscall && c->args[0] & 0xff &&
	       (syscall_is(c, SYS_exit_group) ||
		(syscall_is(c, SYS_exit) && task->process->tasks == 1));
}

uint64_t first_message_reach(const struct task *task)
{
	const struct first_message *m = task->process->record->message;
	uint64_t since =
		m && m->task == task->number ? branches_passed(task) - m->passed : UINT64_MAX;

	return since <= WORTH_DECODING ? since + BRANCHES_KEPT : 0;
}

void first_message_find(struct task *task)
{
	struct first_message *m = task->process->record->message;

	if (!m || m->is_found || m->task != task->number)
		return;
	task_settle(task);
	m->is_found = true;
	m->position = branch_ring_find(&task->ring, m->point.tick, m->point.transfers);
	if (m->position == UINT64_MAX)
		m->position = 0;
}

static void write_memory(struct recording *r, const struct first_message *m, uint32_t unit)
{
	uint64_t at = 0;

	for (size_t i = 0; m->bytes && i < m->count; i++) {
		struct bt_record_memory rec = {.snapshot = r->snapshots,
					       .space = m->space,
					       .addr = m->ranges[i].start,
					       .bytes = slice_of(m->bytes + at, m->held[i])};

		at += m->ranges[i].end - m->ranges[i].start;
		if (!m->held[i])
			continue;
		rec.seq = trace_writer_next_seq(r->writer);
		trace_writer_event(r->writer, unit, BT_RECORD_MEMORY, &rec);
	}
}

void first_message_write(struct recording *r, const struct task *task)
{
	struct process_record *record = task->process->record;
	struct first_message *m = record->message;
	uint32_t unit = task->unit->number;
	struct bt_record_snapshot snapshot = {.task = m->task,
					      .kind = BT_SNAPSHOT_MESSAGE,
					      .time = m->time,
					      .point = m->point,
					      .space = m->space,
					      .epoch = m->epoch,
					      .position = m->position,
					      .event = m->event,
					      .depth = m->depth,
					      .snapshot = ++r->snapshots,
					      .brief = 1};
	struct bt_record_thread thread = {.snapshot = snapshot.snapshot,
					  .task = m->task,
					  .point = m->point,
					  .position = m->position,
					  .epoch = m->epoch,
					  .in_syscall = 1,
					  .regs = m->regs,
					  .extended = slice_of(m->extended, m->extended_len)};

	snapshot.seq = trace_writer_next_seq(r->writer);
	trace_writer_event(r->writer, unit, BT_RECORD_SNAPSHOT, &snapshot);
	thread.seq = trace_writer_next_seq(r->writer);
	trace_writer_event(r->writer, unit, BT_RECORD_THREAD, &thread);
	write_memory(r, m, unit);
	record->message = NULL;
	first_message_free(m);
}
