/* SPDX-License-Identifier: MIT */
#include "import/importer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/code_map.h"
#include "lib/insn.h"

enum {
	COMM_MAX = 64,
	THREADS_MAX = 1 << 17, /* each has a file of branches */
	CHUNK_TARGET = 32 << 10,
	PENDING_MAX = 32 << 20, /* bytes held before everything goes to the kernel */
	TABLE_FIRST = 256,
	PROT_EXECUTE = 4,
};

/* Pairs of how often and what: words of branch entries. */
struct runs {
	struct buf bytes;
	uint64_t length, word;
	bool any; /* a word that is not 0 */
};

struct process {
	uint32_t pid;
	uint32_t space, epoch;
	bool begun; /* the space is in the trace */
	bool seen;  /* a sample was taken in this epoch */
	uint32_t live;
	struct code_map code;
};

struct thread {
	struct import_thread_id id;
	size_t process;
	uint32_t task; /* 0: not in the trace yet */
	bool exited;
	uint64_t lost; /* importer.lost at its newest sample */
	char comm[COMM_MAX];
	/* Its history: the chunk that is being made, and what came before. */
	struct bt_branch_codec codec;
	struct buf entries;
	struct runs flags, counters;
	uint64_t first, count;
	uint32_t chunk_space, chunk_epoch, space, epoch;
};

/* Threads by tid and processes by pid: index + 1 of the newest of that number; 0 is free. */
struct table {
	uint32_t *slots;
	size_t size, used;
};

struct importer {
	char *dir;
	struct bt_record_header header;
	struct trace_writer *writer;
	struct bt_error error; /* the first failure */
	struct thread **threads;
	struct process *processes;
	size_t thread_count, thread_cap, process_count, process_cap;
	struct table by_tid, by_pid;
	uint32_t tasks, spaces, snapshots;
	struct bt_record_end end;
	uint64_t samples, branches, lost, pending, last_time;
	struct code_files files;
};

static void fail(struct importer *im, enum bt_error_code code, const char *text)
{
	if (!im->error.code)
		bt_fail(&im->error, code, 0, "%s", text);
}

static void no_memory(struct importer *im)
{
	fail(im, BT_E_NO_MEMORY, "out of memory for the import");
}

int importer_new(struct importer **out, const char *dir, struct bt_error *err)
{
	struct importer *im = calloc(1, sizeof *im);

	if (im && dir)
		im->dir = strdup(dir);
	if (!im || (dir && !im->dir)) {
		free(im);
		return bt_fail(err, BT_E_NO_MEMORY, 0, "out of memory");
	}
	im->end.kind = BT_EXIT_UNKNOWN;
	*out = im;
	return 0;
}

struct bt_record_header *importer_header(struct importer *im)
{
	return &im->header;
}

uint64_t importer_samples(const struct importer *im)
{
	return im->samples;
}

uint64_t importer_branches(const struct importer *im)
{
	return im->branches;
}

bool importer_failed(const struct importer *im)
{
	return im->error.code;
}

struct trace_writer *importer_writer(struct importer *im)
{
	if (!im->writer && im->dir && !im->error.code && trace_writer_open(&im->writer, im->dir, &im->header, &im->error))
		return NULL;
	return im->error.code ? NULL : im->writer;
}

static void event(struct importer *im, enum bt_record_kind kind, const void *body)
{
	if (importer_writer(im))
		trace_writer_event(im->writer, IMPORTER_UNIT, kind, body);
	im->pending += 64;
}

/* The next number in the order of the trace. */
static uint64_t next_seq(struct importer *im)
{
	return importer_writer(im) ? trace_writer_next_seq(im->writer) : 0;
}

/* --- tables --- */

static size_t slot_of(const struct table *t, uint32_t number)
{
	return (number * 2654435761u) & (t->size - 1);
}

static uint32_t number_of(const struct importer *im, const struct table *t, uint32_t index)
{
	return t == &im->by_tid ? im->threads[index]->id.tid : im->processes[index].pid;
}

/* The slot of a number, or the free one where it belongs. */
static uint32_t *table_find(const struct importer *im, const struct table *t, uint32_t number)
{
	size_t i;

	if (!t->size)
		return NULL;
	for (i = slot_of(t, number); t->slots[i]; i = (i + 1) & (t->size - 1))
		if (number_of(im, t, t->slots[i] - 1) == number)
			break;
	return &t->slots[i];
}

