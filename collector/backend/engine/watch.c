/* SPDX-License-Identifier: MIT */
/* Three functions make a page's life. watch_page() is called when code is to be made from it: it
 * asks whether the page may be watched, has the task call mprotect(2), reads the bytes, and links
 * those fragments again that the bytes still bear out. watch_open() is called before anybody
 * writes: it gives the page back and unlinks its fragments. compare_page() leaves the page to the
 * program for a while.
 *
 * The kernel's write to a protected page would make a system call fail. So pages are opened before
 * a call that may write there (watch_before_syscall()) and before a signal frame is written
 * (watch_before_signal()); and no page is protected that a call in progress may write to
 * (awaited_by_kernel()).
 *
 * Some calls change code without a write: a mapping replaced, /proc/PID/mem written. After each
 * call watch_after_syscall() looks for these and has the code forgotten.
 *
 * Where others run side by side in the cache, fragments are unlinked before the page is given back,
 * and those others are brought out of the cache (es->quiesce). */
#include "collector/backend/engine/watch.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "collector/backend/engine/region_syscalls.h"
#include "collector/backend/engine/written_code/robust_list.h"
#include "collector/backend/engine/written_code/watch_syscalls.h"
#include "collector/backend/step/stepper.h"
#include "collector/tracee/tracee.h"
#include "lib/page.h"

enum {
	FRAME_MAX = 16384, /* more than a signal frame and the red zone take: the state of AMX is
			      11 KiB */
	NEAR_STACK = 65536,
	DIFF_GAP = 16, /* bytes that changed are one range unless so many between them did not */
};

/* Injects an mprotect() into the stopped task. *done: it was made, maybe with another stop right
 * behind it. */
static enum watch_result protect_pages(struct task *task, const struct engine_space *es,
				       uint64_t start, uint64_t end, int prot, bool at_entry,
				       bool *done)
{
	const uint64_t args[6] = {start, end - start, (uint64_t)prot};
	long result;
	int rc;

	*done = false;
	if (at_entry)
		rc = tracee_inject_at_entry(task->host_tid, &task->regs, SYS_mprotect, args,
					    &result);
	else
		rc = stepper_hide_trap(task);
	if (rc > 0) /* a signal comes first */
		return WATCH_NOT;
	if (!rc && !at_entry)
		rc = tracee_inject(task->host_tid, &task->regs,
				   region_address(CODE_AT + es->cache->own_syscall), SYS_mprotect,
				   args, &result);
	if (rc < 0)
		return WATCH_GONE;
	*done = rc != TRACEE_INJECT_NOT_MADE && !result;
	if (rc > 0) {
		stepper_prepare(task);
		return WATCH_INTERRUPTED;
	}
	return result ? WATCH_NOT : WATCH_DONE;
}

/* ---- Protecting ---- */

struct range_in_syscall {
	uint64_t start, end;
	bool hit;
};

static void look_at_range(void *arg, uint64_t start, uint64_t end)
{
	struct range_in_syscall *r = arg;

	r->hit |= start < r->end && r->start < end;
}

/* Whether the kernel may be about to write to the page for a task that is in a system call. */
static bool awaited_by_kernel(const struct engine_space *es, uint64_t page)
{
	struct range_in_syscall r = {page, page + BT_PAGE, false};

	for (const struct engine_task *et = es->in_syscalls; et && !r.hit; et = et->next_in_syscall)
		watch_syscall_ranges(et->task, look_at_range, &r);
	return r.hit;
}

static bool is_near_sp(uint64_t sp, uint64_t page)
{
	return sp < page + BT_PAGE + FRAME_MAX && page < sp + NEAR_STACK;
}

/* Whether a signal frame may come to lie there. Tasks that run side by side may get a signal at any
 * moment. */
static bool is_near_stack(const struct engine_space *es, const struct task *task, uint64_t page)
{
	bool near = is_near_sp(task->regs.rsp, page);

	for (const struct engine_task *et = es->parallel ? es->tasks : NULL; et && !near;
	     et = et->next_in_space)
		near = is_near_sp(et->task->regs.rsp, page);
	return near;
}

