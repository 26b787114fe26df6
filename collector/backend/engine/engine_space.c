/* SPDX-License-Identifier: MIT */
/* The engine's part of an address space: its code cache and the region in the tracee.
 *
 * engine_space_of() is asked before each entry into the cache. At first it makes the struct, with a
 * cache that an earlier process has left or an empty one, and has the task map the region
 * (make_region()). Later it makes again what has gone: the window of a fork's child, the region of
 * a cache of its own. If a region cannot be had, the process is single-stepped (engine_refuse()).
 *
 * The address space reports changes through space_ops. A fork's child shares its parent's cache
 * while both have the same code. When one's code changes, it takes a copy before it goes on
 * (own_cache()); ranges that have changed until then are noted (es->lost).
 *
 * While tasks run side by side nothing is taken out of the cache: es->quiesce asks all of them to
 * come out first. Each has a data area of its own; when areas run out, tasks take turns from there
 * on. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/syscall.h>

#include "collector/backend/engine/cache/syscall_policy.h"
#include "collector/backend/engine/persist/persisted_groups.h"
#include "collector/backend/engine/region_syscalls.h"
#include "collector/backend/engine/watch.h"
#include "collector/space/code_pages.h"
#include "collector/task/syscall_filter.h"
#include "collector/tracee/tracee.h"
#include "lib/array_size.h"
#include "lib/insn.h"

enum {
	DEAD_MIN = 8192,
	DEAD_SHARE = 4,
	VDSO_MOST = 1 << 14,
	ATTEMPTS = 16, /* to make again the region of a space that had one */
};

/* A cache that the program may have written over (torn) is left to nobody. */
static void release_cache(struct engine_space *es)
{
	if (es->left_pages && es->cache->users == 1 && !es->leaves && !es->torn && !es->refused) {
		left_caches_put(es->left, &es->program, es->cache, es->left_pages);
		return;
	}
	code_cache_put(es->cache);
	code_pages_put(es->left_pages);
}

static void space_release(void *extension)
{
	struct engine_space *es = extension;

	window_close(&es->window);
	watched_release(&es->watch);
	release_cache(es);
	free(es->records);
	free(es->notes);
	free(es->log);
	free(es->logged);
	free(es->answers);
	cache_sample_release(&es->sample);
	profile_leave(es->profile.program);
	profile_leave(es->similar.program);
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
	if (es->shared) /* a private one may be newer in the tracee than its source */
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
	n->left_pages = NULL;
	n->in_syscalls = n->tasks = NULL;
	n->inside = 0;
	n->sample = (struct cache_sample){0};
	n->quiesce = n->turns = n->turns_told = false;
	n->harming = 0;
	memset(n->area_used, 0, sizeof n->area_used);
	profile_use(n->profile.program);
	profile_use(n->similar.program);
	n->window = (struct window){.inherited = es->window.bytes || es->window.inherited};
	n->records = malloc(RECORDS_READ * RECORD_SIZE);
	n->notes = malloc(SYSCALL_NOTES_BYTES);
	n->log = es->log ? calloc(1, LOG_BYTES) : NULL;
	n->logged = es->logged ? calloc(POLICY_NUMBERS, sizeof *n->logged) : NULL;
	n->answers = NULL; /* a replay has one process */
	inherit_cache(n, es, same);
	descriptors_forked(&n->descriptors);
	if (!watched_copy(&n->watch, &es->watch) || !n->cache || !n->records || !n->notes ||
	    (es->log && (!n->log || !n->logged))) {
		space_release(n);
		return NULL;
	}
	return n;
}

static void space_apart(void *extension)
{
	struct engine_space *es = extension;

	es->leaves |= es->cache->users > 1;
	es->quiesce = es->parallel;
}

