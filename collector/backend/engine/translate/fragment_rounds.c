/* SPDX-License-Identifier: MIT */
/* A cycle without a conditional which is a fragment by itself: of direct branches, and of indirect
 * ones that have a prediction. A task leaves it only where a prediction is wrong, at a stop
 * or at a fault: so it need not write a record each round. Before the first round it writes one, of
 * its beginning; r11 has no bits then, and counts rounds. At a stop the tracer says how often that
 * record comes again (branch_log_rounds()); where a prediction is wrong the fragment writes that,
 * and goes on at a fragment that begins with the branch. (Where only ticks are counted, r11 is what
 * it is elsewhere, and the fragment looks before each pass whether to stop.)
 *
 * Natively such a cycle may take a third of a clock cycle a round, as long as nothing but the jump
 * is in it. So the fragment holds some rounds, without jumps between them, and looks whether to
 * stop behind the last. A register that is stored and loaded again for each prediction, or each
 * operand beside its code, makes the next one wait for that. So registers that the cycle does not
 * use are lent to all its rounds (enum lent). */
#include "collector/backend/engine/translate/translation.h"

static bool is_near_address(uint64_t from, uint64_t to)
{
	int64_t d = (int64_t)(to - from);

	return d > INT32_MIN / 2 && d < INT32_MAX / 2;
}

enum want {
	WANT_NOT,
	WANTED,
	WANT_TOO_MUCH,
};

/* Notes a place that a register is wanted for: all are to lie near one another. */
static void want_register(struct translation *t, enum lent what, uint64_t place,
			  enum want wanted[LENT_COUNT])
{
	if (wanted[what] == WANT_NOT)
		t->lent_near[what] = place;
	if (wanted[what] != WANT_TOO_MUCH)
		wanted[what] = is_near_address(t->lent_near[what], place) ? WANTED : WANT_TOO_MUCH;
}

/* One that is not used yet, of which these may be. */
static void lend_one(struct translation *t, enum lent what, const uint8_t *list, size_t n,
		     unsigned *used)
{
	for (size_t i = 0; i < n; i++)
		if (!(*used & X86_BIT(list[i]))) {
			*used |= X86_BIT(list[i]);
			t->fragment.lent[what] = (uint8_t)(list[i] + 1);
			return;
		}
}

void fragment_plan_rounds(struct translation *t)
{
	static const uint8_t lendable[] = {X86_RAX, X86_RDX, X86_RBX, X86_RSI, X86_RDI,
					   X86_RBP, X86_R8,  X86_R9,  X86_R10, X86_R12,
					   X86_R13, X86_R14, X86_R15};
	/* The first of them: as the base of an operand they take no other prefix. */
	const size_t low = 6;
	enum want wanted[LENT_COUNT] = {WANT_NOT};
	unsigned used = 0;

	for (int i = 0; i < t->round; i++) {
		const struct step *s = &t->steps[i];
		uint64_t prediction = fragment_prediction(t, s);

		used |= s->insn.regs;
		if (s->insn.class == BT_INSN_PLAIN && fragment_needs_base(s))
			want_register(t, LENT_BASE, step_target(s), wanted);
		if (prediction > INT32_MAX)
			want_register(t, LENT_PREDICTION, prediction, wanted);
		if (prediction)
			wanted[LENT_RCX] = WANTED;
	}
	if (wanted[LENT_BASE] == WANTED)
		lend_one(t, LENT_BASE, lendable, low, &used);
	if (wanted[LENT_PREDICTION] == WANTED)
		lend_one(t, LENT_PREDICTION, lendable, sizeof lendable, &used);
	if (wanted[LENT_RCX] == WANTED && !(used & X86_BIT(X86_RCX)))
		t->fragment.lent[LENT_RCX] = X86_RCX + 1;
	else if (wanted[LENT_RCX] == WANTED)
		lend_one(t, LENT_RCX, lendable, sizeof lendable, &used);
}

int fragment_lent(const struct translation *t, enum lent what)
{
	return t->lends ? t->fragment.lent[what] - 1 : -1;
}

static uint32_t lent_at(enum lent what) { return CTX_LENT + 8 * (uint32_t)what; }

/* mov, opcode 89: from rcx, 8b: to it. */
static void move_rcx(struct emitter *e, uint8_t opcode, unsigned reg)
{
	EMIT(e, (uint8_t)(0x48 | reg >> 3), opcode, (uint8_t)(0xc0 | X86_RCX << 3 | (reg & 7)));
}

void fragment_take_rcx(struct translation *t)
{
	int lent = fragment_lent(t, LENT_RCX);

	if (lent < 0)
		emit_store(&t->out, X86_RCX, CTX_RCX);
	else if (lent != X86_RCX)
		move_rcx(&t->out, 0x89, (unsigned)lent);
}

void fragment_give_rcx(struct translation *t)
{
	int lent = fragment_lent(t, LENT_RCX);

	if (lent < 0)
		emit_load(&t->out, X86_RCX, CTX_RCX);
	else if (lent != X86_RCX)
		move_rcx(&t->out, 0x8b, (unsigned)lent);
}

