/* SPDX-License-Identifier: MIT */
/* Captures name threads by pid and tid, which are used again; a trace has a task, a space and an
 * epoch for each. Two tables lead from a number to the thread or process that it names now; fork,
 * exec and exit change them.
 *
 * A thread gets a task late, when a sample or a switch first names it, and after its process's
 * first thread. Threads that are never named get none.
 *
 * A process has a space of its own from the first mapping or task on, and a new one with each exec.
 * Mappings that precede the first sample of an epoch belong to that epoch; later ones begin a new
 * one. A fork copies its parent's space as of the parent's epoch then.
 *
 * The code of mapped files (code_map.h) is kept beside, to decode hardware traces. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/importer_private.h"
#include "lib/grow.h"
#include "lib/page.h"

/* --- tables --- */

/* The index of the number's item; SIZE_MAX: there is none. */
static size_t table_find(const struct hash_table *t, uint32_t number)
{
	const struct hash_slot *s = hash_table_find(t, number);

	return s ? s->number - 1 : SIZE_MAX;
}

/* Makes the number name the item. The table has room for one more. */
static void table_set(struct hash_table *t, uint32_t number, size_t index)
{
	struct hash_slot *s = hash_table_find(t, number);

	if (s)
		s->number = index + 1;
	else
		hash_table_add(t, (struct hash_slot){number, {index + 1}});
}

/* --- processes and their spaces --- */

static size_t add_process(struct importer *im, uint32_t pid)
{
	struct import_process *grown =
		array_grow(im->processes, im->process_count, &im->process_cap, sizeof *grown);

	im->processes = grown ? grown : im->processes;
	if (!grown || !hash_table_reserve(&im->by_pid, 1)) {
		importer_no_memory(im);
		return SIZE_MAX;
	}
	im->processes[im->process_count] =
		(struct import_process){.pid = pid, .space = ++im->spaces, .epoch = 1};
	table_set(&im->by_pid, pid, im->process_count);
	return im->process_count++;
}

static size_t process_of(struct importer *im, uint32_t pid)
{
	size_t index = table_find(&im->by_pid, pid);

	return index != SIZE_MAX ? index : add_process(im, pid);
}

static void begin_space(struct importer *im, struct import_process *p,
			const struct import_process *parent)
{
	struct bt_record_space body = {.time = im->last_time,
				       .space = p->space,
				       .parent = parent ? parent->space : 0,
				       .parent_epoch = parent ? parent->epoch : 0};

	if (p->begun)
		return;
	p->begun = true;
	if (parent)
		p->epoch = parent->epoch;
	body.seq = importer_seq(im);
	importer_event(im, BT_RECORD_SPACE, &body);
}

/* The epoch in which the mappings may change: a new one when something was seen in the last. */
static uint32_t open_epoch(struct import_process *p)
{
	p->epoch += p->seen;
	p->seen = false;
	return p->epoch;
}

void importer_map(struct importer *im, const struct import_map *map)
{
	size_t index = im->error.code ? SIZE_MAX : process_of(im, map->pid);
	struct bt_record_map body = {.start = map->start,
				     .end = map->end,
				     .offset = map->offset,
				     .dev = map->dev,
				     .ino = map->ino,
				     .prot = map->prot,
				     .shared = map->shared,
				     .path = map->path,
				     .build_id = map->build_id};
	struct import_process *p;

	if (index == SIZE_MAX || map->end <= map->start)
		return;
	p = &im->processes[index];
	begin_space(im, p, NULL);
	body.space = p->space;
	body.epoch = open_epoch(p);
	body.seq = importer_seq(im);
	im->pending += map->path.len;
	importer_event(im, BT_RECORD_MAP, &body);
	code_map_add(&p->code, &im->files, map->start, map->end, map->offset,
		     map->prot & BT_PROT_EXEC, map->path, map->build_id);
}

/* --- threads --- */

static struct thread *add_thread(struct importer *im, struct import_thread_id id)
{
	size_t process = process_of(im, id.pid);
	struct thread *t, **grown;

