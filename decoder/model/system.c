/* SPDX-License-Identifier: MIT */
#include "decoder/model/system.h"

#include <stdlib.h>

#include "lib/grow.h"

/* A task on its way through the events. */
struct walker {
	uint64_t position; /* branches that are accounted for */
	bool runs;
	struct system_stretch now; /* while it runs */
};

struct builder {
	const struct model *m;
	struct system_view *v;
	struct walker *walkers; /* one a task of the model */
	size_t cap;
	bool failed;
};

static void add_stretch(struct builder *b, const struct system_stretch *s)
{
	struct system_view *v = b->v;
	struct system_stretch *grown;

	if (s->start == SYSTEM_UNKNOWN && s->end == SYSTEM_UNKNOWN) /* nowhere among the others */
		return;
	grown = array_grow(v->at, v->count, &b->cap, sizeof *grown);
	if (!grown) {
		b->failed = true;
		return;
	}
	v->at = grown;
	v->at[v->count++] = *s;
}

static struct walker *walker_of(struct builder *b, uint32_t task)
{
	const struct model_task *t = model_task(b->m, task);

	return t ? &b->walkers[t - b->m->tasks] : NULL;
}

/* Ends the stretch; it gets the task's entries up to position. */
static void end_stretch(struct builder *b, struct walker *w, uint64_t time, uint64_t position,
			enum system_end how)
{
	if (position < w->now.first)
		position = w->now.first;
	w->now.end = time;
	w->now.last = position;
	w->now.how = how;
	w->position = position;
	w->runs = false;
	add_stretch(b, &w->now);
}

/* Begins a stretch. Entries since the last one belong to no stretch. */
static void begin_stretch(struct walker *w, uint32_t task, uint32_t cpu, uint64_t time,
			  uint64_t position)
{
	w->runs = true;
	w->now =
		(struct system_stretch){.task = task, .cpu = cpu, .start = time, .first = position};
	w->position = position;
}

/* The task is on a CPU (unknown: any) without a recorded arrival, so the stretch's start is
 * unknown. It gets the branches since the task's last stretch; the history has gaps for missing
 * ones. */
static void find_runner(struct builder *b, struct walker *w, uint32_t task, uint32_t cpu)
{
	if (w->runs && (cpu == SYSTEM_UNKNOWN_CPU || w->now.cpu == cpu))
		return;
	if (w->runs)
		end_stretch(b, w, SYSTEM_UNKNOWN, w->position, SYSTEM_LOST);
	begin_stretch(w, task, cpu, SYSTEM_UNKNOWN, w->position);
}

static uint32_t cpu_of(uint32_t field) { return field ? field - 1 : SYSTEM_UNKNOWN_CPU; }

/* Captures without times have zeros. */
static uint64_t known_time(uint64_t field) { return field ? field : SYSTEM_UNKNOWN; }

static void on_sched(struct builder *b, const struct bt_record_sched *r)
{
	struct walker *w = walker_of(b, r->task);
	uint64_t position;

	if (!w)
		return;
	position = r->position > w->position ? r->position - 1 : w->position;
	if (r->what != BT_SCHED_IN) {
		find_runner(b, w, r->task, cpu_of(r->cpu));
		end_stretch(b, w, known_time(r->time), position,
			    r->what == BT_SCHED_PREEMPT ? SYSTEM_PREEMPTED : SYSTEM_BLOCKED);
		return;
	}
	if (w->runs)
		end_stretch(b, w, SYSTEM_UNKNOWN, w->position, SYSTEM_LOST);
	begin_stretch(w, r->task, cpu_of(r->cpu), known_time(r->time), position);
}

/* A sample. Without a CPU it makes no stretch. */
static void on_snapshot(struct builder *b, const struct bt_record_snapshot *r)
{
	struct walker *w = walker_of(b, r->task);
	uint64_t position;

	if (!w || (!r->cpu && !w->runs))
		return;
	position = r->position > w->position ? r->position : w->position;
	find_runner(b, w, r->task, cpu_of(r->cpu));
	w->now.samples++;
	if (w->now.start == SYSTEM_UNKNOWN)
		end_stretch(b, w, known_time(r->time), position, SYSTEM_SAMPLED);
	else
		w->position = position; /* it runs on */
}

static void on_task_exit(struct builder *b, const struct bt_record_exit *r)
{
	struct walker *w = walker_of(b, r->task);

	if (w && w->runs)
		end_stretch(b, w, known_time(r->time), w->position, SYSTEM_EXITED);
}

static void walk_events(struct builder *b)
{
	for (size_t i = 0; i < b->m->events.count && !b->failed; i++) {
		const struct bt_record *rec = &b->m->events.at[i]->rec;

		if (rec->kind == BT_RECORD_SCHED)
			on_sched(b, &rec->u.sched);
		else if (rec->kind == BT_RECORD_SNAPSHOT)
			on_snapshot(b, &rec->u.snapshot);
		else if (rec->kind == BT_RECORD_EXIT)
			on_task_exit(b, &rec->u.exit);
	}
	for (size_t i = 0; i < b->m->task_count && !b->failed; i++)
		if (b->walkers[i].runs)
			end_stretch(b, &b->walkers[i], SYSTEM_UNKNOWN, UINT64_MAX, SYSTEM_LOST);
}

static uint64_t stretch_time(const struct system_stretch *s)
{
	return s->start != SYSTEM_UNKNOWN ? s->start : s->end;
}

static int by_cpu_and_time(const void *x, const void *y)
{
	const struct system_stretch *a = x, *b = y;

	if (a->cpu != b->cpu)
		return a->cpu < b->cpu ? -1 : 1;
	if (stretch_time(a) != stretch_time(b))
		return stretch_time(a) < stretch_time(b) ? -1 : 1;
	if (a->task != b->task)
		return a->task < b->task ? -1 : 1;
	return a->first < b->first ? -1 : a->first > b->first;
}

int system_build(struct system_view *v, const struct model *m, struct bt_error *err)
{
	struct builder b = {
		.m = m, .v = v, .walkers = calloc(m->task_count + 1, sizeof *b.walkers)};

	*v = (struct system_view){0};
	b.failed = !b.walkers;
	if (!b.failed)
		walk_events(&b);
	free(b.walkers);
	if (b.failed) {
		system_release(v);
		return bt_no_memory(err, NULL);
	}
	if (v->count)
		qsort(v->at, v->count, sizeof *v->at, by_cpu_and_time);
	return 0;
}

void system_release(struct system_view *v)
{
	free(v->at);
	*v = (struct system_view){0};
}

size_t system_cpu_end(const struct system_view *v, size_t i)
{
	size_t end = i;

	while (end < v->count && v->at[end].cpu == v->at[i].cpu)
		end++;
	return end;
}