static bool table_room(struct importer *im, struct table *t)
{
	struct table grown = {.size = t->size ? t->size * 2 : TABLE_FIRST, .used = t->used};

	if (t->size && t->used * 2 < t->size)
		return true;
	grown.slots = calloc(grown.size, sizeof *grown.slots);
	if (!grown.slots)
		return false;
	for (size_t i = 0; i < t->size; i++) {
		size_t at;

		if (!t->slots[i])
			continue;
		for (at = slot_of(&grown, number_of(im, t, t->slots[i] - 1)); grown.slots[at]; at = (at + 1) & (grown.size - 1))
			;
		grown.slots[at] = t->slots[i];
	}
	free(t->slots);
	*t = grown;
	return true;
}

/* Lets the number name the item, whatever it named before. */
static void table_set(struct importer *im, struct table *t, uint32_t number, size_t index)
{
	uint32_t *slot = table_find(im, t, number);

	t->used += !*slot;
	*slot = (uint32_t)index + 1;
}

static bool room_for(void **at, size_t count, size_t *cap, size_t size)
{
	size_t more = *cap ? *cap * 2 : 64;
	void *grown;

	if (count < *cap)
		return true;
	grown = realloc(*at, more * size);
	if (!grown)
		return false;
	*at = grown;
	*cap = more;
	return true;
}

/* --- processes and their spaces --- */

static size_t add_process(struct importer *im, uint32_t pid)
{
	void *at = im->processes;
	bool room = room_for(&at, im->process_count, &im->process_cap, sizeof *im->processes);

	im->processes = at;
	if (!room || !table_room(im, &im->by_pid)) {
		no_memory(im);
		return SIZE_MAX;
	}
	im->processes[im->process_count] = (struct process){.pid = pid, .space = ++im->spaces, .epoch = 1};
	table_set(im, &im->by_pid, pid, im->process_count);
	return im->process_count++;
}

static size_t process_of(struct importer *im, uint32_t pid)
{
	const uint32_t *slot = table_find(im, &im->by_pid, pid);

	return slot && *slot ? *slot - 1 : add_process(im, pid);
}

static void begin_space(struct importer *im, struct process *p, const struct process *parent)
{
	struct bt_record_space body = {.time = im->last_time, .space = p->space, .parent = parent ? parent->space : 0,
		.parent_epoch = parent ? parent->epoch : 0};

	if (p->begun)
		return;
	p->begun = true;
	if (parent)
		p->epoch = parent->epoch;
	body.seq = next_seq(im);
	event(im, BT_RECORD_SPACE, &body);
}

/* The epoch in which the mappings may change: a new one when something was seen in the last. */
static uint32_t open_epoch(struct process *p)
{
	p->epoch += p->seen;
	p->seen = false;
	return p->epoch;
}

void importer_map(struct importer *im, const struct import_map *map)
{
	size_t index = im->error.code ? SIZE_MAX : process_of(im, map->pid);
	struct bt_record_map body = {.start = map->start, .end = map->end, .offset = map->offset, .dev = map->dev, .ino = map->ino,
		.prot = map->prot, .shared = map->shared, .path = map->path, .build_id = map->build_id};
	struct process *p;

	if (index == SIZE_MAX || map->end <= map->start)
		return;
	p = &im->processes[index];
	begin_space(im, p, NULL);
	body.space = p->space;
	body.epoch = open_epoch(p);
	body.seq = next_seq(im);
	im->pending += map->path.len;
	event(im, BT_RECORD_MAP, &body);
	code_map_add(&p->code, &im->files, map->start, map->end, map->offset, map->prot & PROT_EXECUTE, map->path, map->build_id);
}

/* --- threads --- */

static struct thread *add_thread(struct importer *im, struct import_thread_id id)
{
	size_t process = process_of(im, id.pid);
	void *at = im->threads;
	struct thread *t;
	bool room;

