/* SPDX-License-Identifier: MIT */
/* The code of a fragment beside the application's instructions: safe points, records, and the
 * comparison with its source. */
#include "collector/backend/engine/translate/translation.h"

/* Reads the operand of the instruction that is to free the flags, so that it cannot fault when they
 * are lost. */
static void emit_probe(struct translation *t, const struct step *s)
{
	struct step probe = *s;
	int first = t->state_count;

	probe.insn.opcode = probe.bytes[probe.insn.opcode_at] = (uint8_t)fragment_probe_opcode(s);
	fragment_emit_plain(t, &probe);
	for (int i = first; i < t->state_count; i++) /* behind the probe nothing of the instruction
							itself has run, but the flags are lost */
		if (t->state_map[i].pc != (int32_t)(int64_t)(s->pc - t->pc)) {
			t->state_map[i].pc = (int32_t)(int64_t)(s->pc - t->pc);
			t->state_map[i].state |= STATE_BETWEEN;
		}
}

/* While there is nothing to do, the tested bits in rcx are all 1 (ones). Subtracts them, so that
 * rcx is 0 then, as jrcxz tests it. Where ticks are counted, the tested bits are 0 already. */
static void emit_complement(struct translation *t, uint32_t ones)
{
	if (t->cache->kind.ticks)
		return;
	EMIT(&t->out, 0x48, 0x8d, 0x89); /* lea rcx, [rcx-ones] */
	emit_u32(&t->out, -ones);
}

/* Flags are alive: rcx gets the bits that the mask selects. */
static void emit_test_by_pext(struct translation *t, const struct step *s)
{
	struct emitter *e = &t->out;

	emit_store(e, X86_RCX, CTX_RCX);
	fragment_map_state(t, s, STATE_RCX, 0);
	EMIT_CONTEXT(e, X86_RCX, CTX_MASK, 0, 0xc4, 0xe2, 0xa2, 0xf5); /* pext rcx, r11, [mask] */
	emit_complement(t, BITS_FULL >> BITS_CAPACITY);
	EMIT(e, 0xe3, 5); /* jrcxz over the jump */
	t->check_site = emit_jump(e);
}

/* To the jump of the safe point, when rcx is not 0. */
static void emit_to_site_unless_zero(struct translation *t)
{
	struct emitter *e = &t->out;

	EMIT(e, 0xe3, 5); /* jrcxz over the jump */
	emit_u8(e, 0xe9);
	emit_u32(e, (uint32_t)(t->check_site - (e->len + 4) - 1));
}

/* The same without PEXT: rcx tests the highest bits of what counts, and the wish to stop. */
static void emit_test_by_memory(struct translation *t, const struct step *s)
{
	struct emitter *e = &t->out;

	emit_store(e, X86_R11, CTX_BITS);
	emit_store(e, X86_RCX, CTX_RCX);
	fragment_map_state(t, s, STATE_RCX, 0);
	/* movzx ecx, word [bits+6] (byte [bits+3]) */
	EMIT_CONTEXT(e, X86_RCX, CTX_BITS + (t->cache->kind.ticks ? 3 : 6), 0, 0x0f,
		     t->cache->kind.ticks ? 0xb6 : 0xb7);
	if (t->cache->kind.ticks)
		fragment_emit_conditionals(e);
	emit_complement(t, 0xffff);
	EMIT(e, 0xe3, 5); /* jrcxz over the jump */
	t->check_site = emit_jump(e);
	if (t->cache->kind.ticks) {
		EMIT_CONTEXT(e, X86_RCX, CTX_BITS + 7, 0, 0x0f,
			     0xb6); /* movzx ecx, byte [bits+7]: transfers */
		emit_to_site_unless_zero(t);
	}
	EMIT_CONTEXT(e, X86_RCX, CTX_STOP, 0, 0x8b); /* mov ecx, [stop] */
	emit_to_site_unless_zero(t);
}

/* Flags are free. */
static void emit_test_by_flags(struct translation *t, const struct step *s)
{
	struct emitter *e = &t->out;
	bool ticks = t->cache->kind.ticks;

	if (ticks)
		EMIT_CONTEXT(e, X86_R11, CTX_MASK, 0, 0x4c, 0x85); /* test [mask], r11 */
	else
		EMIT_CONTEXT(e, X86_R11, CTX_LIMIT, 0, 0x4c, 0x3b); /* cmp r11, [limit] */
	fragment_map_state(t, s, STATE_BETWEEN,
			   0); /* its flags are lost until the instruction that follows has run */
	t->check_site = emit_jcc(e, ticks ? 5 : 2); /* jne, jb */
	t->check_back = e->len;
}

