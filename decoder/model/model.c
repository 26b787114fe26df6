/* SPDX-License-Identifier: MIT */
/* Loading goes through a trace three times. First all events and objects are read into memory, and
 * the events sorted. Then the events are interpreted in order: a table gives each kind of record
 * its handler, here or in a model_*.c, or the trace index. Last the files of branches are scanned
 * for their counts and their damage; the history of a task is read only when it is asked for.
 *
 * Memory is held to a budget. Records beyond it are left out, and listed as damage. */
#include "decoder/model/model_private.h"
#include "lib/array_size.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	/* Lines of damage that are kept. One more line says that there is more. */
	DAMAGE_MAX = 256,
};

/* Bytes that a trace may unpack to: a base, and so much for each byte of its files. Real traces
 * pack 5 to 20 times. */
static const uint64_t budget_base = 256u << 20;
static const uint64_t budget_ratio = 64;

void loader_damage(struct loader *l, const char *file, uint64_t offset, enum bt_error_code code,
		   const char *text)
{
	struct model *m = l->m;
	struct model_damage *d;

	if (code == BT_E_NO_MEMORY) /* no damage of the trace */
		l->p->arena.failed = true;
	if (m->damage_count > DAMAGE_MAX || code == BT_E_NO_MEMORY)
		return;
	d = array_grow(m->damage, m->damage_count, &l->damage_cap, sizeof *d);
	if (!d) {
		l->p->arena.failed = true;
		return;
	}
	m->damage = d;
	d += m->damage_count++;
	*d = (struct model_damage){.offset = offset, .code = code, .torn = code == BT_E_TRUNCATED};
	if (m->damage_count > DAMAGE_MAX) {
		*d = (struct model_damage){.code = BT_E_CORRUPT,
					   .text = "there is more damage, not listed"};
		return;
	}
	snprintf(d->file, sizeof d->file, "%s", file);
	snprintf(d->text, sizeof d->text, "%s", text);
}

static void add_event(struct loader *l, uint32_t unit, const struct bt_record *rec)
{
	trace_events_add(&l->m->events, &l->p->arena, unit, rec);
}

static void add_object(struct loader *l, uint32_t unit, const struct bt_record *rec)
{
	(void)unit;
	if (rec->kind == BT_RECORD_OBJECT)
		trace_index_add_object(l->m->index, &rec->u.object);
}

typedef void take_model_record(struct loader *l, uint32_t unit, const struct bt_record *rec);

/* Gives every record of a file to take, and lists the damage. */
static void read_file(struct loader *l, const struct trace_file *file, take_model_record *take)
{
	const struct arena *a = &l->p->arena;
	struct trace_cursor c;
	struct bt_record rec;
	struct bt_error err;
	int rc;

	trace_cursor_init(&c, l->m->trace, file);
	while (!a->over && !a->failed && (rc = trace_cursor_next(&c, &rec, &err)) != 0) {
		if (rc == 1)
			take(l, c.unit, &rec);
		else
			loader_damage(l, file->name, err.offset, err.code, err.text);
	}
	if (a->over)
		loader_damage(l, file->name, c.at, BT_E_CORRUPT,
			      "the trace unpacks to more than is believable; the rest is left out");
	trace_cursor_release(&c);
}

void *loader_array(struct loader *l, size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	if (!p)
		l->p->arena.failed = true;
	return p;
}

static void apply_to_index(struct loader *l, const struct trace_event *e)
{
	trace_index_apply(l->m->index, &e->rec);
}

static void on_recording_end(struct loader *l, const struct trace_event *e)
{
	l->m->end = &e->rec.u.end;
}

static void on_stopped(struct loader *l, const struct trace_event *e)
{
	if (!l->m->stopped)
		l->m->stopped = &e->rec.u.stopped;
}

static loader_handler *const handlers[] = {
	[BT_RECORD_SPACE] = apply_to_index,
	[BT_RECORD_TASK] = tasks_on_task,
	[BT_RECORD_EXEC] = tasks_on_exec,
	[BT_RECORD_MAP] = apply_to_index,
	[BT_RECORD_UNMAP] = apply_to_index,
	[BT_RECORD_CODE] = apply_to_index,
	[BT_RECORD_EXIT] = tasks_on_exit,
	[BT_RECORD_COMM] = tasks_on_comm,
	[BT_RECORD_LAST_WORDS] = tasks_on_last_words,
	[BT_RECORD_MAIN] = tasks_on_main,
	[BT_RECORD_SNAPSHOT] = snapshots_on_snapshot,
	[BT_RECORD_THREAD] = snapshots_on_thread,
	[BT_RECORD_MEMORY] = snapshots_on_memory,
	[BT_RECORD_SUPPRESSED] = tasks_on_suppressed,
	[BT_RECORD_STOPPED] = on_stopped,
	[BT_RECORD_END] = on_recording_end,
};

static void finish_index(struct loader *l)
{
	size_t dangling = trace_index_finish(l->m->index);
	char text[100];

	if (!dangling || (l->m->end && l->m->end->code_left_out))
		return;
	snprintf(text, sizeof text, "%zu code pages name bytes that are not in the trace",
		 dangling);
	loader_damage(l, "objects", 0, BT_E_CORRUPT, text);
}

