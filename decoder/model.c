/* SPDX-License-Identifier: MIT */
#include "decoder/model_private.h"
#include "lib/array_size.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	/* Lines of damage that are kept; a last one says that there is more. */
	DAMAGE_MAX = 256,
};

/* What a trace may take: real ones pack 5 to 20 times. */
static const uint64_t budget_base = 256u << 20;
static const uint64_t budget_ratio = 64;

void loader_damage(struct loader *l, const char *file, uint64_t offset, enum bt_error_code code,
		   const char *text)
{
	struct model *m = l->m;
	struct model_damage *d;

	if (code == BT_E_NO_MEMORY) /* nothing is the matter with the trace */
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

/* Copies what a record borrowed from its block, record kind by record kind (records.def). */
#define OWN_u8(field)
#define OWN_u16(field)
#define OWN_u32(field)
#define OWN_u64(field)
#define OWN_point(field)
#define OWN_regs(field)
#define OWN_str(field)  field = arena_slice(a, field);
#define OWN_blob(field) field = arena_slice(a, field);
#define F(type, field)  OWN_##type(r->field)
#define R(number, NAME, name, text)                                         \
	static void own_##name(struct arena *a, struct bt_record_##name *r) \
	{                                                                   \
		(void)a;                                                    \
		(void)r;                                                    \
		BT_FIELDS_##name(F)                                         \
	}
BT_RECORDS(R)
#undef R
#undef F

static void own(struct arena *a, struct bt_record *rec)
{
	switch (rec->kind) {
#define R(number, NAME, name, text)          \
	case BT_RECORD_##NAME:               \
		own_##name(a, &rec->u.name); \
		break;
		BT_RECORDS(R)
#undef R
	}
}

/* Events are all kinds that begin with a seq. */
static bool is_event(uint16_t kind)
{
	return bt_record_name(kind) && kind != BT_RECORD_HEADER && kind != BT_RECORD_UNIT &&
	       kind != BT_RECORD_BRANCHES && kind != BT_RECORD_OBJECT &&
	       kind != BT_RECORD_BRANCH_WORDS;
}

static void add_event(struct loader *l, uint32_t unit, const struct bt_record *rec)
{
	struct model *m = l->m;
	struct arena *a = &l->p->arena;
	struct model_event *events;

	l->unknown_events |= !bt_record_name(rec->kind);
	if (!is_event(rec->kind) || !arena_charge(a, sizeof *events))
		return;
	events = array_grow(m->events, m->event_count, &l->event_cap, sizeof *events);
	if (!events) {
		a->failed = true;
		return;
	}
	m->events = events;
	events += m->event_count;
	*events = (struct model_event){.unit = unit, .rec = *rec};
	own(a, &events->rec);
	/* The common first member of every event. */
	events->seq = rec->u.end.seq;
	if (!a->over && !a->failed)
		m->event_count++;
}

static void add_object(struct loader *l, uint32_t unit, const struct bt_record *rec)
{
	struct arena *a = &l->p->arena;
	struct object *objects;
	(void)unit;

	if (rec->kind != BT_RECORD_OBJECT || !arena_charge(a, sizeof *objects))
		return;
	objects = array_grow(l->objects, l->object_count, &l->object_cap, sizeof *objects);
	if (!objects) {
		a->failed = true;
		return;
	}
	l->objects = objects;
	objects += l->object_count;
	*objects = (struct object){.number = rec->u.object.object,
				   .bytes = arena_slice(a, rec->u.object.bytes)};
	if (objects->number <= l->newest_object)
		l->objects_unsorted = true;
	l->newest_object = objects->number;
	if (!a->over && !a->failed)
		l->object_count++;
}

typedef void take_record(struct loader *l, uint32_t unit, const struct bt_record *rec);

/* Gives every record of a file to take, and damage to the list. */
static void read_file(struct loader *l, const struct trace_file *file, take_record *take)
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
		loader_damage(l, file->name, (uint64_t)(c.rest.at - file->bytes.at), BT_E_CORRUPT,
			      "the trace unpacks to more than is believable; the rest is left out");
	trace_cursor_release(&c);
}

static int compare_events(const void *a, const void *b)
{
	const struct model_event *const *x = a, *const *y = b;

	if ((*x)->seq != (*y)->seq)
		return (*x)->seq < (*y)->seq ? -1 : 1;
	return *x < *y ? -1 : *x > *y;
}

