/* SPDX-License-Identifier: MIT */
#include "decoder/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/arena.h"
#include "decoder/space.h"

enum {
	PAGE = 4096,
	/* Lines of damage that are kept; a last one says that there is more. */
	DAMAGE_MAX = 256,
	/* Code pages are looked up through this many copies of an address space. */
	ANCESTORS_MAX = 256,
	SPACE_NONE = -1,
};

/* What a trace may take: real ones pack 5 to 20 times. */
static const uint64_t budget_base = 256u << 20;
static const uint64_t budget_ratio = 64;
/* What a file of branches may unpack to: tight loops pack far better than anything else. */
static const uint64_t unpacked_base = 1u << 30;

struct object {
	uint64_t number;
	struct slice bytes;
};

struct code_page {
	uint32_t space, epoch;
	uint64_t addr, seq;
	struct slice bytes;
};

/* Where an address space came from: index of the parent in spaces, or SPACE_NONE. */
struct origin {
	long parent;
	uint32_t epoch;
};

struct model_private {
	struct arena arena;
	struct space *spaces; /* sorted by number */
	struct origin *origins;
	size_t space_count;
	struct code_page *pages; /* sorted by space, addr, epoch, seq */
	size_t page_count;
	const struct model_snapshot *final;
};

struct process {
	const char *command;
	bool initial;
};

/* A record that belongs to a snapshot. */
struct part {
	uint32_t snapshot;
	uint64_t addr, end; /* of memory */
	const struct model_event *event;
};

struct parts {
	struct part *at;
	size_t count;
};

/* What is needed only while loading. */
struct loader {
	struct model *m;
	struct model_private *p;
	size_t event_cap, damage_cap, object_cap;
	struct object *objects;
	size_t object_count;
	bool objects_unsorted;
	struct process *processes;
	size_t process_count;
	uint32_t *process_of; /* by index in m->tasks; 0: not begun, else index + 1 */
	size_t dangling; /* code pages whose object is not there */
	struct parts threads, memory;
};

/* A vector with room for one more, or NULL without memory. */
static void *grow(void *at, size_t count, size_t *cap, size_t size)
{
	size_t more = *cap ? *cap * 2 : 16;
	void *grown;

	if (count < *cap)
		return at;
	grown = more > SIZE_MAX / size ? NULL : realloc(at, more * size);
	if (grown)
		*cap = more;
	return grown;
}

static void add_damage(struct loader *l, const char *file, uint64_t offset, enum bt_error_code code, const char *text)
{
	struct model *m = l->m;
	struct model_damage *d;

	if (m->damage_count > DAMAGE_MAX)
		return;
	d = grow(m->damage, m->damage_count, &l->damage_cap, sizeof *d);
	if (!d) {
		l->p->arena.failed = true;
		return;
	}
	m->damage = d;
	d += m->damage_count++;
	*d = (struct model_damage){.offset = offset, .code = code, .torn = code == BT_E_TRUNCATED};
	snprintf(d->file, sizeof d->file, "%s", file);
	snprintf(d->text, sizeof d->text, "%s", m->damage_count > DAMAGE_MAX ? "there is more damage, not listed" : text);
}

/* Copies what a record borrowed from its block, record kind by record kind (records.def). */
#define OWN_u8(field)
#define OWN_u16(field)
#define OWN_u32(field)
#define OWN_u64(field)
#define OWN_point(field)
#define OWN_regs(field)
#define OWN_str(field) field = arena_slice(a, field);
#define OWN_blob(field) field = arena_slice(a, field);
#define F(type, field) OWN_##type(r->field)
#define R(number, NAME, name, text)                                                                           \
	static void own_##name(struct arena *a, struct bt_record_##name *r)                                   \
	{                                                                                                     \
		(void)a;                                                                                      \
		(void)r;                                                                                      \
		BT_FIELDS_##name(F)                                                                           \
	}
BT_RECORDS(R)
#undef R
#undef F

static void own(struct arena *a, struct bt_record *rec)
{
	switch (rec->kind) {
#define R(number, NAME, name, text)                                                                           \
	case BT_RECORD_##NAME:                                                                                \
		own_##name(a, &rec->u.name);                                                                  \
		break;
		BT_RECORDS(R)
#undef R
	}
}

