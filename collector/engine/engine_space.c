/* SPDX-License-Identifier: MIT */
/* The engine's part of an address space: its code cache and the region in the tracee. */
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "collector/engine/chain_template.h"
#include "collector/engine/region_calls.h"
#include "collector/engine/watch.h"
#include "collector/tracee.h"

enum {
	DEAD_MIN = 8192,
	DEAD_SHARE = 4,
	ATTEMPTS = 16, /* to make again the region of a space that had one */
};

static void space_release(void *extension)
{
	struct engine_space *es = extension;

	window_close(&es->window);
	watched_release(&es->watch);
	code_cache_put(es->cache);
	free(es->records);
	free(es->notes);
	free(es);
}

/* The pieces of code that were to be forgotten are. The cache is this space's alone. */
static void forget_lost(struct engine_space *es)
{
	for (size_t i = 0; i < es->lost_count; i++)
		code_cache_drop(es->cache, es->lost[i].start, es->lost[i].end);
	es->lost_count = 0;
	es->leaves = false;
}

/* The cache of a fork's child: its parent's, where it can be. */
static void inherit_cache(struct engine_space *n, struct engine_space *es, bool same)
{
	if (same && !es->leaves && code_cache_share(es->cache, es->shared))
		return;
	n->cache = code_cache_copy(es->cache);
	if (!n->cache)
		return;
	if (es->shared) /* a private one may be newer in the tracee than what it was copied from */
		code_cache_clear(n->cache);
	forget_lost(n);
}

static void *space_copy(void *extension, bool same)
{
	struct engine_space *es = extension, *n;

	if (!es->mapped)
		return NULL;
	n = malloc(sizeof *n);
	if (!n)
		return NULL;
	*n = *es;
	n->shared = false;
	n->in_calls = n->tasks = NULL;
	n->window = (struct window){.inherited = es->window.bytes || es->window.inherited};
	n->records = malloc(RECORDS_READ * RECORD_SIZE);
	n->notes = malloc(CALL_NOTES_BYTES);
	inherit_cache(n, es, same);
	descriptors_forked(&n->descriptors);
	if (!watched_copy(&n->watch, &es->watch) || !n->cache || !n->records || !n->notes) {
		space_release(n);
		return NULL;
	}
	return n;
}

static void space_apart(void *extension)
{
	struct engine_space *es = extension;

	es->leaves |= es->cache->users > 1;
}

static void space_changed(void *extension, uint64_t start, uint64_t end)
{
	struct engine_space *es = extension;
	struct lost_code *last = &es->lost[es->lost_count - !!es->lost_count];

	if (!es->leaves) {
		code_cache_drop(es->cache, start, end);
	} else if (es->lost_count < sizeof es->lost / sizeof es->lost[0]) {
		es->lost[es->lost_count++] = (struct lost_code){start, end};
	} else {
		last->start = start < last->start ? start : last->start;
		last->end = end > last->end ? end : last->end;
	}
}

static uint64_t space_watched(void *extension, uint64_t addr, uint64_t end, bool *watched)
{
	return watch_run(extension, addr, end, watched);
}

static const struct space_extension_ops space_ops = {space_copy, space_release, space_apart, space_changed, space_watched};

/* Whether calls of ours may be filtered, a page that is protected could be given away (RLIMIT_DATA: it does not count), or a fault of
 * ours would change what the program has said of SIGSEGV. */
static bool refuses_watching(pid_t tid)
{
	struct tracee_signals s;
	struct rlimit data;

	return !limits_get(tid, RLIMIT_DATA, &data) || data.rlim_cur != RLIM_INFINITY || tracee_signals(tid, &s) || tracee_is_filtered(tid) || s.ignored >> (SIGSEGV - 1) & 1;
}

static struct engine_space *space_new(const struct processor *processor, pid_t tid)
{
	struct engine_space *es = calloc(1, sizeof *es);

