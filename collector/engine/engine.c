/* SPDX-License-Identifier: MIT */
/* The software engine: application code runs translated, in a code cache inside the traced process. What is not plain user code - system
 * calls, deliveries of signals, faults, instructions that are not for the cache - is done at the application's own addresses by the
 * stepper, an instruction at a time, so that the kernel and the program see only application state. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "collector/backend.h"
#include "collector/engine/branch_walk.h"
#include "collector/engine/code_cache.h"
#include "collector/engine/layout.h"
#include "collector/engine/translator.h"
#include "collector/engine/x86.h"
#include "collector/stepper.h"
#include "collector/tracee.h"

enum {
	EFLAGS_TF = 0x100,
	EFLAGS_AC = 0x40000, /* what the cache adds is not aligned */
	AHEAD = 24,	/* chains translated beyond the one that is needed: fewer stops */
	STEP_ON = 4096, /* steps to the next place at which the application's state is known; far more than any sequence has */
	TRAP_SELF = 0x80, /* si_code of an int3 (SI_KERNEL) */
	RECORD_SIZE = sizeof(struct branch_log_record),
	RECORDS_READ = 4096, /* at once: 64 KiB, which stay in the processor's cache until they are counted */
};

/* As it lies in the tracee (layout.h). */
struct context {
	uint64_t spill, rax, rcx, bits, r11;
	int64_t next;
	uint64_t limit, stop, back, flags, entry, rdx;
};
_Static_assert(sizeof(struct context) == CTX_SIZE, "layout.h");

/* What the engine keeps for an address space. */
struct engine_space {
	struct code_cache *cache;
	bool mapped;
	bool refused; /* there is no room for the region: everything is stepped */
	bool shared;  /* more than one task has run in it: a fork's copy of the region may be newer than what it was copied from */
	struct branch_log_record *records; /* room to read them into */
};

struct engine_task {
	void *step; /* the stepper's own */
	bool in_cache;
	uint64_t begin; /* where its stretch began */
	bool stop_wanted;
	uint64_t gs_base, orig_rax; /* the application's, while it is in the cache */
	bool holds; /* a signal that came where it could not be reported */
	siginfo_t held;
};

/* ---- Spaces ---- */

static void space_release(void *extension)
{
	struct engine_space *es = extension;

	code_cache_free(es->cache);
	free(es->records);
	free(es);
}

static void *space_copy(void *extension)
{
	const struct engine_space *es = extension;
	struct engine_space *n;

	if (!es->mapped)
		return NULL;
	n = malloc(sizeof *n);
	if (!n)
		return NULL;
	*n = *es;
	n->shared = false;
	n->cache = code_cache_copy(es->cache);
	n->records = malloc(RECORDS_READ * RECORD_SIZE);
	if (!n->cache || !n->records) {
		space_release(n);
		return NULL;
	}
	if (es->shared)
		code_cache_clear(n->cache);
	return n;
}

static void space_changed(void *extension, uint64_t start, uint64_t end)
{
	struct engine_space *es = extension;

	code_cache_drop(es->cache, start, end);
}

static const struct space_extension_ops space_ops = {space_copy, space_release, space_changed};

static struct engine_space *space_new(void)
{
	struct engine_space *es = calloc(1, sizeof *es);