/* Whether the kernel may write there when a task ends, maybe without a call (SIGKILL): robust
 * futexes, and the id that it clears. Ids that calls named are spared. If tasks ran unseen, the
 * page with the head of the list is left, as libraries have the id beside it. */
static bool is_left_to_kernel(const struct engine_space *es, const struct task *task, uint64_t page)
{
	const struct engine_task *et = es->tasks;
	pid_t tids[ROBUST_LISTS];
	bool left = false;

	while (et && !left) {
		size_t n = 0;

		for (; et && n < ROBUST_LISTS; et = et->next_in_space)
			tids[n++] = et->task->host_tid;
		left = robust_lists_write(tids, n, page, page + BT_PAGE);
	}
	for (const struct task *t = es->adopted ? task->process->members : NULL; t && !left;
	     t = t->member_next)
		left = robust_list_is_near(t->host_tid, page, page + BT_PAGE) ||
		       robust_lists_write(&t->host_tid, 1, page, page + BT_PAGE);
	return left;
}

static bool may_watch(const struct engine_space *es, const struct task *task, uint64_t page)
{
	const struct mapping *m = address_space_map_at(task->process->space, page);

	if (page < WATCH_LOWEST || !m || m->shared || m->follows || !(m->prot & PROT_WRITE) ||
	    es->watch.refused || es->watch.suspended)
		return false;
	if (!strcmp(m->path, "[stack]") || is_near_stack(es, task, page) ||
	    watched_is_spared(&es->watch, page))
		return false;
	return !awaited_by_kernel(es, page) && !is_left_to_kernel(es, task, page);
}

static void drop_changed(struct code_cache *c, const struct watched_page *p, const uint8_t *now)
{
	size_t at = 0, end, same;

	while (at < BT_PAGE) {
		if (p->bytes[at] == now[at]) {
			at++;
			continue;
		}
		for (end = at + 1, same = 0; end < BT_PAGE && same < DIFF_GAP; end++)
			same = p->bytes[end] == now[end] ? same + 1 : 0;
		code_cache_drop(c, p->addr + at, p->addr + end);
		at = end;
	}
}

/* Whether code in [start, end) may be changing. */
static bool is_open(void *arg, uint64_t start, uint64_t end)
{
	const struct watched_pages *w = arg;

	for (uint64_t page = page_down(start); page < end; page += BT_PAGE) {
		const struct watched_page *p = watched_find(w, page);

		if (p && p->state != WATCH_PROTECTED)
			return true;
	}
	return false;
}

/* The page has just been protected: links its fragments again, and drops those whose bytes have
 * changed. */
static bool take_bytes(struct task *task, struct engine_space *es, struct watched_page *p,
		       uint64_t time)
{
	uint8_t now[BT_PAGE];
	bool known = p->bytes;

	if (tracee_read(task->host_tid, p->addr, now, sizeof now) != sizeof now)
		return false;
	if (!known) /* the bytes of its unlinked fragments were forgotten */
		code_cache_drop(es->cache, p->addr, p->addr + BT_PAGE);
	else if (memcmp(p->bytes, now, sizeof now))
		drop_changed(es->cache, p, now);
	if (!watched_set_bytes(p, now)) {
		code_cache_drop(es->cache, p->addr, p->addr + BT_PAGE);
		watched_drop_bytes(p);
		return false;
	}
	watched_protect(&es->watch, p, time);
	if (known)
		code_cache_relink(es->cache, p->addr, p->addr + BT_PAGE, is_open, &es->watch);
	return true;
}

/* Leaves the page to the program for a while. */
static void compare_page(struct task *task, struct engine_space *es, struct watched_page *p,
			 uint64_t now)
{
	task->process->space->watched =
		true; /* reading it may fault where executing it does not (pkeys(7)) */
	watched_compare(&es->watch, p, now);
	if (!p->bytes)
		return;
	code_cache_drop(es->cache, p->addr, p->addr + BT_PAGE);
	watched_drop_bytes(p);
}

