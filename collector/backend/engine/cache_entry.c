/* SPDX-License-Identifier: MIT */
/* Into the cache. cache_enter() takes a stopped task, whose registers are the application's, and
 * has it go on in the cache. It finds or makes the fragment at rip, writes the context into the
 * window, points rip to the fragment and resumes.
 *
 * A task does not enter while others in the cache stand in the way of a change (may_enter()): then
 * it waits, and all leave the cache (es->quiesce). Near its stop point, with no fragment to be had,
 * or with a signal that comes first it makes a step instead (step_first()).
 *
 * Each stop for want of a fragment is dear, so more than one is made (fragment_for()): those of a
 * persisted group, those that the profile has behind this one (follow_profile()), else those that
 * the code is likely to lead to (translate_ahead()).
 *
 * Two ways lead on without leaving. cache_stay() makes the fragment for which the task has stopped,
 * and has it go on there. cache_make_room() empties the buffer of records that is full. */
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "collector/backend/engine/near_stop.h"
#include "collector/backend/engine/persist/persisted_groups.h"
#include "collector/backend/engine/translate/lookahead.h"
#include "collector/backend/engine/watch.h"
#include "collector/tracee/tracee.h"
#include "lib/call_result.h"
#include "lib/page.h"

enum {
	SLOTS = 128,          /* addresses read at once */
	PROFILE_NOTED = 8192, /* stops of a process that become entries of the profile */
	AHEAD = 64, /* fragments translated with the one that is needed, at most: fewer stops */
	LIKELY = LOOKAHEAD_CERTAIN / 3, /* ... of those as likely to be needed as that: a stop costs
					   what some that are not do */
	PROFILE_FIRST =
		64, /* entries followed at once: at first, and when all of them seem to be needed */
	PROFILE_MOST = 2048,
	PROFILE_GAP = 64 + 2 * PERSISTED_FRAGMENTS, /* from the last one that was followed to where
						       execution is then; the group of that may have
						       had others behind it */
	PERSISTED_KNOWN = 8,
	IDLE_MOST = 4,
};

#define PROFILE_UNKNOWN (PROFILE_NONE - 1) /* not looked for yet */

/* Some groups (profile_group_key()), the last ones. */
struct group_keys {
	uint64_t keys[PERSISTED_KNOWN];
	size_t count;
};

static bool keys_have(const struct group_keys *t, uint64_t key)
{
	for (size_t i = 0; key && i < PERSISTED_KNOWN; i++)
		if (t->keys[i] == key)
			return true;
	return false;
}

static void keys_note(struct group_keys *t, uint64_t key)
{
	t->keys[t->count++ % PERSISTED_KNOWN] = key;
}

struct fragment_source {
	const struct backend *b;
	struct task *task;
	struct engine_space *es;
	uint64_t page_at;    /* the page asked for last, if it cannot change meanwhile */
	const uint8_t *page; /* NULL: none */
	bool alone;          /* nobody else is in the cache */
	bool stays; /* the task stands in the middle of the cache: no call may be made in it, and no
		       page be watched */
	uint64_t slots[SLOTS], slots_at; /* a piece of memory with functions' addresses, 0: none */
	struct group_keys loaded, refused; /* of them there is nothing more to have */
	enum watch_result interrupted; /* WATCH_INTERRUPTED or WATCH_GONE: nothing more can be done
					  now. WATCH_DONE (0) else */
};

/* Of one page. */
static size_t read_code_page(const struct fragment_source *s, uint64_t addr, uint8_t *bytes,
			     size_t n)
{
	struct address_space *space = s->task->process->space;
	uint64_t page = page_down(addr);
	const uint8_t *watched = watch_bytes(s->es, page);

	if (!watched)
		return address_space_code(space, s->task->host_tid, addr, bytes, n);
	address_space_use(space, page, watched, addr - page, n);
	memcpy(bytes, watched + (addr - page), n);
	return n;
}

