/* SPDX-License-Identifier: MIT */
/* The code of a fragment where no history is kept: it counts ticks and transfers, and nothing else.
 *
 * r11 is a pair then (TICKS_SHIFT). Its lower part counts conditionals. Its upper part goes down by
 * one for each transfer whose number since the last conditional the fragment does not know, because
 * no conditional precedes it there. Where it knows that number, it puts r11 into the context's slot
 * of that number instead. So the transfers since the last conditional are: the highest number whose
 * slot has the conditionals of now, and those that the upper part has counted since that slot was
 * written (0 where no slot has). A fragment that begins with a transfer has an entry for those that
 * come from a conditional, which writes slot 0. */
#include "collector/backend/engine/translate/translation.h"

static void count_transfer(struct translation *t)
{
	struct emitter *e = &t->out;

	if (t->known)
		emit_store(e, X86_R11, CTX_SLOTS + 8 * (uint32_t)++t->transfers);
	else
		EMIT(e, 0x4d, 0x8d, 0x9b, 0x00, 0x00, 0x00,
		     0x80); /* lea r11, [r11-2^TICKS_SHIFT]: there is no wider displacement */
}

void fragment_count_transfer(struct translation *t, uint64_t to)
{
	if (!t->cache->kind.ticks)
		return;
	count_transfer(t);
	fragment_map_state_to(t, to, 0);
}

void fragment_count_indirect(struct translation *t, const struct step *s)
{
	struct emitter *e = &t->out;

	count_transfer(t);
	fragment_map_state(t, s, STATE_LEADS_RCX, 0);
	emit_store(e, X86_R11, CTX_BITS);
	EMIT(e, 0x49, 0x89, 0xcb); /* mov r11, rcx */
	fragment_map_state(t, s, STATE_LEADS, 0);
}

void fragment_note_origin(struct translation *t)
{
	struct emitter *e = &t->out;
	uint32_t here = t->fragment.start + (uint32_t)e->len;

	if (!t->cache->kind.ticks)
		return;
	EMIT_CONTEXT(e, 0, CTX_FROM, 4, 0xc7); /* mov dword [from], here */
	emit_u32(e, here);
}

bool fragment_needs_slot(const struct translation *t)
{
	for (int i = 0; i < t->count; i++)
		if (t->steps[i].insn.class != BT_INSN_PLAIN)
			return !is_conditional(&t->steps[i]);
	return true;
}

void fragment_emit_conditionals(struct emitter *e)
{
	EMIT(e, 0x8d, 0x0c, 0x09, 0x0f, 0xb6, 0xc9); /* lea ecx, [rcx+rcx]; movzx ecx, cl */
}

/* Jumps, to be patched by the caller, when rcx is not 0. */
static size_t emit_jump_unless_zero(struct emitter *e)
{
	EMIT(e, 0xe3, 5); /* jrcxz over the jump */
	return emit_jump(e);
}

void fragment_emit_stop_test(struct translation *t, size_t sites[STOP_TESTS])
{
	/* The transfers and the conditionals counted, the wish to stop. */
	static const uint32_t at[STOP_TESTS] = {CTX_BITS + 7, CTX_BITS + 3, CTX_STOP};
	struct emitter *e = &t->out;

	sites[1] = sites[2] = 0;
	if (t->cache->fast_pext) {
		EMIT_CONTEXT(e, X86_RCX, CTX_MASK, 0, 0xc4, 0xe2, 0xa2,
			     0xf5); /* pext rcx, r11, [mask] */
		sites[0] = emit_jump_unless_zero(e);
		return;
	}
	emit_store(e, X86_R11, CTX_BITS);
	for (int i = 0; i < STOP_TESTS; i++) {
		EMIT_CONTEXT(e, X86_RCX, at[i], 0, 0x0f, 0xb6); /* movzx ecx, byte [at] */
		if (at[i] == CTX_BITS + 3)
			fragment_emit_conditionals(e);
		sites[i] = emit_jump_unless_zero(e);
	}
}