enum watch_result watch_page(const struct backend *b, struct task *task, struct engine_space *es,
			     uint64_t page)
{
	struct watched_page *p = watched_add(&es->watch, page);
	uint64_t now = bt_clock_now(b->clock);
	enum watch_result rc;
	bool done;

	if (!p || p->state == WATCH_COMPARED)
		return WATCH_NOT;
	if (p->state == WATCH_PROTECTED && p->bytes)
		return WATCH_DONE;
	if (p->state == WATCH_PROTECTED) { /* its bytes are unknown: begins anew */
		code_cache_drop(es->cache, page, page + BT_PAGE);
		rc = watch_open(b, task, es, page, page + BT_PAGE, false);
		if (rc != WATCH_DONE)
			return rc;
	}
	if (watched_is_hot(&es->watch, p, now) || !may_watch(es, task, page)) {
		compare_page(task, es, p, now);
		return WATCH_NOT;
	}
	p->prot = address_space_map_at(task->process->space, page)->prot;
	task->process->space->watched = true; /* before SIGSEGV is hidden */
	/* If the processor has protection keys, Linux makes execute-only pages unreadable. Writable
	 * pages never are, so PROT_READ stays in. */
	rc = protect_pages(task, es, page, page + BT_PAGE, (p->prot & ~PROT_WRITE) | PROT_READ,
			   false, &done);
	if (done && !take_bytes(task, es, p, now)) {
		if (rc == WATCH_INTERRUPTED) { /* no call can be made now: it is given back when it
						  is written to */
			code_cache_drop(es->cache, page, page + BT_PAGE);
			watched_protect(&es->watch, p, now);
			return rc;
		}
		(void)protect_pages(task, es, page, page + BT_PAGE, p->prot, false, &done);
		rc = WATCH_NOT;
	}
	if (rc == WATCH_NOT)
		compare_page(task, es, p, now);
	return rc;
}

const uint8_t *watch_bytes(const struct engine_space *es, uint64_t page)
{
	const struct watched_page *p = es->watch.protected ? watched_find(&es->watch, page) : NULL;

	return p && p->state == WATCH_PROTECTED ? p->bytes : NULL;
}

bool watch_sweep_is_due(const struct backend *b, const struct engine_space *es)
{
	return es->watch.compared && !es->watch.refused &&
	       bt_clock_now(b->clock) >= es->watch.sweep;
}

void watch_sweep(const struct backend *b, struct engine_space *es)
{
	struct watched_page *p;
	uint64_t now;
	size_t at = 0;

	if (!es->watch.compared || es->watch.refused)
		return;
	now = bt_clock_now(b->clock);
	while ((p = watched_retry(&es->watch, &at, now)))
		if (es->cache->users == 1) /* a shared cache has no such code */
			code_cache_drop(es->cache, p->addr, p->addr + BT_PAGE);
}

/* ---- Opening ---- */

bool watch_is_fault(const struct engine_space *es, const siginfo_t *info)
{
	uint64_t addr = (uint64_t)(uintptr_t)info->si_addr;

	return info->si_signo == SIGSEGV && info->si_code == SEGV_ACCERR &&
	       watched_protected(&es->watch, addr, addr + 1);
}