static size_t read_segment_code(void *arg, uint64_t addr, uint8_t *bytes, size_t n)
{
	const struct fragment_source *s = arg;
	size_t here = BT_PAGE - addr % BT_PAGE, got;

	if (!s->es->watch.protected)
		return address_space_code(s->task->process->space, s->task->host_tid, addr, bytes,
					  n);
	got = read_code_page(s, addr, bytes, n < here ? n : here);
	return got == here && here < n
		       ? got + read_code_page(s, addr + here, bytes + here, n - here)
		       : got;
}

static const uint8_t *fixed_page(void *arg, uint64_t addr)
{
	struct fragment_source *s = arg;

	if (!s->page || addr - s->page_at >= BT_PAGE) {
		s->page_at = page_down(addr);
		s->page =
			address_space_fixed_page(s->task->process->space, s->task->host_tid, addr);
	}
	return s->page;
}

static void read_code_ahead(void *arg, const uint64_t *addrs, size_t n)
{
	const struct fragment_source *s = arg;

	address_space_read_ahead(s->task->process->space, s->task->host_tid, addrs, n);
}

static bool is_watched_code(void *arg, uint64_t addr)
{
	struct fragment_source *s = arg;
	enum watch_result rc;

	if (address_space_code_kind(s->task->process->space, addr) != CODE_MUTABLE)
		return false;
	if (s->interrupted || s->stays)
		return true;
	if (!s->alone) { /* on a page that is watched nobody is writing */
		if (watch_bytes(s->es, page_down(addr)))
			return false;
		s->es->quiesce = true;
		return true;
	}
	rc = watch_page(s->b, s->task, s->es, page_down(addr));
	if (rc == WATCH_INTERRUPTED || rc == WATCH_GONE)
		s->interrupted = rc;
	return rc != WATCH_DONE;
}

/* Threads that run side by side; other processes, which do even where threads take turns. */
static bool others_write(void *arg, uint64_t addr)
{
	const struct fragment_source *s = arg;
	const struct mapping *m = address_space_map_at(s->task->process->space, addr);

	return s->es->parallel || (m && (m->shared || m->follows));
}

/* Only code that will be known again. */
static bool is_marked(void *arg, uint64_t pc)
{
	const struct fragment_source *s = arg;
	const struct address_space *space = s->task->process->space;

	return s->es->learns && s->es->window.bytes &&
	       address_space_code_kind(space, pc) == CODE_FIXED &&
	       (!profile_is_exact(s->es->profile.program) ||
		cache_profile_find(&s->es->profile, space, pc) == PROFILE_NONE);
}

static bool stops_in(void *arg, uint64_t start, uint64_t end)
{
	const struct fragment_source *s = arg;

	return function_stops_armed(&s->task->process->space->stops, start, end);
}

/* Whether there is a fragment at pc, or one can be made of what lies there: code that changes is
 * looked at when nobody runs it, unless it is watched. */
static bool is_ready(const struct fragment_source *s, uint64_t pc)
{
	if (s->stays)
		return address_space_code_kind(s->task->process->space, pc) == CODE_FIXED;
	return s->alone || address_space_code_kind(s->task->process->space, pc) != CODE_MUTABLE ||
	       code_cache_find(s->es->cache, pc) != FRAGMENT_NONE ||
	       watch_bytes(s->es, page_down(pc));
}

/* The fragment at pc that is there already and does for all that wait for it, its page being
 * watched again if need be. */
static uint32_t fragment_there(struct fragment_source *s, uint64_t pc)
{
	struct code_cache *c = s->es->cache;
	uint32_t fragment = code_cache_find(c, pc);

	if (fragment != FRAGMENT_NONE && !c->fragments[fragment].checked &&
	    code_cache_supersede(c, pc))
		return FRAGMENT_NONE;
	if (fragment != FRAGMENT_NONE ||
	    address_space_code_kind(s->task->process->space, pc) != CODE_MUTABLE)
		return fragment;
	is_watched_code(s, pc);
	return code_cache_find(c, pc);
}

