/* SPDX-License-Identifier: MIT */
/* Out of the cache: where the application is at a stop, and what it did since it went in.
 *
 * A stop at an int3 of ours is one of an exit, which says the application's address
 * (stretch_state_at_trap()). A stop elsewhere (a signal, an interruption) is looked up in the
 * fragment's state map (stretch_state_at_entry()). In the middle of a sequence the map has no
 * entry: the task is stepped on to the next one (step_to_entry()). A task that has died cannot be
 * stepped (cache_killed.c).
 *
 * stretch_leave() ends the stretch: records go into the task's log, or ticks are counted; notes of
 * system calls are taken; task->regs become the application's.
 *
 * The program can write to the window. So records and context are checked (is_bound_whole()), and
 * damage becomes a gap. */
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "collector/backend/engine/cache/emit.h"
#include "collector/backend/engine/engine_private.h"
#include "collector/backend/engine/stretch_state.h"
#include "collector/backend/engine/x86/operand.h"
#include "collector/backend/engine/x86/x86.h"
#include "collector/history/branch_walk.h"
#include "collector/tracee/tracee.h"
#include "lib/canonical.h"

enum {
	STEP_ON = 4096,   /* steps to the next place at which the application's state is known; far
			     more than any sequence has */
	TRAP_SELF = 0x80, /* si_code of an int3 (SI_KERNEL) */
};

bool stretch_read_context(struct task *task, const struct engine_space *es, struct stretch *s)
{
	return window_read(&es->window, task->host_tid, engine_window_at(task, 0), &s->ctx,
			   sizeof s->ctx);
}

bool stretch_read_record(struct task *task, const struct engine_space *es, uint64_t next,
			 struct branch_log_record *r)
{
	uint64_t at = next + RECORDS_BYTES;

	if (at >= RECORDS_BYTES || at % RECORD_SIZE ||
	    !window_read(&es->window, task->host_tid, engine_window_at(task, RECORDS_AT + at), r,
			 sizeof *r))
		return false;
	r->bits = branch_log_bits(r->bits);
	return true;
}

uint64_t stretch_bits_as(const struct code_cache *c, uint64_t kept)
{
	return c->kind.ticks ? kept : branch_log_bits(kept);
}

void stretch_take_kept(const struct code_cache *c, struct stretch *s,
		       const struct fragment *fragment, uint64_t kept)
{
	bool rounds =
		fragment &&
		fragment_counts_rounds(fragment, (uint32_t)(s->regs.rip - region_address(CODE_AT)));

	s->rounds = rounds ? branch_log_bits(kept) : 0;
	s->bits = rounds ? 1 : stretch_bits_as(c, kept);
}

void stretch_take_lent(struct stretch *s, const struct fragment *fragment,
		       const struct state_entry *p)
{
	struct bt_regs *r = &s->regs;

	if (p->state & STATE_RCX && fragment->lent[LENT_RCX])
		r->rcx = *operand_register(r, fragment->lent[LENT_RCX] - 1u);
	for (int i = 0; i < LENT_COUNT; i++)
		if (fragment->lent[i])
			*operand_register(r, fragment->lent[i] - 1u) = s->ctx.lent[i];
}