enum watch_result watch_open(const struct backend *b, struct task *task, struct engine_space *es,
			     uint64_t start, uint64_t end, bool at_entry)
{
	struct watched_page *p;

	while ((p = watched_protected(&es->watch, start, end))) {
		uint64_t run = watched_run(&es->watch, p, end);
		enum watch_result rc;
		bool done;

		/* A task that writes there from now on finds no fragment of the page. */
		if (es->parallel && engine_space_is_busy(es, task)) {
			code_cache_unlink(es->cache, p->addr, run);
			if (code_cache_push(es->cache, task->host_tid))
				return WATCH_GONE;
		}
		rc = protect_pages(task, es, p->addr, run, p->prot, at_entry, &done);
		if (rc == WATCH_NOT) { /* there may be no room for another mapping: a whole run
					  needs none */
			run = watched_run(&es->watch, p, UINT64_MAX);
			rc = protect_pages(task, es, p->addr, run, p->prot, at_entry, &done);
		}
		if (!done)
			return rc;
		for (uint64_t page = p->addr; page < run; page += BT_PAGE)
			watched_opened(&es->watch, watched_find(&es->watch, page),
				       bt_clock_now(b->clock));
		code_cache_unlink(es->cache, p->addr, run);
		es->opened++;
		es->quiesce |= es->parallel && engine_space_is_busy(es, task);
		if (rc != WATCH_DONE)
			return rc;
	}
	return WATCH_DONE;
}

static struct engine_space *mapped_space(const struct task *task)
{
	struct engine_space *es = engine_space_made(task);

	return es && es->mapped ? es : NULL;
}

struct opening {
	const struct backend *b;
	struct task *task;
	struct engine_space *es;
	bool at_last; /* it is not called again */
	enum watch_result rc;
};

static void open_range(void *arg, uint64_t start, uint64_t end)
{
	struct opening *o = arg;
	struct engine_task *et = o->task->backend;

	/* Another task that runs in the cache may see the kernel's write through what the program
	 * publishes by the same call. */
	if (!o->at_last && o->es->parallel && watched_protected(&o->es->watch, start, end) &&
	    engine_space_is_busy(o->es, o->task))
		et->syscall_alone = true;
	else if (o->rc == WATCH_DONE)
		o->rc = watch_open(o->b, o->task, o->es, start, end, true);
}

/* Serves calls that mean more than their writes. Returns whether all pages are to be given back. */
static bool look_at_syscall(struct task *task, struct engine_space *es, struct opening *o)
{
	struct engine_task *et = task->backend;
	struct watch_range range;

	if (watch_syscall_spared(task, &range)) {
		es->watch.refused |= !watched_spare(&es->watch, range.start, range.end);
		open_range(o, range.start,
			   range.end); /* a protected page would stop the kernel's write */
		if (es->watch.refused)
			return true;
	}
	switch (watch_syscall_kind(task)) {
	case WATCH_SYSCALL_ENDS:
		es->watch.refused = true;
		return true;
	case WATCH_SYSCALL_FORKS:
		/* The child would have protections of one moment and a list of another, and code of
		 * one and a cache of another. */
		et->syscall_alone |= es->parallel && engine_space_is_busy(es, task);
		if (es->shared && !et->suspends) {
			et->suspends = true;
			es->watch.suspended++;
		}
		return et->suspends; /* true also when it is called again because others ran: then
					nothing has been given back yet */
	case WATCH_SYSCALL_PLAIN:
		return false;
	}
	return false;
}

int watch_before_syscall(const struct backend *b, struct task *task, bool at_last)
{
	struct engine_space *es = mapped_space(task);
	struct engine_task *et = task->backend;
	struct opening o = {b, task, es, at_last, WATCH_DONE};

	if (!es)
		return 0;
	et->syscall_alone |= region_before_syscall(task) && engine_space_is_busy(es, task);
	if (look_at_syscall(task, es, &o) || et->harms) /* the code to give pages back may go */
		open_range(&o, 0, UINT64_MAX);
	else if (es->watch.protected)
		watch_syscall_ranges(task, open_range, &o);
	if (!et->in_syscall) {
		et->in_syscall = true;
		et->task = task;
		et->next_in_syscall = es->in_syscalls;
		et->link_in_syscall = &es->in_syscalls;
		if (et->next_in_syscall)
			et->next_in_syscall->link_in_syscall = &et->next_in_syscall;
		es->in_syscalls = et;
	}
	return o.rc == WATCH_GONE ? -BT_E_GONE : 0;
}