/* The fragment at pc as an earlier recording left it, with its entry if that is known; or
 * FRAGMENT_NONE. */
static uint32_t fragment_kept(struct code_cache *c, const struct code_source *source, uint64_t pc,
			      size_t entry)
{
	struct fragment_source *s = source->arg;
	struct profile *p = s->es->profile.program;
	size_t i = entry == PROFILE_UNKNOWN
			   ? cache_profile_find(&s->es->profile, s->task->process->space, pc)
			   : entry;
	uint64_t key = i == PROFILE_NONE ? 0 : profile_group_key(p, i);
	struct slice bytes =
		!key || keys_have(&s->refused, key) ? slice_of(NULL, 0) : profile_group(p, i);
	enum persisted_fault fault;
	uint32_t fragment;

	if (!bytes.len || c->counting) /* those that are kept do not */
		return FRAGMENT_NONE;
	fragment = persisted_add(c, source, pc, profile_get(p, i).offset, bytes, &fault);
	if (fragment == FRAGMENT_NONE && fault == PERSISTED_REFUSED)
		keys_note(&s->refused, key);
	if (fragment != FRAGMENT_NONE)
		keys_note(&s->loaded, key);
	if (fragment == FRAGMENT_NONE && fault == PERSISTED_UNCHECKED)
		profile_drop_group(p, i);
	return fragment;
}

/* The fragment at pc, made if need be, where its entry is known. FRAGMENT_NONE as
 * translator_translate(); the cache may have been cleared then. */
static uint32_t fragment_of_entry(struct code_cache *c, const struct code_source *source,
				  uint64_t pc, bool indirect, size_t entry)
{
	uint32_t fragment;

	if (!is_ready(source->arg, pc))
		return FRAGMENT_NONE;
	fragment = fragment_there(source->arg, pc);
	if (fragment == FRAGMENT_NONE)
		fragment = fragment_kept(c, source, pc, entry);
	if (fragment == FRAGMENT_NONE)
		return translator_translate(c, source, pc, indirect);
	if (!indirect || c->fragments[fragment].indirect)
		return fragment;
	if (translator_add_entry(c, fragment))
		return fragment;
	code_cache_clear(c);
	return translator_translate(c, source, pc, indirect);
}

static uint32_t enter_fragment_at(struct code_cache *c, const struct code_source *source,
				  uint64_t pc, bool indirect)
{
	return fragment_of_entry(c, source, pc, indirect, PROFILE_UNKNOWN);
}

/* Reads a function's address from a fixed place (an entry of a global offset table); 0 when it
 * cannot be read. Reads pages of files only: a read of anonymous memory makes an untouched page
 * present, and the program may wait for that fault (userfaultfd(2)). */
static uint64_t address_in(struct fragment_source *s, uint64_t slot)
{
	const struct mapping *m = address_space_map_at(s->task->process->space, slot);
	uint64_t start = slot & ~(uint64_t)(sizeof s->slots - 1);
	struct iovec local = {s->slots, sizeof s->slots},
		     remote = {(void *)(uintptr_t)start, sizeof s->slots};

	if (slot % sizeof s->slots[0] || !m || !m->ino)
		return 0;
	if (s->slots_at != start &&
	    process_vm_readv(s->task->host_tid, &local, 1, &remote, 1, 0) != sizeof s->slots)
		return 0;
	s->slots_at = start;
	return s->slots[(slot - start) / sizeof s->slots[0]];
}

