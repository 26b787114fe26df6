/* SPDX-License-Identifier: MIT */
/* The engine's part of an address space: its code cache and the region in the tracee. */
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "collector/engine/chain_template.h"
#include "collector/engine/engine_private.h"
#include "collector/engine/watch.h"
#include "collector/tracee.h"

enum {
	DEAD_MIN = 8192,
	DEAD_SHARE = 4,
};

static void space_release(void *extension)
{
	struct engine_space *es = extension;

	window_close(&es->window);
	watched_release(&es->watch);
	code_cache_free(es->cache);
	free(es->records);
	free(es->notes);
	free(es);
}

static void *space_copy(void *extension, bool same)
{
	const struct engine_space *es = extension;
	struct engine_space *n;

	(void)same;
	if (!es->mapped)
		return NULL;
	n = malloc(sizeof *n);
	if (!n)
		return NULL;
	*n = *es;
	n->shared = false;
	n->in_calls = n->tasks = NULL;
	n->window = (struct window){.inherited = es->window.bytes != NULL};
	n->cache = code_cache_copy(es->cache);
	n->records = malloc(RECORDS_READ * RECORD_SIZE);
	n->notes = malloc(CALL_NOTES_BYTES);
	descriptors_forked(&n->descriptors);
	if (!watched_copy(&n->watch, &es->watch) || !n->cache || !n->records || !n->notes) {
		space_release(n);
		return NULL;
	}
	if (es->shared)
		code_cache_clear(n->cache);
	return n;
}

static void space_apart(void *extension) { (void)extension; }

static void space_changed(void *extension, uint64_t start, uint64_t end)
{
	struct engine_space *es = extension;

	code_cache_drop(es->cache, start, end);
}

static uint64_t space_watched(void *extension, uint64_t addr, uint64_t end, bool *watched)
{
	return watch_run(extension, addr, end, watched);
}

static const struct space_extension_ops space_ops = {space_copy, space_release, space_apart, space_changed, space_watched};

/* Whether calls of ours may be filtered, a page that is protected could be given away (RLIMIT_DATA: it does not count), or a fault of ours would
 * change what the program has said of SIGSEGV. */
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

/* Says in the trace why a program is slow. */
static void note_refusal(const struct backend *b, const struct task *task)
{
	struct bt_record_note rec = {.seq = trace_writer_next_seq(b->writer), .time = trace_writer_time(b->writer), .task = task->number,
				     .text = bt_str("no room for the code cache in this process (addresses taken, or a limit of memory): single-stepped")};

	trace_writer_event(b->writer, task->unit->number, BT_RECORD_NOTE, &rec);
}

/* Makes the region, or what a fork's child needs afresh of its copy; signals wait meanwhile. */
static bool make_region(struct engine_space *es, pid_t tid, bool over)
{
	const uint64_t rest[6] = {region_address(WINDOW_SIZE), DATA_SIZE + CODE_SIZE - WINDOW_SIZE};
	uint64_t mask, name = region_address(CODE_AT + es->cache->name);
	bool cache, made;

	if (tracee_get_mask(tid, &mask) || tracee_set_mask(tid, UINT64_MAX))
		return false;
	cache = es->mapped || !code_cache_map(es->cache, tid, over);
	made = cache && !window_map(&es->window, tid, name, over, es->shared || es->adopted);
	if (made)
		tables_renew(&es->cache->tables, es->window.bytes);
	if (cache && !made && !es->mapped) /* a fork's child needs the code to give back pages that are protected */
		tracee_syscall(tid, SYS_munmap, rest);
	return !tracee_set_mask(tid, mask) && made;
}

/* What counts against the program's limits (limits.h): shared memory is nobody's data. */
static const struct limits_share *share_of(const struct engine_space *es)
{
	static const struct limits_share shares[] = {
		{.start = WORLD_RESERVED_START, .bytes = {[LIMITED_AS] = DATA_SIZE + CODE_SIZE, [LIMITED_DATA] = DATA_SIZE}},
		{.start = WORLD_RESERVED_START, .bytes = {[LIMITED_AS] = DATA_SIZE + CODE_SIZE, [LIMITED_DATA] = DATA_SIZE - WINDOW_SIZE}},
	};

	return &shares[es->window.bytes || es->window.inherited];
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
	if (!es || es->refused)
		return NULL;
	es->shared |= task->unit->tasks > 1;
	limits_raise(&task->process->limits, task->process->pid, share_of(es));
	if (es->mapped && !es->window.inherited)
		return es;
	there = address_space_map_at(s, WORLD_RESERVED_START);
	/* Over the deterministic start's reservation, never over anything of the program's. */
	if (!es->mapped && there && (there->start != WORLD_RESERVED_START || there->prot != PROT_NONE))
		es->refused = true;
	else
		es->refused = !make_region(es, task->tid, es->mapped || there != NULL);
	if (es->refused) {
		if (!es->mapped)
			limits_restore(&task->process->limits, task->process->pid);
		note_refusal(b, task);
	} else {
		limits_raise(&task->process->limits, task->process->pid, share_of(es));
	}
	if (!es->refused && !es->mapped) {
		if (!b->shared)
			b->shared = hints_new(b->cache, b->cache ? template_stamp(&b->processor) : 0);
		es->hints = b->shared ? hints_of(b->shared, task->process->pid, s) : NULL;
		es->learns = es->hints && hints_count(es->hints) && !hints_are_exact(es->hints);
	}
	es->mapped |= !es->refused;
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