	if (process == SIZE_MAX)
		return NULL;
	if (im->thread_count == THREADS_MAX) {
		fail(im, BT_E_UNSUPPORTED, "the capture has more threads than one trace takes (131072)");
		return NULL;
	}
	room = room_for(&at, im->thread_count, &im->thread_cap, sizeof *im->threads);
	im->threads = at;
	t = calloc(1, sizeof *t);
	if (!t || !room || !table_room(im, &im->by_tid)) {
		free(t);
		no_memory(im);
		return NULL;
	}
	t->id = id;
	t->process = process;
	snprintf(t->comm, sizeof t->comm, ":%d", (int)id.tid); /* as perf calls a thread that it knows no name of */
	im->processes[process].live++;
	im->threads[im->thread_count] = t;
	table_set(im, &im->by_tid, id.tid, im->thread_count++);
	return t;
}

/* NULL: there is none of that tid in that process. */
static struct thread *find_thread(const struct importer *im, struct import_thread_id id)
{
	const uint32_t *slot = table_find(im, &im->by_tid, id.tid);
	struct thread *t = slot && *slot ? im->threads[*slot - 1] : NULL;

	return t && t->id.pid == id.pid ? t : NULL;
}

static struct thread *get_thread(struct importer *im, struct import_thread_id id)
{
	struct thread *t = im->error.code ? NULL : find_thread(im, id);

	return t || im->error.code ? t : add_thread(im, id);
}

static void put_comm(struct importer *im, const struct thread *t, uint64_t time)
{
	struct bt_record_comm body = {.seq = next_seq(im), .time = time, .task = t->task, .comm = bt_str(t->comm)};

	event(im, BT_RECORD_COMM, &body);
}

/* Gives a thread its task; that of its process's first thread comes before. */
static bool give_task(struct importer *im, struct thread *t)
{
	struct thread *leader = t;
	struct process *p;
	struct bt_record_task body;

	if (t->task)
		return true;
	if (t->id.tid != t->id.pid) {
		leader = get_thread(im, (struct import_thread_id){t->id.pid, t->id.pid});
		if (!leader || !give_task(im, leader))
			return false;
	}
	p = &im->processes[t->process];
	begin_space(im, p, NULL);
	t->task = ++im->tasks;
	body = (struct bt_record_task){.seq = next_seq(im), .time = im->last_time, .task = t->task, .unit = IMPORTER_UNIT, .space = p->space,
		.pid = t->id.pid, .tid = t->id.tid, .how = leader == t ? BT_TASK_FORK : BT_TASK_THREAD,
		.parent = leader == t ? 0 : leader->task};
	event(im, BT_RECORD_TASK, &body);
	put_comm(im, t, im->last_time);
	return !im->error.code;
}

void importer_comm(struct importer *im, struct import_thread_id id, uint64_t time, struct slice comm, bool exec)
{
	struct thread *t = get_thread(im, id);
	struct process *p;
	char name[COMM_MAX];

	snprintf(name, sizeof name, "%.*s", (int)(comm.len < COMM_MAX ? comm.len : COMM_MAX - 1), comm.len ? (const char *)comm.at : "");
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
		struct bt_record_exec body = {.seq = next_seq(im), .time = time, .task = t->task, .space = im->processes[t->process].space,
			.path = bt_str(t->comm), .tid = id.tid};

		event(im, BT_RECORD_EXEC, &body);
	}
	if (t->task)
		put_comm(im, t, time);
}

void importer_fork(struct importer *im, struct import_thread_id child, struct import_thread_id parent, uint64_t time)
{
	struct thread *from = get_thread(im, parent), *t = from ? find_thread(im, child) : NULL;
	size_t process;

	im->last_time = time;
	if (!from || (t && !t->exited && !t->task))
		return; /* said twice */
	if (child.pid != parent.pid) {
		process = add_process(im, child.pid);
		if (process == SIZE_MAX)
			return;
		if (im->processes[from->process].begun) {
			begin_space(im, &im->processes[process], &im->processes[from->process]);
			code_map_copy(&im->processes[process].code, &im->files, &im->processes[from->process].code);
		}
		im->processes[from->process].seen = true; /* the copy is that of this epoch */
	}
	t = add_thread(im, child);
	if (t)
		memcpy(t->comm, from->comm, sizeof t->comm);
}

