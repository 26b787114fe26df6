/* SPDX-License-Identifier: MIT */
/* The code of a fragment's instructions, and the points in it at which the application's state is
 * known.
 *
 * fragment_emit_step() writes the code of one step. Most instructions are copied as they are.
 * Changed are those that use r11, which holds the history bits (fragment_bring_r11()), those with
 * an operand relative to rip, CPUID, PAUSE, system calls, and all branches (fragment_branches.c).
 *
 * fragment_map_state() notes, for an offset in the code, at which instruction the application is
 * and where its registers and flags are. A fault must find an entry at its instruction; another
 * stop is stepped on to the next entry. */
#include <assert.h>

#include "collector/backend/engine/translate/translation.h"

/* ---- Places ---- */

void fragment_map_state(struct translation *t, const struct step *s, unsigned state, unsigned reg)
{
	uint64_t pc = s ? s->pc : t->at_pc;
	struct state_entry p = {.at = (uint16_t)(t->out.len),
				.state = (uint8_t)state,
				.reg = (uint8_t)reg,
				.pc = (int32_t)(int64_t)(pc - t->pc)};

	p.state |= (t->r11_in ? STATE_R11 : 0) | (t->shifted ? STATE_SHIFTED : 0);
	if (t->loop.lent) {
		p.state |= STATE_SPILLED;
		p.reg = (uint8_t)t->loop.reg;
	}
	if (t->state_count && t->state_map[t->state_count - 1].at == p.at) {
		const struct state_entry *last = &t->state_map[t->state_count - 1];

		/* A jump that the fragment follows has no code: execution stops before it, not
		 * behind. */
		if (last->state == p.state && last->reg == p.reg)
			return;
		t->state_count--;
	}
	if (t->state_count < STATE_ENTRIES_MAX)
		t->state_map[t->state_count++] = p;
	else
		t->out.overflow = true;
}

void fragment_map_state_to(struct translation *t, uint64_t to, unsigned state)
{
	int64_t far = (int64_t)(to - t->pc);

	if (far != (int32_t)far) { /* an entry has no room for it */
		fragment_map_state(t, &t->steps[0], STATE_BETWEEN, 0);
		return;
	}
	t->at_pc = to;
	fragment_map_state(t, NULL, state, 0);
}

void fragment_add_cold(struct translation *t, size_t site, uint64_t target, uint8_t kind)
{
	const struct fragment_demand demand = {(uint8_t)(t->fragment.debt + t->conditionals),
					       target <= t->branch_pc || t->fragment.passes};

	if (t->cold_count < COLD_MAX)
		t->cold[t->cold_count++] =
			(struct cold){.site = site,
				      .target = target,
				      .kind = kind,
				      .demand = demand,
				      .fresh = t->cache->kind.ticks && kind == EXIT_LINK &&
					       t->known && !t->transfers};
	else
		t->out.overflow = true;
}

/* ---- The stolen register ---- */

void fragment_bring_r11(struct translation *t, const struct step *s, unsigned state)
{
	if (t->r11_in)
		return;
	fragment_map_state(t, s, state, 0);
	emit_store(&t->out, X86_R11, CTX_BITS);
	emit_load(&t->out, X86_R11, CTX_R11);
	t->r11_in = true;
}

void fragment_bring_bits(struct translation *t, const struct step *s)
{
	if (!t->r11_in)
		return;
	fragment_map_state(t, s, 0, 0);
	emit_store(&t->out, X86_R11, CTX_R11);
	emit_load(&t->out, X86_R11, CTX_BITS);
	t->r11_in = false;
}

/* ---- Instructions ---- */

/* The instruction with its [rip+disp32] made [base], a register of the low eight but rsp and rbp.
 */
static void emit_rebased(struct translation *t, const struct step *s, unsigned base)
{
	const struct x86_insn *in = &s->insn;

	emit_bytes(&t->out, s->bytes, in->modrm_at);
	emit_u8(&t->out, (uint8_t)((s->bytes[in->modrm_at] & 0x38) | base));
	emit_bytes(&t->out, s->bytes + in->disp_at + 4, (size_t)(in->len - in->disp_at - 4));
}

static bool is_lea(const struct x86_insn *in) { return in->map == X86_MAP_1 && in->opcode == 0x8d; }

/* Whether the instruction is a load whose destination is rewritten and can hold the address before.
 */
static bool loads_whole_register(const struct x86_insn *in)
{
	if (in->prefix_66 || in->prefix_f2_f3)
		return false;
	if (in->map == X86_MAP_1)
		return in->opcode == 0x8b || (in->opcode == 0x63 && in->rex & 8);
	return in->map == X86_MAP_0F && (in->opcode == 0xb6 || in->opcode == 0xb7 ||
					 in->opcode == 0xbe || in->opcode == 0xbf);
}