	if (!es)
		return NULL;
	es->watch.refused = refuses_watching(tid);
	es->cache = code_cache_new(processor);
	es->records = malloc(RECORDS_READ * RECORD_SIZE);
	es->notes = malloc(CALL_NOTES_BYTES);
	if (!es->cache || !es->records || !es->notes) {
		space_release(es);
		return NULL;
	}
	return es;
}

void engine_note(const struct backend *b, const struct task *task, const char *text)
{
	struct bt_record_note rec = {.seq = trace_writer_next_seq(b->writer), .time = trace_writer_time(b->writer), .task = task->number,
				     .text = bt_str(text)};

	trace_writer_event(b->writer, task->unit->number, BT_RECORD_NOTE, &rec);
}

void engine_note_refusal(const struct backend *b, const struct task *task)
{
	engine_note(b, task, "no room for the code cache in this process (addresses taken, or a limit of memory): single-stepped");
}

static bool has_region(const struct engine_space *es) { return es->mapped && !es->window.inherited && es->cache->placed; }

/* Makes the region, or what of it a fork's child or a space with a cache of its own needs afresh; signals wait meanwhile. */
static bool make_region(struct engine_space *es, pid_t tid, bool over)
{
	const uint64_t rest[6] = {region_address(WINDOW_SIZE), REGION_SIZE - WINDOW_SIZE};
	uint64_t mask, name = region_address(CODE_AT + es->cache->name);
	bool others = es->shared || es->adopted, cache, made;

	if (tracee_get_mask(tid, &mask) || tracee_set_mask(tid, UINT64_MAX))
		return false;
	cache = es->cache->placed || !code_cache_map(es->cache, tid, over, others);
	made = cache && ((es->mapped && !es->window.inherited) || !window_map(&es->window, tid, name, over, others));
	if (cache && !made && !es->mapped) /* a fork's child needs the code to give back pages that are protected */
		tracee_syscall(tid, SYS_munmap, rest);
	return !tracee_set_mask(tid, mask) && made;
}

/* What counts against the program's limits (limits.h): shared memory is nobody's data. */
static const struct limits_share *share_of(const struct engine_space *es)
{
	enum {
		REST = DATA_SIZE - WINDOW_SIZE,
	};
	static const struct limits_share shares[2][2] = {
		{{.start = WORLD_RESERVED_START, .bytes = {[LIMITED_AS] = REGION_SIZE, [LIMITED_DATA] = DATA_SIZE}},
		 {.start = WORLD_RESERVED_START, .bytes = {[LIMITED_AS] = REGION_SIZE, [LIMITED_DATA] = REST}}},
		{{.start = WORLD_RESERVED_START, .bytes = {[LIMITED_AS] = REGION_SIZE, [LIMITED_DATA] = WINDOW_SIZE + TABLE1_BYTES}},
		 {.start = WORLD_RESERVED_START, .bytes = {[LIMITED_AS] = REGION_SIZE, [LIMITED_DATA] = TABLE1_BYTES}}},
	};

	return &shares[es->cache->shared != NULL][es->window.bytes || es->window.inherited];
}

bool engine_space_is_busy(const struct engine_space *es, const struct task *task)
{
	for (const struct engine_task *et = es->tasks; et; et = et->next_in_space)
		if (et->in_cache && et->task != task)
			return true;
	return false;
}

/* Where the space cannot go on with the cache that others use, it gets its own: a copy, or an empty one. One with too much that is
 * forgotten is emptied. False when that cannot be now. */
static bool own_cache(const struct backend *b, struct engine_space *es, const struct task *task)
{
	bool empty = es->cache->full || es->cache->ticks != b->ticks;
	struct code_cache *own;

	if (es->cache->users == 1 || !(es->leaves || empty)) {
		if (es->leaves)
			forget_lost(es);
		if (code_cache_is_stale(es->cache) && !engine_space_is_busy(es, task))
			code_cache_clear(es->cache);
		return true;
	}
	if (engine_space_is_busy(es, task)) /* stopped there: its records are of the old one */
		return false;
	own = empty ? code_cache_new(&b->processor) : code_cache_copy(es->cache);
	if (!own)
		return false;
	for (const struct engine_task *et = es->tasks; et; et = et->next_in_space)
		task_settle(et->task); /* the old one's segments may go with it */
	code_cache_put(es->cache);
	es->cache = own;
	forget_lost(es);
	return true;
}