bool stretch_state_at_entry(struct task *task, const struct engine_space *es, struct stretch *s)
{
	const struct code_cache *c = es->cache;
	const struct fragment *fragment;
	const struct state_entry *p;
	struct state_entry room;
	struct branch_log_record noted;
	struct bt_regs *r = &s->regs;
	uint32_t at = (uint32_t)(r->rip - region_address(CODE_AT));

	if (!stretch_rip_in_code(r->rip))
		return false;
	p = code_cache_state_at(c, at, &fragment, &room);
	if (!p || (p->state & STATE_BETWEEN && !(s->fault && p->state & STATE_PROBED)))
		return false;
	if (p->state & STATE_NOTED && !stretch_read_record(task, es, s->ctx.next, &noted))
		return false;
	s->rounds = 0;
	if (p->state & STATE_NOTED) {
		s->bits = noted.bits;
		r->r11 = s->ctx.r11;
	} else {
		stretch_take_kept(c, s, fragment, p->state & STATE_R11 ? s->ctx.bits : r->r11);
		r->r11 = p->state & STATE_R11 ? r->r11 : s->ctx.r11;
	}
	r->rip = fragment->pc + (uint64_t)(int64_t)p->pc;
	if (p->state & STATE_SHIFTED)
		s->bits--;
	if (p->state & STATE_CALLED)
		r->rcx = r->rip;
	s->called = p->state & STATE_CALLED;
	if (p->state & STATE_SPILLED)
		*operand_register(r, p->reg) = s->ctx.spill;
	if (p->state & STATE_RCX)
		r->rcx = s->ctx.rcx;
	if (p->state & STATE_RCX && p->reg == X86_R10)
		r->r10 = s->ctx.r10;
	if (fragment_in_rounds(fragment, at))
		stretch_take_lent(s, fragment, p);
	s->compares = p->state & STATE_RCX && p->reg == X86_RDX;
	if (s->compares) {
		r->rax = s->ctx.rax;
		r->rdx = s->ctx.rdx;
	}
	s->arrival = ARRIVED_NOWHERE;
	s->kind = EXIT_STOP;
	return true;
}

void stretch_state_at_miss(struct task *task, const struct engine_space *es, struct stretch *s)
{
	struct branch_log_record made = {0};

	if (es->cache->kind.ticks) {
		s->bits = s->ctx.bits;
	} else {
		s->bits = stretch_read_record(task, es, s->ctx.next - RECORD_SIZE, &made) &&
					  made.to == s->regs.r11
				  ? made.bits
				  : 0;
		s->ctx.next -= RECORD_SIZE;
	}
	s->regs.rip = s->regs.r11;
	s->regs.rcx = s->ctx.rcx;
	s->arrival = ARRIVED_INDIRECT;
	s->kind = EXIT_LINK;
}

bool stretch_state_at_trap(struct task *task, const struct engine_space *es, struct stretch *s)
{
	const struct code_cache *c = es->cache;
	uint32_t trap = (uint32_t)(s->regs.rip - 1 - region_address(CODE_AT));
	const struct cache_exit *x;
	const struct fragment *fragment;
	struct state_entry room;

	(void)code_cache_state_at(c, trap, &fragment, &room);
	stretch_take_kept(c, s, fragment, s->regs.r11);
	if (trap == c->miss_trap) {
		stretch_state_at_miss(task, es, s);
	} else {
		x = code_cache_exit_at(c, trap);
		if (!x)
			return false;
		s->regs.rip = x->target;
		s->kind = (enum exit_kind)x->kind;
		if (x->fresh && !c->kind.ticks)
			s->bits <<= 1; /* taken */
		if (x->rcx)
			s->regs.rcx = s->ctx.rcx;
		s->arrival = x->kind == EXIT_LINK ? ARRIVED_DIRECT : ARRIVED_NOWHERE;
	}
	s->regs.r11 = s->ctx.r11;
	return true;
}

bool stretch_is_in_code(const struct bt_regs *raw) { return stretch_rip_in_code(raw->rip); }

bool stretch_is_own_trap(const struct code_cache *c, const siginfo_t *info,
			 const struct bt_regs *raw)
{
	uint32_t trap = (uint32_t)(raw->rip - 1 - region_address(CODE_AT));

	/* The program may have sent itself one that looks so. */
	return info->si_signo == SIGTRAP && info->si_code == TRAP_SELF &&
	       stretch_rip_in_code(raw->rip - 1) &&
	       (trap == c->miss_trap || code_cache_exit_at(c, trap));
}

int stretch_take_records(struct task *task, struct engine_space *es, struct stretch *s, size_t to)
{
	const uint64_t first = engine_window_at(
		task, RECORDS_END - ((const struct engine_task *)task->backend)->room);

	if (s->taken < to && es->window.bytes) { /* the log copies before it looks: the program can
						    write to these at any moment */
		const struct branch_log_record *records = (const void *)(es->window.bytes + first);

		s->last = records[to - 1];
		branch_log_records(task->log, records + s->taken, to - s->taken);
		s->taken = to;
	}
	for (size_t n; s->taken < to; s->taken += n) {
		n = to - s->taken < RECORDS_READ ? to - s->taken : RECORDS_READ;
		if (!window_read(&es->window, task->host_tid, first + s->taken * RECORD_SIZE,
				 es->records, n * RECORD_SIZE))
			return -BT_E_GONE;
		branch_log_records(task->log, es->records, n);
		s->last = es->records[n - 1];
	}
	return 0;
}

