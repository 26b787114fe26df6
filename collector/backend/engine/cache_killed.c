/* SPDX-License-Identifier: MIT */
/* Where the application was when its task died in the cache. The kernel lets a killed task's
 * registers be read at its exit's stop (ptrace(2), PTRACE_EVENT_EXIT), and nothing can be executed
 * any more: where the state map has no exact entry, the sequence is finished by hand. So the place
 * is exact: tick, transfers, address. Of the registers rax, rcx, flags and one lent to an operand
 * may be the cache's (guess_state()). Where a system call's note is half made, and no log is kept,
 * the history says that something is lost. */
#include <string.h>

#include "collector/backend/engine/cache/emit.h"
#include "collector/backend/engine/engine_private.h"
#include "collector/backend/engine/stretch_state.h"
#include "collector/backend/engine/x86/operand.h"
#include "lib/canonical.h"

enum { STORE_BYTES = 9 }; /* emit_store() */

#define FLAGS_OF    0x800ull
#define FLAGS_OF_AH 0xd5ull /* SF ZF AF PF CF: those that LAHF gives */

/* Before such an int3 has run. */
static bool state_before_trap(struct task *task, const struct engine_space *es, struct stretch *s)
{
	s->regs.rip++;
	if (stretch_state_at_trap(task, es, s))
		return true;
	s->regs.rip--;
	return false;
}

/* Whether what an emitter has made stands there, from its byte `skip` on. */
static bool stands_at(const struct code_cache *c, uint64_t rip, const struct emitter *e,
		      size_t skip)
{
	uint64_t at = rip - region_address(CODE_AT);

	return at + e->len - skip <= c->code_len &&
	       !memcmp(c->code + at, e->bytes + skip, e->len - skip);
}

/* Behind a conditional, whose bit is still to come: that is brought in. */
static bool state_before_bit(struct task *task, const struct engine_space *es, struct stretch *s)
{
	uint64_t rip = s->regs.rip, r11 = s->regs.r11;
	const uint64_t brings[3] = {0, 1, r11 >> 63};
	struct emitter ways[3];
	uint8_t bytes[3][8];

	if (es->cache->kind.ticks)
		return false;
	for (int i = 0; i < 3; i++)
		ways[i] = (struct emitter){.bytes = bytes[i], .room = sizeof bytes[i]};
	emit_bit_not_taken(&ways[0]);
	emit_bit_taken(&ways[1], false);
	emit_bit_taken(&ways[2], true);
	for (int i = 0; i < 3; i++)
		if (stands_at(es->cache, rip, &ways[i], 0)) {
			s->regs.r11 = r11 << 1 | brings[i];
			s->regs.rip += ways[i].len;
			if (stretch_state_at_entry(task, es, s))
				return true;
		}
	s->regs.rip = rip;
	s->regs.r11 = r11;
	return false;
}

/* Whether it is about to go to where r11 says, from p. */
static bool is_dispatching(const struct code_cache *c, uint64_t rip, const struct state_entry *p,
			   bool counting)
{
	uint8_t bytes[DISPATCH_BYTES];
	struct emitter e = {.bytes = bytes, .room = sizeof bytes, .base = rip};

	if (counting)
		emit_dispatch_counting(&e, region_address(CODE_AT + c->miss_counting));
	else
		emit_dispatch(&e);
	return p->state & STATE_NOTED &&
	       (stands_at(c, rip, &e, 0) || (!counting && stands_at(c, rip, &e, DISPATCH_JUMP)));
}