	if (process == SIZE_MAX)
		return NULL;
	if (im->thread_count == THREADS_MAX) {
		importer_fail(im, BT_E_UNSUPPORTED,
			      "the capture has more threads than one trace takes (131072)");
		return NULL;
	}
	grown = array_grow(im->threads, im->thread_count, &im->thread_cap, sizeof *grown);
	im->threads = grown ? grown : im->threads;
	t = calloc(1, sizeof *t);
	if (!t || !grown || !hash_table_reserve(&im->by_tid, 1)) {
		free(t);
		importer_no_memory(im);
		return NULL;
	}
	t->id = id;
	t->process = process;
	snprintf(t->comm, sizeof t->comm, ":%d",
		 (int)id.tid); /* as perf calls a thread that it knows no name of */
	im->processes[process].live++;
	im->threads[im->thread_count] = t;
	table_set(&im->by_tid, id.tid, im->thread_count++);
	return t;
}

/* NULL: the process has no thread of that tid. */
static struct thread *find_thread(const struct importer *im, struct import_thread_id id)
{
	size_t index = table_find(&im->by_tid, id.tid);
	struct thread *t = index != SIZE_MAX ? im->threads[index] : NULL;

	return t && t->id.pid == id.pid ? t : NULL;
}

struct thread *importer_thread(struct importer *im, struct import_thread_id id)
{
	struct thread *t = im->error.code ? NULL : find_thread(im, id);

	return t || im->error.code ? t : add_thread(im, id);
}

static void put_comm(struct importer *im, const struct thread *t, uint64_t time)
{
	struct bt_record_comm body = {
		.seq = importer_seq(im), .time = time, .task = t->task, .comm = bt_str(t->comm)};

	importer_event(im, BT_RECORD_COMM, &body);
}

/* Gives a thread its task, after its process's first thread. */
bool importer_give_task(struct importer *im, struct thread *t)
{
	struct thread *leader = t;
	struct import_process *p;
	struct bt_record_task body;

	if (t->task)
		return true;
	if (t->id.tid != t->id.pid) {
		leader = importer_thread(im, (struct import_thread_id){t->id.pid, t->id.pid});
		if (!leader || !importer_give_task(im, leader))
			return false;
	}
	p = &im->processes[t->process];
	begin_space(im, p, NULL);
	t->task = ++im->tasks;
	body = (struct bt_record_task){.seq = importer_seq(im),
				       .time = im->last_time,
				       .task = t->task,
				       .unit = IMPORTER_UNIT,
				       .space = p->space,
				       .pid = t->id.pid,
				       .tid = t->id.tid,
				       .how = leader == t ? BT_TASK_FORK : BT_TASK_THREAD,
				       .parent = leader == t ? 0 : leader->task};
	importer_event(im, BT_RECORD_TASK, &body);
	put_comm(im, t, im->last_time);
	return !im->error.code;
}

void importer_comm(struct importer *im, struct import_thread_id id, uint64_t time,
		   struct slice comm, bool exec)
{
	struct thread *t = importer_thread(im, id);
	struct import_process *p;
	char name[COMM_MAX];

	snprintf(name, sizeof name, "%.*s", (int)(comm.len < COMM_MAX ? comm.len : COMM_MAX - 1),
		 comm.len ? (const char *)comm.at : "");
	if (!t || (!exec && !strcmp(t->comm, name)))
		return;
	memcpy(t->comm, name, sizeof name);
	if (exec) {
		p = &im->processes[t->process];
		p->space = ++im->spaces;
		p->epoch = 1;
		p->begun = p->seen = false;
		code_map_clear(&p->code);
		begin_space(im, p, NULL);
	}
	if (exec && t->task) {
		struct bt_record_exec body = {.seq = importer_seq(im),
					      .time = time,
					      .task = t->task,
					      .space = im->processes[t->process].space,
					      .path = bt_str(t->comm),
					      .tid = id.tid};

		importer_event(im, BT_RECORD_EXEC, &body);
	}
	if (t->task)
		put_comm(im, t, time);
}

