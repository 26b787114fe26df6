/* SPDX-License-Identifier: MIT */
#include "collector/record/snapshot.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "collector/record/first_message.h"
#include "collector/record/pointed_memory.h"
#include "collector/record/recording_private.h"
#include "collector/record/snapshot_limit.h"
#include "collector/task/last_words.h"
#include "collector/tracee/tracee.h"
#include "lib/extended_state.h"
#include "lib/page.h"
#include "lib/stack_share.h"

enum {
	HANDLED_BRANCHES = 256,
	BRIEF_BRANCHES = 1024,
	BRIEF_STACK = 16 << 10,
	FAILURE_STACK = 4096,  /* mostly all the calls that led to exit */
	FAILURE_DECODED = 512, /* a million take 50 ms */
	PIECE_MAX = 256 << 10, /* of a record */
};

/* The extent of a snapshot. */
struct snapshot_extent {
	bool full;         /* all threads, the whole history */
	uint64_t branches; /* else: so many of the newest */
	uint64_t stack;    /* bytes of the task's */
	bool words;        /* memory that words of the kept memory point to is kept, too */
	uint64_t decoded;  /* it is the task's last: of its records those of so many branches, at
			      least, are decoded; 0: all */
};

static const struct snapshot_extent full_extent = {.full = true,
						   .stack = STACK_SHARE_MOST,
						   .words = true},
				    brief_extent = {.branches = BRIEF_BRANCHES,
						    .stack = BRIEF_STACK,
						    .words = true},
				    failure_extent = {.branches = HANDLED_BRANCHES,
						      .stack = FAILURE_STACK,
						      .decoded = FAILURE_DECODED},
				    handled_extent = {.branches = HANDLED_BRANCHES};

/* A function's entry has its own. */
static const struct snapshot_extent *const extents[BT_SNAPSHOT_KINDS] = {
	[BT_SNAPSHOT_FAULT] = &handled_extent,   [BT_SNAPSHOT_SIGNAL] = &handled_extent,
	[BT_SNAPSHOT_FATAL] = &full_extent,      [BT_SNAPSHOT_EXIT] = &full_extent,
	[BT_SNAPSHOT_REQUEST] = &full_extent,    [BT_SNAPSHOT_IMPORT] = &full_extent,
	[BT_SNAPSHOT_FAILURE] = &failure_extent,
};

void snapshot_write_suppressed(struct recording *r, struct task *task)
{
	for (unsigned kind = 0; kind < BT_SNAPSHOT_KINDS; kind++) {
		struct bt_record_suppressed rec = {.task = task->number,
						   .kind = (uint8_t)kind,
						   .count = task->record->suppressed[kind]};

		if (!rec.count)
			continue;
		task->record->suppressed[kind] = 0;
		RECORDING_EVENT(r, task->unit->number, SUPPRESSED, &rec);
	}
}

void snapshot_write_last_words(struct recording *r, struct task *task)
{
	struct last_words *w = task->process->last_words;
	struct bt_record_last_words rec = {.task = task->number};

	if (!w || w->written == w->total)
		return;
	rec.total = w->written = w->total;
	last_words_end_line(w);
	rec.text = slice_of(w->text, w->len);
	rec.first = slice_of(w->first, w->first_len);
	rec.telling = slice_of(w->telling, w->telling_len);
	RECORDING_EVENT(r, task->unit->number, LAST_WORDS, &rec);
}

static void keep_piece(struct recording *r, const struct task *task, uint32_t snapshot,
		       uint64_t start, uint64_t end)
{
	struct bt_record_memory rec = {
		.snapshot = snapshot, .space = task->process->space->number, .addr = start};
	uint8_t *bytes = malloc(end - start);
	size_t n;

	if (!bytes)
		return;
	n = tracee_read(task->host_tid, start, bytes, end - start);
	if (n) {
		rec.bytes = slice_of(bytes, n);
		rec.seq = trace_writer_next_seq(r->writer);
		trace_writer_event(r->writer, task->unit->number, BT_RECORD_MEMORY, &rec);
	}
	free(bytes);
}

