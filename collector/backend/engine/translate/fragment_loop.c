/* SPDX-License-Identifier: MIT */
/* A loop of straight-line code around operands beside the code (rip-relative): one register that
 * the loop does not use holds their address while it goes round, and the application's value is in
 * CTX_SPILL.
 *
 * Otherwise each such operand lends a register for itself: store, and load again. Then each round
 * waits for a load of the value that the round before stored: some five cycles, in a loop that may
 * natively take one. The branch back stays in the fragment, so it is no exit: the fragment's safe
 * point is in the loop, and fragments are removed only when all tasks are out of the cache. */
#include "collector/backend/engine/translate/translation.h"

enum { AGAIN_ALIGN = 32 };

/* rcx is what safe points use; others take another REX prefix, or a SIB byte. */
static const uint8_t lendable[] = {X86_RAX, X86_RDX, X86_RBX, X86_RSI, X86_RDI, X86_RBP};

static bool reaches_near(uint64_t from, uint64_t to)
{
	int64_t d = (int64_t)(to - from);

	return d >= INT32_MIN && d <= INT32_MAX;
}

/* The step that leads back to the first one, where nothing but plain instructions, made without the
 * routines, is between: -1, there is none. */
static int find_branch_back(const struct translation *t)
{
	int i = 0;

	while (i < t->count && t->steps[i].insn.class == BT_INSN_PLAIN &&
	       !fragment_needs_routine(t, &t->steps[i]))
		i++;
	return i < t->count && t->steps[i].insn.class == BT_INSN_JCC &&
			       step_target(&t->steps[i]) == t->pc
		       ? i
		       : -1;
}

void fragment_plan_loop(struct translation *t)
{
	int last = find_branch_back(t);
	unsigned used = 0;
	bool any = false;

	if (t->mutable || t->cache->counting || last < 0 || t->check_at < 0 || t->check_at > last)
		return;
	for (int i = 0; i < last; i++) {
		const struct step *s = &t->steps[i];

		used |= s->insn.regs;
		if (!fragment_needs_base(s))
			continue;
		if (!any)
			t->loop.base = step_target(s);
		else if (!reaches_near(t->loop.base, step_target(s)))
			return;
		any = true;
	}
	for (size_t i = 0; any && !t->loop.last && i < sizeof lendable; i++)
		if (!(used & X86_BIT(lendable[i]))) {
			t->loop.reg = lendable[i];
			t->loop.last = last;
		}
}

/* rip-relative operands are [base+...] from here on. */
static void lend_base(struct translation *t)
{
	emit_store(&t->out, t->loop.reg, CTX_SPILL);
	emit_constant(&t->out, t->loop.reg, t->loop.base);
	t->loop.lent = true;
	fragment_map_state(t, &t->steps[0], 0, 0);
}

void fragment_begin_loop(struct translation *t)
{
	struct emitter *e = &t->out;
	size_t over;

	if (!t->loop.last)
		return;
	fragment_map_state(t, &t->steps[0], 0, 0);
	lend_base(t);
	t->loop.again = e->len;
	if (t->cache->kind.ticks)
		return;
	EMIT(e, 0xeb, 0); /* jmp over the bit of the branch back */
	over = e->len;
	while ((e->base + e->len) % AGAIN_ALIGN && !e->overflow)
		emit_u8(e, 0xcc);
	t->loop.again = e->len;
	fragment_map_state(t, &t->steps[0], STATE_BETWEEN, 0);
	emit_bit_taken(e, t->cache->rorx);
	emit_short(e, over, e->len);
	fragment_map_state(t, &t->steps[0], 0, 0);
}

bool fragment_closes_loop(const struct translation *t, const struct step *s)
{
	return t->loop.lent && s == &t->steps[t->loop.last];
}

void fragment_emit_branch_back(struct translation *t, const struct step *s)
{
	emit_patch(&t->out, emit_jcc(&t->out, s->insn.opcode & 15), t->out.base + t->loop.again);
}

void fragment_end_loop(struct translation *t)
{
	emit_load(&t->out, t->loop.reg, CTX_SPILL);
	t->loop.lent = false;
	fragment_map_state(t, NULL, 0, 0);
}

void fragment_emit_lent(struct translation *t, const struct step *s, unsigned reg, uint64_t base)
{
	const struct x86_insn *in = &s->insn;

	emit_bytes(&t->out, s->bytes, in->modrm_at);
	emit_u8(&t->out, (uint8_t)(0x80 | (s->bytes[in->modrm_at] & 0x38) | reg));
	emit_u32(&t->out, (uint32_t)(step_target(s) - base));
	emit_bytes(&t->out, s->bytes + in->disp_at + 4, (size_t)(in->len - in->disp_at - 4));
}

void fragment_leave_loop(struct translation *t)
{
	if (t->loop.last)
		emit_load(&t->out, t->loop.reg, CTX_SPILL);
}

/* The value is stored again: instructions between may have lent another register. */
void fragment_return_to_loop(struct translation *t)
{
	if (!t->loop.last)
		return;
	emit_store(&t->out, t->loop.reg, CTX_SPILL);
	emit_constant(&t->out, t->loop.reg, t->loop.base);
}
