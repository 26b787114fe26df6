/* SPDX-License-Identifier: MIT */
/* A cycle of direct jumps, and nothing else that branches, which is a fragment by itself. Who comes
 * into it leaves only at a stop or a fault: so it need not write a record each round. Before the
 * first round it writes one, of its beginning; r11 has no bits then, and counts rounds. At a stop
 * the tracer says how often that record comes again (branch_log_rounds()).
 *
 * Natively such a cycle may take a third of a clock cycle a round, as long as nothing but the jump
 * is in it. So the fragment holds some rounds, without jumps between them, and looks whether to
 * stop behind the last. */
#include "collector/backend/engine/translate/translation.h"

void fragment_begin_rounds(struct translation *t)
{
	struct emitter *e = &t->out;
	const struct step *s = &t->steps[0];

	fragment_map_state(t, s, 0, 0);
	emit_store(e, X86_RCX, CTX_RCX);
	fragment_map_state(t, s, STATE_BETWEEN, 0);
	t->loop_trap = fragment_emit_record(t, t->fragment.segment, BRANCH_LOG_DIRECT,
					    t->cache->safe_point_record);
	t->loop_target = t->pc;
	fragment_map_state(t, s, 0, 0);
	emit_constant(e, X86_R11, 0);
	t->fragment.rounds = (uint16_t)e->len;
}

/* Stops when that is asked for, else goes on with the first round of the fragment. */
static void emit_stop_test(struct translation *t)
{
	struct emitter *e = &t->out;
	size_t site;

	t->at_pc = t->pc;
	fragment_map_state(t, NULL, 0, 0);
	emit_store(e, X86_RCX, CTX_RCX);
	fragment_map_state(t, NULL, STATE_BETWEEN, 0);
	EMIT_CONTEXT(e, X86_RCX, CTX_STOP, 0, 0x8b); /* mov ecx, [stop] */
	EMIT(e, 0xe3, 5);                            /* jrcxz over the jump */
	site = emit_jump(e);
	emit_load(e, X86_RCX, CTX_RCX);
	fragment_map_state(t, NULL, 0, 0);
	emit_patch(e, emit_jump(e), e->base + t->fragment.rounds);
	emit_patch(e, site, e->base + e->len);
	fragment_map_state(t, NULL, STATE_BETWEEN, 0);
	emit_load(e, X86_RCX, CTX_RCX);
	t->rounds_trap = (uint32_t)e->len;
	emit_trap(e);
}

void fragment_emit_round(struct translation *t, const struct step *s, bool last)
{
	fragment_bring_bits(t, s);
	fragment_map_state(t, s, 0, 0);
	EMIT(&t->out, 0x4d, 0x8d, 0x5b, 0x01); /* lea r11, [r11+1] */
	if (last)
		emit_stop_test(t);
}