void importer_exit(struct importer *im, struct import_thread_id id, uint64_t time)
{
	struct thread *t = find_thread(im, id);
	struct process *p = t ? &im->processes[t->process] : NULL;
	struct bt_record_exit body;

	if (!t || t->exited)
		return;
	t->exited = true;
	p->live--;
	if (!t->task)
		return;
	body = (struct bt_record_exit){.seq = next_seq(im), .time = time, .task = t->task, .point.tick = BT_TICKS_UNKNOWN,
		.kind = BT_EXIT_UNKNOWN, .last = !p->live};
	event(im, BT_RECORD_EXIT, &body);
}

void importer_sched(struct importer *im, struct import_thread_id id, uint64_t time, uint32_t cpu, enum bt_sched what)
{
	struct thread *t = id.pid || id.tid ? get_thread(im, id) : NULL; /* not the idle task */
	struct bt_record_sched body = {.time = time, .cpu = cpu, .what = (uint8_t)what};

	im->last_time = time;
	if (!t || !give_task(im, t))
		return;
	body.task = t->task;
	body.seq = next_seq(im);
	event(im, BT_RECORD_SCHED, &body);
}

/* --- branches --- */

static void runs_put(struct runs *r, uint64_t word, uint64_t n)
{
	r->any |= word != 0;
	if (r->length && r->word != word) {
		buf_leb(&r->bytes, r->length);
		buf_leb(&r->bytes, r->word);
		r->length = 0;
	}
	r->word = word;
	r->length += n;
}

static void runs_flush(struct importer *im, struct runs *r, const struct thread *t, enum bt_branch_words what)
{
	struct bt_record_branch_words body = {.task = t->task, .first = t->first, .count = t->count, .what = (uint8_t)what};

	runs_put(r, ~r->word, 0); /* closes the run */
	body.words = slice_of(r->bytes.data, r->bytes.len);
	if (r->any && r->bytes.failed)
		no_memory(im);
	else if (r->any && importer_writer(im))
		trace_writer_branch_words(im->writer, &body);
	im->pending += r->bytes.len;
	buf_reset(&r->bytes);
	r->length = 0;
	r->any = false;
}

static void flush_chunk(struct importer *im, struct thread *t)
{
	struct bt_record_branches body = {.task = t->task, .first = t->first, .count = t->count, .tick = BT_TICKS_UNKNOWN,
		.epoch = t->chunk_epoch, .space = t->chunk_space, .entries = slice_of(t->entries.data, t->entries.len)};

	if (!t->count)
		return;
	runs_flush(im, &t->flags, t, BT_WORDS_FLAGS);
	runs_flush(im, &t->counters, t, BT_WORDS_COUNTERS);
	if (t->entries.failed)
		no_memory(im);
	else if (importer_writer(im))
		trace_writer_branches(im->writer, &body);
	t->first += t->count;
	t->count = 0;
	buf_reset(&t->entries);
	t->codec = (struct bt_branch_codec){0};
}

static void put_entry(struct thread *t, const struct bt_branch *b, uint64_t flags, uint64_t counters)
{
	bt_branch_encode(&t->codec, &t->entries, b);
	runs_put(&t->flags, flags, 1);
	runs_put(&t->counters, counters, 1);
	t->count++;
}

/* perf's type of a branch (PERF_BR_*) as a kind of ours. A system call is not: ours goes to where user code went on. */
static uint8_t kind_of_type(unsigned type)
{
	static const uint8_t kinds[16] = {
		[1] = BT_BRANCH_JCC + 1,  [2] = BT_BRANCH_JMP + 1,   [3] = BT_BRANCH_IJMP + 1,
		[4] = BT_BRANCH_CALL + 1, [5] = BT_BRANCH_ICALL + 1, [6] = BT_BRANCH_RET + 1,
	};

	return kinds[type & 15] ? kinds[type & 15] - 1 : BT_BRANCH_BRANCH;
}

/* Puts the page of code at addr into the trace, and gives up to n bytes of the code there; empty where it is not known. */
static struct slice put_code(struct importer *im, struct thread *t, uint64_t addr, size_t n)
{
	struct process *p = &im->processes[t->process];
	struct bt_record_code body = {.space = p->space, .epoch = p->epoch, .addr = addr & ~(uint64_t)(CODE_PAGE - 1)};
	struct slice page, code = code_map_at(&p->code, addr, n, &page);