/* When the cache's code writes its bits away: as it was told, or asked to stop. With anything else
 * some may have been lost. */
static bool is_bound_whole(const struct context *ctx)
{
	return ctx->stop ? ctx->limit == UINT64_MAX && ctx->mask == 0
			 : ctx->limit == BITS_FULL && ctx->mask == BITS_FULL;
}

bool stretch_take_full(struct task *task, struct engine_space *es, struct stretch *s)
{
	const struct cache_exit *x = code_cache_exit_at(
		es->cache, (uint32_t)(s->regs.rip - 1 - region_address(CODE_AT)));

	if (!x || x->dead || !x->goes_on ||
	    ((const struct engine_task *)task->backend)->room != records_room(es->cache->kind) ||
	    !stretch_read_context(task, es, s))
		return false;
	/* The routines has written the last record, and would have gone on behind the trap, had
	 * there been more room (routines.c, emit_safe_point()). */
	return !s->ctx.next && !s->ctx.stop && s->regs.r11 == BITS_EMPTY &&
	       is_bound_whole(&s->ctx) && s->ctx.syscall_next == -(uint64_t)SYSCALL_NOTES_BYTES &&
	       !stretch_take_records(task, es, s, records_room(es->cache->kind) / RECORD_SIZE);
}

bool stretch_go_on(struct task *task, struct engine_space *es, const struct stretch *s)
{
	struct engine_task *et = task->backend;
	uint64_t next = -(uint64_t)records_room(es->cache->kind);

	if (!window_write(&es->window, task->host_tid, engine_window_at(task, CTX_NEXT), &next,
			  sizeof next))
		return false;
	et->roomed = true;
	et->roomed_last = s->last;
	return true;
}

/* Takes the records of the stretch into the task's log, and the system calls made meanwhile into
 * its list. Returns 0 or -BT_E_GONE. */
static int take_stretch_records(struct task *task, struct engine_space *es, struct stretch *s)
{
	const struct engine_task *et = task->backend;
	uint64_t bytes = s->ctx.next + et->room;

	s->damaged = !is_bound_whole(&s->ctx) || bytes > et->room || bytes % RECORD_SIZE ||
		     branch_log_bits_are_wrong(s->bits);
	s->records = s->damaged ? 0 : bytes / RECORD_SIZE;
	es->scribbled |= s->damaged;
	return cache_syscalls_take(task, es, s) ? -BT_E_GONE
						: stretch_take_records(task, es, s, s->records);
}

/* A call has pushed its return address over its own operand, or a part of it. The operand is known:
 * it is the call's target. */
static void restore_operand(struct task *task, const struct stretch *s, uint64_t at,
			    uint64_t target)
{
	uint64_t pushed = s->regs.rsp - 8, start = at > pushed ? at : pushed,
		 end = at > pushed ? pushed + 8 : at + 8;
	const uint8_t *bytes = (const void *)&target;

	if (start < end && end - start <= sizeof target)
		tracee_write(task->host_tid, start, bytes + (start - at), end - start);
}

/* A branch to an address that no page can have faults itself, before it has done anything (Intel
 * SDM volume 1, 3.3.7.1): it is undone, and the stepper makes it. */