struct engine_space *engine_space_of(struct backend *b, struct task *task)
{
	struct address_space *s = task->process->space;
	struct engine_space *es = s->extension;
	const struct mapping *there;

	if (!es) {
		es = s->extension = space_new(&b->processor, task->tid);
		s->extension_ops = &space_ops;
		if (es && s->from_reached)
			es->adopted = task->tid;
	}
	if (!es || es->refused || (es->torn && !region_begin_anew(b, es, task)) || !own_cache(b, es, task))
		return NULL;
	es->shared |= task->unit->tasks > 1;
	limits_raise(&task->process->limits, task->process->pid, share_of(es));
	if (has_region(es))
		return es;
	there = address_space_map_at(s, WORLD_RESERVED_START);
	/* Over the deterministic start's reservation, never over anything of the program's. */
	if (!es->mapped && there && (there->start != WORLD_RESERVED_START || there->prot != PROT_NONE))
		es->refused = true;
	else
		es->refused = !make_region(es, task->tid, es->mapped || there != NULL);
	if (es->refused && es->mapped && ++es->attempts < ATTEMPTS) { /* a stop of another kind came between: once more, an instruction on */
		es->refused = false;
		return NULL;
	}
	if (es->refused) {
		if (!es->mapped)
			limits_restore(&task->process->limits, task->process->pid);
		engine_note_refusal(b, task);
	} else {
		limits_raise(&task->process->limits, task->process->pid, share_of(es));
	}
	if (!es->refused && !es->mapped) {
		if (!b->shared)
			b->shared = hints_new(b->cache, b->cache ? template_stamp(&b->processor) : 0);
		es->hints = b->shared ? hints_of(b->shared, task->process->pid, s) : NULL;
		es->learns = es->hints && hints_count(es->hints);
	}
	es->mapped |= !es->refused;
	es->attempts = 0;
	return es->refused ? NULL : es;
}

void engine_space_join(struct engine_space *es, struct task *task)
{
	struct engine_task *et = task->backend;

	if (et->space == es)
		return;
	et->task = task;
	et->space = es;
	et->next_in_space = es->tasks;
	es->tasks = et;
}

void engine_space_leave(struct task *task)
{
	struct engine_task *et = task->backend, **at;

	if (!et->space)
		return;
	for (at = &et->space->tasks; *at != et; at = &(*at)->next_in_space)
		;
	*at = et->next_in_space;
	et->space = NULL;
}

static void collect_unreferred(struct engine_space *es)
{
	uint32_t oldest = UINT32_MAX;

	for (const struct engine_task *et = es->tasks; et; et = et->next_in_space) {
		uint32_t generation = branch_log_oldest_generation(et->task->log, es->cache->segments);

		oldest = generation < oldest ? generation : oldest;
	}
	segment_collect(es->cache->segments, oldest);
}

void engine_space_collect(struct engine_space *es)
{
	struct segment_table *t = es->cache->segments;

	if (es->cache->users > 1) /* nothing dies in it */
		return;
	if (segment_dead(t) < DEAD_MIN || segment_dead(t) < es->dead_wanted)
		return;
	collect_unreferred(es);
	if (segment_dead(t) > DEAD_MIN / 2) {
		for (const struct engine_task *et = es->tasks; et; et = et->next_in_space)
			task_settle(et->task);
		segment_collect(t, UINT32_MAX);
	}
	es->dead_wanted = segment_count(t) / DEAD_SHARE; /* looking at all of them costs so much */
}