	if (page.len && importer_writer(im)) {
		body.object = trace_writer_object(im->writer, page.at, page.len);
		body.seq = next_seq(im);
		event(im, BT_RECORD_CODE, &body);
		im->pending += page.len;
	}
	return code;
}

/* A branch that perf did not classify is what its instruction is. A system call is not: the entry ends in the kernel, and ours where user
 * code goes on; and what is no branch instruction was interrupted there. */
static uint8_t kind_of_code(struct slice code)
{
	struct bt_insn insn;
	int kind;

	if (!code.len || bt_insn_decode(code.at, code.len, &insn))
		return BT_BRANCH_BRANCH;
	kind = bt_insn_branch_kind(insn.class);
	return kind < 0 || kind == BT_BRANCH_SYSCALL ? BT_BRANCH_BRANCH : (uint8_t)kind;
}

static void put_branch(struct importer *im, struct thread *t, const struct import_branch *in, uint64_t slots)
{
	struct slice code = slots ? (struct slice){0} : put_code(im, t, in->from, BT_INSN_MAX);

	struct bt_branch b = {.from = in->from, .to = in->to, .cycles = (uint16_t)(in->flags >> IMPORT_CYCLES_SHIFT)};

	if (in->flags & (IMPORT_PREDICTED | IMPORT_MISPREDICTED))
		b.flags = BT_BRANCH_PREDICTION_KNOWN | (in->flags & IMPORT_PREDICTED ? 0 : BT_BRANCH_MISPREDICTED);
	if (slots) {
		b.kind = BT_BRANCH_GAP;
		b.from = slots;
		b.to = BT_GAP_EMPTY;
	} else {
		b.kind = kind_of_type((unsigned)(in->flags >> IMPORT_TYPE_SHIFT));
		if (b.kind == BT_BRANCH_BRANCH && !(in->flags >> IMPORT_TYPE_SHIFT & 15))
			b.kind = kind_of_code(code);
		put_code(im, t, in->to, 1);
		b.flags |= BT_BRANCH_TAKEN;
	}
	put_entry(t, &b, in->flags ^ bt_branch_perf_flags(&b), in->counters);
}

static bool is_empty(const struct import_branch *b)
{
	return !b->from && !b->to;
}

/* Oldest first; equal empty slots are one entry. */
static void put_branches(struct importer *im, struct thread *t, const struct import_branch *at, size_t n)
{
	for (size_t i = n; i > 0;) {
		const struct import_branch *b = &at[--i];
		uint64_t slots = is_empty(b);

		while (slots && i > 0 && is_empty(&at[i - 1]) && at[i - 1].flags == b->flags && at[i - 1].counters == b->counters) {
			slots++;
			i--;
		}
		put_branch(im, t, b, slots);
	}
}

/* A gap before every run: where it begins, and that other branches lie between. */
static void begin_run(const struct importer *im, struct thread *t)
{
	const struct process *p = &im->processes[t->process];
	struct bt_branch gap = {.kind = BT_BRANCH_GAP, .to = im->lost == t->lost ? BT_GAP_UNSAMPLED : BT_GAP_LOST};
	struct bt_branch epoch = {.kind = BT_BRANCH_EPOCH, .from = p->space == t->space ? 0 : p->space, .to = p->epoch};

	t->lost = im->lost;
	if (!t->count) {
		t->chunk_space = p->space;
		t->chunk_epoch = p->epoch;
	} else if (p->space != t->space || p->epoch != t->epoch) {
		put_entry(t, &epoch, 0, 0);
	}
	t->space = p->space;
	t->epoch = p->epoch;
	put_entry(t, &gap, 0, 0);
}

/* --- samples --- */

static void flush_all(struct importer *im)
{
	for (size_t i = 0; i < im->thread_count; i++)
		flush_chunk(im, im->threads[i]);
	if (im->writer)
		trace_writer_flush(im->writer);
	im->pending = 0;
}

static void put_thread(struct importer *im, const struct import_sample *s, const struct bt_record_snapshot *snap)
{
	struct bt_record_thread body = {.seq = next_seq(im), .snapshot = snap->snapshot, .task = snap->task, .point = snap->point,
		.position = snap->position, .epoch = snap->epoch, .regs = *s->regs};
	struct bt_record_memory memory = {.snapshot = snap->snapshot, .space = snap->space, .addr = s->regs->rsp, .bytes = s->stack};

	event(im, BT_RECORD_THREAD, &body);
	if (!s->stack.len)
		return;
	memory.seq = next_seq(im);
	event(im, BT_RECORD_MEMORY, &memory);
	im->pending += s->stack.len;
}

