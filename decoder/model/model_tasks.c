/* SPDX-License-Identifier: MIT */
#include "decoder/model/model_private.h"

#include <stdlib.h>

#include "lib/bisect.h"

static int compare_tasks(const void *a, const void *b)
{
	const struct model_task *x = a, *y = b;

	if (x->task != y->task)
		return x->task < y->task ? -1 : 1;
	return x->created < y->created ? -1 : x->created > y->created;
}

struct model_task *tasks_find(const struct model *m, uint32_t task)
{
	size_t i;

	BISECT(i, m->task_count, m->tasks[i].task < task);
	return i < m->task_count && m->tasks[i].task == task ? &m->tasks[i] : NULL;
}

void tasks_collect(struct loader *l)
{
	struct model *m = l->m;
	size_t n = trace_events_count(&l->m->events, BT_RECORD_TASK), kept = 0;

	m->tasks = loader_array(l, n, sizeof *m->tasks);
	l->processes = loader_array(l, n, sizeof *l->processes);
	l->process_of = loader_array(l, n, sizeof *l->process_of);
	if (l->p->arena.failed)
		return;
	for (size_t i = 0; i < m->events.count; i++) {
		const struct bt_record_task *r = &m->events.at[i]->rec.u.task;

		if (m->events.at[i]->rec.kind != BT_RECORD_TASK)
			continue;
		m->tasks[m->task_count++] = (struct model_task){.task = r->task,
								.parent = r->parent,
								.unit = r->unit,
								.pid = r->pid,
								.tid = r->tid,
								.how = r->how,
								.space = r->space,
								.created = r->seq,
								.command = ""};
	}
	qsort(m->tasks, m->task_count, sizeof *m->tasks, compare_tasks);
	/* Numbers are never reused; in a damaged trace the first one counts. */
	for (size_t i = 0; i < m->task_count; i++)
		if (!i || m->tasks[i].task != m->tasks[kept - 1].task)
			m->tasks[kept++] = m->tasks[i];
	m->task_count = kept;
}

static const char *basename_of(struct loader *l, struct slice path)
{
	size_t start = path.len;

	while (start && path.at[start - 1] != '/')
		start--;
	slice_take(&path, start);
	return (const char *)arena_slice(&l->p->arena, path).at;
}

struct model_process *tasks_process(struct loader *l, uint32_t task)
{
	const struct model_task *t = tasks_find(l->m, task);
	uint32_t n = t ? l->process_of[t - l->m->tasks] : 0;

	return n ? &l->processes[n - 1] : NULL;
}

void tasks_on_task(struct loader *l, const struct trace_event *e)
{
	const struct bt_record_task *r = &e->rec.u.task;
	const struct model_task *t = tasks_find(l->m, r->task);
	const struct model_process *parent = tasks_process(l, r->parent);
	uint32_t *slot = &l->process_of[t - l->m->tasks];

	if (*slot)
		return;
	if (parent && r->how == BT_TASK_THREAD) {
		*slot = (uint32_t)(parent - l->processes) + 1;
		return;
	}
	l->processes[l->process_count++] = (struct model_process){
		.first = t,
		.command = parent ? parent->command : basename_of(l, l->m->trace->header.program),
		.argv = parent ? parent->argv : l->m->trace->header.argv,
		.program = parent ? parent->program : l->m->trace->header.program,
		.initial = r->how == BT_TASK_INITIAL,
	};
	*slot = (uint32_t)l->process_count;
}

void tasks_on_exec(struct loader *l, const struct trace_event *e)
{
	struct model_process *process = tasks_process(l, e->rec.u.exec.task);
	struct model_task *t = tasks_find(l->m, e->rec.u.exec.task);

	if (t)
		t->main = NULL;
	if (!process)
		return;
	process->command = basename_of(l, e->rec.u.exec.path);
	process->argv = e->rec.u.exec.argv;
	process->program = e->rec.u.exec.path;
}

/* A process is called as its first thread is. */
void tasks_on_comm(struct loader *l, const struct trace_event *e)
{
	const struct model_task *t = tasks_find(l->m, e->rec.u.comm.task);
	struct model_process *process = tasks_process(l, e->rec.u.comm.task);

	if (process && t->how != BT_TASK_THREAD)
		process->command = (const char *)e->rec.u.comm.comm.at;
}

void tasks_on_last_words(struct loader *l, const struct trace_event *e)
{
	struct model_process *process = tasks_process(l, e->rec.u.last_words.task);

	if (process)
		process->last_words = &e->rec.u.last_words;
}