static void copy_maps(struct importer *im, struct import_process *child,
		      struct import_process *parent)
{
	if (parent->begun) {
		begin_space(im, child, parent);
		code_map_copy(&child->code, &im->files, &parent->code);
	}
	parent->seen = true; /* the copy was made in this epoch */
}

void importer_fork(struct importer *im, struct import_thread_id child,
		   struct import_thread_id parent, bool maps, uint64_t time)
{
	struct thread *from = importer_thread(im, parent),
		      *t = from ? find_thread(im, child) : NULL;
	size_t process;

	im->last_time = time;
	if (!from || (t && !t->exited && !t->task))
		return; /* said twice */
	if (child.pid != parent.pid) {
		process = add_process(im, child.pid);
		if (process == SIZE_MAX)
			return;
		if (maps)
			copy_maps(im, &im->processes[process], &im->processes[from->process]);
	}
	t = add_thread(im, child);
	if (t)
		memcpy(t->comm, from->comm, sizeof t->comm);
}

void importer_exit(struct importer *im, struct import_thread_id id, uint64_t time)
{
	struct thread *t = find_thread(im, id);
	struct import_process *p = t ? &im->processes[t->process] : NULL;
	struct bt_record_exit body;

	if (!t || t->exited)
		return;
	t->exited = true;
	p->live--;
	if (!t->task)
		return;
	body = (struct bt_record_exit){.seq = importer_seq(im),
				       .time = time,
				       .task = t->task,
				       .point.tick = BT_TICKS_UNKNOWN,
				       .kind = BT_EXIT_UNKNOWN,
				       .last = !p->live};
	importer_event(im, BT_RECORD_EXIT, &body);
}

void importer_sched(struct importer *im, struct import_thread_id id, uint64_t time, uint32_t cpu,
		    enum bt_sched what)
{
	struct thread *t =
		id.pid || id.tid ? importer_thread(im, id) : NULL; /* not the idle task */
	struct bt_record_sched body = {.time = time, .cpu = cpu, .what = (uint8_t)what};

	im->last_time = time;
	if (!t || !importer_give_task(im, t))
		return;
	body.task = t->task;
	body.seq = importer_seq(im);
	body.position = t->first + t->count + 1;
	importer_event(im, BT_RECORD_SCHED, &body);
}

size_t importer_code(struct importer *im, struct import_thread_id id, uint64_t addr, uint8_t *bytes,
		     size_t n)
{
	struct thread *t = importer_thread(im, id);
	struct slice code = {0};

	if (t)
		code = code_map_bytes(&im->processes[t->process].code, addr, n);
	if (code.len)
		memcpy(bytes, code.at, code.len);
	return code.len;
}

void importer_lacks(struct importer *im, struct import_thread_id id, uint64_t addr)
{
	struct thread *t = importer_thread(im, id);
	struct code_name *name =
		t ? code_map_lacks(&im->processes[t->process].code, &im->files, addr) : NULL;

	if (name && !name->told)
		importer_note(im,
			      "the code of %.300s is not at hand, or is not what ran: nothing can "
			      "be said of branches there",
			      (const char *)name->path.at);
	else if (t && !name && !im->told_wild)
		importer_note(im,
			      "code ran at 0x%llx, where the capture has no mapping of a file: "
			      "nothing can be said of branches there",
			      (unsigned long long)addr);
	if (name)
		name->told = true;
	else if (t)
		im->told_wild = true;
}

uint32_t importer_pid(const struct importer *im, uint32_t tid)
{
	size_t index = table_find(&im->by_tid, tid);

	return index != SIZE_MAX ? im->threads[index]->id.pid : 0;
}

void importer_release_threads(struct importer *im)
{
	for (size_t i = 0; i < im->thread_count; i++) {
		buf_release(&im->threads[i]->entries);
		buf_release(&im->threads[i]->flags.bytes);
		buf_release(&im->threads[i]->counters.bytes);
		free(im->threads[i]);
	}
	for (size_t i = 0; i < im->process_count; i++)
		code_map_clear(&im->processes[i].code);
	free(im->threads);
	free(im->processes);
	hash_table_release(&im->by_tid);
	hash_table_release(&im->by_pid);
}