/* The task is to stop at no place of this before the first round. */
static void lend_registers(struct translation *t)
{
	struct emitter *e = &t->out;

	t->lends = true;
	for (enum lent i = 0; i < LENT_COUNT; i++)
		if (fragment_lent(t, i) >= 0)
			emit_store(e, (unsigned)fragment_lent(t, i), lent_at(i));
	fragment_map_state(t, &t->steps[0], STATE_BETWEEN, 0);
	if (fragment_lent(t, LENT_BASE) >= 0)
		emit_constant(e, (unsigned)fragment_lent(t, LENT_BASE), t->lent_near[LENT_BASE]);
	if (fragment_lent(t, LENT_PREDICTION) >= 0)
		emit_constant(e, (unsigned)fragment_lent(t, LENT_PREDICTION),
			      -t->lent_near[LENT_PREDICTION]);
}

/* Behind fragment_take_rcx() all are the application's again. */
static void return_registers(struct translation *t)
{
	t->lends = true;
	fragment_give_rcx(t);
	for (enum lent i = 0; i < LENT_COUNT; i++)
		if (fragment_lent(t, i) >= 0)
			emit_load(&t->out, (unsigned)fragment_lent(t, i), lent_at(i));
	t->lends = false;
}

static void begin_history(struct translation *t)
{
	struct emitter *e = &t->out;
	const struct step *s = &t->steps[0];

	emit_store(e, X86_RCX, CTX_RCX);
	fragment_map_state(t, s, STATE_RCX, 0);
	t->loop_trap = fragment_emit_record(t, t->fragment.segment, BRANCH_LOG_DIRECT,
					    t->cache->safe_point_record);
	t->loop_target = t->pc;
	fragment_map_state(t, s, 0, 0);
	lend_registers(t);
	emit_constant(e, X86_R11, branch_log_written(0));
	t->fragment.rounds = (uint16_t)e->len;
	t->fragment.counts = true;
}

static void begin_ticks(struct translation *t)
{
	lend_registers(t);
	t->fragment.rounds = (uint16_t)t->out.len;
	fragment_take_rcx(t);
	fragment_emit_stop_test(t, t->rounds_sites);
	fragment_give_rcx(t);
}

void fragment_begin_rounds(struct translation *t)
{
	fragment_map_state(t, &t->steps[0], 0, 0);
	if (t->cache->kind.ticks)
		begin_ticks(t);
	else
		begin_history(t);
}

/* Stops when that is asked for, else goes on with the first round of the fragment. */
static void end_history(struct translation *t)
{
	struct emitter *e = &t->out;
	size_t site;

	fragment_take_rcx(t);
	fragment_map_state(t, NULL, STATE_BETWEEN, 0);
	EMIT_CONTEXT(e, X86_RCX, CTX_STOP, 0, 0x8b); /* mov ecx, [stop] */
	EMIT(e, 0xe3, 5);                            /* jrcxz over the jump */
	site = emit_jump(e);
	fragment_give_rcx(t);
	fragment_map_state(t, NULL, 0, 0);
	emit_patch(e, emit_jump(e), e->base + t->fragment.rounds);
	emit_patch(e, site, e->base + e->len);
	fragment_map_state(t, NULL, STATE_BETWEEN, 0);
}

static void end_ticks(struct translation *t)
{
	struct emitter *e = &t->out;

	emit_patch(e, emit_jump(e), e->base + t->fragment.rounds);
	fragment_map_state(t, NULL, STATE_BETWEEN, 0);
	fragment_patch_stop(t, t->rounds_sites);
}

void fragment_end_round(struct translation *t, bool last)
{
	struct emitter *e = &t->out;
	bool ticks = t->cache->kind.ticks;

	if (!ticks)
		EMIT(e, 0x4d, 0x8d, 0x5b, 0xff); /* lea r11, [r11-1]: the complement, as of bits */
	if (!last)
		return;
	t->at_pc = t->pc;
	fragment_map_state(t, NULL, 0, 0);
	(ticks ? end_ticks : end_history)(t);
	return_registers(t);
	t->rounds_trap = (uint32_t)e->len;
	emit_trap(e);
	t->fragment.rounds_end = (uint16_t)e->len;
}

static void emit_miss(struct translation *t, const struct step *s)
{
	struct emitter *e = &t->out;
	struct cache_exit x = {.kind = EXIT_STOP, .target = s->pc, .goes_on = true};

	fragment_map_state(t, s, t->cache->kind.ticks ? STATE_BETWEEN : STATE_ROUNDS, 0);
	return_registers(t);
	if (!t->cache->kind.ticks) {
		emit_store(e, X86_RCX, CTX_RCX);
		x.trap = t->fragment.start + fragment_emit_record(t, t->fragment.segment,
								  BRANCH_LOG_ROUNDS,
								  t->cache->safe_point_record);
		if (!e->overflow)
			e->overflow = !code_cache_add_exit(t->cache, &x);
	}
	fragment_map_state(t, s, 0, 0);
	emit_align_link(e, 1);
	fragment_add_cold(t, emit_jump(e), s->pc, EXIT_LINK);
	t->cold[t->cold_count - 1].demand =
		(struct fragment_demand){0}; /* it has looked before the first round */
	fragment_map_state(t, s, STATE_BETWEEN, 0);
}

void fragment_emit_misses(struct translation *t)
{
	for (int step = 0; step < t->round; step++) {
		bool any = false;

		for (int i = 0; i < t->miss_count; i++) {
			if (t->misses[i].step != step)
				continue;
			emit_patch(&t->out, t->misses[i].site, t->out.base + t->out.len);
			any = true;
		}
		if (any)
			emit_miss(t, &t->steps[step]);
	}
}