/* Of programs that follow one another in a task the newest counts. */
void tasks_on_main(struct loader *l, const struct trace_event *e)
{
	struct model_task *t = tasks_find(l->m, e->rec.u.main.task);

	if (t)
		t->main = &e->rec.u.main;
}

void tasks_on_exit(struct loader *l, const struct trace_event *e)
{
	struct model_process *process = tasks_process(l, e->rec.u.exit.task);
	struct model_task *t = tasks_find(l->m, e->rec.u.exit.task);
	struct model_process *parent =
		t && t->how != BT_TASK_THREAD ? tasks_process(l, t->parent) : NULL;

	if (parent && parent != process)
		parent->child_failed = model_is_failure(&e->rec.u.exit);
	if (t && !t->exit)
		t->exit = &e->rec.u.exit;
	if (process && !process->end && e->rec.u.exit.last)
		process->end = &e->rec.u.exit;
}

void tasks_on_suppressed(struct loader *l, const struct trace_event *e)
{
	const struct bt_record_suppressed *r = &e->rec.u.suppressed;
	struct model_task *t = tasks_find(l->m, r->task);

	if (r->kind == BT_SNAPSHOT_FAILURE || r->kind == BT_SNAPSHOT_MESSAGE)
		l->m->failures_suppressed += r->count;
	else if (t)
		t->suppressed += r->count;
}

/* Recorders that called no end the last one where several threads ended at once have left processes
 * without: the newest end is, where each thread has one. */
static void find_untold_ends(struct loader *l)
{
	struct model_task **newest = loader_array(l, l->process_count, sizeof(struct model_task *));
	struct bt_record_exit *end;
	bool *open = loader_array(l, l->process_count, sizeof *open);

	for (size_t i = 0; newest && open && i < l->m->task_count; i++) {
		struct model_task *task = &l->m->tasks[i];
		size_t p = l->process_of[i];

		if (!p--)
			continue;
		open[p] |= !task->exit || l->processes[p].end;
		if (task->exit && (!newest[p] || newest[p]->exit->seq < task->exit->seq))
			newest[p] = task;
	}
	for (size_t p = 0; newest && open && p < l->process_count; p++) {
		end = open[p] || !newest[p] ? NULL : arena_alloc(&l->p->arena, sizeof *end);
		if (!end)
			continue;
		*end = *newest[p]->exit;
		end->last = 1;
		newest[p]->exit = l->processes[p].end = end;
	}
	free(newest);
	free(open);
}

void tasks_finish(struct loader *l)
{
	find_untold_ends(l);
	for (size_t i = 0; i < l->m->task_count; i++) {
		const struct model_process *process =
			l->process_of[i] ? &l->processes[l->process_of[i] - 1] : NULL;

		if (!process)
			continue;
		l->m->tasks[i].command = process->command;
		l->m->tasks[i].last_words = process->last_words;
	}
}

const struct model_task *model_task(const struct model *m, uint32_t task)
{
	return tasks_find(m, task);
}

const struct bt_record_exit *model_process_end(const struct model *m, uint32_t number)
{
	const struct model_task *task = model_task(m, number);

	for (size_t i = m->task_count; task && i-- > 0;)
		if (m->tasks[i].pid == task->pid && m->tasks[i].exit && m->tasks[i].exit->last)
			return m->tasks[i].exit;
	return NULL;
}

bool model_is_failure(const struct bt_record_exit *end)
{
	return end->kind == BT_EXIT_SIGNAL || (end->kind == BT_EXIT_STATUS && end->status);
}

const struct model_task *model_last_child(const struct model *m, const struct model_task *parent,
					  uint64_t seq)
{
	const struct model_task *last = NULL;

	for (size_t i = 0; i < m->task_count; i++) {
		const struct model_task *child = &m->tasks[i], *maker;

		if (child->how == BT_TASK_THREAD || !child->exit || child->exit->seq >= seq ||
		    child->pid == parent->pid || (last && child->exit->seq <= last->exit->seq))
			continue;
		maker = model_task(m, child->parent);
		if (maker && maker->pid == parent->pid)
			last = child;
	}
	return last;
}

uint64_t model_since_main(const struct model *m, uint32_t number, uint64_t tick)
{
	const struct model_task *task = model_task(m, number);

	return task && task->main && tick != BT_TICKS_UNKNOWN && task->main->point.tick <= tick
		       ? tick - task->main->point.tick
		       : BT_TICKS_UNKNOWN;
}