void fragment_emit_safe_point(struct translation *t, const struct step *s)
{
	struct emitter *e = &t->out;

	fragment_bring_bits(t, s);
	if (t->check_flags) {
		if (t->check_probe)
			emit_probe(t, s);
		fragment_map_state(t, s, t->check_probe ? STATE_BETWEEN : 0, 0);
		emit_test_by_flags(t, s);
		return;
	}
	fragment_map_state(t, s, 0, 0);
	if (t->cache->fast_pext)
		emit_test_by_pext(t, s);
	else
		emit_test_by_memory(t, s);
	emit_load(e, X86_RCX, CTX_RCX);
	t->check_back = e->len;
}

/* Writes a record through a routine, which comes back to the STOP_BYTES that are to come now if the
 * task is to stop, else behind them. */
static void emit_record(struct translation *t, uint32_t segment, enum branch_log_kind kind,
			uint32_t routine)
{
	struct emitter *e = &t->out;

	EMIT(e, 0x48, 0x8d, 0x0d); /* lea rcx, [rip+stop] */
	emit_u32(e, emit_move_len(e) + 10 + 5);
	emit_store(e, X86_RCX, CTX_BACK);
	emit_constant(e, X86_RCX, (uint64_t)kind << 32 | segment);
	emit_patch(e, emit_jump(e), region_address(CODE_AT) + routine);
}

uint32_t fragment_emit_record(struct translation *t, uint32_t segment, enum branch_log_kind kind,
			      uint32_t routine)
{
	emit_record(t, segment, kind, routine);
	EMIT(&t->out, 0xcc, 0x0f, 0x1f, 0x40, 0x00); /* int3; nop */
	return (uint32_t)t->out.len - STOP_BYTES;
}

/* Marks the flags as lost at the places from offset `from` on, until the instruction s, which
 * rewrites all flags, has run. */
static void lose_flags(struct translation *t, const struct step *s, size_t from)
{
	for (int k = 0; k < t->state_count; k++)
		if (t->state_map[k].pc == (int32_t)(int64_t)(s->pc - t->pc) &&
		    from <= t->state_map[k].at)
			t->state_map[k].state |=
				STATE_BETWEEN | (t->check_probe ? STATE_PROBED : 0);
}

void fragment_end_safe_point(struct translation *t, const struct step *s)
{
	t->check_behind = t->out.len;
	if (t->check_flags)
		lose_flags(t, s, t->check_back);
}

/* Runs the instruction that rewrites the flags before the stop; it changes nothing but registers. A
 * stop with lost flags would need a step, which costs more than a stop. Returns the place of the
 * int3. */
static uint32_t emit_stop_behind(struct translation *t, const struct step *s)
{
	size_t begin = t->out.len;

	fragment_emit_plain(t, s);
	lose_flags(t, s, begin);
	t->at_pc = step_end(s);
	fragment_map_state(t, NULL, 0, 0);
	emit_u8(&t->out, 0xcc);
	return (uint32_t)t->out.len - 1;
}

/* Behind the fragment: the way to the routine, the stop, and the way back. */
void fragment_emit_safe_point_cold(struct translation *t, uint32_t *trap)
{
	const struct step *s = &t->steps[t->check_at];
	struct emitter *e = &t->out;
	size_t stop;

	emit_patch(e, t->check_site, e->base + e->len);
	fragment_leave_loop(t);
	if (t->cache->kind.ticks && t->check_flags) { /* nothing to write: the tracer counts */
		*trap = emit_stop_behind(t, s);
	} else if (t->cache->kind.ticks) {
		fragment_map_state(t, s, STATE_RCX, 0);
		emit_load(e, X86_RCX, CTX_RCX);
		*trap = (uint32_t)e->len;
		emit_u8(e, 0xcc);
	} else if (t->check_flags) {
		fragment_map_state(t, s, STATE_BETWEEN, 0);
		emit_store(e, X86_RCX, CTX_RCX);
		fragment_map_state(t, s, STATE_BETWEEN | STATE_RCX, 0);
		emit_record(t, t->fragment.segment, BRANCH_LOG_DIRECT, t->cache->safe_point);
		stop = emit_jump(e);
		fragment_map_state(t, s, STATE_BETWEEN, 0);
		fragment_return_to_loop(t);
		emit_patch(e, emit_jump(e), e->base + t->check_back);
		emit_patch(e, stop, e->base + e->len);
		*trap = emit_stop_behind(t, s);
		fragment_map_state(t, NULL, STATE_BETWEEN, 0);
		fragment_return_to_loop(t);
		emit_patch(e, emit_jump(e), e->base + t->check_behind);
	} else { /* the application's rcx is in the context already */
		fragment_map_state(t, s, STATE_RCX, 0);
		*trap = fragment_emit_record(t, t->fragment.segment, BRANCH_LOG_DIRECT,
					     t->cache->safe_point);
		fragment_return_to_loop(t);
		emit_patch(e, emit_jump(e), e->base + t->check_back);
	}
}
/* The last branch, which closes a cycle: its record, when it has been executed but for the jump. */
void fragment_emit_loop_record(struct translation *t, const struct step *s)
{
	if (!t->loops)
		return;
	if (t->cache->kind.ticks) {
		fragment_emit_loop_test(t, s);
		return;
	}
	t->loop_target = fragment_way_on(t, s);
	fragment_map_state_to(t, t->loop_target, STATE_MADE);
	emit_store(&t->out, X86_RCX, CTX_RCX);
	fragment_map_state_to(t, t->loop_target, STATE_MADE | STATE_RCX);
	t->loop_trap = fragment_emit_record(t, t->last_segment, BRANCH_LOG_LOOP,
					    t->cache->safe_point_record);
	fragment_map_state_to(t, t->loop_target, 0); /* the record has brought the task there */
}