static void interpret_events(struct loader *l)
{
	const struct model *m = l->m;

	tasks_collect(l);
	trace_index_begin(m->index, &m->events);
	snapshots_collect(l);
	for (size_t i = 0; i < m->events.count && !l->p->arena.failed; i++) {
		uint16_t kind = m->events.at[i]->rec.kind;

		if (kind < ARRAY_SIZE(handlers) && handlers[kind])
			handlers[kind](l, m->events.at[i]);
	}
	if (l->p->arena.failed)
		return;
	tasks_finish(l);
	finish_index(l);
	snapshots_finish(l);
	failures_find(l);
}

bool model_is_closed(const struct model *m)
{
	return m->end && !m->stopped && !m->trace->being_written;
}

const char *model_unclosed(const struct model *m)
{
	bool torn = false;

	for (size_t i = 0; i < m->damage_count; i++)
		torn |= m->damage[i].torn;
	if (m->end && !torn)
		return NULL;
	if (m->stopped)
		return "not known: recording stopped before the program ended";
	return m->trace->being_written
		       ? "the trace is still being written: this is what there was of it"
		       : "the trace was not closed: the recorder was cut off";
}

const char *model_damage_text(const struct model *m, const struct model_damage *d)
{
	if (!d->torn)
		return d->text;
	if (m->stopped)
		return "recording stopped here";
	return m->trace->being_written ? "the recorder was writing here"
				       : "the recorder was cut off here";
}

static void judge_torn_tails(struct model *m)
{
	for (size_t i = 0; i < m->damage_count && model_is_closed(m); i++) {
		struct model_damage *d = &m->damage[i];

		if (!d->torn)
			continue;
		d->torn = false;
		d->code = BT_E_CORRUPT;
		snprintf(d->text, sizeof d->text,
			 "the file is shorter than it was written (copied incompletely?)");
	}
}

/* A closed trace has every event from 1 to its END. It has a file of branches for each task that
 * had branches when a snapshot was taken. */
static void look_for_what_is_missing(struct loader *l)
{
	const struct model *m = l->m;
	char file[32];

	if (!model_is_closed(m) || m->damage_count || m->events.unknown)
		return;
	if (m->events.at[m->events.count - 1]->seq != m->events.count)
		loader_damage(l, "events", 0, BT_E_CORRUPT,
			      "events are missing, although every block is there and whole");
	for (size_t i = 0; i < m->task_count; i++) {
		const struct model_task *task = &m->tasks[i];

		if (task->position <= task->branch_end)
			continue;
		snprintf(file, sizeof file, "branches-%u", task->task);
		loader_damage(l, file, 0, BT_E_CORRUPT,
			      task->branch_count ? "the end of this file is gone: the task's "
						   "newest branches are missing"
						 : "this file of the trace is gone: the task's "
						   "branches are missing");
		return;
	}
}

static void load_events(struct loader *l)
{
	const struct trace *t = l->m->trace;
	bool over;

	for (size_t i = 0; i < t->file_count; i++) {
		if (t->files[i].kind == BT_FILE_EVENTS)
			read_file(l, &t->files[i], add_event);
		else if (t->files[i].kind == BT_FILE_OBJECTS)
			read_file(l, &t->files[i], add_object);
	}
	if (!l->p->arena.failed)
		l->p->arena.failed = !trace_events_sort(&l->m->events);
	over = l->p->arena.over;
	if (!l->p->arena.failed)
		interpret_events(l);
	if (l->p->arena.over && !over)
		loader_damage(
			l, "", 0, BT_E_CORRUPT,
			"the trace has more mappings than is believable; later ones are left out");
	for (size_t i = 0; i < t->file_count && !l->p->arena.failed; i++)
		if (t->files[i].kind == BT_FILE_BRANCHES)
			branches_scan(l, &t->files[i]);
	judge_torn_tails(l->m);
	if (!l->p->arena.failed)
		look_for_what_is_missing(l);
}

static void loader_release(struct loader *l)
{
	free(l->processes);
	free(l->process_of);
	free(l->threads.at);
	free(l->memory.at);
}

int model_load(struct model **out, struct trace *t, struct bt_error *err)
{
	struct model *m = calloc(1, sizeof *m);
	struct model_private *p = calloc(1, sizeof *p);
	struct loader l = {.m = m, .p = p};
	uint64_t bytes = 0;

	if (!m || !p) {
		free(m);
		free(p);
		trace_close(t);
		return bt_no_memory(err, NULL);
	}
	m->trace = t;
	m->priv = p;
	for (size_t i = 0; i < t->file_count; i++)
		bytes += t->files[i].size;
	arena_init(&p->arena, budget_base + budget_ratio * bytes);
	m->index = trace_index_new(&p->arena);
	if (m->index)
		load_events(&l);
	else
		p->arena.failed = true;
	loader_release(&l);
	if (p->arena.failed) {
		model_free(m);
		return bt_fail(err, BT_E_NO_MEMORY, 0, "out of memory while reading the trace");
	}
	*out = m;
	return 0;
}

void model_free(struct model *m)
{
	if (!m)
		return;
	trace_index_free(m->index);
	arena_release(&m->priv->arena);
	free(m->priv);
	trace_events_release(&m->events);
	free(m->tasks);
	free(m->snapshots);
	free(m->failures);
	free(m->damage);
	trace_close(m->trace);
	free(m);
}