	if (!es)
		return NULL;
	es->cache = code_cache_new();
	es->records = malloc(RECORDS_READ * RECORD_SIZE);
	if (!es->cache || !es->records) {
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

/* Makes the region; signals wait meanwhile. */
static bool make_region(struct code_cache *c, pid_t tid, bool over)
{
	uint64_t mask;
	bool made;

	if (tracee_get_mask(tid, &mask) || tracee_set_mask(tid, UINT64_MAX))
		return false;
	made = !code_cache_map(c, tid, over);
	return !tracee_set_mask(tid, mask) && made;
}

/* The task's space with its region in place, or NULL when there is none to be had. */
static struct engine_space *space_of(const struct backend *b, struct task *task)
{
	struct address_space *s = task->process->space;
	struct engine_space *es = s->extension;
	const struct mapping *there;

	if (!es) {
		es = s->extension = space_new();
		s->extension_ops = &space_ops;
	}
	if (!es || es->refused)
		return NULL;
	es->shared |= task->unit->tasks > 1;
	if (es->mapped)
		return es;
	there = address_space_map_at(s, WORLD_RESERVED_START);
	/* Over the deterministic start's reservation, never over anything of the program's. */
	if (there && (there->start != WORLD_RESERVED_START || there->prot != PROT_NONE))
		es->refused = true;
	else
		es->refused = !make_region(es->cache, task->tid, there != NULL);
	if (es->refused)
		note_refusal(b, task);
	es->mapped = !es->refused;
	return es->mapped ? es : NULL;
}

/* ---- The stepper, for what the cache does not do ---- */

static int step_resume(struct backend *b, struct task *task, int signo, enum bt_signal_action action)
{
	struct engine_task *et = task->backend;
	int rc;

	et->in_cache = false;
	task->backend = et->step;
	rc = stepper_ops.resume(b, task, signo, action);
	stepper_ops.stop_soon(b, task); /* one instruction */
	task->backend = et;
	return rc;
}

static enum backend_stop step_stopped(struct backend *b, struct task *task, const struct wait_event *ev, siginfo_t *info)
{
	struct engine_task *et = task->backend;
	enum backend_stop stop;

	task->backend = et->step;
	stop = stepper_ops.stopped(b, task, ev, info);
	stepper_ops.stop_soon(b, task);
	task->backend = et;
	return stop;
}

static int step_prepare(struct task *task)
{
	struct engine_task *et = task->backend;
	int rc;

	task->backend = et->step;
	rc = stepper_hide_trap(task);
	task->backend = et;
	return rc;
}

static bool step_keeps(struct task *task, siginfo_t *info)
{
	struct engine_task *et = task->backend;
	bool kept;

	task->backend = et->step;
	kept = stepper_keep_trap(task, info);
	task->backend = et;
	return kept;
}

/* ---- Into the cache ---- */

struct source {
	struct address_space *space;
	struct trace_writer *writer;
	pid_t tid;
};

static size_t read_code(void *arg, uint64_t addr, uint8_t *bytes, size_t n)
{
	const struct source *s = arg;

	return address_space_code(s->space, s->writer, s->tid, addr, bytes, n);
}

static bool is_mutable(void *arg, uint64_t addr)
{
	const struct source *s = arg;

	return address_space_code_kind(s->space, addr) == CODE_MUTABLE;
}

/* The chain at pc, made if need be, with some that lie ahead of it. */
static uint32_t chain_for(struct backend *b, struct task *task, struct code_cache *c, uint64_t pc, bool indirect)
{
	struct source src = {task->process->space, b->writer, task->tid};
	struct code_source source = {read_code, is_mutable, &src};
	uint32_t chain = code_cache_find(c, pc), exit = c->exit_count;

	if (chain != CHAIN_NONE && (!indirect || c->chains[chain].indirect))
		return chain;
	if (chain != CHAIN_NONE)
		code_cache_drop_chain(c, chain); /* it needs another entry */
	chain = translator_translate(c, &source, pc, indirect);
	for (int i = 0; chain != CHAIN_NONE && i < AHEAD && exit < c->exit_count; exit++) {
		uint64_t target = c->exits[exit].target;
		uint32_t count = c->chain_count;

		if (c->exits[exit].kind != EXIT_LINK || code_cache_find(c, target) != CHAIN_NONE)
			continue;
		translator_translate(c, &source, target, false);
		if (c->chain_count < count) /* cleared */
			return chain_for(b, task, c, pc, indirect);
		i++;
	}
	return chain;
}

static int enter_cache(struct backend *b, struct task *task, bool indirect)
{
	struct engine_task *et = task->backend;
	struct engine_space *es = NULL;
	struct context ctx = {.r11 = task->regs.r11, .bits = 1, .next = -RECORDS_BYTES, .limit = BITS_LIMIT};
	struct iovec local = {&ctx, sizeof ctx}, remote = {(void *)(uintptr_t)region_address(0), sizeof ctx};
	struct bt_regs regs;
	uint32_t chain = CHAIN_NONE;

	if (!(task->regs.eflags & (EFLAGS_TF | EFLAGS_AC)))
		es = space_of(b, task);
	if (es)
		chain = chain_for(b, task, es->cache, task->regs.rip, indirect);
	if (chain == CHAIN_NONE || step_prepare(task))
		return tracee_set_regs(task->tid, &task->regs) ? -BT_E_GONE : step_resume(b, task, 0, BT_ACTION_IGNORE);
	if (code_cache_sync(es->cache, task->tid) || process_vm_writev(task->tid, &local, 1, &remote, 1, 0) != sizeof ctx)
		return -BT_E_GONE;
	regs = task->regs;
	regs.r11 = 1;
	et->gs_base = regs.gs_base;
	et->orig_rax = regs.orig_rax;
	regs.gs_base = region_address(0);
	regs.rip = region_address(CODE_AT + es->cache->chains[chain].body);
	regs.orig_rax = UINT64_MAX;
	et->begin = task->regs.rip;
	branch_log_begin(task->log, es->cache->segments, task->regs.rip, task->process->space->number, task->process->space->epoch);
	et->in_cache = true;
	et->stop_wanted = false;
	if (tracee_set_regs(task->tid, &regs))
		return -BT_E_GONE;
	return tracee_resume(task->tid, PTRACE_CONT, 0);
}

/* ---- Out of the cache ---- */

/* How a stretch ended. */
enum arrival {
	ARRIVED_NOWHERE, /* between two instructions */
	ARRIVED_DIRECT,	 /* along a branch that has just been executed */
	ARRIVED_INDIRECT,
};

struct stretch {
	struct context ctx;
	struct bt_regs regs; /* raw, then the application's */
	uint64_t bits;
	enum arrival arrival;
	enum exit_kind kind;
	bool far;	/* no place was found in many steps */
	bool damaged;	/* the records make no sense */
	size_t records; /* how many there were */
	uint32_t last_segment; /* of the last one */
};

static bool in_code(uint64_t rip)
{
	return rip >= region_address(CODE_AT) && rip < region_address(CODE_AT + CODE_SIZE);
}

static bool read_context(struct task *task, struct stretch *s)
{
	return tracee_read(task->tid, region_address(0), &s->ctx, sizeof s->ctx) == sizeof s->ctx;
}

static uint64_t *register_at(struct bt_regs *r, unsigned reg)
{
	uint64_t *const regs[] = {&r->rax, &r->rcx, &r->rdx, &r->rbx, &r->rsp, &r->rbp, &r->rsi, &r->rdi,
				  &r->r8, &r->r9, &r->r10, &r->r11, &r->r12, &r->r13, &r->r14, &r->r15};

	return regs[reg & 15];
}

/* The application's state at a stop in the middle of the code. False: in the middle of a sequence. */
static bool state_at_place(const struct code_cache *c, struct stretch *s)
{
	const struct chain *chain;
	const struct place *p;
	struct bt_regs *r = &s->regs;

	if (!in_code(r->rip))
		return false;
	p = code_cache_place(c, (uint32_t)(r->rip - region_address(CODE_AT)), &chain);
	if (!p || p->state & PLACE_BETWEEN)
		return false;
	r->rip = chain->pc + (uint64_t)(int64_t)p->pc;
	if (p->state & PLACE_R11) {
		s->bits = s->ctx.bits;
	} else {
		s->bits = r->r11;
		r->r11 = s->ctx.r11;
	}
	if (p->state & PLACE_SHIFTED)
		s->bits >>= 1;
	if (p->state & PLACE_SPILLED)
		*register_at(r, p->reg) = s->ctx.spill;
	if (p->state & PLACE_RAX_RCX) {
		r->rax = s->ctx.rax;
		r->rcx = s->ctx.rcx;
	}
	s->arrival = ARRIVED_NOWHERE;
	s->kind = EXIT_STOP;
	return true;
}

/* The application's state behind an int3 of ours. */
static bool state_at_trap(const struct code_cache *c, struct stretch *s)
{
	uint32_t trap = (uint32_t)(s->regs.rip - 1 - region_address(CODE_AT));
	const struct cache_exit *x;

	s->bits = s->regs.r11;
	if (trap == c->miss_trap) {
		s->regs.rip = s->regs.rcx;
		s->regs.rcx = s->ctx.rcx;
		s->regs.rax = s->ctx.rax;
		s->arrival = ARRIVED_INDIRECT;
		s->kind = EXIT_LINK;
	} else {
		x = code_cache_exit_at(c, trap);
		if (!x)
			return false;
		s->regs.rip = x->target;
		s->kind = (enum exit_kind)x->kind;
		s->arrival = x->kind == EXIT_LINK ? ARRIVED_DIRECT : ARRIVED_NOWHERE;
	}
	s->regs.r11 = s->ctx.r11;
	return true;
}

static bool is_own_trap(const siginfo_t *info, const struct bt_regs *raw)
{
	return info->si_signo == SIGTRAP && info->si_code == TRAP_SELF && in_code(raw->rip - 1);
}

/* Takes the records of the stretch into the task's log. Returns 0 or -BT_E_GONE. */
static int take_records(struct task *task, struct engine_space *es, struct stretch *s)
{
	int64_t bytes = s->ctx.next + RECORDS_BYTES;

	s->damaged = bytes < 0 || bytes > RECORDS_BYTES || bytes % RECORD_SIZE || !s->bits;
	s->records = s->damaged ? 0 : (size_t)bytes / RECORD_SIZE;
	for (size_t at = 0, n; at < s->records; at += n) {
		n = s->records - at < RECORDS_READ ? s->records - at : RECORDS_READ;
		if (tracee_read(task->tid, region_address(RECORDS_AT + at * RECORD_SIZE), es->records, n * RECORD_SIZE) != n * RECORD_SIZE)
			return -BT_E_GONE;
		branch_log_records(task->log, es->records, n);
		s->last_segment = es->records[n - 1].segment;
	}
	return 0;
}

static bool is_canonical(uint64_t addr)
{
	return (uint64_t)((int64_t)(addr << 16) >> 16) == addr;
}

/* A branch to an address that no page can have faults itself, before it has done anything (Intel SDM volume 1, 3.3.7.1): it is undone, and
 * the stepper makes it. Found by walking from the last record to the indirect branch that ends the stretch. */
static void undo_wild_branch(struct task *task, struct engine_space *es, struct stretch *s)
{
	struct segment_table *t = es->cache->segments;
	const struct segment *from = s->records ? segment_get(t, s->last_segment) : NULL;
	struct engine_task *et = task->backend;
	struct branch_walk walk = {.table = t, .generation = segment_generation(t), .pc = from ? from->pc : et->begin, .steps = UINT16_MAX};
	struct walk_leg leg = {.goal = WALK_INDIRECT, .bits = s->bits, .pc = s->regs.rip};
	struct walk_out out = {0};
	const struct bt_branch *b;
	uint8_t bytes[BT_INSN_MAX] = {0};
	struct x86_insn insn;
	size_t n;

	if (s->damaged || !branch_walk(&walk, &leg, &out) || !out.n)
		return;
	b = &out.entries[out.n - 1];
	n = tracee_read(task->tid, b->from, bytes, sizeof bytes);
	if (x86_decode(bytes, n, &insn))
		return;
	if (b->kind == BT_BRANCH_RET)
		s->regs.rsp -= 8 + (insn.imm_size ? (uint64_t)(bytes[insn.imm_at] | bytes[insn.imm_at + 1] << 8) : 0);
	if (b->kind == BT_BRANCH_ICALL)
		s->regs.rsp += 8;
	s->regs.rip = b->from;
	s->arrival = ARRIVED_NOWHERE;
	s->kind = EXIT_OUTSIDE;
}

/* Takes the records and the state over: the task is out of the cache. Returns 0 or -BT_E_GONE. */
static int leave_cache(struct task *task, struct engine_space *es, struct stretch *s)
{
	struct engine_task *et = task->backend;

	et->in_cache = false;
	if (take_records(task, es, s))
		return -BT_E_GONE;
	if (s->arrival == ARRIVED_INDIRECT && !is_canonical(s->regs.rip))
		undo_wild_branch(task, es, s);
	if (s->damaged)
		branch_log_break(task->log, BT_GAP_UNDECODED);
	else if (s->arrival == ARRIVED_NOWHERE)
		branch_log_end(task->log, s->bits, s->regs.rip);
	else
		branch_log_arrive(task->log, s->bits, s->arrival == ARRIVED_DIRECT ? BRANCH_LOG_DIRECT : BRANCH_LOG_INDIRECT, s->regs.rip);
	if (branch_log_crowded(task->log))
		task_settle(task);
	s->regs.gs_base = et->gs_base;
	if (s->arrival == ARRIVED_NOWHERE && s->regs.rip == et->begin && !s->records && s->bits == 1)
		s->regs.orig_rax = et->orig_rax; /* nothing has run: the task is where its system call left it */
	task->regs = s->regs;
	return 0;
}

/* A step of the tracee in the cache's code. False when something else came, which is left for the main loop. */
static bool step_on(pid_t tid)
{
	siginfo_t info;
	int rc, status;

	if (tracee_resume(tid, PTRACE_SINGLESTEP, 0))
		return false;
	do {
		info.si_pid = 0;
		rc = waitid(P_PID, (id_t)tid, &info, WEXITED | WSTOPPED | WNOWAIT | __WALL);
	} while (rc && errno == EINTR);
	if (rc || info.si_code != CLD_TRAPPED || info.si_status != SIGTRAP)
		return false;
	return waitpid(tid, &status, __WALL | WNOHANG) == tid;
}

/* Brings a task that was stopped anywhere in the cache to the next place at which the application's state is known. Other signals wait
 * meanwhile. False when it is gone, or another stop came first. */
static bool find_state(struct task *task, struct engine_space *es, struct stretch *s)
{
	uint64_t mask, all_but_trap = ~(1ull << (SIGTRAP - 1));
	siginfo_t info;
	bool found = false, alive = true;

	if (!read_context(task, s))
		return false;
	if (state_at_place(es->cache, s))
		return true;
	if (tracee_get_mask(task->tid, &mask) || tracee_set_mask(task->tid, all_but_trap))
		return false;
	for (int i = 0; alive && !found && i < STEP_ON; i++) {
		alive = step_on(task->tid) && !tracee_get_siginfo(task->tid, &info) && !tracee_get_regs(task->tid, &s->regs) && read_context(task, s);
		if (alive && is_own_trap(&info, &s->regs))
			found = state_at_trap(es->cache, s);
		else if (alive)
			found = state_at_place(es->cache, s);
	}
	(void)!tracee_set_mask(task->tid, mask);
	s->far = alive && !found;
	return found;
}

/* The chain at pc, whose code has changed; what else was made from those bytes goes when they are read again. */
static void drop_chain_at(struct code_cache *c, uint64_t pc)
{
	uint32_t chain = code_cache_find(c, pc);

	if (chain != CHAIN_NONE)
		code_cache_drop_chain(c, chain);
}

/* A trap of the cache's own: on into the cache, or out of it. */
static enum backend_stop on_trap(struct backend *b, struct task *task, struct engine_space *es, struct stretch *s)
{
	struct engine_task *et = task->backend;
	bool indirect;
	int rc;

	if (!read_context(task, s) || !state_at_trap(es->cache, s) || leave_cache(task, es, s))
		return BACKEND_GONE;
	if (et->holds) {
		et->holds = false;
		if (tracee_set_regs(task->tid, &task->regs) || tracee_set_siginfo(task->tid, &et->held))
			return BACKEND_GONE;
		return BACKEND_SIGNAL;
	}
	if (et->stop_wanted) {
		et->stop_wanted = false;
		return tracee_set_regs(task->tid, &task->regs) ? BACKEND_GONE : BACKEND_SLICE;
	}
	indirect = s->arrival == ARRIVED_INDIRECT;
	if (s->kind == EXIT_CHANGED)
		drop_chain_at(es->cache, task->regs.rip);
	if (s->kind == EXIT_OUTSIDE)
		rc = tracee_set_regs(task->tid, &task->regs) ? -BT_E_GONE : step_resume(b, task, 0, BT_ACTION_IGNORE);
	else
		rc = enter_cache(b, task, indirect);
	return rc ? BACKEND_GONE : BACKEND_RUNS;
}

static void engine_stop_soon(struct backend *b, struct task *task)
{
	struct engine_task *et = task->backend;
	const uint64_t now[2] = {0, 1}; /* limit, stop */
	struct iovec local = {(void *)(uintptr_t)now, sizeof now}, remote = {(void *)(uintptr_t)region_address(CTX_LIMIT), sizeof now};

	(void)b;
	et->stop_wanted = true;
	if (et->in_cache && process_vm_writev(task->tid, &local, 1, &remote, 1, 0) < 0)
		et->stop_wanted = false; /* gone */
}

static bool is_fault(const siginfo_t *info)
{
	switch (info->si_signo) {
	case SIGSEGV:
	case SIGBUS:
	case SIGILL:
	case SIGFPE:
	case SIGTRAP:
		return info->si_code > 0;
	default:
		return false;
	}
}

/* A signal while the task was in the cache. A fault is raised again by the instruction itself, at its own address, so that all the
 * kernel tells the program of it is true. */
static enum backend_stop on_signal(struct backend *b, struct task *task, struct engine_space *es, struct stretch *s, siginfo_t *info)
{
	struct engine_task *et = task->backend;

	if (!find_state(task, es, s)) {
		if (is_fault(info)) { /* the region has been damaged: the program gets what there is */
			et->in_cache = false;
			branch_log_break(task->log, BT_GAP_DAMAGED);
			s->regs.gs_base = et->gs_base;
			task->regs = s->regs;
			return BACKEND_SIGNAL;
		}
		/* Another stop comes first, or the place is far: the signal waits for the next trap of the cache's own. */
		et->holds = true;
		et->held = *info;
		if (s->far) {
			engine_stop_soon(b, task);
			return tracee_resume(task->tid, PTRACE_CONT, 0) ? BACKEND_GONE : BACKEND_RUNS;
		}
		return BACKEND_GONE;
	}
	if (leave_cache(task, es, s) || tracee_set_regs(task->tid, &task->regs))
		return BACKEND_GONE;
	if (info->si_signo == SIGTRAP && step_keeps(task, info))
		return enter_cache(b, task, false) ? BACKEND_GONE : BACKEND_RUNS;
	if (is_fault(info))
		return step_resume(b, task, 0, BT_ACTION_IGNORE) ? BACKEND_GONE : BACKEND_RUNS;
	return tracee_set_siginfo(task->tid, info) ? BACKEND_GONE : BACKEND_SIGNAL;
}

static enum backend_stop cache_stopped(struct backend *b, struct task *task, siginfo_t *info)
{
	struct engine_space *es = task->process->space->extension;
	struct stretch s = {0};

	if (tracee_get_siginfo(task->tid, info) || tracee_get_regs(task->tid, &s.regs))
		return BACKEND_GONE;
	if (is_own_trap(info, &s.regs))
		return on_trap(b, task, es, &s);
	return on_signal(b, task, es, &s, info);
}

/* ---- The interface ---- */

static int engine_task_init(struct backend *b, struct task *task)
{
	struct engine_task *et = calloc(1, sizeof *et);

	if (!et)
		return -BT_E_NO_MEMORY;
	task->log = branch_log_new(task->ring.limit, &task->ring.now);
	if (!task->log || stepper_ops.task_init(b, task)) {
		free(et);
		return -BT_E_NO_MEMORY;
	}
	et->step = task->backend;
	task->backend = et;
	return 0;
}

static void engine_task_release(struct backend *b, struct task *task)
{
	struct engine_task *et = task->backend;

	if (!et)
		return;
	task->backend = et->step;
	stepper_ops.task_release(b, task);
	free(et);
}

static int engine_resume(struct backend *b, struct task *task, int signo, enum bt_signal_action action)
{
	if (signo || task->in_syscall || task->syscall_restarts)
		return step_resume(b, task, signo, action);
	return enter_cache(b, task, false);
}

static int engine_proceed(struct backend *b, struct task *task)
{
	struct engine_task *et = task->backend;
	int rc;

	if (et->in_cache)
		return tracee_resume(task->tid, PTRACE_CONT, 0);
	task->backend = et->step;
	rc = stepper_ops.proceed(b, task);
	stepper_ops.stop_soon(b, task);
	task->backend = et;
	return rc;
}

static void engine_leave(struct backend *b, struct task *task)
{
	struct engine_task *et = task->backend;

	task->backend = et->step;
	stepper_ops.leave(b, task);
	task->backend = et;
}

static void engine_execed(struct backend *b, struct task *task)
{
	struct engine_task *et = task->backend;

	task->backend = et->step;
	stepper_ops.execed(b, task);
	task->backend = et;
	et->in_cache = false;
	task_settle(task); /* the old space's segments go with it */
}

static enum backend_stop engine_stopped(struct backend *b, struct task *task, const struct wait_event *ev, siginfo_t *info)
{
	struct engine_task *et = task->backend;
	enum backend_stop stop;

	if (et->in_cache)
		return cache_stopped(b, task, info);
	stop = step_stopped(b, task, ev, info);
	if (stop != BACKEND_SLICE)
		return stop;
	if (et->stop_wanted) {
		et->stop_wanted = false;
		return BACKEND_SLICE;
	}
	return enter_cache(b, task, false) ? BACKEND_GONE : BACKEND_RUNS;
}

const struct backend_ops engine_ops = {
	.name = "engine",
	.source = "bits",
	.tick_classes = BT_TICK_JCC | BT_TICK_JRCXZ | BT_TICK_LOOP,
	.task_init = engine_task_init,
	.task_release = engine_task_release,
	.resume = engine_resume,
	.proceed = engine_proceed,
	.stop_soon = engine_stop_soon,
	.leave = engine_leave,
	.execed = engine_execed,
	.stopped = engine_stopped,
};