static void keep_memory(struct recording *r, const struct task *task, uint32_t snapshot,
			uint64_t start, uint64_t end)
{
	for (uint64_t at = start; at < end; at += PIECE_MAX)
		keep_piece(r, task, snapshot, at, end - at < PIECE_MAX ? end : at + PIECE_MAX);
}

/* Returns the range. */
static struct memory_range keep_stack(struct recording *r, const struct task *task,
				      uint32_t snapshot, uint64_t sp, uint64_t most)
{
	struct memory_range stack = pointed_stack(task, sp, most);

	keep_memory(r, task, snapshot, stack.start, stack.end);
	return stack;
}

/* Keeps the task's stack, the stacks that its handlers on alternate stacks have interrupted, and
 * memory that pointers lead to. */
static void keep_thread_memory(struct recording *r, const struct task *task, uint32_t snapshot,
			       uint64_t most, bool with_words)
{
	struct memory_range stack = keep_stack(r, task, snapshot, task->regs.rsp, most),
			    ranges[POINTED_RANGES_MAX];
	size_t count;

	for (unsigned depth = task->depth; depth-- > 0;)
		if (task->frames[depth].interrupted_sp)
			keep_stack(r, task, snapshot, task->frames[depth].interrupted_sp, most);
	count = pointed_memory(task, stack, with_words, ranges);
	for (size_t i = 0; i < count; i++)
		keep_memory(r, task, snapshot, ranges[i].start, ranges[i].end);
}

/* With the engine, too, these are the application's: no routine and no fragment has an instruction
 * on vectors or x87 that the application did not have (doc/engine/processor.md). */
struct slice snapshot_extended(const struct task *task, uint8_t out[TRACEE_EXTENDED])
{
	return slice_of(out, extended_state_keep(out, tracee_get_extended(task->host_tid, out)));
}

/* The task's history has been written, as far as it is kept. stack: the bytes that are kept of a
 * stack at most; 0: no memory is kept. with_words: see pointed_memory(). */
static void keep_thread(struct recording *r, struct task *task, uint32_t snapshot, uint64_t stack,
			bool with_words)
{
	struct bt_record_thread rec = {
		.snapshot = snapshot,
		.task = task->number,
		.point = task_point(task),
		.position = task->ring.next,
		.epoch = task->process->space->epoch,
		.in_syscall = task->in_syscall || task->syscall_restarts,
		.regs = task->regs,
	};
	uint8_t extended[TRACEE_EXTENDED];

	if (stack)
		rec.extended = snapshot_extended(task, extended);
	rec.seq = trace_writer_next_seq(r->writer);
	trace_writer_event(r->writer, task->unit->number, BT_RECORD_THREAD, &rec);
	if (stack)
		keep_thread_memory(r, task, snapshot, stack, with_words);
}

static void settle_records(struct supervisor *sup, struct task *task)
{
	if (sup->backend.ops->settle)
		sup->backend.ops->settle(&sup->backend, task);
}

/* The bytes that are kept of each halted task's stack. */
static uint64_t halted_stacks_share(const struct supervisor *sup, const struct process *process)
{
	uint64_t *sizes = malloc(process->tasks * sizeof *sizes), share = STACK_SHARE_LEAST;
	size_t n = 0;

	for (const struct task *other = sup->tasks.first; sizes && other; other = other->next)
		if (other->record && other->record->halted && n < process->tasks) {
			struct memory_range stack =
				pointed_stack(other, other->regs.rsp, STACK_SHARE_MOST);

			sizes[n++] = stack.end - stack.start;
		}
	if (sizes)
		share = stack_share(sizes, n);
	free(sizes);
	return share;
}

/* Halts the other threads of the task's process. All are halted before any memory is read: the
 * locks in it are of one moment. */
static void halt_others(struct supervisor *sup, const struct task *task)
{
	supervisor_freeze(sup);
	for (struct task *other = sup->tasks.first; other; other = other->next)
		if (other->record)
			other->record->halted = other != task && other->process == task->process &&
						supervisor_halt(sup, other);
}