/* Events are all kinds that begin with a seq. */
static bool is_event(uint16_t kind)
{
	return bt_record_name(kind) && kind != BT_RECORD_HEADER && kind != BT_RECORD_BRANCHES && kind != BT_RECORD_OBJECT;
}

static void add_event(struct loader *l, const struct trace_file *file, const struct bt_record *rec)
{
	struct model *m = l->m;
	struct arena *a = &l->p->arena;
	struct model_event *events;

	if (!is_event(rec->kind) || !arena_charge(a, sizeof *events))
		return;
	events = grow(m->events, m->event_count, &l->event_cap, sizeof *events);
	if (!events) {
		a->failed = true;
		return;
	}
	m->events = events;
	events += m->event_count;
	*events = (struct model_event){.unit = file->number, .rec = *rec};
	own(a, &events->rec);
	/* The common first member of every event. */
	events->seq = rec->u.end.seq;
	if (!a->over && !a->failed)
		m->event_count++;
}

static void add_object(struct loader *l, const struct trace_file *file, const struct bt_record *rec)
{
	struct arena *a = &l->p->arena;
	struct object *objects;
	(void)file;

	if (rec->kind != BT_RECORD_OBJECT || !arena_charge(a, sizeof *objects))
		return;
	objects = grow(l->objects, l->object_count, &l->object_cap, sizeof *objects);
	if (!objects) {
		a->failed = true;
		return;
	}
	l->objects = objects;
	objects += l->object_count;
	*objects = (struct object){.number = rec->u.object.object, .bytes = arena_slice(a, rec->u.object.bytes)};
	if (l->object_count && objects[-1].number >= objects->number)
		l->objects_unsorted = true;
	if (!a->over && !a->failed)
		l->object_count++;
}