/* Fragments that execution is likely to come to from the fragment `first`, which is new. */
static void translate_ahead(struct code_cache *c, const struct code_source *source, uint32_t first)
{
	struct fragment_source *s = source->arg;
	struct lookahead lookahead;
	uint32_t clears = c->clears, fragment, before;
	struct lookahead_entry lead;

	lookahead_begin(&lookahead, LIKELY);
	lookahead_add(&lookahead, c, first, LOOKAHEAD_CERTAIN);
	for (int made = 1; made < AHEAD && lookahead_take(&lookahead, &lead);) {
		if (lead.slot)
			lead.pc = address_in(s, lead.slot);
		before = c->fragment_count;
		fragment = lead.pc ? enter_fragment_at(c, source, lead.pc, lead.indirect)
				   : FRAGMENT_NONE;
		if (c->clears != clears || s->interrupted)
			return;
		if (fragment == FRAGMENT_NONE || fragment < before)
			continue;
		lookahead_add(&lookahead, c, fragment, lead.likelihood);
		made++;
	}
}

/* Of what others have run this program's own fragments are made: which of them it runs is to be
 * known. */
static uint64_t group_key(const struct engine_space *es, const struct profile_view *v, size_t i)
{
	return v == &es->similar ? 0 : profile_group_key(v->program, i);
}

/* Reads the pages of the entries of [i, end) that have no group; those of a group it names itself.
 */
static void read_pages(const struct fragment_source *s, struct profile_view *v, size_t i,
		       size_t end)
{
	struct address_space *space = s->task->process->space;
	uint64_t *pcs = i < end ? malloc((end - i) * sizeof *pcs) : NULL;
	size_t n = 0;

	for (; pcs && i < end; i++)
		if (!group_key(s->es, v, i))
			pcs[n++] = cache_profile_address(v, space, i);
	if (n)
		address_space_read_ahead(space, s->task->host_tid, pcs, n);
	free(pcs);
}

/* Execution has come to entry `first` and needed a fragment there: it is likely to come to those
 * behind it, too. Read ahead as files are: the more of them, the longer that holds. So a long run's
 * profile costs a short run no more than the entries that it comes to. */
static void follow_profile(const struct code_source *source, struct profile_view *v, size_t first)
{
	const struct fragment_source *s = source->arg;
	struct engine_space *es = s->es;
	struct address_space *space = s->task->process->space;
	bool exact = profile_is_exact(v->program),
	     goes_on = first >= v->end && first - v->end < PROFILE_GAP;
	uint32_t clears = es->cache->clears, fragment, before;

	v->ahead = !goes_on || !v->ahead     ? PROFILE_FIRST
		   : v->ahead < PROFILE_MOST ? 2 * v->ahead
					     : PROFILE_MOST;
	v->end = profile_count(v->program) - first > v->ahead ? first + v->ahead
							      : profile_count(v->program);
	read_pages(s, v, first + 1, v->end);
	for (size_t i = first + 1; i < v->end && !es->cache->full; i++) {
		uint64_t pc = keys_have(&s->loaded, group_key(es, v, i))
				      ? 0
				      : cache_profile_address(v, space, i);

		if (!pc)
			continue;
		before = es->cache->fragment_count;
		fragment = fragment_of_entry(es->cache, source, pc,
					     profile_get(v->program, i).indirect,
					     v == &es->similar ? PROFILE_NONE : i);
		if (es->cache->clears != clears || s->interrupted)
			return;
		if (!exact && fragment != FRAGMENT_NONE && fragment >= before)
			translate_ahead(es->cache, source, fragment);
		if (es->cache->clears != clears || s->interrupted)
			return;
	}
}

/* Only the beginning of a program is alike from run to run. */
static void note_in_profile(const struct fragment_source *src, uint64_t pc, bool indirect)
{
	const struct address_space *space = src->task->process->space;
	const struct mapping *m = address_space_map_at(space, pc);

	if (!src->es->profile.program || src->es->noted >= PROFILE_NOTED || !m ||
	    address_space_code_kind(space, pc) != CODE_FIXED)
		return;
	src->es->noted++;
	profile_add(src->es->profile.program, m, pc, indirect);
}

