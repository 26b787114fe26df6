/* SPDX-License-Identifier: MIT */
#include "decoder/model/model_private.h"

#include <stdlib.h>
#include <string.h>

#include "lib/bisect.h"

void snapshots_collect(struct loader *l)
{
	l->m->snapshots = loader_array(l, trace_events_count(&l->m->events, BT_RECORD_SNAPSHOT),
				       sizeof *l->m->snapshots);
	l->threads.at = loader_array(l, trace_events_count(&l->m->events, BT_RECORD_THREAD),
				     sizeof *l->threads.at);
	l->memory.at = loader_array(l, trace_events_count(&l->m->events, BT_RECORD_MEMORY),
				    sizeof *l->memory.at);
}

void snapshots_on_snapshot(struct loader *l, const struct trace_event *e)
{
	const struct model_process *process = tasks_process(l, e->rec.u.snapshot.task);

	l->m->snapshots[l->m->snapshot_count++] = (struct model_snapshot){
		.rec = &e->rec.u.snapshot,
		.child_failed = process && process->child_failed,
		/* It is written when its process has failed. */
		.until = e->rec.u.snapshot.kind == BT_SNAPSHOT_MESSAGE && e->rec.u.snapshot.event
				 ? e->rec.u.snapshot.event
				 : e->rec.u.snapshot.seq,
		.last_words = process ? process->last_words : NULL};
}

void snapshots_on_thread(struct loader *l, const struct trace_event *e)
{
	l->threads.at[l->threads.count++] =
		(struct model_part){.snapshot = e->rec.u.thread.snapshot, .event = e};
}

void snapshots_on_memory(struct loader *l, const struct trace_event *e)
{
	const struct bt_record_memory *r = &e->rec.u.memory;

	if (r->bytes.len && r->addr <= UINT64_MAX - r->bytes.len)
		l->memory.at[l->memory.count++] = (struct model_part){.snapshot = r->snapshot,
								      .addr = r->addr,
								      .end = r->addr + r->bytes.len,
								      .event = e};
}

/* By snapshot and address; of those at the same address the longest first. */
static int compare_parts(const void *a, const void *b)
{
	const struct model_part *x = a, *y = b;

	if (x->snapshot != y->snapshot)
		return x->snapshot < y->snapshot ? -1 : 1;
	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	if (x->event->seq != y->event->seq)
		return x->event->seq < y->event->seq ? -1 : 1;
	return x->event < y->event ? -1 : x->event > y->event;
}

/* The parts of a snapshot as [*first, return). They are given out once: a second snapshot of the
 * same number in a damaged trace gets none, which also bounds the work. */
static size_t take_parts(struct model_parts *parts, uint32_t snapshot, size_t *first)
{
	size_t end;

	BISECT(*first, parts->count, parts->at[*first].snapshot < snapshot);
	end = *first;
	while (end < parts->count && parts->at[end].snapshot == snapshot && parts->at[end].event)
		end++;
	return end;
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
			memmove(s->threads + 1, s->threads,
				(s->thread_count - 1) * sizeof *s->threads);
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
		/* A piece within another adds nothing. Without it starts and ends both ascend, so
		 * that the last piece that begins at or before an address is the one to read. */
		if (r->space != s->rec->space || l->memory.at[i].end <= covered)
			continue;
		covered = l->memory.at[i].end;
		s->memory[s->memory_count++] = r;
	}
}

static const struct trace_event *find_event(const struct model *m, uint64_t seq, uint16_t kind)
{
	size_t i;

	BISECT(i, m->events.count, m->events.at[i]->seq < seq);
	return i < m->events.count && m->events.at[i]->seq == seq &&
			       m->events.at[i]->rec.kind == kind
		       ? m->events.at[i]
		       : NULL;
}

/* How well a snapshot explains the end, least first. A crash goes before a death by request: in
 * `yes | head -1` SIGPIPE is no fault. */
enum rank {
	RANK_NONE,
	RANK_SIGNAL, /* handled */
	RANK_FAULT,  /* the same; a first sign of failure */
	RANK_ASKED_TO_END,
	RANK_OTHERS_EXIT,
	RANK_MOMENT, /* the initial process's exit, or a moment that was asked for */
	RANK_FATAL,
	RANK_FATAL_INITIAL,
	RANK_CORE,
	RANK_CORE_INITIAL,
	RANK_BEST = RANK_CORE_INITIAL,
};

/* Ranks whose first snapshot counts: the others' is the newest. */
static bool is_first_best(enum rank rank)
{
	return rank == RANK_ASKED_TO_END || rank >= RANK_FATAL;
}