static bool events_sorted(const struct model *m)
{
	for (size_t i = 1; i < m->event_count; i++)
		if (m->events[i - 1].seq > m->events[i].seq)
			return false;
	return true;
}

/* Events are large: pointers are sorted, then each event moved once. */
static void sort_events(struct loader *l)
{
	struct model *m = l->m;
	struct model_event **order, *sorted;

	if (events_sorted(m))
		return;
	order = malloc(m->event_count * sizeof *order);
	sorted = malloc(m->event_count * sizeof *sorted);
	if (!order || !sorted) {
		free(order);
		free(sorted);
		l->p->arena.failed = true;
		return;
	}
	for (size_t i = 0; i < m->event_count; i++)
		order[i] = &m->events[i];
	qsort(order, m->event_count, sizeof *order, compare_events);
	for (size_t i = 0; i < m->event_count; i++)
		sorted[i] = *order[i];
	free(order);
	free(m->events);
	m->events = sorted;
}

static int compare_objects(const void *a, const void *b)
{
	const struct object *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

const struct object *loader_object(const struct loader *l, uint64_t number)
{
	struct object key = {.number = number};

	if (!l->object_count)
		return NULL;
	return bsearch(&key, l->objects, l->object_count, sizeof key, compare_objects);
}

size_t loader_count(const struct loader *l, uint16_t kind)
{
	const struct model *m = l->m;
	size_t n = 0;

	for (size_t i = 0; i < m->event_count; i++)
		n += m->events[i].rec.kind == kind;
	return n;
}

void *loader_array(struct loader *l, size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	if (!p)
		l->p->arena.failed = true;
	return p;
}

static void on_end(struct loader *l, const struct model_event *e) { l->m->end = &e->rec.u.end; }

static void on_stopped(struct loader *l, const struct model_event *e)
{
	if (!l->m->stopped)
		l->m->stopped = &e->rec.u.stopped;
}

static loader_handler *const handlers[] = {
	[BT_RECORD_SPACE] = spaces_on_space,
	[BT_RECORD_TASK] = tasks_on_task,
	[BT_RECORD_EXEC] = tasks_on_exec,
	[BT_RECORD_MAP] = spaces_on_map,
	[BT_RECORD_UNMAP] = spaces_on_unmap,
	[BT_RECORD_CODE] = spaces_on_code,
	[BT_RECORD_EXIT] = tasks_on_exit,
	[BT_RECORD_COMM] = tasks_on_comm,
	[BT_RECORD_LAST_WORDS] = tasks_on_last_words,
	[BT_RECORD_SNAPSHOT] = snapshots_on_snapshot,
	[BT_RECORD_THREAD] = snapshots_on_thread,
	[BT_RECORD_MEMORY] = snapshots_on_memory,
	[BT_RECORD_STOPPED] = on_stopped,
	[BT_RECORD_END] = on_end,
};

static void interpret(struct loader *l)
{
	const struct model *m = l->m;

	if (l->objects_unsorted)
		qsort(l->objects, l->object_count, sizeof *l->objects, compare_objects);
	tasks_collect(l);
	spaces_collect(l);
	snapshots_collect(l);
	for (size_t i = 0; i < m->event_count && !l->p->arena.failed; i++) {
		uint16_t kind = m->events[i].rec.kind;

		if (kind < ARRAY_SIZE(handlers) && handlers[kind])
			handlers[kind](l, &m->events[i]);
	}
	if (l->p->arena.failed)
		return;
	tasks_finish(l);
	spaces_finish(l);
	snapshots_finish(l);
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

/* A closed trace has every event from 1 to its END, and a file of branches for each task that had
 * some when a moment was kept. */
static void look_for_what_is_missing(struct loader *l)
{
	const struct model *m = l->m;
	char file[32];

	if (!model_is_closed(m) || m->damage_count || l->unknown_events)
		return;
	if (m->events[m->event_count - 1].seq != m->event_count)
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

static void load(struct loader *l)
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
		sort_events(l);
	over = l->p->arena.over;
	if (!l->p->arena.failed)
		interpret(l);
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
	free(l->objects);
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
		bytes += t->files[i].bytes.len;
	arena_init(&p->arena, budget_base + budget_ratio * bytes);
	load(&l);
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
	spaces_release(m->priv);
	arena_release(&m->priv->arena);
	free(m->priv);
	free(m->events);
	free(m->tasks);
	free(m->snapshots);
	free(m->damage);
	trace_close(m->trace);
	free(m);
}