/* Behind a fragment that has been made at pc: those that are likely to be wanted next. */
static void make_ahead(struct fragment_source *src, const struct code_source *source, uint64_t pc,
		       bool indirect, uint32_t fragment)
{
	struct code_cache *c = src->es->cache;
	struct profile_view *view = &src->es->profile;
	uint32_t clears = c->clears;
	size_t entry = cache_profile_find(view, src->task->process->space, pc);

	if (entry == PROFILE_NONE && !(src->es->learns && src->es->window.bytes))
		note_in_profile(src, pc, indirect);
	if (entry == PROFILE_NONE) {
		view = &src->es->similar;
		entry = cache_profile_find(view, src->task->process->space, pc);
	}
	if (entry == PROFILE_NONE || !profile_is_exact(view->program))
		translate_ahead(c, source, fragment);
	if (entry != PROFILE_NONE && c->clears == clears)
		follow_profile(source, view, entry);
}

/* The fragment at pc, made if need be, with some that lie ahead of it. Fragments that count are run
 * shortly: the profile neither knows nor learns of them. */
static uint32_t fragment_for(struct fragment_source *src, uint64_t pc, bool indirect)
{
	struct code_source source = {.read = read_segment_code,
				     .fixed_page = fixed_page,
				     .ahead = read_code_ahead,
				     .is_mutable = is_watched_code,
				     .others_write = others_write,
				     .is_marked = is_marked,
				     .stops_in = stops_in,
				     .arg = src};
	struct code_cache *c = src->es->cache;
	uint32_t before = c->fragment_count, fragment = enter_fragment_at(c, &source, pc, indirect),
		 clears = c->clears;

	if (fragment != FRAGMENT_NONE && fragment >= before && c->counting)
		translate_ahead(c, &source, fragment);
	else if (fragment != FRAGMENT_NONE && fragment >= before)
		make_ahead(src, &source, pc, indirect, fragment);
	/* Code ahead may have been found to have changed, and the fragment to reach into it. */
	if (c->clears == clears &&
	    (fragment == FRAGMENT_NONE || code_cache_find(c, pc) == fragment))
		return fragment;
	return enter_fragment_at(c, &source, pc, indirect);
}

/* An execve that fails late ends in an address space that has nothing in it, with a signal on its
 * way that kills. */
static bool has_failed_to_exec(const struct bt_regs *r)
{
	return (r->orig_rax == SYS_execve || r->orig_rax == SYS_execveat) &&
	       call_has_failed(r->rax);
}

/* Where only ticks are counted, from `start` on: no conditional yet, no transfer. */
static void prepare_ticks(struct context *ctx, uint64_t start)
{
	ctx->mask = TICKS_MASK;
	for (int i = 0; i < CTX_SLOT_COUNT; i++)
		ctx->slots[i] = i ? TICKS_NONE : start;
}

/* How far the task may run in the cache: not to its stop_point, which is so many ticks ahead,
 * STOP_NEAR or more; nor, where only ticks are counted, much farther than so many transfers without
 * one. */
static void bound_stretch(struct engine_task *et, const struct engine_space *es, uint64_t ahead,
			  uint64_t transfers)
{
	const uint32_t most = records_room(es->cache->kind);
	uint64_t records = ahead / RECORD_TICKS, ticks = ahead - TICKS_AHEAD;

	et->room = records < most / RECORD_SIZE ? (uint32_t)records * RECORD_SIZE : most;
	et->ticks_start =
		transfers << TICKS_SHIFT | (ticks < TICKS_LIMIT ? TICKS_LIMIT - ticks : 0);
}

/* The cache's fragments become of the kind that they are to be. False when that cannot be now:
 * another task is stopped in one. */
static bool change_kind(const struct backend *b, const struct task *task, struct engine_space *es)
{
	struct fragment_kind kind = engine_space_kind(b, es);

	if (fragment_kind_is(es->cache->kind, kind))
		return true;
	if (engine_space_is_busy(es, task))
		return false;
	es->cache->kind = kind;
	code_cache_clear(es->cache);
	return true;
}

/* The task is gone; or we have no descriptor left, and what its region holds is not known any more:
 * it is stepped. */