static void put_snapshot(struct importer *im, const struct import_sample *s, const struct thread *t)
{
	struct bt_record_snapshot body = {.seq = next_seq(im), .time = s->time, .snapshot = ++im->snapshots, .task = t->task,
		.kind = BT_SNAPSHOT_IMPORT, .point = {.tick = BT_TICKS_UNKNOWN, .rip = s->ip}, .space = im->processes[t->process].space,
		.epoch = im->processes[t->process].epoch, .position = t->first + t->count, .label = s->event, .cpu = s->cpu,
		.hw_index = s->hw_index};

	event(im, BT_RECORD_SNAPSHOT, &body);
	im->pending += 64 + s->event.len;
	if (s->regs)
		put_thread(im, s, &body);
}

void importer_sample(struct importer *im, const struct import_sample *s)
{
	struct thread *t = get_thread(im, s->id);
	size_t before;

	im->last_time = s->time;
	if (!t || !give_task(im, t))
		return;
	im->processes[t->process].seen = true;
	before = t->entries.len;
	if (s->has_branches || t->first + t->count)
		begin_run(im, t);
	put_branches(im, t, s->branches, s->branch_count);
	im->pending += t->entries.len - before;
	put_code(im, t, s->ip, 1);
	put_snapshot(im, s, t);
	im->samples++;
	im->branches += s->branch_count;
	if (t->entries.len >= CHUNK_TARGET)
		flush_chunk(im, t);
	if (im->pending >= PENDING_MAX)
		flush_all(im);
}

void importer_lost(struct importer *im)
{
	im->lost++;
}

void importer_note(struct importer *im, const char *fmt, ...)
{
	struct bt_record_note body = {.seq = next_seq(im), .time = im->last_time};
	char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	body.text = bt_str(text);
	if (importer_writer(im))
		trace_writer_event(im->writer, 0, BT_RECORD_NOTE, &body);
}

uint32_t importer_task(struct importer *im, struct import_thread_id id, uint32_t *space, uint32_t *epoch)
{
	struct thread *t = get_thread(im, id);

	if (!t || !give_task(im, t))
		return 0;
	*space = im->processes[t->process].space;
	*epoch = im->processes[t->process].epoch;
	return t->task;
}

/* --- the end --- */

static void release(struct importer *im)
{
	for (size_t i = 0; i < im->thread_count; i++) {
		buf_release(&im->threads[i]->entries);
		buf_release(&im->threads[i]->flags.bytes);
		buf_release(&im->threads[i]->counters.bytes);
		free(im->threads[i]);
	}
	free(im->threads);
	for (size_t i = 0; i < im->process_count; i++)
		code_map_clear(&im->processes[i].code);
	code_files_release(&im->files);
	free(im->processes);
	free(im->by_tid.slots);
	free(im->by_pid.slots);
	free(im->dir);
	free(im);
}

void importer_discard(struct importer *im)
{
	if (im->writer)
		trace_writer_discard(im->writer, im->dir);
	release(im);
}

void importer_ended(struct importer *im, enum bt_exit_kind kind, uint32_t status)
{
	im->end = (struct bt_record_end){.kind = (uint8_t)kind, .status = status};
}

int importer_close(struct importer *im, struct bt_error *err)
{
	struct bt_record_end body = im->end;
	int rc = 0, stopped;

	body.time = im->last_time;
	flush_all(im);
	if (importer_writer(im)) {
		body.seq = next_seq(im);
		trace_writer_event(im->writer, 0, BT_RECORD_END, &body);
		trace_writer_flush(im->writer);
		stopped = trace_writer_stopped(im->writer);
		if (stopped)
			bt_fail(&im->error, stopped == ENOMEM ? BT_E_NO_MEMORY : BT_E_IO, stopped, "cannot write the trace %s", im->dir);
	}
	if (im->error.code) {
		*err = im->error;
		rc = -(int)im->error.code;
		importer_discard(im);
		return rc;
	}
	if (im->writer)
		trace_writer_close(im->writer);
	release(im);
	return 0;
}