typedef void take_record(struct loader *l, const struct trace_file *file, const struct bt_record *rec);

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
			take(l, file, &rec);
		else
			add_damage(l, file->name, err.offset, err.code, err.text);
	}
	if (a->over)
		add_damage(l, file->name, (uint64_t)(c.rest.at - file->bytes.at), BT_E_CORRUPT,
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

static const struct object *find_object(const struct loader *l, uint64_t number)
{
	struct object key = {.number = number};

	if (!l->object_count)
		return NULL;
	return bsearch(&key, l->objects, l->object_count, sizeof key, compare_objects);
}

static size_t count_kind(const struct model *m, uint16_t kind)
{
	size_t n = 0;

	for (size_t i = 0; i < m->event_count; i++)
		n += m->events[i].rec.kind == kind;
	return n;
}

/* Zeroed, never NULL for n == 0; failure is in the arena's flag. */
static void *new_array(struct loader *l, size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	if (!p)
		l->p->arena.failed = true;
	return p;
}

/* Tasks */

static int compare_tasks(const void *a, const void *b)
{
	const struct model_task *x = a, *y = b;

	if (x->task != y->task)
		return x->task < y->task ? -1 : 1;
	return x->created < y->created ? -1 : x->created > y->created;
}

static struct model_task *find_task(const struct model *m, uint32_t task)
{
	size_t lo = 0, hi = m->task_count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (m->tasks[mid].task < task)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < m->task_count && m->tasks[lo].task == task ? &m->tasks[lo] : NULL;
}

static void collect_tasks(struct loader *l)
{
	struct model *m = l->m;
	size_t n = count_kind(m, BT_RECORD_TASK), kept = 0;

	m->tasks = new_array(l, n, sizeof *m->tasks);
	l->processes = new_array(l, n, sizeof *l->processes);
	l->process_of = new_array(l, n, sizeof *l->process_of);
	if (l->p->arena.failed)
		return;
	for (size_t i = 0; i < m->event_count; i++) {
		const struct bt_record_task *r = &m->events[i].rec.u.task;

		if (m->events[i].rec.kind != BT_RECORD_TASK)
			continue;
		m->tasks[m->task_count++] = (struct model_task){.task = r->task, .parent = r->parent, .unit = r->unit, .pid = r->pid,
			.tid = r->tid, .how = r->how, .space = r->space, .created = r->seq, .command = ""};
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

static struct process *process_of(struct loader *l, uint32_t task)
{
	const struct model_task *t = find_task(l->m, task);
	uint32_t n = t ? l->process_of[t - l->m->tasks] : 0;

	return n ? &l->processes[n - 1] : NULL;
}

static void on_task(struct loader *l, const struct model_event *e)
{
	const struct bt_record_task *r = &e->rec.u.task;
	const struct model_task *t = find_task(l->m, r->task);
	const struct process *parent = process_of(l, r->parent);
	uint32_t *slot = &l->process_of[t - l->m->tasks];

	if (*slot)
		return;
	if (parent && r->how == BT_TASK_THREAD) {
		*slot = (uint32_t)(parent - l->processes) + 1;
		return;
	}
	l->processes[l->process_count++] = (struct process){
		.command = parent ? parent->command : basename_of(l, l->m->trace->header.program),
		.initial = r->how == BT_TASK_INITIAL,
	};
	*slot = (uint32_t)l->process_count;
}

static void on_exec(struct loader *l, const struct model_event *e)
{
	struct process *process = process_of(l, e->rec.u.exec.task);

	if (process)
		process->command = basename_of(l, e->rec.u.exec.path);
}

static void on_task_exit(struct loader *l, const struct model_event *e)
{
	struct model_task *t = find_task(l->m, e->rec.u.exit.task);

	if (t && !t->exit)
		t->exit = &e->rec.u.exit;
}

/* Address spaces */

static uint32_t space_of_event(const struct bt_record *rec)
{
	switch (rec->kind) {
	case BT_RECORD_SPACE:
		return rec->u.space.space;
	case BT_RECORD_MAP:
		return rec->u.map.space;
	case BT_RECORD_UNMAP:
		return rec->u.unmap.space;
	case BT_RECORD_CODE:
		return rec->u.code.space;
	default:
		return 0;
	}
}

static int compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static long find_space(const struct model_private *p, uint32_t number)
{
	size_t lo = 0, hi = p->space_count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (p->spaces[mid].number < number)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < p->space_count && p->spaces[lo].number == number ? (long)lo : SPACE_NONE;
}

/* Every space that a record names exists, also where its SPACE record was lost. */
static void collect_spaces(struct loader *l)
{
	struct model *m = l->m;
	struct model_private *p = l->p;
	size_t n = count_kind(m, BT_RECORD_SPACE) + count_kind(m, BT_RECORD_MAP) + count_kind(m, BT_RECORD_UNMAP) + count_kind(m, BT_RECORD_CODE), count = 0, kept = 0;
	uint32_t *numbers = new_array(l, n, sizeof *numbers);

	for (size_t i = 0; numbers && i < m->event_count; i++)
		if (space_of_event(&m->events[i].rec))
			numbers[count++] = space_of_event(&m->events[i].rec);
	if (numbers)
		qsort(numbers, count, sizeof *numbers, compare_u32);
	for (size_t i = 0; i < count; i++)
		if (!i || numbers[i] != numbers[kept - 1])
			numbers[kept++] = numbers[i];
	if (arena_charge(&p->arena, kept * (sizeof *p->spaces + sizeof *p->origins))) {
		p->spaces = new_array(l, kept, sizeof *p->spaces);
		p->origins = new_array(l, kept, sizeof *p->origins);
		p->space_count = p->spaces && p->origins ? kept : 0;
	}
	for (size_t i = 0; i < p->space_count; i++) {
		space_init(&p->spaces[i], numbers[i]);
		p->origins[i].parent = SPACE_NONE;
	}
	free(numbers);
}

static void on_space(struct loader *l, const struct model_event *e)
{
	const struct bt_record_space *r = &e->rec.u.space;
	struct model_private *p = l->p;
	long child = find_space(p, r->space), parent = find_space(p, r->parent);

	/* A space that has already begun stays what it is. */
	if (child < 0 || parent < 0 || child == parent || p->spaces[child].count || p->origins[child].parent >= 0)
		return;
	p->origins[child] = (struct origin){.parent = parent, .epoch = r->parent_epoch};
	space_copy(&p->spaces[child], &p->arena, &p->spaces[parent], r->parent_epoch);
}

static void on_map(struct loader *l, const struct model_event *e)
{
	const struct bt_record_map *r = &e->rec.u.map;
	struct model_map map = {.start = r->start, .end = r->end, .offset = r->offset, .dev = r->dev, .ino = r->ino, .prot = r->prot,
		.shared = r->shared, .path = (const char *)r->path.at, .build_id = r->build_id};
	long i = find_space(l->p, r->space);

	if (i >= 0)
		space_map(&l->p->spaces[i], &l->p->arena, r->epoch, &map);
}

static void on_unmap(struct loader *l, const struct model_event *e)
{
	const struct bt_record_unmap *r = &e->rec.u.unmap;
	long i = find_space(l->p, r->space);

	if (i >= 0)
		space_unmap(&l->p->spaces[i], &l->p->arena, r->epoch, r->start, r->end);
}

static void on_code(struct loader *l, const struct model_event *e)
{
	const struct bt_record_code *r = &e->rec.u.code;
	const struct object *o = find_object(l, r->object);

	if (!o) {
		l->dangling++;
		return;
	}
	if (r->addr % PAGE || !o->bytes.len)
		return;
	l->p->pages[l->p->page_count++] = (struct code_page){.space = r->space, .epoch = r->epoch, .addr = r->addr, .seq = r->seq,
		.bytes = o->bytes};
}

static int compare_pages(const void *a, const void *b)
{
	const struct code_page *x = a, *y = b;

	if (x->space != y->space)
		return x->space < y->space ? -1 : 1;
	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (x->epoch != y->epoch)
		return x->epoch < y->epoch ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

/* Snapshots */

static void on_snapshot(struct loader *l, const struct model_event *e)
{
	l->m->snapshots[l->m->snapshot_count++] = (struct model_snapshot){.rec = &e->rec.u.snapshot};
}

static void on_thread(struct loader *l, const struct model_event *e)
{
	l->threads.at[l->threads.count++] = (struct part){.snapshot = e->rec.u.thread.snapshot, .event = e};
}

static void on_memory(struct loader *l, const struct model_event *e)
{
	const struct bt_record_memory *r = &e->rec.u.memory;

	if (r->bytes.len && r->addr <= UINT64_MAX - r->bytes.len)
		l->memory.at[l->memory.count++] = (struct part){.snapshot = r->snapshot, .addr = r->addr,
			.end = r->addr + r->bytes.len, .event = e};
}

/* By snapshot and address; of those at the same address the longest first. */
static int compare_parts(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	if (x->snapshot != y->snapshot)
		return x->snapshot < y->snapshot ? -1 : 1;
	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	return x->event < y->event ? -1 : x->event > y->event;
}

/* The parts of a snapshot as [*first, return). They are given out once: a second snapshot of the same number in a
 * damaged trace gets none, which also bounds the work. */
static size_t take_parts(struct parts *parts, uint32_t snapshot, size_t *first)
{
	size_t lo = 0, hi = parts->count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (parts->at[mid].snapshot < snapshot)
			lo = mid + 1;
		else
			hi = mid;
	}
	*first = hi = lo;
	while (hi < parts->count && parts->at[hi].snapshot == snapshot && parts->at[hi].event)
		hi++;
	return hi;
}

static void attach_threads(struct loader *l, struct model_snapshot *s)
{
	size_t first, end = take_parts(&l->threads, s->rec->snapshot, &first);

	s->threads = arena_alloc(&l->p->arena, (end - first) * sizeof *s->threads);
	if (!s->threads)
		return;
	for (size_t i = first; i < end; i++) {
		const struct bt_record_thread *t = &l->threads.at[i].event->rec.u.thread;

		l->threads.at[i].event = NULL;
		s->threads[s->thread_count++] = t;
		if (t->task == s->rec->task && s->threads[0]->task != t->task) {
			memmove(s->threads + 1, s->threads, (s->thread_count - 1) * sizeof *s->threads);
			s->threads[0] = t;
		}
	}
}

static void attach_memory(struct loader *l, struct model_snapshot *s)
{
	size_t first, end = take_parts(&l->memory, s->rec->snapshot, &first);
	uint64_t covered = 0;

	s->memory = arena_alloc(&l->p->arena, (end - first) * sizeof *s->memory);
	if (!s->memory)
		return;
	for (size_t i = first; i < end; i++) {
		const struct bt_record_memory *r = &l->memory.at[i].event->rec.u.memory;

		l->memory.at[i].event = NULL;
		/* What lies within another piece adds nothing. Without it starts and ends both ascend, so that the last piece
		 * that begins at or before an address is the one to read. */
		if (r->space != s->rec->space || l->memory.at[i].end <= covered)
			continue;
		covered = l->memory.at[i].end;
		s->memory[s->memory_count++] = r;
	}
}

static const struct model_event *find_event(const struct model *m, uint64_t seq, uint16_t kind)
{
	size_t lo = 0, hi = m->event_count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (m->events[mid].seq < seq)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < m->event_count && m->events[lo].seq == seq && m->events[lo].rec.kind == kind ? &m->events[lo] : NULL;
}

static void choose_final(struct loader *l)
{
	struct model *m = l->m;
	const struct model_snapshot *fatal = NULL, *initial = NULL;

	for (size_t i = 0; i < m->snapshot_count && !initial; i++) {
		const struct model_snapshot *s = &m->snapshots[i];
		const struct process *process = process_of(l, s->rec->task);

		if (s->rec->kind != BT_SNAPSHOT_FATAL)
			continue;
		if (!fatal)
			fatal = s;
		if (process && process->initial)
			initial = s;
	}
	if (initial)
		l->p->final = initial;
	else if (fatal)
		l->p->final = fatal;
	else if (m->snapshot_count)
		l->p->final = &m->snapshots[m->snapshot_count - 1];
}

static void finish_snapshots(struct loader *l)
{
	struct model *m = l->m;

	qsort(l->threads.at, l->threads.count, sizeof *l->threads.at, compare_parts);
	qsort(l->memory.at, l->memory.count, sizeof *l->memory.at, compare_parts);
	for (size_t i = 0; i < m->snapshot_count; i++) {
		struct model_snapshot *s = &m->snapshots[i];
		const struct model_event *e = s->rec->event ? find_event(m, s->rec->event, BT_RECORD_SIGNAL) : NULL;

		s->signal = e ? &e->rec.u.signal : NULL;
		attach_threads(l, s);
		attach_memory(l, s);
	}
	choose_final(l);
}

static void on_end(struct loader *l, const struct model_event *e)
{
	l->m->end = &e->rec.u.end;
}

static void on_stopped(struct loader *l, const struct model_event *e)
{
	if (!l->m->stopped)
		l->m->stopped = &e->rec.u.stopped;
}

typedef void on_event(struct loader *l, const struct model_event *e);

static on_event *const handlers[] = {
	[BT_RECORD_SPACE] = on_space,
	[BT_RECORD_TASK] = on_task,
	[BT_RECORD_EXEC] = on_exec,
	[BT_RECORD_MAP] = on_map,
	[BT_RECORD_UNMAP] = on_unmap,
	[BT_RECORD_CODE] = on_code,
	[BT_RECORD_EXIT] = on_task_exit,
	[BT_RECORD_SNAPSHOT] = on_snapshot,
	[BT_RECORD_THREAD] = on_thread,
	[BT_RECORD_MEMORY] = on_memory,
	[BT_RECORD_STOPPED] = on_stopped,
	[BT_RECORD_END] = on_end,
};

static void interpret(struct loader *l)
{
	struct model *m = l->m;
	char text[100];

	if (l->objects_unsorted)
		qsort(l->objects, l->object_count, sizeof *l->objects, compare_objects);
	collect_tasks(l);
	collect_spaces(l);
	l->p->pages = new_array(l, count_kind(m, BT_RECORD_CODE), sizeof *l->p->pages);
	m->snapshots = new_array(l, count_kind(m, BT_RECORD_SNAPSHOT), sizeof *m->snapshots);
	l->threads.at = new_array(l, count_kind(m, BT_RECORD_THREAD), sizeof *l->threads.at);
	l->memory.at = new_array(l, count_kind(m, BT_RECORD_MEMORY), sizeof *l->memory.at);
	if (l->p->arena.failed)
		return;
	for (size_t i = 0; i < m->event_count; i++) {
		uint16_t kind = m->events[i].rec.kind;

		if (kind < sizeof handlers / sizeof handlers[0] && handlers[kind])
			handlers[kind](l, &m->events[i]);
	}
	for (size_t i = 0; i < m->task_count; i++)
		m->tasks[i].command = l->process_of[i] ? l->processes[l->process_of[i] - 1].command : "";
	qsort(l->p->pages, l->p->page_count, sizeof *l->p->pages, compare_pages);
	for (size_t i = 0; i < l->p->space_count; i++)
		space_index(&l->p->spaces[i], &l->p->arena);
	finish_snapshots(l);
	if (l->dangling) {
		snprintf(text, sizeof text, "%zu code pages name bytes that are not in the trace", l->dangling);
		add_damage(l, "objects", 0, BT_E_CORRUPT, text);
	}
}

/* Branch streams are only counted here; history.c reads them, task by task. */

struct run {
	uint64_t first, end;
};

static int compare_runs(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

static uint64_t count_entries(struct run *runs, size_t n)
{
	uint64_t total = 0, at = 0;

	qsort(runs, n, sizeof *runs, compare_runs);
	for (size_t i = 0; i < n; i++) {
		if (runs[i].first > at)
			total++;
		if (runs[i].first > at)
			at = runs[i].first;
		if (runs[i].end > at) {
			total += runs[i].end - at;
			at = runs[i].end;
		}
	}
	return total;
}

static void scan_branches(struct loader *l, const struct trace_file *file)
{
	struct model_task *task = find_task(l->m, file->number);
	uint64_t unpacked = 0, blocks = 0, limit = unpacked_base + budget_ratio * file->bytes.len;
	struct trace_cursor c;
	struct bt_record rec;
	struct bt_error err;
	struct run *runs = NULL;
	size_t count = 0, cap = 0;
	int rc;

	trace_cursor_init(&c, l->m->trace, file);
	while (unpacked <= limit && (rc = trace_cursor_next(&c, &rec, &err)) != 0) {
		const struct bt_record_branches *r = &rec.u.branches;
		struct run *grown;
		uint64_t n;

		if (c.next_ordinal != blocks)
			unpacked += c.raw.len;
		blocks = c.next_ordinal;
		if (rc < 0) {
			add_damage(l, file->name, err.offset, err.code, err.text);
			continue;
		}
		if (rec.kind != BT_RECORD_BRANCHES || r->task != file->number)
			continue;
		/* An entry has at least three bytes. */
		n = r->count < r->entries.len / 3 ? r->count : r->entries.len / 3;
		grown = grow(runs, count, &cap, sizeof *runs);
		if (!grown) {
			l->p->arena.failed = true;
			break;
		}
		runs = grown;
		if (n && r->first <= UINT64_MAX - n)
			runs[count++] = (struct run){r->first, r->first + n};
	}
	if (unpacked > limit)
		add_damage(l, file->name, (uint64_t)(c.rest.at - file->bytes.at), BT_E_CORRUPT,
			   "the branch history unpacks to more than is believable; the rest is left out");
	if (task && count)
		task->branch_count = count_entries(runs, count);
	free(runs);
	trace_cursor_release(&c);
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
		add_damage(l, "", 0, BT_E_CORRUPT, "the trace has more mappings than is believable; later ones are left out");
	for (size_t i = 0; i < t->file_count && !l->p->arena.failed; i++)
		if (t->files[i].kind == BT_FILE_BRANCHES)
			scan_branches(l, &t->files[i]);
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
		return bt_fail(err, BT_E_NO_MEMORY, 0, "out of memory");
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
	for (size_t i = 0; i < m->priv->space_count; i++)
		space_release(&m->priv->spaces[i]);
	free(m->priv->spaces);
	free(m->priv->origins);
	free(m->priv->pages);
	arena_release(&m->priv->arena);
	free(m->priv);
	free(m->events);
	free(m->tasks);
	free(m->snapshots);
	free(m->damage);
	trace_close(m->trace);
	free(m);
}

const struct model_task *model_task(const struct model *m, uint32_t task)
{
	return find_task(m, task);
}

const struct model_snapshot *model_final_snapshot(const struct model *m)
{
	return m->priv->final;
}

const struct model_map *model_map_at(const struct model *m, uint32_t space, uint32_t epoch, uint64_t addr)
{
	long i = find_space(m->priv, space);

	return i < 0 ? NULL : space_map_at(&m->priv->spaces[i], epoch, addr);
}

size_t model_maps(const struct model *m, uint32_t space, uint32_t epoch, const struct model_map ***out)
{
	long index = find_space(m->priv, space);
	const struct space *s = index < 0 ? NULL : &m->priv->spaces[index];
	size_t count = 0;

	*out = malloc((s && s->count ? s->count : 1) * sizeof **out);
	if (!*out)
		return 0;
	for (size_t i = 0; s && i < s->count; i++)
		if (s->maps[i]->first_epoch <= epoch && epoch < s->maps[i]->end_epoch)
			(*out)[count++] = s->maps[i];
	return count;
}

/* The page of one space: the newest that is not younger than epoch, else NULL, and then in *later the oldest younger one. */
static const struct code_page *page_in_space(const struct model_private *p, uint32_t space, uint32_t epoch, uint64_t addr,
					     const struct code_page **later)
{
	struct code_page key = {.space = space, .addr = addr, .epoch = epoch, .seq = UINT64_MAX};
	size_t lo = 0, hi = p->page_count;
	const struct code_page *at;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (compare_pages(&p->pages[mid], &key) <= 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	*later = NULL;
	at = lo ? &p->pages[lo - 1] : NULL;
	if (at && at->space == space && at->addr == addr)
		return at;
	at = lo < p->page_count ? &p->pages[lo] : NULL;
	if (at && at->space == space && at->addr == addr)
		*later = at;
	return NULL;
}

/* Code bytes may be written when a page is first executed, later than the epoch they have held since: hence the oldest younger one. */
static const struct code_page *find_page(const struct model_private *p, uint32_t space, uint32_t epoch, uint64_t addr)
{
	const struct code_page *found = NULL, *later, *fallback = NULL;
	long index = find_space(p, space);

	for (size_t depth = 0; depth < ANCESTORS_MAX; depth++) {
		found = page_in_space(p, space, epoch, addr, &later);
		if (!fallback)
			fallback = later;
		if (found || index < 0 || p->origins[index].parent < 0)
			break;
		epoch = p->origins[index].epoch;
		index = p->origins[index].parent;
		space = p->spaces[index].number;
	}
	return found ? found : fallback;
}

size_t model_code(const struct model *m, uint32_t space, uint32_t epoch, uint64_t addr, uint8_t *out, size_t n)
{
	size_t done = 0;

	while (done < n) {
		uint64_t at = addr + done;
		size_t skip = at % PAGE, take = n - done < PAGE - skip ? n - done : PAGE - skip;
		const struct code_page *page = find_page(m->priv, space, epoch, at - skip);

		if (!page || page->bytes.len <= skip)
			break;
		if (take > page->bytes.len - skip)
			n = done + (take = page->bytes.len - skip);
		memcpy(out + done, page->bytes.at + skip, take);
		done += take;
	}
	return done;
}

size_t model_memory(const struct model *m, const struct model_snapshot *s, uint64_t addr, uint8_t *out, size_t n)
{
	size_t done = 0;
	(void)m;

	while (done < n) {
		uint64_t at = addr + done;
		size_t lo = 0, hi = s->memory_count, skip, take;
		const struct bt_record_memory *r;

		while (lo < hi) {
			size_t mid = lo + (hi - lo) / 2;

			if (s->memory[mid]->addr <= at)
				lo = mid + 1;
			else
				hi = mid;
		}
		if (!lo || at < addr)
			break;
		r = s->memory[lo - 1];
		if (at - r->addr >= r->bytes.len)
			break;
		skip = (size_t)(at - r->addr);
		take = n - done < r->bytes.len - skip ? n - done : r->bytes.len - skip;
		memcpy(out + done, r->bytes.at + skip, take);
		done += take;
	}
	return done;
}
