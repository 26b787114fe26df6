/* SPDX-License-Identifier: MIT */
#include "collector/task.h"

#include <stdlib.h>

enum {
	SAME_STACK = 64 << 20, /* a stack pointer farther above a frame than this is on another stack */
};

struct task *task_find(const struct task_table *t, pid_t tid)
{
	struct task *task = t->first;

	while (task && task->tid != tid)
		task = task->next;
	return task;
}

struct task *task_add(struct task_table *t, pid_t tid)
{
	struct task *task = calloc(1, sizeof *task);

	if (!task)
		return NULL;
	task->tid = tid;
	task->number = ++t->next_task;
	task->next = t->first;
	t->first = task;
	t->count++;
	return task;
}

void task_leave_process(struct task *task)
{
	struct process *p = task->process;

	task->process = NULL;
	if (p && !--p->tasks) {
		address_space_put(p->space);
		free(p);
	}
}

void task_leave_unit(struct task *task)
{
	struct unit *u = task->unit;

	task->unit = NULL;
	if (u && !--u->tasks)
		free(u);
}

void task_remove(struct task_table *t, struct task *task)
{
	struct task **at = &t->first;

	while (*at != task)
		at = &(*at)->next;
	*at = task->next;
	t->count--;
	task_leave_process(task);
	task_leave_unit(task);
	branch_ring_release(&task->ring);
	branch_log_free(task->log);
	buf_release(&task->calls.bytes);
	free(task);
}

struct process *process_new(pid_t pid, struct address_space *space)
{
	struct process *p = calloc(1, sizeof *p);

	if (!p)
		return NULL;
	p->pid = pid;
	p->space = space;
	return p;
}

struct unit *unit_new(struct task_table *t)
{
	struct unit *u = calloc(1, sizeof *u);

	if (u)
		u->number = ++t->next_unit;
	return u;
}

void task_join_unit(struct task *task, struct unit *unit)
{
	task->unit = unit;
	unit->tasks++;
}

void task_join_process(struct task *task, struct process *process)
{
	task->process = process;
	process->tasks++;
}

void task_branch(struct task *task, const struct bt_branch *b, bool tick)
{
	if (task->log)
		branch_log_branch(task->log, b, tick);
	else
		branch_ring_push(&task->ring, b, tick);
}

void task_epoch(struct task *task)
{
	const struct address_space *s = task->process->space;

	if (task->log)
		branch_log_epoch(task->log, s->number, s->epoch);
	else
		branch_ring_epoch(&task->ring, s->number, s->epoch);
}

void task_count(struct task *task, uint64_t ticks, uint64_t transfers)
{
	if (task->log)
		branch_log_count(task->log, ticks, transfers);
	else
		branch_ring_count(&task->ring, ticks, transfers);
}

void task_call(struct task *task, const struct bt_call *call)
{
	struct task_calls *calls = &task->calls;

	if (!calls->count++)
		calls->tick = calls->codec.tick = call->tick;
	bt_call_encode(&calls->codec, &calls->bytes, call);
}

void task_settle(struct task *task)
{
	if (task->log)
		branch_log_settle(task->log, &task->ring);
}

uint64_t task_tick(const struct task *task)
{
	return task->log ? branch_log_tick(task->log) : task->ring.now.tick;
}

void task_write_history(struct task *task, struct trace_writer *w)
{
	branch_ring_stream(&task->ring, w, task->number);
	task_settle(task);
	branch_ring_flush(&task->ring, w, task->number, SIZE_MAX);
}

struct bt_point task_point(const struct task *task)
{
	struct ring_state now = task->log ? branch_log_now(task->log) : task->ring.now;

	return (struct bt_point){.tick = now.tick, .transfers = now.transfers, .rip = task->regs.rip, .rcx = task->regs.rcx};
}

void task_prune_frames(struct task *task)
{
	uint64_t sp = task->regs.rsp;

	while (task->depth) {
		const struct handler_frame *f = &task->frames[task->depth - 1];
		bool left = f->alt_end ? sp < f->alt_start || sp >= f->alt_end : sp > f->sp && sp - f->sp < SAME_STACK;

		if (!left)
			return;
		task->depth--;
	}
}