static void undo_branch(struct task *task, struct stretch *s, uint64_t from)
{
	uint8_t bytes[BT_INSN_MAX] = {0};
	size_t n = tracee_read(task->host_tid, from, bytes, sizeof bytes);
	struct x86_insn insn;

	if (x86_decode(bytes, n, &insn))
		return;
	if (insn.class == BT_INSN_RET)
		s->regs.rsp -=
			8 + (insn.imm_size
				     ? (uint64_t)(bytes[insn.imm_at] | bytes[insn.imm_at + 1] << 8)
				     : 0);
	if (insn.class == BT_INSN_ICALL) {
		s->regs.rsp += 8;
		if (bytes[insn.modrm_at] < 0xc0)
			restore_operand(task, s, operand_address(&insn, bytes, &s->regs, from),
					s->regs.rip);
	}
	s->regs.rip = from;
	s->arrival = ARRIVED_NOWHERE;
	s->kind = EXIT_OUTSIDE;
	s->undone = true;
}

/* Drops the branches in a walk's buffer: only the last branch is wanted. */
static void pass_over(void *arg, const struct bt_branch *entries, size_t n)
{
	(void)arg;
	(void)entries;
	(void)n;
}

/* Found by walking from the last record to the indirect branch that ends the stretch. */
static void undo_wild_branch(struct task *task, struct engine_space *es, struct stretch *s)
{
	struct segment_table *t = es->cache->segments;
	struct engine_task *et = task->backend;
	const struct branch_log_record *last = s->records   ? &s->last
					       : et->roomed ? &et->roomed_last
							    : NULL;
	bool arrived = last && branch_log_is_indirect(last);
	const struct segment *from = last && !arrived ? segment_get(t, last->segment) : NULL;
	struct branch_walk walk = {.table = t,
				   .generation = segment_generation(t),
				   .pc = from      ? from->pc
					 : arrived ? last->to
						   : et->begin,
				   .segment = from,
				   .missed = from && last->kind == BRANCH_LOG_MISS,
				   .steps = UINT16_MAX};
	struct walk_leg leg = {.goal = WALK_INDIRECT, .bits = s->bits, .pc = s->regs.rip};
	struct walk_out out = {.take = pass_over};

	if (!s->damaged && branch_walk(&walk, &leg, &out) && out.n)
		undo_branch(task, s, out.entries[out.n - 1].from);
}

/* The same where there are no records. */
static void undo_noted_branch(struct task *task, struct engine_space *es, struct stretch *s)
{
	const struct fragment *fragment;
	struct state_entry room;
	const struct state_entry *p =
		code_cache_state_at(es->cache, (uint32_t)s->ctx.from, &fragment, &room);

	if (p)
		undo_branch(task, s, fragment->pc + (uint64_t)(int64_t)p->pc);
}

/* How many conditionals and transfers there were (fragment_ticks.c). Returns how many of both, as
 * far as they are known one by one. */
static uint64_t count_stretch(struct task *task, const struct stretch *s)
{
	struct engine_task *et = task->backend;
	uint64_t transfers = 0, ticks = ticks_of(s->bits) - ticks_of(et->ticks_start);

	for (uint32_t i = 0; i < CTX_SLOT_COUNT; i++)
		if (ticks_of(s->ctx.slots[i]) == ticks_of(s->bits))
			transfers = i + (uint64_t)(uint32_t)((s->ctx.slots[i] >> TICKS_SHIFT) -
							     (s->bits >> TICKS_SHIFT));
	task_count(task, ticks, transfers - s->undone + s->called + s->was_called);
	et->counted += ticks + transfers;
	return ticks + transfers;
}

static void log_end(struct branch_log *log, const struct stretch *s)
{
	if (!s->damaged)
		branch_log_rounds(log, s->rounds);
	if (!s->damaged && s->arrival != ARRIVED_NOWHERE)
		branch_log_arrive(log, s->bits,
				  s->arrival == ARRIVED_DIRECT ? BRANCH_LOG_DIRECT
							       : BRANCH_LOG_INDIRECT,
				  s->regs.rip);
	else if (!s->damaged && !s->lost)
		branch_log_end(log, s->bits, s->regs.rip);
	if (s->damaged || s->lost)
		branch_log_break(log,
				 s->damaged || s->wrecked ? BT_GAP_SCRIBBLED : BT_GAP_UNDECODED);
}

static bool has_run(const struct engine_task *et, const struct stretch *s)
{
	return s->arrival != ARRIVED_NOWHERE || s->called || s->regs.rip != et->begin ||
	       s->records || et->roomed || s->bits != (et->ticks ? et->ticks_start : 1);
}