static unsigned modrm_reg(const struct step *s)
{
	return (s->bytes[s->insn.modrm_at] >> 3 & 7) | (s->insn.rex & 4 ? 8 : 0);
}

/* TILELOADD and its kin, which raise #UD without a SIB byte (Intel SDM volume 2). */
static bool needs_sib(const struct x86_insn *in)
{
	return in->map == X86_MAP_OTHER && in->opcode == 0x4b;
}

/* Whether its [rip+disp32] can be [disp32]. Programs at fixed addresses lie below 2 GB; operands
 * there need no register. */
static bool is_absolute(const struct step *s)
{
	return step_target(s) <= INT32_MAX && s->insn.len < BT_INSN_MAX &&
	       !fragment_extends(s, EXTENDS_INDEX) && !needs_sib(&s->insn);
}

static void emit_absolute(struct translation *t, const struct step *s)
{
	const struct x86_insn *in = &s->insn;

	emit_bytes(&t->out, s->bytes, in->modrm_at);
	emit_absolute_operand(&t->out, s->bytes[in->modrm_at], step_target(s));
	emit_bytes(&t->out, s->bytes + in->disp_at + 4, (size_t)(in->len - in->disp_at - 4));
}

/* An LEA that gives a constant. */
static bool is_constant_lea(const struct step *s)
{
	return is_lea(&s->insn) && (!s->insn.prefix_66 || s->insn.rex & 8);
}

bool fragment_needs_base(const struct step *s)
{
	return s->insn.traits & X86_RIP_RELATIVE && !is_constant_lea(s) && !is_absolute(s);
}

static void emit_rip_relative(struct translation *t, const struct step *s)
{
	static const uint8_t lent[] = {X86_RAX, X86_RCX, X86_RDX, X86_RBX, X86_RSI, X86_RDI};
	unsigned reg = modrm_reg(s), base = X86_RAX;
	bool into_itself =
		loads_whole_register(&s->insn) && reg < 8 && reg != X86_RSP && reg != X86_RBP;

	if (is_constant_lea(s)) {
		emit_constant(&t->out, reg,
			      s->insn.rex & 8 ? step_target(s) : (uint32_t)step_target(s));
		return;
	}
	if (is_absolute(s)) {
		emit_absolute(t, s);
		return;
	}
	if (t->loop.lent) {
		fragment_emit_lent(t, s, t->loop.reg, t->loop.base);
		return;
	}
	if (fragment_lent(t, LENT_BASE) >= 0) {
		fragment_emit_lent(t, s, (unsigned)fragment_lent(t, LENT_BASE),
				   t->lent_near[LENT_BASE]);
		return;
	}
	for (size_t i = 0; i < sizeof lent; i++)
		if (!(s->insn.regs & X86_BIT(lent[i]))) {
			base = lent[i];
			break;
		}
	if (into_itself)
		base = reg;
	emit_store(&t->out, base, CTX_SPILL);
	emit_constant(&t->out, base, step_target(s));
	fragment_map_state(t, s, STATE_SPILLED, base);
	emit_rebased(t, s, base);
	if (into_itself)
		return;
	t->at_pc = step_end(s);
	fragment_map_state(t, NULL, STATE_SPILLED, base);
	emit_load(&t->out, base, CTX_SPILL);
}

static bool is_cpuid(const struct x86_insn *in)
{
	return in->map == X86_MAP_0F && in->opcode == 0xa2;
}

/* CPUID: the routines may know what it gives. */
static void emit_cpuid_exit(struct translation *t, const struct step *s)
{
	struct emitter *e = &t->out;

	fragment_bring_bits(t, s);
	fragment_map_state(t, s, 0, 0);
	emit_store(e, X86_RDX, CTX_RDX);
	fragment_map_state(t, s, STATE_BETWEEN, 0);
	EMIT(e, 0x48, 0x8d, 0x15); /* lea rdx, [rip+back] */
	emit_u32(e, emit_move_len(e) + 5);
	emit_store(e, X86_RDX, CTX_BACK);
	emit_patch(e, emit_jump(e), region_address(CODE_AT) + t->cache->cpuid);
	fragment_map_state(t, s, 0, 0);
	EMIT(e, 0x0f, 0xa2); /* its prefixes mean nothing */
	t->at_pc = step_end(s);
	fragment_map_state(t, NULL, 0, 0);
}