static int give_up(struct backend *b, struct task *task, struct engine_space *es)
{
	es->refused = true;
	return tracee_set_regs(task->host_tid, &task->regs)
		       ? -BT_E_GONE
		       : engine_step(b, task, 0, BT_ACTION_IGNORE);
}

/* Whether the task can enter now. If not, all are to leave the cache, and it will be alone in it
 * when it is resumed. */
static bool may_enter(struct fragment_source *s)
{
	struct engine_space *es = s->es;

	s->alone = !es->parallel || !engine_space_is_busy(es, s->task);
	if (s->alone)
		es->quiesce = false;
	else
		es->quiesce |= ((struct engine_task *)s->task->backend)->opens ||
			       !is_ready(s, s->task->regs.rip) || engine_space_has_much_dead(es) ||
			       watch_sweep_is_due(s->b, es);
	es->cache->busy = !s->alone;
	return !es->quiesce;
}

static int step_first(struct backend *b, struct task *task)
{
	((struct engine_task *)task->backend)->idle = 0;
	return tracee_set_regs(task->host_tid, &task->regs)
		       ? -BT_E_GONE
		       : engine_step(b, task, 0, BT_ACTION_IGNORE);
}

/* All are to leave the cache first (es->quiesce). It waits for those that run where it is: an
 * instruction on, it would need another fragment than the one for which it waits. For those that
 * were stopped in the cache (SIGSTOP) nobody can wait: it goes on by a step. */
static int wait_for_others(struct backend *b, struct task *task)
{
	struct engine_task *et = task->backend;

	if (engine_others_run(task))
		return tracee_set_regs(task->host_tid, &task->regs) ? -BT_E_GONE : CACHE_WAITS;
	et->stop_wanted = true;
	return step_first(b, task);
}

/* Nobody else is in the cache: the page that the task has written to is the program's again, and
 * the instruction runs once more. */
static int open_and_step(const struct fragment_source *s, struct backend *b)
{
	struct engine_task *et = s->task->backend;
	enum watch_result rc = watch_open(b, s->task, s->es, et->opens, et->opens + 1, false);

	et->opens = 0;
	s->es->quiesce = false;
	if (rc == WATCH_GONE || rc == WATCH_INTERRUPTED)
		return rc == WATCH_GONE ? -BT_E_GONE : 0;
	return step_first(b, s->task);
}

/* Where the task comes straight from the cache, its mask has these signals as before: calls there
 * change others alone (POLICY_MASKS). */
static int hide_signals(struct task *task, bool straight)
{
	struct engine_task *et = task->backend;
	bool faults = task->process->space->watched;

	if (straight && et->hid_faults == faults)
		return 0;
	et->hid_faults = faults;
	return stepper_hide_trap(task);
}

/* The cache has a gs of its own: the program's is to be put back. The accesses that the cache adds
 * are not aligned (AC). */
static bool is_for_cache(const struct task *task)
{
	return !(task->regs.eflags & (EFLAGS_TF | EFLAGS_AC)) && !has_failed_to_exec(&task->regs) &&
	       tracee_is_in_64_bit(&task->regs) && tracee_can_set_base(task->regs.gs_base);
}