int stretch_leave(const struct backend *b, struct task *task, struct engine_space *es,
		  struct stretch *s)
{
	struct engine_task *et = task->backend;
	uint64_t counted = 0;

	engine_set_in_cache(et, false);
	if (et->ticks ? cache_syscalls_take(task, es, s) : take_stretch_records(task, es, s))
		return -BT_E_GONE;
	if (s->arrival == ARRIVED_INDIRECT && !is_canonical(s->regs.rip))
		(et->ticks ? undo_noted_branch : undo_wild_branch)(task, es, s);
	if (et->ticks)
		counted = count_stretch(task, s);
	else
		log_end(task->log, s);
	if (et->ticks && cache_sample_take(task, es, s, counted))
		return -BT_E_GONE;
	if (task->log && branch_log_crowded(task->log))
		task_settle(task);
	if (es->cache->x87)
		(void)!tracee_clear_x87_address(
			task->host_tid,
			false); /* a core file has it; a task that is gone has none */
	s->regs.gs_base = et->gs_base;
	et->idle = has_run(et, s) ? 0 : et->idle + 1;
	if (et->idle)
		s->regs.orig_rax = et->orig_rax; /* the task is where its system call left it */
	task->regs = s->regs;
	cache_answers_take(b, task, es, s);
	return 0;
}

/* A step of the tracee in the cache's code. False when something else came, which is left for the
 * main loop. */
static bool step_on(pid_t tid)
{
	/* QUIRK(event-stop-first): an interruption comes before the trap of a step that is done.
	 * Nobody needs to know of it. */
	const int interrupted = SIGTRAP | PTRACE_EVENT_STOP << 8;
	int stop, status;

	do {
		stop = tracee_run_to_stop(tid, PTRACE_SINGLESTEP);
		if (stop != SIGTRAP && stop != interrupted)
			return false;
		if (waitpid(tid, &status, __WALL | WNOHANG) != tid)
			return false;
	} while (stop == interrupted);
	return true;
}

/* Steps the tracee on to where the application's state is known. */
static bool step_to_entry(struct task *task, const struct engine_space *es, struct stretch *s)
{
	uint64_t mask, all_but_trap = ~(1ull << (SIGTRAP - 1));
	siginfo_t info, sent = {0};
	bool found = false, alive = true;

	if (tracee_get_mask(task->host_tid, &mask) || tracee_set_mask(task->host_tid, all_but_trap))
		return false;
	for (int i = 0; alive && !found && i < STEP_ON; i++) {
		alive = step_on(task->host_tid) && !tracee_get_siginfo(task->host_tid, &info) &&
			!tracee_get_regs(task->host_tid, &s->regs) &&
			stretch_read_context(task, es, s);
		if (alive && info.si_code <= 0) /* no step's: it came before that */
			sent = info;
		else if (alive && stretch_is_own_trap(es->cache, &info, &s->regs))
			found = stretch_state_at_trap(task, es, s);
		else if (alive && cache_logged_finish(task, es, &s->regs))
			alive = !tracee_set_regs(task->host_tid, &s->regs);
		else if (alive)
			found = stretch_state_at_entry(task, es, s);
	}
	(void)!tracee_set_mask(task->host_tid, mask);
	if (sent.si_signo)
		stepper_post_trap(task, &sent);
	s->far = alive && !found;
	return found;
}

bool stretch_find_state(struct task *task, const struct engine_space *es, struct stretch *s)
{
	if (cache_logged_finish(task, es, &s->regs) && tracee_set_regs(task->host_tid, &s->regs))
		return false;
	if (!stretch_read_context(task, es, s))
		return false;
	if (stretch_state_at_entry(task, es, s))
		return true;
	/* A fault lets nothing run behind it; and raised once more while it is blocked, it would
	 * take the program's handler away. */
	return !s->fault && step_to_entry(task, es, s);
}

bool stretch_at_trap(struct task *task, const struct engine_space *es, struct stretch *s)
{
	if (!stretch_read_context(task, es, s))
		return false;
	return stretch_state_at_trap(task, es, s);
}