/* How the initial process ended, and what choosing needs beside it. */
struct tree_end {
	bool known, well; /* well: with status 0 */
	uint32_t *pids;   /* of all tasks, sorted */
};

static int compare_pids(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void find_end(struct loader *l, struct tree_end *t)
{
	const struct model *m = l->m;
	bool exited = m->end && m->end->kind == BT_EXIT_STATUS;

	*t = (struct tree_end){.known = m->end && m->end->kind != BT_EXIT_UNKNOWN,
			       .well = exited && !m->end->status,
			       .pids = loader_array(l, m->task_count, sizeof *t->pids)};
	for (size_t i = 0; i < l->process_count && !t->known; i++) {
		const struct bt_record_exit *end = l->processes[i].end;

		t->known = l->processes[i].initial && end;
		t->well = t->known && end->kind == BT_EXIT_STATUS && !end->status;
	}
	for (size_t i = 0; t->pids && i < m->task_count; i++)
		t->pids[i] = m->tasks[i].pid;
	if (t->pids)
		qsort(t->pids, m->task_count, sizeof *t->pids, compare_pids);
}

/* Nobody read any more what the process wrote, or another one of the tree has ended it, and the
 * tree ended well. Where that ended with failure it may be the failure: of a program that hangs
 * timeout(1) does so. */
static bool was_asked_to_end(const struct loader *l, const struct model_snapshot *s,
			     const struct tree_end *t)
{
	enum { PIPE = 13 };
	const struct bt_record_signal *g = s->signal;
	const struct model_task *task = tasks_find(l->m, s->rec->task);

	if (!g || g->signo == PIPE)
		return g;
	return t->well && t->pids && task && task->pid != g->sender &&
	       bsearch(&g->sender, t->pids, l->m->task_count, sizeof *t->pids, compare_pids);
}

static enum rank rank_of_death(struct loader *l, const struct model_snapshot *s, bool initial,
			       const struct tree_end *t)
{
	if (s->signal && s->signal->action == BT_ACTION_CORE)
		return initial ? RANK_CORE_INITIAL : RANK_CORE;
	if (initial)
		return RANK_FATAL_INITIAL;
	return was_asked_to_end(l, s, t) ? RANK_ASKED_TO_END : RANK_FATAL;
}

static enum rank rank_of(struct loader *l, const struct model_snapshot *s, const struct tree_end *t)
{
	static const enum rank ranks[BT_SNAPSHOT_KINDS] = {
		[BT_SNAPSHOT_FAULT] = RANK_FAULT,   [BT_SNAPSHOT_SIGNAL] = RANK_SIGNAL,
		[BT_SNAPSHOT_EXIT] = RANK_MOMENT,   [BT_SNAPSHOT_REQUEST] = RANK_MOMENT,
		[BT_SNAPSHOT_IMPORT] = RANK_MOMENT, [BT_SNAPSHOT_FAILURE] = RANK_NONE,
		[BT_SNAPSHOT_MESSAGE] = RANK_NONE,
	};
	const struct model_process *process = tasks_process(l, s->rec->task);
	bool initial = process && process->initial;
	enum rank rank = s->rec->kind < BT_SNAPSHOT_KINDS ? ranks[s->rec->kind] : RANK_NONE;

	if (s->rec->kind == BT_SNAPSHOT_FUNCTION && !s->rec->brief)
		rank = RANK_FAULT;
	if (s->rec->kind == BT_SNAPSHOT_FATAL)
		rank = rank_of_death(l, s, initial, t);
	else if (s->rec->kind == BT_SNAPSHOT_EXIT && !initial)
		rank = RANK_OTHERS_EXIT;
	return t->known && rank <= RANK_ASKED_TO_END ? RANK_NONE : rank;
}

bool snapshots_is_sign(const struct model_snapshot *s, const struct bt_record_exit *end)
{
	enum { RUST_STATUS = 101 }; /* of a main thread that panicked (library/std/src/rt.rs) */
	bool panic = slice_is(s->rec->label, "rust_begin_unwind") ||
		     slice_is(s->rec->label, "begin_panic");

	return s->rec->kind == BT_SNAPSHOT_FUNCTION && !s->rec->brief && end &&
	       (end->kind == BT_EXIT_SIGNAL || (end->kind == BT_EXIT_STATUS && end->status &&
						(!panic || end->status == RUST_STATUS)));
}

bool snapshots_is_message_of(const struct model_snapshot *message, const struct model_snapshot *end)
{
	enum { NEAR = 1000000 }; /* ticks: about a millisecond */
	uint64_t from = message->rec->point.tick, to = end->rec->point.tick;

	return message->rec->kind == BT_SNAPSHOT_MESSAGE && message->rec->task == end->rec->task &&
	       message->rec->space == end->rec->space && !message->rec->depth && from <= to &&
	       to != BT_TICKS_UNKNOWN && to - from <= NEAR && !end->child_failed;
}

/* A process that ends itself with a failure has most often told of it before: the newest first sign
 * of that tells more than the end, and so may its first message. end: NULL, if none was kept. */
static const struct model_snapshot *sign_before(struct loader *l,
						const struct model_process *process,
						const struct model_snapshot *end)
{
	const struct model *m = l->m;
	const struct model_snapshot *other = NULL;

	for (const struct model_snapshot *s = end ? end : m->snapshots + m->snapshot_count;
	     process && s-- > m->snapshots;) {
		if (tasks_process(l, s->rec->task) != process)
			continue;
		if (snapshots_is_sign(s, process->end))
			return s;
		if (!other && (end ? snapshots_is_message_of(s, end)
				   : s->rec->kind == BT_SNAPSHOT_MESSAGE ||
					       s->rec->kind == BT_SNAPSHOT_FUNCTION))
			other = s;
	}
	return other ? other : end;
}

/* NULL: the trace has none. */
static const struct model_process *initial_process(const struct loader *l)
{
	for (size_t i = 0; i < l->process_count; i++)
		if (l->processes[i].initial)
			return &l->processes[i];
	return NULL;
}

static void choose_final(struct loader *l)
{
	const struct model *m = l->m;
	enum rank best = RANK_NONE;
	struct tree_end t;

	find_end(l, &t);
	for (size_t i = 0; i < m->snapshot_count && best < RANK_BEST; i++) {
		enum rank rank = rank_of(l, &m->snapshots[i], &t);

		if (rank > best || (rank == best && rank && !is_first_best(rank))) {
			best = rank;
			l->p->final = &m->snapshots[i];
		}
	}
	free(t.pids);
	if (l->p->final && l->p->final->rec->kind == BT_SNAPSHOT_EXIT && !t.well)
		l->p->final = sign_before(l, tasks_process(l, l->p->final->rec->task), l->p->final);
	else if (!l->p->final && t.known && !t.well)
		l->p->final = sign_before(l, initial_process(l), NULL);
}

static void note_position(const struct model *m, uint32_t task, uint64_t position)
{
	struct model_task *t = tasks_find(m, task);

	if (t && position > t->position)
		t->position = position;
}

void snapshots_finish(struct loader *l)
{
	struct model *m = l->m;

	qsort(l->threads.at, l->threads.count, sizeof *l->threads.at, compare_parts);
	qsort(l->memory.at, l->memory.count, sizeof *l->memory.at, compare_parts);
	for (size_t i = 0; i < m->snapshot_count; i++) {
		struct model_snapshot *s = &m->snapshots[i];
		const struct model_process *process = tasks_process(l, s->rec->task);
		const struct trace_event *e =
			s->rec->event ? find_event(m, s->rec->event, BT_RECORD_SIGNAL) : NULL;

		s->signal = e ? &e->rec.u.signal : NULL;
		if ((s->rec->kind == BT_SNAPSHOT_FUNCTION || s->rec->kind == BT_SNAPSHOT_MESSAGE) &&
		    process)
			s->last_words = process->last_words; /* the process's last words are
								recorded after such a snapshot */
		attach_threads(l, s);
		attach_memory(l, s);
		note_position(m, s->rec->task, s->rec->position);
		for (size_t k = 0; k < s->thread_count; k++)
			note_position(m, s->threads[k]->task, s->threads[k]->position);
	}
	choose_final(l);
}

const struct model_snapshot *model_final_snapshot(const struct model *m) { return m->priv->final; }

size_t model_memory(const struct model *m, const struct model_snapshot *s, uint64_t addr,
		    uint8_t *out, size_t n)
{
	size_t done = 0;
	(void)m;

	while (done < n) {
		uint64_t at = addr + done;
		size_t behind, skip, take;
		const struct bt_record_memory *r;

		BISECT(behind, s->memory_count, s->memory[behind]->addr <= at);
		if (!behind || at < addr)
			break;
		r = s->memory[behind - 1];
		if (at - r->addr >= r->bytes.len)
			break;
		skip = (size_t)(at - r->addr);
		take = n - done < r->bytes.len - skip ? n - done : r->bytes.len - skip;
		memcpy(out + done, r->bytes.at + skip, take);
		done += take;
	}
	return done;
}