int cache_enter(struct backend *b, struct task *task, bool indirect)
{
	struct engine_task *et = task->backend;
	bool straight = et->straight;
	uint64_t ahead = stop_point_ticks_ahead(task);
	struct engine_space *es = NULL;
	struct context ctx = {.r11 = task->regs.r11,
			      .bits = BITS_EMPTY,
			      .limit = BITS_FULL,
			      .mask = BITS_FULL,
			      .syscall_next = -(uint64_t)SYSCALL_NOTES_BYTES,
			      .table = region_address(DESCRIPTORS_AT),
			      .log_next = -(uint64_t)LOG_BYTES};
	struct fragment_source src = {.b = b, .task = task};
	struct bt_regs regs;
	uint32_t fragment = FRAGMENT_NONE;
	int rc;

	et->straight = false;
	if (stepper_end_pace(task, false))
		return -BT_E_GONE;
	/* Side by side, tasks that have all others stopped for them, each as soon as it is resumed,
	 * get on by a step. */
	if ((b->parallel && et->idle >= IDLE_MOST))
		return step_first(b, task);
	et->counting = ahead < STOP_NEAR;
	if (et->counting && !near_stop_count_down(task, &ctx))
		return step_first(b, task);
	if (is_for_cache(task))
		es = engine_space_of(b, task);
	src.es = es;
	if (es)
		es->cache->counting = et->counting;
	if (es && !may_enter(&src))
		return wait_for_others(b, task);
	if (es && et->opens)
		return open_and_step(&src, b);
	if (es && !change_kind(b, task, es))
		return step_first(b, task);
	if (es) {
		engine_space_join(es, task);
		if (src.alone) {
			engine_space_collect(es, task);
			watch_sweep(b, es);
		}
		if (src.alone && cache_predictions_now(b, task, es))
			cache_prediction(b, task, es,
					 &(struct code_source){.read = read_segment_code,
							       .fixed_page = fixed_page,
							       .is_mutable = is_watched_code,
							       .stops_in = stops_in,
							       .arg = &src});
		fragment = fragment_for(&src, task->regs.rip, indirect);
	}
	if (src.interrupted)
		return src.interrupted == WATCH_GONE ? -BT_E_GONE : 0;
	if (src.alone && es)
		es->quiesce = false; /* this task alone has changed code since */
	rc = !es || fragment == FRAGMENT_NONE || es->quiesce ? -BT_E_NO_MEMORY
							     : engine_space_prepare_area(task, es);
	if (rc == -BT_E_GONE || rc > 0)
		return rc > 0 ? 0 : rc;
	if (rc || hide_signals(task, straight))
		return es && es->quiesce ? wait_for_others(b, task) : step_first(b, task);
	cache_syscalls_grant(b, task, es, &ctx);
	ctx.cpuid = !es->cpuid_traps && !es->adopted;
	ctx.own_results = b->logged && !b->answered;
	et->ticks = b->ticks;
	if (et->counting) /* they stop by themselves */
		ahead = UINT64_MAX;
	bound_stretch(
		et, es,
		cache_watch_turn(task, &ctx, et->ticks ? cache_sample_ahead(es, ahead) : ahead),
		cache_sample_transfers(es));
	ctx.next = -(uint64_t)et->room;
	et->sample_room = 0;
	if (et->ticks) {
		prepare_ticks(&ctx, et->ticks_start);
		ctx.sample = cache_sample_offset(es);
		et->sample_room = -ctx.sample / RECORD_BYTES;
	}
	cache_answers_offer(b, task, es, &ctx);
	if ((es->cache->busy ? code_cache_push : code_cache_sync)(es->cache, task->host_tid) ||
	    !window_write(&es->window, task->host_tid, engine_window_at(task, 0), &ctx, sizeof ctx))
		return give_up(b, task, es);
	regs = task->regs;
	regs.r11 = et->ticks ? et->ticks_start : BITS_EMPTY;
	et->gs_base = regs.gs_base;
	et->orig_rax = regs.orig_rax;
	regs.gs_base = area_address(et->runs_in);
	regs.rip = region_address(CODE_AT + es->cache->fragments[fragment].body);
	regs.orig_rax = UINT64_MAX;
	/* One that is gone may be stopped where it left the cache, while what it had there has just
	 * been written over: it is in no stretch. */
	if (tracee_set_regs(task->host_tid, &regs))
		return -BT_E_GONE;
	et->begin = task->regs.rip;
	et->roomed = false;
	et->begin_generation = segment_generation(es->cache->segments);
	et->begin_epoch = task->process->space->epoch;
	if (et->ticks)
		task_epoch(task);
	else
		branch_log_begin(task->log, es->cache->segments, task->regs.rip,
				 task->process->space->number, task->process->space->epoch);
	engine_set_in_cache(et, true);
	et->stop_wanted = false;
	return engine_run(b, task);
}