static bool is_pause(const struct x86_insn *in)
{
	return in->map == X86_MAP_1 && in->opcode == 0x90 && in->prefix_f2_f3 == 0xf3 &&
	       !(in->rex & 1);
}

/* PAUSE: a routine counts it while others wait for the turn, and decides whether the task stops
 * behind it. */
static void emit_pause_exit(struct translation *t, const struct step *s)
{
	struct emitter *e = &t->out;

	fragment_bring_bits(t, s);
	fragment_map_state(t, s, 0, 0);
	emit_bytes(e, s->bytes, s->insn.len);
	t->at_pc = step_end(s);
	fragment_map_state(t, NULL, 0, 0);
	emit_store(e, X86_RCX, CTX_RCX);
	EMIT(e, 0x48, 0x8d, 0x0d); /* lea rcx, [rip+stop] */
	emit_u32(e, emit_move_len(e) + 5);
	fragment_map_state(t, NULL, STATE_BETWEEN, 0);
	emit_store(e, X86_RCX, CTX_BACK);
	emit_patch(e, emit_jump(e), region_address(CODE_AT) + t->cache->pause);
	fragment_map_state(t, NULL, 0, 0);
	fragment_add_cold(t, emit_jump(e), step_end(s), EXIT_STOP);
	fragment_map_state(t, NULL, 0, 0);
}

bool fragment_needs_routine(const struct translation *t, const struct step *s)
{
	return is_pause(&s->insn) || is_cpuid(&s->insn) || s->saves_x87 ||
	       fragment_notes_result(t, s);
}

void fragment_emit_plain(struct translation *t, const struct step *s)
{
	int first;

	if (is_pause(&s->insn)) {
		emit_pause_exit(t, s);
		return;
	}
	if (fragment_notes_result(t, s)) {
		fragment_emit_noted(t, s);
		return;
	}
	if (is_cpuid(&s->insn)) {
		emit_cpuid_exit(t, s);
		return;
	}
	if (s->insn.regs & X86_BIT(X86_R11))
		fragment_bring_r11(t, s, 0);
	first = t->state_count;
	fragment_map_state(t, s, 0, 0);
	if (s->insn.traits & X86_RIP_RELATIVE)
		emit_rip_relative(t, s);
	else
		emit_bytes(&t->out, s->bytes, s->insn.len);
	if (s->saves_x87)
		fragment_emit_x87_save(t, s, first);
}

/* ---- The end, system calls ---- */

void fragment_emit_end(struct translation *t, uint64_t pc, uint8_t kind)
{
	t->at_pc = pc;
	fragment_bring_bits(t, NULL);
	fragment_map_state(t, NULL, 0, 0);
	emit_align_link(&t->out, 1);
	fragment_add_cold(t, emit_jump(&t->out), pc, kind);
}

void fragment_emit_to_routine(struct translation *t, const struct step *s, uint32_t routine)
{
	struct emitter *e = &t->out;

	fragment_bring_bits(t, s);
	fragment_map_state(t, s, 0, 0);
	emit_store(e, X86_RCX, CTX_RCX);
	fragment_map_state(t, s, STATE_RCX, 0);
	EMIT(e, 0x48, 0x8d, 0x0d); /* lea rcx, [rip+back] */
	emit_u32(e, emit_move_len(e) + 5);
	emit_store(e, X86_RCX, CTX_BACK);
	emit_patch(e, emit_jump(e), region_address(CODE_AT) + routine);
	fragment_map_state(t, s, 0, 0);
}

/* A system call. The routine decides where it is made: outside, or here. */
static void emit_system_call(struct translation *t, const struct step *s)
{
	struct emitter *e = &t->out;
	size_t outside;

	fragment_emit_to_routine(t, s, t->cache->call);
	outside = e->len;
	fragment_add_cold(t, emit_jump(e), s->pc, EXIT_OUTSIDE);
	t->r11_in = true; /* now; the kernel leaves the flags in it */
	fragment_map_state(t, s, 0, 0);
	emit_bytes(e, s->bytes, s->insn.len);
	t->at_pc = step_end(s);
	fragment_map_state(t, NULL, STATE_CALLED, 0);
	EMIT(e, 0x48, 0x8d, 0x0d); /* lea rcx, [rip+back] */
	emit_u32(e, emit_move_len(e) + 5);
	emit_store(e, X86_RCX, CTX_BACK);
	emit_patch(e, emit_jump(e), region_address(CODE_AT) + t->cache->called);
	assert(e->overflow || e->len - outside == emit_syscall_len(e));
	fragment_map_state(t, NULL, STATE_MADE, 0);
	emit_constant(e, X86_RCX, step_end(s)); /* not where the kernel saw the call */
	emit_store(e, X86_R11, CTX_R11);
	emit_load(e, X86_R11, CTX_BITS);
	t->r11_in = false;
	fragment_map_state(t, NULL, STATE_MADE, 0);
	fragment_count_transfer(t, step_end(s));
	fragment_emit_end(t, step_end(s), EXIT_LINK);
}