void fragment_patch_stop(struct translation *t, const size_t sites[STOP_TESTS])
{
	for (int i = 0; i < STOP_TESTS; i++)
		if (sites[i])
			emit_patch(&t->out, sites[i], t->out.base + t->out.len);
}

/* rcx becomes a number of the context; the application's goes there. It is before s. */
static void load_wanted(struct translation *t, const struct step *s, uint32_t at)
{
	struct emitter *e = &t->out;

	fragment_bring_bits(t, s);
	fragment_map_state(t, s, 0, 0);
	emit_store(e, X86_RCX, CTX_RCX);
	fragment_map_state(t, s, STATE_RCX, 0);
	emit_load(e, X86_RCX, at);
}

/* A jump whose displacement ends at `stop` leads to a stop before s; without it execution goes on.
 * rcx is the application's in both. */
static void emit_wanted_stop(struct translation *t, const struct step *s, size_t stop)
{
	struct emitter *e = &t->out;
	size_t over;

	emit_load(e, X86_RCX, CTX_RCX);
	EMIT(e, 0xeb, 0); /* jmp over the stop */
	over = e->len;
	emit_short(e, stop, e->len);
	emit_load(e, X86_RCX, CTX_RCX);
	t->counted_pcs[t->counted] = s->pc;
	t->counted_traps[t->counted++] = (uint32_t)e->len;
	emit_u8(e, 0xcc);
	emit_short(e, over, e->len);
	fragment_map_state(t, s, 0, 0);
}

void fragment_count_down(struct translation *t, const struct step *s)
{
	const uint32_t left = is_conditional(s) ? CTX_TICKS_LEFT : CTX_TRANSFERS_LEFT;
	struct emitter *e = &t->out;
	size_t stop;

	load_wanted(t, s, left);
	EMIT(e, 0xe3, 0); /* jrcxz to the stop */
	stop = e->len;
	EMIT(e, 0x48, 0x8d, 0x49, 0xff); /* lea rcx, [rcx-1] */
	emit_store(e, X86_RCX, left);
	emit_wanted_stop(t, s, stop);
}

void fragment_stop_at_block(struct translation *t, const struct step *s)
{
	struct emitter *e = &t->out;

	load_wanted(t, s, CTX_STOP_BLOCK);
	EMIT(e, 0x8d,
	     0x89); /* lea ecx, [rcx-block]: the lower halves tell blocks of a line apart */
	emit_u32(e, -(uint32_t)(s->pc & -(uint64_t)STOP_BLOCK));
	EMIT(e, 0xe3, 0); /* jrcxz to the stop */
	emit_wanted_stop(t, s, e->len);
}

uint32_t fragment_emit_entry_stop(struct translation *t)
{
	struct emitter *e = &t->out;

	fragment_patch_stop(t, t->entry_sites);
	fragment_map_state_to(t, t->pc, STATE_RCX);
	emit_load(e, X86_RCX, CTX_RCX);
	emit_u8(e, 0xcc);
	return (uint32_t)e->len - 1;
}

void fragment_emit_loop_test(struct translation *t, const struct step *s)
{
	struct emitter *e = &t->out;
	size_t sites[STOP_TESTS], over;

	t->loop_target = fragment_way_on(t, s);
	emit_store(e, X86_RCX, CTX_RCX);
	fragment_map_state_to(t, t->loop_target, STATE_RCX); /* the branch has been counted */
	fragment_emit_stop_test(t, sites);
	emit_load(e, X86_RCX, CTX_RCX);
	over = emit_jump(e);
	fragment_patch_stop(t, sites);
	emit_load(e, X86_RCX, CTX_RCX);
	t->loop_trap = (uint32_t)e->len;
	emit_u8(e, 0xcc);
	emit_patch(e, over, e->base + e->len);
}
