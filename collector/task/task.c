/* SPDX-License-Identifier: MIT */
#include "collector/task/task.h"

#include <stdlib.h>

#include "collector/task/syscall_filter.h"

enum {
	SAME_STACK =
		64 << 20, /* a stack pointer farther above a frame than this is on another stack */
};

struct task *task_find(const struct task_table *t, pid_t tid)
{
	const struct hash_slot *s = hash_table_find(&t->by_tid, (uint32_t)tid);

	return s ? s->pointer : NULL;
}

static void remove_task(struct task_table *t, const struct task *task)
{
	hash_table_take_out(&t->by_tid, hash_table_find(&t->by_tid, (uint32_t)task->host_tid));
}

struct task *task_add(struct task_table *t, pid_t tid)
{
	struct task *task = calloc(1, sizeof *task);

	if (!task ||
	    !hash_table_add(&t->by_tid, (struct hash_slot){(uint32_t)tid, {.pointer = task}})) {
		free(task);
		return NULL;
	}
	task->tid = task->host_tid = tid;
	task->number = ++t->next_task;
	task->next = t->first;
	task->link = &t->first;
	if (t->first)
		t->first->link = &task->next;
	t->first = task;
	t->count++;
	return task;
}

void task_rename(struct task_table *t, struct task *task, pid_t tid)
{
	remove_task(t, task);
	task->tid = task->host_tid = tid;
	hash_table_add(&t->by_tid,
		       (struct hash_slot){(uint32_t)tid,
					  {.pointer = task}}); /* in the room that it leaves */
}

void task_leave_process(struct task *task)
{
	struct process *p = task->process;

	task->process = NULL;
	if (p) {
		*task->member_link = task->member_next;
		if (task->member_next)
			task->member_next->member_link = task->member_link;
	}
	if (p && !--p->tasks) {
		address_space_put(p->space);
		free(p->last_words);
		free(p);
	}
}

void task_leave_unit(struct task *task)
{
	struct unit *u = task->unit;

	task->unit = NULL;
	if (u)
		u->running -= task_runs_code(task);
	if (!u || --u->tasks)
		return;
	*u->link = u->next;
	if (u->next)
		u->next->link = u->link;
	free(u->turns);
	free(u);
}

void task_remove(struct task_table *t, struct task *task)
{
	*task->link = task->next;
	if (task->next)
		task->next->link = task->link;
	remove_task(t, task);
	if (!--t->count)
		hash_table_release(&t->by_tid);
	task_leave_process(task);
	task_leave_unit(task);
	branch_ring_release(&task->ring);
	branch_log_free(task->log);
	syscall_filter_put(task->filter);
	free(task->supervised);
	free(task);
}

struct process *process_new(pid_t pid, struct address_space *space)
{
	struct process *p = calloc(1, sizeof *p);

	if (!p)
		return NULL;
	p->pid = p->host_pid = pid;
	p->space = space;
	return p;
}

struct unit *unit_new(struct task_table *t)
{
	struct unit *u = calloc(1, sizeof *u);

	if (!u)
		return NULL;
	u->number = ++t->next_unit;
	u->next = t->units;
	u->link = &t->units;
	if (t->units)
		t->units->link = &u->next;
	t->units = u;
	return u;
}

void task_join_unit(struct task *task, struct unit *unit)
{
	task->unit = unit;
	unit->tasks++;
	unit->running += task_runs_code(task);
}

/* Its state and whether it is in such a call become these. */
static void become(struct task *task, enum task_state state, bool unseen)
{
	bool ran = task_runs_code(task);

	task->state = state;
	task->in_unseen_call = unseen;
	if (task->unit)
		task->unit->running = task->unit->running - ran + task_runs_code(task);
}

void task_set_state(struct task *task, enum task_state state)
{
	become(task, state, task->in_unseen_call);
}

void task_set_unseen_call(struct task *task, bool unseen) { become(task, task->state, unseen); }

void task_join_process(struct task *task, struct process *process)
{
	task->process = process;
	process->tasks++;
	task->member_next = process->members;
	task->member_link = &process->members;
	if (task->member_next)
		task->member_next->member_link = &task->member_next;
	process->members = task;
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

void task_skip(struct task *task, enum bt_gap_reason reason, uint64_t ticks, uint64_t transfers)
{
	if (task->log)
		branch_log_skip(task->log, reason, ticks, transfers);
	else
		branch_ring_skip(&task->ring, reason, ticks, transfers);
}

void task_settle(struct task *task)
{
	if (task->log)
		branch_log_settle(task->log, &task->ring);
}

void task_drop_history(struct task *task, uint64_t entries)
{
	if (task->log)
		branch_log_lower(task->log, entries);
}

uint64_t task_unsettled(const struct task *task)
{
	return task->log ? branch_log_entries(task->log) : 0;
}

uint64_t task_tick(const struct task *task)
{
	return task->log ? branch_log_tick(task->log) : task->ring.now.tick;
}

void task_tell_history(struct task *task, const struct observer *o)
{
	branch_ring_stream(&task->ring, o, task->number);
	task_settle(task);
	branch_ring_flush(&task->ring, o, task->number, SIZE_MAX);
}

struct bt_point task_point(const struct task *task)
{
	struct ring_state now = task->log ? branch_log_now(task->log) : task->ring.now;

	return (struct bt_point){.tick = now.tick,
				 .transfers = now.transfers,
				 .rip = task->regs.rip,
				 .rcx = task->regs.rcx};
}

const struct function_stop *task_function_stop(const struct task *task)
{
	const struct function_stops *stops = &task->process->space->stops;
	const struct function_stop *stop =
		stops->count ? function_stops_at(stops, task->regs.rip) : NULL;
	/* A signal may be handled first: it comes back then, and has not been there twice. */
	bool told = task->told.rip == task->regs.rip && task->told.rsp == task->regs.rsp;

	return stop && stop->armed && !told ? stop : NULL;
}

void task_prune_frames(struct task *task)
{
	uint64_t sp = task->regs.rsp;

	while (task->depth) {
		const struct handler_frame *f = &task->frames[task->depth - 1];
		bool left = f->alt_end ? sp < f->alt_start || sp >= f->alt_end
				       : sp > f->sp && sp - f->sp < SAME_STACK;

		if (!left)
			return;
		task->depth--;
	}
}