static void keep_halted(struct recording *r, struct supervisor *sup, const struct task *task,
			uint32_t snapshot)
{
	uint64_t share = halted_stacks_share(sup, task->process);

	for (struct task *other = sup->tasks.first; other; other = other->next) {
		if (!other->record || !other->record->halted)
			continue;
		other->record->halted = false;
		settle_records(sup, other);
		task_tell_history(other, &r->observer);
		keep_thread(r, other, snapshot, share, false);
		trace_writer_flush(r->writer); /* about a megabyte of it waits in memory */
	}
}

/* Of all threads of the task's process. */
static void keep_threads(struct recording *r, struct supervisor *sup, struct task *task,
			 uint32_t snapshot, const struct snapshot_extent *extent)
{
	bool frozen = sup->frozen, others = task->process->tasks > 1;

	if (others)
		halt_others(sup, task);
	keep_thread(r, task, snapshot, extent->stack, extent->words);
	if (others)
		keep_halted(r, sup, task, snapshot);
	if (others && !frozen)
		supervisor_thaw(sup);
}

/* The history goes before the records that tell its position: those may be flushed at any time. */
static void tell_branches(struct recording *r, struct supervisor *sup, struct task *task,
			  const struct snapshot_extent *extent)
{
	uint64_t message = first_message_is_due(task) ? first_message_reach(task) : 0;

	settle_records(sup, task);
	if (extent->decoded)
		task_drop_history(task, extent->decoded > message ? extent->decoded : message);
	first_message_find(task);
	if (extent->full) {
		task_tell_history(task, &r->observer);
		return;
	}
	task_settle(task);
	branch_ring_flush(&task->ring, &r->observer, task->number,
			  extent->branches > message ? extent->branches : message);
}

static uint32_t keep_moment(struct recording *r, struct supervisor *sup, struct task *task,
			    enum bt_snapshot_kind kind, uint64_t event, const char *label,
			    const struct snapshot_extent *extent)
{
	bool full = extent->full;
	struct bt_record_snapshot rec;

	task_prune_frames(task); /* an exit inside a handler is told from one behind a longjmp */
	rec = (struct bt_record_snapshot){
		.task = task->number,
		.kind = (uint8_t)kind,
		.point = task_point(task),
		.space = task->process->space->number,
		.event = event,
		.depth = task->depth,
		.label = bt_str(label),
		.brief = !full && extent->stack,
	};

	if (!full && !snapshot_is_admitted(r, task, kind)) {
		task->record->suppressed[kind]++;
		return 0;
	}
	tell_branches(r, sup, task, extent);
	rec.position = task->ring.next;
	snapshot_write_suppressed(r, task);
	if (full || extent->decoded)
		snapshot_write_last_words(r, task);
	if (full)
		address_space_refresh(task->process->space, task->host_tid);
	if (first_message_is_due(task))
		first_message_write(r, task);
	rec.epoch = task->process->space->epoch;
	rec.snapshot = ++r->snapshots;
	r->asked_kept += kind == BT_SNAPSHOT_REQUEST;
	r->told_kept += kind != BT_SNAPSHOT_SIGNAL;
	RECORDING_EVENT(r, task->unit->number, SNAPSHOT, &rec);
	if (full)
		keep_threads(r, sup, task, rec.snapshot, extent);
	else
		keep_thread(r, task, rec.snapshot, extent->stack, extent->words);
	trace_writer_flush(r->writer);
	return rec.snapshot;
}

uint32_t snapshot_take(struct recording *r, struct supervisor *sup, struct task *task,
		       enum bt_snapshot_kind kind, uint64_t event, const char *label)
{
	return keep_moment(r, sup, task, kind, event, label, extents[kind]);
}

uint32_t snapshot_take_at_function(struct recording *r, struct supervisor *sup, struct task *task,
				   const char *function, bool brief)
{
	return keep_moment(r, sup, task, BT_SNAPSHOT_FUNCTION, 0, function,
			   brief ? &brief_extent : &full_extent);
}

void snapshot_take_first_message(struct recording *r, struct supervisor *sup, struct task *task)
{
	if (!snapshot_is_admitted(r, task, BT_SNAPSHOT_MESSAGE)) {
		task->record->suppressed[BT_SNAPSHOT_MESSAGE]++;
		return;
	}
	tell_branches(r, sup, task, &failure_extent);
	snapshot_write_last_words(r, task);
	first_message_write(r, task);
	trace_writer_flush(r->writer);
}