static void space_changed(void *extension, uint64_t start, uint64_t end)
{
	struct engine_space *es = extension;
	struct lost_code *last = &es->lost[es->lost_count - !!es->lost_count];

	es->quiesce = es->parallel;
	if (!es->leaves) {
		code_cache_drop(es->cache, start, end);
	} else if (es->lost_count < ARRAY_SIZE(es->lost)) {
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

static void space_reread(void *extension, pid_t tid, uint64_t start, uint64_t end)
{
	watch_reread(extension, tid, start, end);
}

static const struct space_extension_ops space_ops = {space_copy,    space_release, space_apart,
						     space_changed, space_watched, space_reread};

/* Whether calls of ours may be filtered, a page that is protected could be given away (RLIMIT_DATA:
 * it does not count), or a fault of ours would change what the program has said of SIGSEGV.
 * *ignores: it ignores that or SIGBUS. */
static bool refuses_watching(const struct task *task, bool *filtered, bool *ignores)
{
	const pid_t tid = task->host_tid;
	struct tracee_signals s = {0};
	struct rlimit data;

	if (tracee_signals_filtered(tid, &s, filtered))
		*filtered = true;
	*filtered &= !task->process->filter_is_ours;
	*ignores = s.ignored & (1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1));
	return !limits_get(tid, RLIMIT_DATA, &data) || data.rlim_cur != RLIM_INFINITY ||
	       *filtered || s.ignored >> (SIGSEGV - 1) & 1;
}

struct engine_shared *engine_shared_of(struct backend *b)
{
	struct engine_shared *shared = b->shared ? b->shared : calloc(1, sizeof *shared);

	if (shared && !b->shared) {
		shared->profiles = profiles_new(b->cache,
						(struct fragment_kind){.ticks = b->ticks,
								       .logged = b->logged,
								       .apart = b->parallel},
						b->cache ? persisted_stamp(&b->processor) : 0);
		shared->left = left_caches_new();
	}
	b->shared = shared;
	return shared;
}

void engine_shared_free(struct engine_shared *shared)
{
	if (!shared)
		return;
	profiles_free(shared->profiles);
	left_caches_free(shared->left);
	free(shared);
}

/* filtered: the result of syscall_filter_may_refuse(). */
static struct engine_space *space_new(struct backend *b, const struct task *task,
				      struct address_space *s, bool *filtered)
{
	const pid_t tid = task->host_tid;
	struct engine_space *es = calloc(1, sizeof *es);
	struct engine_shared *shared = engine_shared_of(b);
	unsigned long persona = tracee_personality(tid);

	if (!es)
		return NULL;
	s->reads_run |=
		persona & READ_IMPLIES_EXEC; /* of an executable stack, too, before Linux 5.8 */
	es->watch.refused = refuses_watching(task, filtered, &es->ignores_faults);
	es->parallel = b->parallel;
	es->left = shared ? shared->left : NULL;
	if (es->left && !s->from_reached)
		es->program = left_program_of(s, tid, persona);
	if (es->program.ino)
		es->cache = left_caches_take(es->left, &es->program, b->ticks, s, tid);
	if (!es->cache)
		es->cache = code_cache_new(&b->processor, b->parallel, b->logged);
	es->records = malloc(RECORDS_READ * RECORD_SIZE);
	es->notes = malloc(SYSCALL_NOTES_BYTES);
	es->log = b->logged ? calloc(1, LOG_BYTES) : NULL;
	es->logged = b->logged ? calloc(POLICY_NUMBERS, sizeof *es->logged) : NULL;
	es->answers = b->answers.ahead ? calloc(1, sizeof *es->answers) : NULL;
	if (!es->cache || !es->records || !es->notes || (b->logged && (!es->log || !es->logged)) ||
	    (b->answers.ahead && !es->answers)) {
		space_release(es);
		return NULL;
	}
	return es;
}

void engine_refuse(const struct backend *b, const struct task *task, enum engine_refusal why)
{
	static const struct {
		const char *cause, *remedy;
	} texts[] = {
		[REFUSED_TAKEN] =
			{"memory of the program's lies at its addresses, from 0x550000000000 on",
			 "--from FUNCTION lets it run at full speed until then"},
		[REFUSED_LIMIT] =
			{"a hard limit of memory that cannot be raised",
			 "give it 70 MB more, or set the soft limit alone (ulimit -Sv, -Sd)"},
		[REFUSED_FILTER] = {"a system call filter of the program's",
				    "--from FUNCTION lets it run at full speed until then"},
		[REFUSED_KERNEL] = {"the kernel gives no memory there",
				    "--from FUNCTION lets it run at full speed until then"},
	};
	char text[512];

	snprintf(text, sizeof text,
		 "no room for the code cache in this process (%s): single-stepped",
		 texts[why].cause);
	backend_note(b, task, text);
	snprintf(text, sizeof text,
		 "process %d is single-stepped, at a hundred thousand instructions a second at "
		 "most: there is no room in it for the code cache (%s); %s",
		 (int)task->process->host_pid, texts[why].cause, texts[why].remedy);
	if (b->tell_slow)
		b->tell_slow(b->tell_arg, text);
}

static void leave_out_of_cores(pid_t tid, bool areas)
{
	const uint64_t region[6] = {WORLD_RESERVED_START, REGION_SIZE, MADV_DONTDUMP},
		       others[6] = {area_address(1), AREAS_BYTES, MADV_DONTDUMP};

	tracee_syscall(tid, SYS_madvise, region);
	if (areas)
		tracee_syscall(tid, SYS_madvise, others);
}

static bool has_region(const struct engine_space *es)
{
	return es->mapped && !es->window.inherited && es->cache->placed;
}

/* Where the first system call instruction of the mapping is; 0: there is none. */
static uint64_t syscall_in(const struct mapping *m, pid_t tid)
{
	static const uint8_t insn[] = {0x0f, 0x05};
	uint64_t size = m->end - m->start < VDSO_MOST ? m->end - m->start : VDSO_MOST;
	uint8_t *code = malloc(size),
		*at = code ? memmem(code, tracee_read(tid, m->start, code, size), insn, sizeof insn)
			   : NULL;
	uint64_t found = at ? m->start + (uint64_t)(at - code) : 0;

	free(code);
	return found;
}

/* The same in the kernel's own code. */
static uint64_t syscall_of_kernel(const struct address_space *s, pid_t tid)
{
	for (size_t i = s->mappings.count; i--;) /* it is one of the last */
		if (!strcmp(s->mappings.maps[i].path, "[vdso]"))
			return syscall_in(&s->mappings.maps[i], tid);
	return 0;
}

/* Whether what make_region() does where there is a filter passes that: one that ends the task for a
 * call that it does not make would. */
static bool may_make_region(const struct engine_space *es, const struct task *task, bool over)
{
	const uint64_t flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
			       (uint64_t)(over ? MAP_FIXED : MAP_FIXED_NOREPLACE),
		       no_file = UINT64_MAX;
	const struct {
		bool of_cache;
		long nr;
		uint64_t args[6];
	} calls[] = {
		{false,
		 SYS_mmap,
		 {region_address(0), WINDOW_SIZE, PROT_READ | PROT_WRITE, flags, no_file}},
		{true,
		 SYS_mmap,
		 {region_address(TABLE1_AT), DATA_SIZE - TABLE1_AT, PROT_READ | PROT_WRITE, flags,
		  no_file}},
		{true,
		 SYS_mmap,
		 {region_address(CODE_AT), REGION_SIZE - CODE_AT, PROT_READ | PROT_EXEC, flags,
		  no_file}},
		{true, SYS_munmap, {region_address(TABLE1_AT), DATA_SIZE - TABLE1_AT}},
		{false, SYS_munmap, {region_address(WINDOW_SIZE), REGION_SIZE - WINDOW_SIZE}},
	};
	struct bt_regs regs;

	if (tracee_get_regs(task->host_tid, &regs))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (!(calls[i].of_cache && es->cache->placed) &&
		    !syscall_filter_passes(task, regs.rip, calls[i].nr, calls[i].args))
			return false;
	return true;
}

/* Makes the region, or what of it a fork's child or a space with a cache of its own needs afresh;
 * signals wait meanwhile. filtered: syscall_filter_may_refuse(). */
static bool make_region(struct engine_space *es, const struct address_space *s,
			const struct task *task, bool over, bool filtered)
{
	const uint64_t rest[6] = {region_address(WINDOW_SIZE), REGION_SIZE - WINDOW_SIZE};
	uint64_t mask, name = region_address(CODE_AT + es->cache->name);
	pid_t tid = task->host_tid;
	bool no_file = filtered || es->shared || es->adopted || task->process->files_shared, may,
	     cache, made; /* others would see its descriptor */
	struct tracee_lent lent;

	if (tracee_get_mask(tid, &mask) || tracee_set_mask(tid, UINT64_MAX))
		return false;
	tracee_lend_syscall(tid, syscall_of_kernel(s, tid), &lent);
	may = !filtered || may_make_region(es, task, over);
	cache = may && (es->cache->placed || !code_cache_map(es->cache, tid, over, no_file));
	made = cache && ((es->mapped && !es->window.inherited) ||
			 !window_map(&es->window, tid, name, over, no_file, es->parallel));
	es->window.filtered = filtered;
	if (cache && !made &&
	    !es->mapped) /* a fork's child needs the code to give back pages that are protected */
		tracee_syscall(tid, SYS_munmap, rest);
	if (made && !filtered) /* a filter of the program's may end it for that */
		leave_out_of_cores(tid, es->window.areas);
	made = !tracee_take_back_syscall(tid, &lent) && made;
	es->regions++;
	es->turns |= es->parallel && (!es->window.areas || !es->cache->shared);
	if (made && es->window.areas && !es->turns)
		tables_fill_first(&es->cache->tables,
				  (uint64_t *)(void *)(es->window.bytes + TABLE1_AT));
	return !tracee_set_mask(tid, mask) && made;
}

/* Behind make_region() that has failed. */
static enum engine_refusal why_not_made(const struct engine_space *es,
					const struct address_space *s, const struct task *task,
					bool over, bool filtered)
{
	const uint64_t end = es->parallel ? area_address(AREAS) : region_address(REGION_SIZE);
	size_t next = mappings_behind(&s->mappings, WORLD_RESERVED_START);

	if (!over && next < s->mappings.count && s->mappings.maps[next].start < end)
		return REFUSED_TAKEN;
	if (filtered && !may_make_region(es, task, over))
		return REFUSED_FILTER;
	return limits_fall_short(&task->process->limits) ? REFUSED_LIMIT : REFUSED_KERNEL;
}

/* The engine's share of the program's limits (limits.h). Shared memory does not count against
 * RLIMIT_DATA. */
static const struct limits_share *share_of(const struct engine_space *es)
{
	enum {
		REST = DATA_SIZE - WINDOW_SIZE,
	};
	static const struct limits_share shares[2][2] = {
		{{.start = WORLD_RESERVED_START,
		  .bytes = {[LIMITED_AS] = REGION_SIZE, [LIMITED_DATA] = DATA_SIZE}},
		 {.start = WORLD_RESERVED_START,
		  .bytes = {[LIMITED_AS] = REGION_SIZE, [LIMITED_DATA] = REST}}},
		{{.start = WORLD_RESERVED_START,
		  .bytes = {[LIMITED_AS] = REGION_SIZE,
			    [LIMITED_DATA] = WINDOW_SIZE + TABLE1_BYTES}},
		 {.start = WORLD_RESERVED_START,
		  .bytes = {[LIMITED_AS] = REGION_SIZE, [LIMITED_DATA] = TABLE1_BYTES}}},
	};
	/* While it is made, and then: shared memory takes the first table's place. */
	static const struct limits_share parallel[2] = {
		{.start = WORLD_RESERVED_START,
		 .bytes =
			 {[LIMITED_AS] = REGION_SIZE + AREAS_BYTES, [LIMITED_DATA] = TABLE1_BYTES}},
		{.start = WORLD_RESERVED_START,
		 .bytes = {[LIMITED_AS] = REGION_SIZE + AREAS_BYTES}},
	};

	if (es->parallel && (!has_region(es) || es->window.areas))
		return &parallel[has_region(es)];
	/* One that was left by another process may not be had here. */
	return &shares[es->cache->shared && es->cache->placed]
		      [es->window.bytes || es->window.inherited];
}

bool engine_space_is_busy(const struct engine_space *es, const struct task *task)
{
	const struct engine_task *et = task->backend;

	return es->inside > (et->space == es && et->in_cache) ||
	       (es->parallel && engine_others_run(task));
}

struct fragment_kind engine_space_kind(const struct backend *b, const struct engine_space *es)
{
	return (struct fragment_kind){
		.ticks = b->ticks, .logged = b->logged, .apart = es->cache->kind.apart};
}

static bool has_kind(const struct backend *b, const struct engine_space *es)
{
	return fragment_kind_is(es->cache->kind, engine_space_kind(b, es));
}

bool engine_space_wants_change(const struct backend *b, const struct engine_space *es)
{
	const struct code_cache *c = es->cache;

	return es->leaves || c->full || !has_kind(b, es) || code_cache_is_stale(c) ||
	       !has_region(es);
}

/* The new cache's region is made anew: with other windows, where tasks are to run side by side in
 * it. */
static void leave_region(struct engine_space *es, const struct task *task)
{
	if (!es->parallel || es->turns)
		return;
	if (es->shared || es->adopted ||
	    task->process->files_shared) { /* others may use descriptors */
		es->turns = true;
		return;
	}
	window_close(&es->window);
	es->window.inherited = true;
}

static void forget_fragments(struct engine_space *es, const struct task *task)
{
	cache_learn(task, es);
	code_cache_clear(es->cache);
}

/* Where the space cannot go on with the cache that others use, it gets its own: a copy, or an empty
 * one. One that is nearly full, or has too much that is forgotten, is emptied. False when that
 * cannot be now. */
static bool own_cache(const struct backend *b, struct engine_space *es, const struct task *task)
{
	bool empty = es->cache->full || !has_kind(b, es);
	struct code_cache *own;

	if (es->parallel && engine_space_is_busy(es, task)) {
		es->quiesce |= engine_space_wants_change(
			b, es); /* nothing can be taken out while others may be in it */
		return true;
	}
	if (es->parallel && es->cache->users == 1) {
		es->cache->busy = false; /* all tasks have come out */
		if (es->cache->full)
			forget_fragments(es, task);
	}
	if (es->cache->users == 1 || !(es->leaves || empty)) {
		if (es->leaves)
			forget_lost(es);
		if (code_cache_is_stale(es->cache) && !engine_space_is_busy(es, task))
			forget_fragments(es, task);
		return true;
	}
	if (engine_space_is_busy(es, task)) /* stopped there: its records are of the old one */
		return false;
	own = empty ? code_cache_new(&b->processor, b->parallel, b->logged)
		    : code_cache_copy(es->cache);
	if (!own)
		return false;
	if (empty) {
		cache_learn(task, es);
		own->clears = es->cache->clears + 1; /* the marks of its fragments are others' */
	}
	code_cache_put(es->cache);
	es->cache = own;
	leave_region(es, task);
	forget_lost(es);
	return true;
}

static void begin_profile(struct engine_space *es, struct profile *program)
{
	es->profile = (struct profile_view){.program = program};
	es->similar = (struct profile_view){
		.program = program && !profile_count(program) ? profile_similar(program) : NULL};
	es->learns = program && !profile_is_full(program);
	es->knew = program && profile_is_exact(program);
}

struct engine_space *engine_space_of(struct backend *b, struct task *task)
{
	struct address_space *s = task->process->space;
	struct engine_space *es = s->extension;
	struct engine_shared *shared = engine_shared_of(b);
	const struct mapping *there;
	bool filtered = true, is_new = !es, taken, over;

	if (is_new) {
		es = s->extension = space_new(b, task, s, &filtered);
		s->extension_ops = &space_ops;
		if (es && s->from_reached)
			es->adopted = task->host_tid;
	}
	if (!es || es->refused || es->harming)
		return NULL;
	if (es->parallel && es->torn && engine_space_is_busy(es, task)) {
		es->quiesce = true;
		return es;
	}
	if ((es->torn && !region_begin_anew(b, es, task)) || !own_cache(b, es, task))
		return NULL;
	es->shared |= task->unit->tasks > 1;
	if (es->turns && es->shared && !es->turns_told) {
		es->turns_told = true;
		backend_note(b, task,
			     "the threads of this process take turns from here on: too many of "
			     "them, or memory that cannot be shared with them");
	}
	if (es->quiesce && engine_space_is_busy(es, task))
		return es;
	limits_raise(&task->process->limits, task->process->host_pid, share_of(es));
	if (has_region(es))
		return es;
	there = address_space_map_at(s, WORLD_RESERVED_START);
	/* Over the deterministic start's reservation, never over anything of the program's. */
	taken = !es->mapped && there &&
		(there->start != WORLD_RESERVED_START || there->prot != PROT_NONE);
	if (!is_new)
		filtered = syscall_filter_may_refuse(task);
	over = es->mapped || there;
	es->refused = taken || !make_region(es, s, task, over, filtered);
	s->unsure = true; /* our mappings are among its mappings, too */
	if (es->refused && es->mapped &&
	    ++es->attempts < ATTEMPTS) { /* a stop of another kind came between: once more, an
					    instruction on */
		es->refused = false;
		return NULL;
	}
	if (es->refused) {
		engine_refuse(b, task,
			      taken ? REFUSED_TAKEN : why_not_made(es, s, task, over, filtered));
		if (!es->mapped)
			limits_restore(&task->process->limits, task->process->host_pid);
	} else {
		limits_raise(&task->process->limits, task->process->host_pid, share_of(es));
		words_begin(task, es);
	}
	if (!es->refused && !es->mapped) {
		begin_profile(es,
			      shared ? profiles_find(shared->profiles, task->process->host_pid, s)
				     : NULL);
	}
	es->mapped |= !es->refused;
	es->attempts = 0;
	s->watched |= es->parallel; /* others may run when the first page is: SIGSEGV is to be
				       hidden by then */
	return es->refused ? NULL : es;
}

void engine_space_join(struct engine_space *es, struct task *task)
{
	struct engine_task *et = task->backend;

	if (et->space == es)
		return;
	et->area = et->runs_in = 0;
	while (es->parallel && et->area < AREAS && es->area_used[et->area])
		et->area++;
	if (et->area < AREAS)
		es->area_used[et->area] = true;
	et->task = task;
	et->space = es;
	et->next_in_space = es->tasks;
	et->link_in_space = &es->tasks;
	if (et->next_in_space)
		et->next_in_space->link_in_space = &et->next_in_space;
	es->tasks = et;
}

void engine_space_leave(struct task *task)
{
	struct engine_task *et = task->backend;

	if (!et->space)
		return;
	engine_set_in_cache(et, false);
	*et->link_in_space = et->next_in_space;
	if (et->next_in_space)
		et->next_in_space->link_in_space = et->link_in_space;
	if (et->area < AREAS)
		et->space->area_used[et->area] = false;
	et->space = NULL;
}

void engine_set_in_cache(struct engine_task *et, bool in_cache)
{
	if (et->space)
		et->space->inside = et->space->inside - et->in_cache + in_cache;
	et->in_cache = in_cache;
}

enum backend_company engine_space_company(const struct task *task)
{
	const struct engine_space *es = engine_space_made(task);

	if (es && es->refused)
		return COMPANY_ANY;
	/* Until the child has both from one moment: protections and what is known of them, code and
	 * what was made from it. */
	if (es && es->parallel && es->watch.suspended)
		return COMPANY_LATER;
	if (!es || es->quiesce || !has_region(es))
		return COMPANY_NONE;
	return es->turns ? COMPANY_TURNS : COMPANY_ANY;
}

uint64_t engine_window_at(const struct task *task, uint64_t at)
{
	const struct engine_task *et = task->backend;

	return area_window(et->runs_in) + at;
}

/* The same memory as in the first data area, mapped again (old size 0: mremap(2)). */
static int map_again(struct task *task, const struct engine_space *es, uint64_t at, uint64_t size,
		     uint32_t area)
{
	const uint64_t args[6] = {region_address(at), 0, size, MREMAP_MAYMOVE | MREMAP_FIXED,
				  area_address(area) + at};
	long result;
	const uint64_t call_at = region_address(CODE_AT + es->cache->own_syscall);
	int rc;

	if (!syscall_filter_passes(task, call_at + BT_SYSCALL_LEN, SYS_mremap, args))
		return -BT_E_NO_MEMORY;
	rc = tracee_inject(task->host_tid, &task->regs, call_at, SYS_mremap, args, &result);
	return rc ? rc
	       : result == (long)args[4]
		       ? 0
		       : -BT_E_NO_MEMORY; /* with another stop to wait for it is made once more */
}

static int map_tables(struct task *task, struct engine_space *es, uint32_t area)
{
	int rc = window_grow(&es->window, area) ? 0 : -BT_E_NO_MEMORY;

	task->process->space->unsure = true;
	if (!rc)
		rc = map_again(task, es, TABLE1_AT, TABLE1_BYTES, area);
	if (!rc)
		rc = map_again(task, es, TABLE2_AT, AREA_SIZE - TABLE2_AT, area);
	if (rc > 0)
		stepper_prepare(task);
	if (!rc)
		es->area_tables[area] = es->regions;
	return rc;
}

int engine_space_prepare_area(struct task *task, struct engine_space *es)
{
	struct engine_task *et = task->backend;
	int rc;

	if (!es->parallel || es->turns || !et->area) {
		et->runs_in = 0;
		return 0;
	}
	if (et->area == AREAS) {
		es->quiesce = engine_space_is_busy(es, task);
		if (es->quiesce)
			return -BT_E_NO_MEMORY;
		es->turns = true;
		et->runs_in = 0;
		return 0;
	}
	et->runs_in = et->area;
	if (es->area_tables[et->area] == es->regions)
		return 0;
	if (stepper_hide_trap(task)) /* a signal comes first */
		return -BT_E_UNSUPPORTED;
	rc = map_tables(task, es, et->area);
	if (rc == -BT_E_NO_MEMORY) {
		es->area_used[et->area] = false;
		et->area = AREAS;
	}
	return rc;
}

/* Whether logs of tasks that are elsewhere now (execve) have records of its segments. */
static bool others_refer(const struct engine_space *es)
{
	const struct segment_table *t = es->cache->segments;
	unsigned known = 1;

	for (const struct engine_task *et = es->tasks; et; et = et->next_in_space)
		known += branch_log_holds(et->task->log, t);
	return segment_table_holders(t) > known;
}

/* The old table stays as it is for the logs of others. No task is in the cache. False without
 * memory. */
static bool leave_segments_to_others(struct engine_space *es)
{
	struct segment_table *own = segment_table_copy(es->cache->segments);

	if (!own)
		return false;
	for (const struct engine_task *et = es->tasks; et; et = et->next_in_space)
		task_settle(et->task);
	segment_table_put(es->cache->segments);
	es->cache->segments = own;
	return true;
}

static void collect_unreferred(struct engine_space *es)
{
	uint32_t oldest = UINT32_MAX;

	for (const struct engine_task *et = es->tasks; et; et = et->next_in_space) {
		uint32_t generation =
			branch_log_oldest_generation(et->task->log, es->cache->segments);

		oldest = generation < oldest ? generation : oldest;
	}
	segment_collect(es->cache->segments, oldest);
}

bool engine_space_has_much_dead(const struct engine_space *es)
{
	const struct segment_table *t = es->cache->segments;

	/* Nothing dies in one that has several users. */
	return es->cache->users == 1 && segment_dead(t) >= DEAD_MIN &&
	       segment_dead(t) >= es->dead_wanted;
}

void engine_space_collect(struct engine_space *es, const struct task *task)
{
	struct segment_table *t;

	if (!engine_space_has_much_dead(es) ||
	    (others_refer(es) && (engine_space_is_busy(es, task) || !leave_segments_to_others(es))))
		return;
	t = es->cache->segments;
	collect_unreferred(es);
	if (segment_dead(t) > DEAD_MIN / 2) {
		for (const struct engine_task *et = es->tasks; et; et = et->next_in_space)
			task_settle(et->task);
		segment_collect(t, UINT32_MAX);
	}
	es->dead_wanted = segment_count(t) / DEAD_SHARE; /* looking at all of them costs so much */
}
