/* SPDX-License-Identifier: MIT */
/* What a chain does where no history is kept: ticks and transfers are counted, and nothing else.
 *
 * r11 is a pair then. Its low half counts conditionals. Its high half goes down by one for each transfer whose number since the last
 * conditional the chain does not know, because no conditional precedes it there. Where it knows that number, it puts r11 into the context's
 * slot of that number instead. So the transfers since the last conditional are: the highest number whose slot has the conditionals of now,
 * and those that the high half has counted since that slot was written (0 where no slot has). A chain that begins with a transfer has an
 * entry for those that come from a conditional, which writes slot 0. */
#include "collector/engine/translation.h"

/* lea r11, [r11-2^31]: half a transfer; there is no wider displacement. */
static void emit_half(struct emitter *e)
{
	EMIT(e, 0x4d, 0x8d, 0x9b, 0x00, 0x00, 0x00, 0x80);
}

void chain_count_transfer(struct translation *t, const struct step *s)
{
	struct emitter *e = &t->out;

	if (!t->cache->ticks)
		return;
	if (t->known) {
		emit_store(e, X86_R11, CTX_SLOTS + 8 * (uint32_t)++t->transfers);
		chain_place(t, s, PLACE_BETWEEN, 0);
	} else {
		emit_half(e);
		chain_place(t, s, PLACE_BETWEEN, 0);
		emit_half(e);
	}
}

void chain_note_origin(struct translation *t)
{
	struct emitter *e = &t->out;

	if (!t->cache->ticks)
		return;
	EMIT(e, 0x65, 0xc7, 0x04, 0x25); /* mov dword gs:[from], where we are */
	emit_u32(e, CTX_FROM);
	emit_u32(e, t->chain.start + (uint32_t)e->len - 8);
}

bool chain_needs_slot(const struct translation *t)
{
	for (int i = 0; i < t->count; i++)
		if (t->steps[i].insn.class != BT_INSN_PLAIN)
			return !is_conditional(&t->steps[i]);
	return true;
}

/* Jumps, to be patched by the caller, when rcx is not 0. */
static size_t emit_jump_unless_zero(struct emitter *e)
{
	EMIT(e, 0xe3, 5); /* jrcxz over the jump */
	return emit_jump(e);
}

void chain_emit_stop_test(struct translation *t, size_t sites[STOP_TESTS])
{
	/* The conditionals and the transfers counted, the wish to stop. */
	static const uint32_t at[STOP_TESTS] = {CTX_BITS + 3, CTX_BITS + 7, CTX_STOP};
	struct emitter *e = &t->out;

	sites[1] = sites[2] = 0;
	if (t->cache->fast_pext) {
		EMIT(e, 0x65, 0xc4, 0xe2, 0xa2, 0xf5, 0x0c, 0x25); /* pext rcx, r11, gs:[mask] */
		emit_u32(e, CTX_MASK);
		sites[0] = emit_jump_unless_zero(e);
		return;
	}
	emit_store(e, X86_R11, CTX_BITS);
	for (int i = 0; i < STOP_TESTS; i++) {
		EMIT(e, 0x65, 0x0f, 0xb6, 0x0c, 0x25); /* movzx ecx, byte gs:[at] */
		emit_u32(e, at[i]);
		sites[i] = emit_jump_unless_zero(e);
	}
}

void chain_patch_stop(struct translation *t, const size_t sites[STOP_TESTS])
{
	for (int i = 0; i < STOP_TESTS; i++)
		if (sites[i])
			emit_patch(&t->out, sites[i], t->out.base + t->out.len);
}

uint32_t chain_emit_entry_stop(struct translation *t)
{
	struct emitter *e = &t->out;

	chain_patch_stop(t, t->entry_sites);
	emit_load(e, X86_RCX, CTX_RCX);
	emit_u8(e, 0xcc);
	return (uint32_t)e->len - 1;
}

void chain_emit_loop_test(struct translation *t, const struct step *s)
{
	struct emitter *e = &t->out;
	size_t sites[STOP_TESTS], over;

	emit_store(e, X86_RCX, CTX_RCX);
	chain_place(t, s, PLACE_BETWEEN, 0);
	chain_emit_stop_test(t, sites);
	emit_load(e, X86_RCX, CTX_RCX);
	over = emit_jump(e);
	chain_patch_stop(t, sites);
	emit_load(e, X86_RCX, CTX_RCX);
	t->loop_trap = (uint32_t)e->len;
	t->loop_target = target_of(s);
	emit_u8(e, 0xcc);
	emit_patch(e, over, e->base + e->len);
}