/* The task died where a branch had been made, all but the jump (STATE_MADE, STATE_LEADS). */
static bool state_behind_branch(struct task *task, const struct engine_space *es, struct stretch *s)
{
	const struct code_cache *c = es->cache;
	const struct fragment *fragment;
	struct state_entry room;
	const struct state_entry *p = code_cache_state_at(
		c, (uint32_t)(s->regs.rip - region_address(CODE_AT)), &fragment, &room);
	struct branch_log_record record;
	bool bit = p && p->state & STATE_SHIFTED;
	bool leads = p && p->state & STATE_NOTED, in_rcx = leads && p->state & STATE_RCX;
	struct bt_regs *r = &s->regs;
	uint64_t to;

	if (!p || !(p->state & STATE_BETWEEN) || p->state == STATE_ROUNDS ||
	    !(leads || p->state & STATE_CALLED || (bit && !c->kind.ticks)) ||
	    (leads && !c->kind.ticks && !stretch_read_record(task, es, s->ctx.next, &record)))
		return false;
	to = !leads ? fragment->pc + (uint64_t)(int64_t)p->pc : in_rcx ? r->rcx : r->r11;
	if (to >= BT_USER_END)
		return false;
	stretch_take_kept(c, s, fragment,
			  p->state & STATE_R11 || (leads && !in_rcx) ? s->ctx.bits : r->r11);
	if (leads && !c->kind.ticks)
		s->bits = record.bits;
	if (bit && !c->kind.ticks)
		s->bits = s->bits << 1 | !(p->state & STATE_CALLED); /* not taken: 1 */
	if (leads || p->state & STATE_RCX)
		r->rcx = s->ctx.rcx;
	else if (p->state & STATE_R11) /* a system call (Intel SDM volume 2, SYSCALL) */
		r->rcx = to;
	else if (fragment_in_rounds(fragment, (uint32_t)(r->rip - region_address(CODE_AT))))
		stretch_take_lent(s, fragment, p);
	if (!(p->state & STATE_R11))
		r->r11 = s->ctx.r11;
	r->rip = to;
	s->was_called = c->kind.ticks && p->state & STATE_CALLED;
	s->arrival = leads                     ? ARRIVED_INDIRECT
		     : p->state & STATE_CALLED ? ARRIVED_DIRECT
					       : ARRIVED_NOWHERE;
	s->kind = EXIT_STOP;
	return true;
}

/* Where ticks are counted: where it leads (0: that cannot be said). Up to the middle of an entry
 * r11 says so; then it is the count again, and the entry is the fragment's. */
static uint64_t led_to(const struct code_cache *c, const struct stretch *s, bool entering)
{
	uint32_t at = (uint32_t)(s->regs.rip - region_address(CODE_AT)), last = 0;
	uint64_t to = 0;

	if (!entering || s->regs.r11 != s->ctx.bits)
		return s->regs.r11;
	for (uint32_t i = 0; i < c->fragment_count; i++)
		if (c->fragments[i].indirect <= at && last < c->fragments[i].indirect) {
			last = c->fragments[i].indirect;
			to = c->fragments[i].pc;
		}
	return to;
}

/* The task died between an indirect branch's record and the code that it leads to: before its jump,
 * in the search, or in an indirect entry. The state is as at a miss: there may be no code there
 * yet. False if it died elsewhere. */
static bool state_arriving(struct task *task, const struct engine_space *es, struct stretch *s)
{
	const struct code_cache *c = es->cache;
	uint32_t at = (uint32_t)(s->regs.rip - region_address(CODE_AT));
	struct branch_log_record made = {0};
	const struct fragment *fragment;
	struct state_entry room;
	const struct state_entry *p = code_cache_state_at(c, at, &fragment, &room);
	bool searching = !fragment && at < c->safe_point,
	     entering = !p && (fragment || at >= ROUTINES_SIZE);

	if (c->kind.ticks && (searching || entering))
		made.to = led_to(c, s, entering);
	else if (c->kind.ticks ||
		 !(searching || entering ||
		   (p && is_dispatching(c, s->regs.rip, p, fragment->counting))) ||
		 !stretch_read_record(task, es, s->ctx.next - RECORD_SIZE, &made) ||
		 !branch_log_is_indirect(&made))
		return false;
	if (!made.to || made.to >= BT_USER_END)
		return false;
	/* An entry may be one that sends it on to the search; before that it has r11. */
	if (!c->kind.ticks && made.to != s->regs.r11 &&
	    !(entering && (fragment ? made.to == fragment->pc : s->regs.r11 == BITS_EMPTY)))
		return false;
	if (searching && at >= c->miss_rax)
		s->regs.rax = s->ctx.rax;
	if (searching && at >= c->miss_kept)
		s->regs.eflags = (s->regs.eflags & ~(FLAGS_OF | FLAGS_OF_AH)) |
				 (s->ctx.flags >> 8 & FLAGS_OF_AH) |
				 (s->ctx.flags & 1 ? FLAGS_OF : 0);
	s->regs.r11 = made.to;
	stretch_state_at_miss(task, es, s);
	s->regs.r11 = s->ctx.r11;
	return true;
}

/* Of a task that died at p, or (NULL) elsewhere in the code: of a fragment, where that is not NULL,
 * or the common parts. */