/* ---- Steps ---- */

void fragment_count_tick(struct translation *t)
{
	emit_tick(&t->out);
	t->shifted = true;
}

/* Whether the instruction and the conditional behind it stay adjacent: the processor fuses many
 * such pairs into one operation. A count (fragment_count_down()) stands between them. So do
 * the notes of an instruction, whose tick is the one before the conditional. */
static bool is_paired(const struct translation *t, int i)
{
	const struct step *s = &t->steps[i];

	return s->insn.class == BT_INSN_PLAIN && i + 1 < t->count &&
	       t->steps[i + 1].insn.class == BT_INSN_JCC && i + 1 != t->check_at && !t->r11_in &&
	       !t->cache->counting && !(s->insn.regs & X86_BIT(X86_R11)) &&
	       !fragment_notes_result(t, s);
}

/* Emits the tick and the alignment of the conditional before the pair. */
static void emit_before_pair(struct translation *t, int i)
{
	const struct step *s = &t->steps[i];
	unsigned state = i == t->check_at && t->check_flags ? STATE_BETWEEN : 0;

	fragment_map_state(t, s, state, 0);
	if (t->cache->kind.ticks) {
		fragment_count_tick(t);
		fragment_map_state(t, s, state, 0);
	}
	if (!(s->insn.traits & X86_RIP_RELATIVE) &&
	    !fragment_closes_loop(t, s + 1)) /* else it gets longer; no link */
		emit_align_link(&t->out, s->insn.len + 2u);
}

/* Whether a task near its stop point may have to stop before step i, as the first that begins in
 * its block. It runs to a block with nothing but straight-line code between, so from the fragment's
 * beginning, and stops before its first branch. The code before that beginning is not known. */
static bool begins_block(const struct translation *t, int i)
{
	const uint64_t pc = t->steps[i].pc, into = pc % STOP_BLOCK;

	if (!t->cache->counting || t->behind_branch || t->steps[i].insn.class != BT_INSN_PLAIN)
		return false;
	return into < (i ? pc - t->steps[i - 1].pc : BT_INSN_MAX);
}

void fragment_emit_step(struct translation *t, int i)
{
	const struct step *s = &t->steps[i];
	static void (*const rows[BT_INSN_CLASSES])(struct translation *, const struct step *) = {
		[BT_INSN_PLAIN] = fragment_emit_plain,
		[BT_INSN_JCC] = fragment_emit_conditional,
		[BT_INSN_JRCXZ] = fragment_emit_conditional,
		[BT_INSN_LOOP] = fragment_emit_conditional,
		[BT_INSN_CALL] = fragment_emit_call,
		[BT_INSN_RET] = fragment_emit_indirect,
		[BT_INSN_IJMP] = fragment_emit_indirect,
		[BT_INSN_ICALL] = fragment_emit_indirect,
		[BT_INSN_SYSCALL] = emit_system_call,
	};

	t->branch_pc = s->pc;
	if (begins_block(t, i))
		fragment_stop_at_block(t, s);
	t->behind_branch |= s->insn.class != BT_INSN_PLAIN;
	if (i == t->check_at)
		fragment_emit_safe_point(t, s);
	if (i == 0 && t->mutable)
		fragment_emit_comparison(t);
	if (t->cache->counting && s->insn.class != BT_INSN_PLAIN)
		fragment_count_down(t, s);
	if (is_paired(t, i))
		emit_before_pair(t, i);
	if (t->round && s->insn.class != BT_INSN_PLAIN) {
		fragment_emit_on(t, s);
		if ((i + 1) % t->round == 0)
			fragment_end_round(t, i + 1 == t->count);
		return;
	}
	if (s->insn.class == BT_INSN_JMP) {
		if (t->cache->kind.ticks)
			fragment_bring_bits(t, s);
		fragment_map_state(t, s, 0, 0);
		if (s->inlined_jump)
			fragment_count_transfer(t, step_target(s));
		else
			fragment_emit_last_jump(t, s);
		return;
	}
	if (rows[s->insn.class])
		rows[s->insn.class](t, s);
	if (i == t->check_at)
		fragment_end_safe_point(t, s);
}