void fragment_emit_mark(struct translation *t)
{
	struct emitter *e = &t->out;

	fragment_map_state(t, &t->steps[0], 0, 0);
	EMIT_CONTEXT(e, 0, MARKS_AT + t->cache->fragment_count, 1, 0xc6); /* mov byte [...], */
	emit_u8(e, code_cache_mark(t->cache));
}

/* mov, with zero extension, n bytes at [rax+at] to rcx. */
static void emit_piece(struct emitter *e, uint32_t at, size_t n)
{
	if (n == 8)
		EMIT(e, 0x48, 0x8b, 0x88);
	else if (n == 4)
		EMIT(e, 0x8b, 0x88);
	else
		EMIT(e, 0x0f, n == 2 ? 0xb7 : 0xb6, 0x88);
	emit_u32(e, at);
}

/* Compares the fragment's code with what it is made from; flags stay. Its bytes are one stretch:
 * jumps are not followed. */
void fragment_emit_comparison(struct translation *t)
{
	struct emitter *e = &t->out;
	const struct step *first = &t->steps[0];
	uint8_t bytes[MUTABLE_INSNS * BT_INSN_MAX + 8] = {0};
	size_t len = 0, pieces = 0, sites[MUTABLE_INSNS * BT_INSN_MAX];

	for (int i = 0; i < t->count; i++) {
		memcpy(bytes + len, t->steps[i].bytes, t->steps[i].insn.len);
		len += t->steps[i].insn.len;
	}
	fragment_map_state(t, first, 0, 0);
	emit_store(e, X86_RAX, CTX_RAX);
	emit_store(e, X86_RCX, CTX_RCX);
	emit_store(e, X86_RDX, CTX_RDX);
	/* The memory that it reads may be gone: execution of the first instruction finds that. */
	fragment_map_state(t, first, STATE_RCX, X86_RDX);
	emit_constant(e, X86_RAX, t->pc);
	for (size_t at = 0, n; at < len; at += n) {
		uint64_t value = 0;

		n = len - at >= 8 ? 8 : len - at >= 4 ? 4 : len - at >= 2 ? 2 : 1;
		memcpy(&value, bytes + at, n);
		emit_piece(e, (uint32_t)at, n);
		emit_constant(e, X86_RDX, -value);
		EMIT(e, 0x48, 0x8d, 0x0c, 0x11, 0xe3,
		     5); /* lea rcx, [rcx+rdx]; jrcxz over the jump */
		sites[pieces++] = emit_jump(e);
	}
	EMIT(e, 0xeb, (uint8_t)(3 * emit_move_len(e) + 5)); /* jmp over what follows */
	for (size_t i = 0; i < pieces; i++)
		emit_patch(e, sites[i], e->base + e->len);
	emit_load(e, X86_RAX, CTX_RAX);
	emit_load(e, X86_RCX, CTX_RCX);
	emit_load(e, X86_RDX, CTX_RDX);
	fragment_add_cold(t, emit_jump(e), t->pc, EXIT_CHANGED);
	emit_load(e, X86_RAX, CTX_RAX);
	emit_load(e, X86_RCX, CTX_RCX);
	emit_load(e, X86_RDX, CTX_RDX);
}