static uint64_t prediction_bits(const struct code_cache *c, const struct stretch *s,
				const struct state_entry *p, bool arriving, bool away)
{
	uint64_t bits = stretch_bits_as(c, p && p->state & STATE_R11 ? s->ctx.bits : s->regs.r11);

	if (away) /* behind a system call r11 is the application's already; one of the routines' own
		     changes it */
		return stretch_bits_as(c, s->ctx.bits);
	if (arriving || (p && p->state & STATE_NOTED)) /* r11 says where an indirect branch leads */
		return c->kind.ticks ? s->ctx.bits : 1;
	if (p && p->state & STATE_SHIFTED) /* it counts a conditional that is still to come */
		return bits - 1;
	return c->kind.ticks || !branch_log_bits_are_wrong(bits) ? bits
								 : 1; /* behind an indirect entry */
}

/* Where a log is kept that is known behind a call: the log has the call, and the replay comes
 * there. */
static void know_state_behind_call(const struct code_cache *c, struct stretch *s, uint32_t at)
{
	if (at >= c->result_kept)
		s->regs.rax = s->ctx.rax;
	s->regs.rcx = s->regs.rip;
	s->called = at < c->noted;
	s->was_called = !s->called;
	s->lost = false;
}

/* The task died in the routine that writes a record for the fragment to which CTX_BACK leads. */
static bool state_in_record(struct task *task, const struct engine_space *es, struct stretch *s)
{
	const struct code_cache *c = es->cache;
	uint32_t at = (uint32_t)(s->regs.rip - region_address(CODE_AT)),
		 back = (uint32_t)(s->ctx.back - region_address(CODE_AT));
	struct branch_log_record record;
	const struct fragment *fragment;
	struct state_entry room;
	const struct state_entry *p;
	bool made = at >= c->record_made, rounds;

	if (c->kind.ticks || at < c->safe_point || at >= c->pause)
		return false;
	if (!code_cache_exit_at(c, back)) /* it is to go on, behind where it would have stopped */
		back -= STOP_BYTES;
	p = code_cache_exit_at(c, back) ? code_cache_state_at(c, back, &fragment, &room) : NULL;
	if (!p ||
	    (at >= c->record_bits && !made && !stretch_read_record(task, es, s->ctx.next, &record)))
		return false;
	rounds = p->state == STATE_ROUNDS;
	s->bits = made ? 1 : at >= c->record_bits ? record.bits : branch_log_bits(s->regs.r11);
	s->rounds = rounds && !made ? s->bits : 0;
	s->bits = rounds ? 1 : s->bits;
	s->regs.rip = fragment->pc + (uint64_t)(int64_t)p->pc;
	s->regs.rcx = s->ctx.rcx;
	s->regs.r11 = s->ctx.r11;
	s->arrival = p->state & STATE_CALLED && !made ? ARRIVED_DIRECT : ARRIVED_NOWHERE;
	s->kind = EXIT_STOP;
	return true;
}

/* Where the task is in one of the routines of own_results: takes the registers that it has kept
 * already: rdx first, before CPUID then rbx. */
static void take_kept_of_routine(const struct code_cache *c, struct stretch *s, uint32_t at)
{
	enum bt_logged_form form = BT_LOGGED_FORMS - 1;

	while (form > BT_LOGGED_CALL && at < c->own_results[form])
		form--;
	if (at > c->own_results[form])
		s->regs.rdx = s->ctx.rdx;
	if (form == BT_LOGGED_CPUID && at > c->own_results[form] + STORE_BYTES)
		s->regs.rbx = s->ctx.rbx;
}

/* Where the application was when the task died in the middle of a sequence. Of its registers rax,
 * rcx, r10, behind CPUID rbx and rdx, and the one lent to an operand may be the cache's, and where
 * ticks are counted they may be one short. */