/* Where a fragment is wanted that the trap stands for, and (*exit) by which direct branch:
 * EXIT_NONE, by an indirect one. 0: it is another trap. */
static uint64_t wanted_at_trap(const struct code_cache *c, const struct bt_regs *raw,
			       uint32_t *exit)
{
	uint32_t trap = (uint32_t)(raw->rip - 1 - region_address(CODE_AT));
	const struct cache_exit *x = trap == c->miss_trap ? NULL : code_cache_exit_at(c, trap);

	*exit = x ? (uint32_t)(x - c->exits) : EXIT_NONE;
	if (x)
		return x->kind == EXIT_LINK && x->site && !x->dead ? x->target : 0;
	return trap == c->miss_trap ? raw->r11 : 0;
}

/* Offset of the code at which execution goes on in the fragment; 0: that cannot be said. */
static uint32_t way_on(const struct code_cache *c, uint32_t fragment, uint32_t exit)
{
	const struct fragment *frag = &c->fragments[fragment];
	const struct cache_exit *x = exit == EXIT_NONE ? NULL : &c->exits[exit];

	if (!x)
		return frag->indirect;
	if (x->linked != fragment)
		return 0;
	return x->fresh && frag->fresh ? frag->fresh : frag->body;
}

/* A stretch is of one generation of segments and one epoch of the image. */
static bool may_stay(const struct backend *b, const struct task *task)
{
	const struct address_space *space = task->process->space;
	const struct engine_space *es = space->extension;
	const struct engine_task *et = task->backend;

	return !et->holds && !et->stop_wanted && !es->parallel && !es->torn &&
	       !engine_space_wants_change(b, es) &&
	       et->begin_generation == segment_generation(es->cache->segments) &&
	       et->begin_epoch == space->epoch;
}

bool cache_stay(struct backend *b, struct task *task, const struct bt_regs *raw)
{
	struct engine_space *es = engine_space_made(task);
	const struct engine_task *et = task->backend;
	struct code_cache *c = es->cache;
	struct fragment_source src = {.b = b, .task = task, .es = es, .alone = true, .stays = true};
	uint32_t exit, fragment, way;
	uint64_t pc = wanted_at_trap(c, raw, &exit);

	/* The tests that look at each place of the cache's code are to see it left. */
	if (!pc || pc == es->unmade || b->tests->alarm_each || !may_stay(b, task) ||
	    !is_ready(&src, pc))
		return false;
	c->counting = et->counting;
	c->busy = true; /* it is not cleared: the task is in it */
	fragment = fragment_for(&src, pc, exit == EXIT_NONE);
	c->busy = false;
	es->unmade = fragment == FRAGMENT_NONE ? pc : 0;
	if (fragment == FRAGMENT_NONE || !may_stay(b, task))
		return false;
	way = way_on(c, fragment, exit);
	return way && !code_cache_sync(c, task->host_tid) &&
	       !tracee_set_rip(task->host_tid, region_address(CODE_AT + way));
}

bool cache_make_room(struct backend *b, struct task *task, struct stretch *s)
{
	struct engine_space *es = engine_space_made(task);

	/* The periodic work of cache_enter(), and its look at the stop point, are not to be missed.
	 */
	return !b->tests->alarm_each && !((struct engine_task *)task->backend)->ticks &&
	       may_stay(b, task) && stop_point_ticks_ahead(task) == UINT64_MAX &&
	       !cache_is_watched(task->backend) && !engine_space_has_much_dead(es) &&
	       !watch_sweep_is_due(b, es) && stretch_take_full(task, es, s) &&
	       !branch_log_crowded(task->log) && !cache_predictions_now(b, task, es) &&
	       stretch_go_on(task, es, s);
}