static void forget_range(void *arg, uint64_t start, uint64_t end)
{
	address_space_forget(arg, start, end);
}

void watch_reread(struct engine_space *es, pid_t tid, uint64_t start, uint64_t end)
{
	struct watched_pages *w = &es->watch;
	uint8_t now[BT_PAGE];

	for (size_t i = 0; i < w->count; i++) {
		struct watched_page *p = w->pages[i];

		if (p->state != WATCH_PROTECTED || !p->bytes || p->addr < start || p->addr >= end)
			continue;
		if (!tid || tracee_read(tid, p->addr, now, sizeof now) != sizeof now ||
		    !watched_set_bytes(p, now))
			watched_drop_bytes(p);
	}
}

/* The program has written through protections: reads protected pages again, and forgets all other
 * code. */
static void look_again(struct task *task, struct engine_space *es)
{
	watch_reread(es, task->host_tid, 0, UINT64_MAX);
	address_space_forget(task->process->space, 0, UINT64_MAX);
}

/* Whether the call has written through a /proc/PID/mem, however the program came by it. */
static bool wrote_memory(const struct task *task, const struct engine_space *es)
{
	uint32_t fd;

	return watch_syscall_output(task, &fd) &&
	       descriptors_may_be_proc(&es->descriptors, &es->window, task->host_tid, fd) &&
	       watch_syscall_is_memory(task, fd);
}

void watch_after_syscall(struct task *task)
{
	struct engine_space *es = mapped_space(task);

	watch_forget_task(task);
	watch_syscall_replaced(task, forget_range, task->process->space);
	if (es && wrote_memory(task, es))
		look_again(task, es);
}

void watch_forked(struct task *task)
{
	struct engine_space *es = mapped_space(task);
	struct engine_task *et = task->backend;

	if (es)
		es->watch.suspended -= et->suspends;
	et->suspends = false;
}

void watch_forget_task(struct task *task)
{
	struct engine_space *es = mapped_space(task);
	struct engine_task *et = task->backend;

	if (!es || !et->in_syscall)
		return;
	*et->link_in_syscall = et->next_in_syscall;
	if (et->next_in_syscall)
		et->next_in_syscall->link_in_syscall = et->link_in_syscall;
	et->in_syscall = false;
	es->watch.suspended -= et->suspends;
	es->harming -= et->harms;
	et->suspends = et->harms = et->syscall_alone = false;
}

int watch_before_signal(const struct backend *b, struct task *task, enum bt_signal_action action)
{
	struct engine_space *es = mapped_space(task);
	uint64_t start = task->regs.rsp - FRAME_MAX, end = task->regs.rsp, mask,
		 but_ours = ~(1ull << (SIGTRAP - 1) | 1ull << (SIGSEGV - 1));
	enum watch_result rc;
	siginfo_t info;

	if (!es)
		return 0;
	if (action == BT_ACTION_CORE) {
		start = 0;
		end = UINT64_MAX;
	} else if (action != BT_ACTION_HANDLER) {
		return 0;
	}
	if (!watched_protected(&es->watch, start, end))
		return 0;
	/* Other signals are blocked meanwhile; this one is delivered from the stop behind the
	 * injected calls. */
	if (tracee_get_siginfo(task->host_tid, &info) || tracee_get_mask(task->host_tid, &mask) ||
	    tracee_set_mask(task->host_tid, but_ours))
		return -BT_E_GONE;
	rc = watch_open(b, task, es, start, end, false);
	return rc == WATCH_GONE || tracee_set_mask(task->host_tid, mask) ||
			       tracee_set_siginfo(task->host_tid, &info)
		       ? -BT_E_GONE
		       : 0;
}

uint64_t watch_run(const struct engine_space *es, uint64_t addr, uint64_t end, bool *protected)
{
	const struct watched_page *p = watched_protected(&es->watch, addr, end);

	*protected = p && p->addr <= addr;
	if (!p)
		return end;
	return *protected ? watched_run(&es->watch, p, end) : p->addr;
}