static void guess_state(const struct code_cache *c, struct stretch *s, uint64_t begin)
{
	uint32_t at = (uint32_t)(s->regs.rip - region_address(CODE_AT));
	const struct cache_exit *x =
		code_cache_exit_at(c, (uint32_t)(s->ctx.back - region_address(CODE_AT)));
	const struct fragment *fragment, *called;
	struct state_entry room, back_room;
	const struct state_entry *p = code_cache_state_at(c, at, &fragment, &room), *back = NULL;
	uint64_t leads;
	bool entry = !p && (fragment || at >= ROUTINES_SIZE),
	     searching = !p && !fragment && at < c->safe_point, arriving = searching || entry;
	bool at_cpuid = !p && !fragment && at >= c->cpuid && at < c->own_syscall,
	     noting = !p && !fragment && at >= c->called && at < c->cpuid;
	bool counts = fragment &&
		      (fragment_counts_rounds(fragment, at) || (p && p->state == STATE_ROUNDS));
	bool asking = !p && !fragment && at >= c->asking && at < c->asked,
	     granted = !p && !fragment && at >= c->granted && at < c->granted_end;

	if (!x) /* a safe point on its way back */
		x = code_cache_exit_at(
			c, (uint32_t)(s->ctx.back - STOP_BYTES - region_address(CODE_AT)));
	s->rounds = counts ? branch_log_bits(s->regs.r11) : 0;
	s->bits = counts ? 1 : prediction_bits(c, s, p, arriving, noting || asking || granted);
	leads = s->regs.r11; /* of an indirect branch, nearly as long as its target's entry runs */
	if (noting ? at >= c->telling && at <= c->told : !p || counts || !(p->state & STATE_R11))
		s->regs.r11 = s->ctx.r11;
	if (asking || (noting && at >= c->telling && at < c->told))
		s->regs.rsi = s->ctx.spill;
	if (noting &&
	    ((at >= c->copying && at < c->copied) || (at >= c->failing && at < c->failed))) {
		s->regs.rsi = s->ctx.spill;
		s->regs.rdx = s->ctx.rdx;
		s->regs.rdi = s->ctx.r10;
	}
	if (noting && at >= c->logging && at < c->logged) {
		s->regs.rsi = s->ctx.spill;
		s->regs.rdx = s->ctx.rdx;
		s->regs.rdi = s->ctx.r10;
	}
	if (!p && !fragment && at >= c->sizing && at < c->sized)
		s->regs.rdx = s->ctx.rdx;
	if (p && p->state & STATE_SPILLED)
		*operand_register(&s->regs, p->reg) = s->ctx.spill;
	if (p && p->state & STATE_RCX && (p->reg == X86_RDX || p->reg == X86_RBX)) {
		s->regs.rax = s->ctx.rax;
		s->regs.rdx = s->ctx.rdx;
	}
	if (p && p->state & STATE_RCX && p->reg == X86_RBX)
		s->regs.rbx = s->ctx.rbx;
	if (p && (counts || fragment_in_rounds(fragment, at)))
		stretch_take_lent(s, fragment, p);
	if (p)
		s->regs.rip = fragment->pc + (uint64_t)(int64_t)p->pc;
	else if (fragment)
		s->regs.rip = fragment->pc;
	else if (arriving)
		s->regs.rip = is_canonical(leads) && (int64_t)leads >= 0 ? leads : begin;
	else if (x)
		s->regs.rip = x->target;
	else if ((back = code_cache_state_at(
			  c, (uint32_t)(s->ctx.back - region_address(CODE_AT)), &called,
			  &back_room))) /* at a system call, behind it, or at CPUID */
		s->regs.rip = called->pc + (uint64_t)(int64_t)back->pc;
	else /* nobody knows */
		s->regs.rip = begin;
	s->lost = !p && (fragment || !back || noting || asking);
	if (arriving || (p && p->state & STATE_RCX))
		s->regs.rcx = s->ctx.rcx;
	if (!p && !fragment &&
	    ((at >= c->miss_rax && at < c->safe_point) || (at >= c->call && at < c->called) ||
	     at_cpuid))
		s->regs.rax = s->ctx.rax;
	if (!p && ((at >= c->call && at < c->called) || at_cpuid))
		s->regs.rcx = s->ctx.rcx;
	if (at_cpuid && c->kind.logged)
		take_kept_of_routine(c, s, at);
	else if (at_cpuid)
		s->regs.rdx = s->ctx.rdx;
	if (noting && c->kind.logged)
		know_state_behind_call(c, s, at);
}

void stretch_guess_state(struct task *task, const struct engine_space *es, struct stretch *s)
{
	if (!stretch_rip_in_code(s->regs.rip) || !stretch_read_context(task, es, s))
		s->lost = true;
	else if (!stretch_state_at_entry(task, es, s) && !stretch_state_at_trap(task, es, s) &&
		 !state_before_trap(task, es, s) && !state_before_bit(task, es, s) &&
		 !state_arriving(task, es, s) && !state_behind_branch(task, es, s) &&
		 !state_in_record(task, es, s))
		guess_state(es->cache, s, ((struct engine_task *)task->backend)->begin);
	s->arrival = s->lost ? ARRIVED_NOWHERE : s->arrival;
}
