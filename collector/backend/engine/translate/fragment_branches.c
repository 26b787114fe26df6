/* SPDX-License-Identifier: MIT */
/* The code of a fragment's branches.
 *
 * A conditional becomes a jump to an exit if it is taken, and goes on in the fragment if not;
 * either way its bit comes into r11 (without history it is counted before). A direct jump that the
 * fragment follows has no code. An indirect branch writes a record and goes through the tables; one
 * with a prediction compares first, and writes a record only when it misses. A call pushes the
 * application's return address. */
#include "collector/backend/engine/translate/translation.h"

/* The search for where r11 says. */
static uint64_t search_address(const struct translation *t)
{
	const struct code_cache *c = t->cache;

	return region_address(CODE_AT + (c->counting ? c->miss_counting : c->miss));
}

/* ---- Direct branches ---- */

/* Pushes a return address. Returns the site for emit_literal(), which is to come behind the jump.
 */
static size_t emit_return_address(struct translation *t, uint64_t addr)
{
	struct emitter *e = &t->out;

	if (addr <= INT32_MAX) {
		emit_u8(e, 0x68); /* push imm32 */
		emit_u32(e, (uint32_t)addr);
		return 0;
	}
	EMIT(e, 0xff, 0x35); /* push [rip+...] */
	emit_u32(e, 0);
	return e->len - 4;
}

static void emit_literal(struct translation *t, uint64_t addr, size_t site)
{
	if (!site)
		return;
	emit_patch(&t->out, site, t->out.base + t->out.len);
	emit_u64(&t->out, addr);
}

/* Behind LOOP, JRCXZ and their like, which have counted: to where it goes on, and the jump to where
 * it leads, whose site this returns. */
static size_t emit_ways_of_loop(struct translation *t, const struct step *s)
{
	unsigned bit = t->cache->kind.ticks ? 0 : STATE_BIT;
	struct emitter *e = &t->out;

	t->shifted = false;
	fragment_map_state_to(t, step_end(s), bit);
	EMIT(e, 0xeb, 5);
	fragment_map_state_to(t, step_target(s), bit ? bit | STATE_MADE : 0);
	return emit_jump(e);
}

void fragment_emit_conditional(struct translation *t, const struct step *s)
{
	struct emitter *e = &t->out;
	bool back = fragment_closes_loop(t, s);
	size_t site = 0;

	fragment_bring_bits(t, s);
	if (t->cache->kind.ticks && !t->shifted) {
		fragment_map_state(t, s, 0, 0);
		fragment_count_tick(t);
	}
	fragment_map_state(t, s, 0, 0);
	if (back) {
		fragment_emit_branch_back(t, s);
	} else if (s->insn.class == BT_INSN_JCC) {
		emit_align_link(e, 2);
		site = emit_jcc(e, s->insn.opcode & 15);
	} else {
		emit_align_link(e, 5 + !!(s->insn.traits & X86_ADDRESS32));
		if (s->insn.traits & X86_ADDRESS32)
			emit_u8(e, 0x67);
		EMIT(e, s->insn.opcode, 2);
		site = emit_ways_of_loop(t, s);
	}
	t->known = true;
	t->transfers = 0;
	t->conditionals++;
	if (!back) {
		fragment_add_cold(t, site, step_target(s), EXIT_LINK);
		t->cold[t->cold_count - 1].conditional = true;
		t->cold[t->cold_count - 1].fresh |=
			!t->cache->kind.ticks; /* its bit comes in there */
	}
	t->shifted = false;
	if (!t->cache->kind.ticks) {
		fragment_map_state(t, s, STATE_BETWEEN, 0);
		emit_bit_not_taken(e);
	}
	t->at_pc = step_end(s);
	fragment_map_state(t, NULL, 0, 0);
	if (back)
		fragment_end_loop(t);
}

void fragment_emit_call(struct translation *t, const struct step *s)
{
	size_t literal;

	fragment_bring_bits(t, s);
	fragment_map_state(t, s, 0, 0);
	literal = emit_return_address(t, step_end(s));
	fragment_map_state_to(t, step_target(s), STATE_MADE);
	fragment_count_transfer(t, step_target(s));
	fragment_emit_loop_record(t, s);
	emit_align_link(&t->out, 1);
	fragment_add_cold(t, emit_jump(&t->out), step_target(s), EXIT_LINK);
	emit_literal(t, step_end(s), literal);
}

void fragment_emit_last_jump(struct translation *t, const struct step *s)
{
	fragment_bring_bits(t, s);
	fragment_map_state(t, s, 0, 0);
	fragment_count_transfer(t, step_target(s));
	fragment_emit_loop_record(t, s);
	emit_align_link(&t->out, 1);
	fragment_add_cold(t, emit_jump(&t->out), step_target(s), EXIT_LINK);
}

/* ---- Indirect branches ---- */

/* rcx becomes what CTX_NEXT will be behind the next record. */
static void emit_load_next(struct emitter *e)
{
	emit_load(e, X86_RCX, CTX_NEXT);
	EMIT(e, 0x48, 0x8d, 0x49, RECORD_BYTES); /* lea rcx, [rcx+record] */
}

/* mov gs:[rcx+records_end-record+at], r11 */
static void emit_note_r11(struct emitter *e, uint32_t at)
{
	EMIT(e, 0x65, 0x4c, 0x89, 0x99);
	emit_u32(e, RECORDS_END - RECORD_BYTES + at);
}

/* An indirect branch begins: rcx goes to the context, and (not where ticks are counted) becomes
 * what CTX_NEXT will be; the bits are where the next record will be, which is none before that. The
 * room for one record stays: the common parts need it, before they stop for want of room.
 * emit_full() is to come behind the branch. */
static void emit_record_begin(struct translation *t, const struct step *s)
{
	struct emitter *e = &t->out;

	fragment_bring_bits(t, s);
	fragment_map_state(t, s, 0, 0);
	emit_store(e, X86_RCX, CTX_RCX);
	fragment_map_state(t, s, STATE_RCX, 0);
	if (t->cache->kind.ticks)
		return;
	emit_load_next(e);
	EMIT(e, 0xe3, 0); /* jrcxz full */
	t->full_site = e->len;
	emit_note_r11(e, 0);
}

/* The branch has been made: r11 is where it leads, rcx what CTX_NEXT will be. Or (ticks) rcx is
 * that, and r11 what has been counted. */
static void emit_record_end(struct translation *t, const struct step *s)
{
	struct emitter *e = &t->out;

	if (t->cache->kind.ticks) {
		fragment_count_indirect(t, s);
		fragment_note_origin(t);
		return;
	}
	emit_note_r11(e, 8);
	emit_store(e, X86_RCX, CTX_NEXT);
}

/* Behind the jump of an indirect branch: the stop for want of room for its record. */
static void emit_full(struct translation *t, const struct step *s)
{
	struct emitter *e = &t->out;

	if (t->cache->kind.ticks)
		return;
	emit_short(e, t->full_site, e->len);
	fragment_map_state(t, s, STATE_RCX, 0);
	t->full_trap = e->len;
	emit_trap(e);
}

/* On to where r11 says. */
static void emit_search(struct translation *t)
{
	if (t->cache->counting)
		emit_dispatch_counting(&t->out, search_address(t));
	else
		emit_dispatch(&t->out);
}

/* By a return, behind its address. */
static uint32_t popped_more(const struct step *s)
{
	return s->insn.imm_size
		       ? (uint32_t)(s->bytes[s->insn.imm_at] | s->bytes[s->insn.imm_at + 1] << 8)
		       : 0;
}

static void emit_return(struct translation *t, const struct step *s)
{
	struct emitter *e = &t->out;
	uint32_t more = popped_more(s);

	emit_record_begin(t, s);
	if (t->cache->kind.ticks)
		emit_u8(e, 0x59); /* pop rcx */
	else
		EMIT(e, 0x41, 0x5b); /* pop r11 */
	fragment_map_state(
		t, s, t->cache->kind.ticks ? STATE_LEADS_UNCOUNTED : STATE_BETWEEN | STATE_NOTED,
		0);
	if (more) {
		EMIT(e, 0x48, 0x8d, 0xa4, 0x24); /* lea rsp, [rsp+more] */
		emit_u32(e, more);
	}
	emit_record_end(t, s);
	emit_search(t);
	emit_full(t, s);
}

/* mov reg (rcx, r11), the target of the indirect jump or call. */
static void emit_load_target(struct translation *t, const struct step *s, unsigned reg)
{
	const struct x86_insn *in = &s->insn;
	struct emitter *e = &t->out;
	uint8_t modrm = s->bytes[in->modrm_at], rex = (uint8_t)(0x48 | (reg >> 3) << 2),
		field = (uint8_t)((reg & 7) << 3);
	bool relative = in->traits & X86_RIP_RELATIVE,
	     absolute = relative && step_target(s) <= INT32_MAX;

	if (relative && !absolute) {
		emit_constant(e, reg, step_target(s));
		fragment_map_state(t, s, STATE_RCX | (reg == X86_R11 ? STATE_NOTED : 0), 0);
	}
	/* Keeps only the prefixes that matter, once each: more would exceed the longest
	 * instruction. */
	if (in->traits & X86_SEGMENT)
		emit_u8(e, 0x64);
	if (in->traits & X86_ADDRESS32)
		emit_u8(e, 0x67);
	if (absolute) {
		EMIT(e, rex, 0x8b);
		emit_absolute_operand(e, field, step_target(s));
	} else if (relative) {
		EMIT(e, (uint8_t)(rex | reg >> 3), 0x8b,
		     (uint8_t)(field | (reg & 7))); /* mov reg, [reg] */
	} else {
		EMIT(e, (uint8_t)(rex | (in->rex & 3)), 0x8b, (uint8_t)((modrm & 0xc7) | field));
		emit_bytes(e, s->bytes + in->modrm_at + 1, (size_t)(in->len - in->modrm_at - 1));
	}
}

/* The same with the application's registers: its rcx is in the context, and in rcx unless `lent`.
 * The bits are in r11, which is left alone, or (where that is reg) where the next record will be.
 */
static void emit_target(struct translation *t, const struct step *s, unsigned reg, bool lent)
{
	struct emitter *e = &t->out;

	if (s->insn.regs & X86_BIT(X86_RCX) && lent)
		emit_load(e, X86_RCX, CTX_RCX);
	if (s->insn.regs & X86_BIT(X86_R11))
		fragment_bring_r11(t, s, STATE_RCX);
	fragment_map_state(t, s, STATE_RCX, 0);
	emit_load_target(t, s, reg);
	if (t->r11_in && reg != X86_R11) {
		fragment_map_state(t, s, STATE_RCX, 0);
		emit_load(e, X86_R11, CTX_BITS);
	}
	t->r11_in = false;
}

static void emit_indirect(struct translation *t, const struct step *s)
{
	struct emitter *e = &t->out;
	bool ticks = t->cache->kind.ticks;
	size_t literal = 0;

	emit_record_begin(t, s);
	emit_target(t, s, ticks ? X86_RCX : X86_R11, true);
	fragment_map_state(t, s, STATE_RCX | (ticks ? 0 : STATE_NOTED), 0);
	if (s->insn.class == BT_INSN_ICALL)
		literal = emit_return_address(t, step_end(s));
	fragment_map_state(t, s, ticks ? STATE_LEADS_UNCOUNTED : STATE_BETWEEN | STATE_NOTED, 0);
	if (s->insn.regs & X86_BIT(X86_RCX) && !ticks)
		emit_load_next(e);
	emit_record_end(t, s);
	emit_search(t);
	emit_full(t, s);
	emit_literal(t, step_end(s), literal);
}

static void emit_plain_indirect(struct translation *t, const struct step *s)
{
	if (s->insn.class == BT_INSN_RET)
		emit_return(t, s);
	else
		emit_indirect(t, s);
}

/* ---- Predictions ---- */

/* A return leads where it is predicted to. */
static void emit_pop(struct translation *t, const struct step *s)
{
	EMIT(&t->out, 0x48, 0x8d, 0xa4, 0x24); /* lea rsp, [rsp+8+more] */
	emit_u32(&t->out, 8 + popped_more(s));
}

/* The branch leads where it is predicted to. */
static void emit_hit(struct translation *t, const struct step *s, uint64_t prediction)
{
	struct emitter *e = &t->out;
	size_t literal = 0;

	emit_load(e, X86_RCX, CTX_RCX);
	fragment_map_state(t, s, 0, 0);
	if (s->insn.class == BT_INSN_ICALL)
		literal = emit_return_address(t, step_end(s));
	else if (s->insn.class == BT_INSN_RET)
		emit_pop(t, s);
	fragment_map_state_to(t, prediction, STATE_MADE);
	fragment_count_transfer(t, prediction);
	fragment_emit_loop_record(t, s);
	emit_align_link(e, 1);
	fragment_add_cold(t, emit_jump(e), prediction, EXIT_LINK);
	emit_literal(t, step_end(s), literal);
}

/* Subtracts the prediction from rcx, the target of the branch. Uses r10 if the prediction does not
 * fit a displacement. */
static void emit_difference(struct translation *t, uint64_t prediction)
{
	struct emitter *e = &t->out;
	int lent = fragment_lent(t, LENT_PREDICTION);

	if (prediction <= INT32_MAX) {
		EMIT(e, 0x48, 0x8d, 0x89); /* lea rcx, [rcx-prediction] */
		emit_u32(e, -(uint32_t)prediction);
		return;
	}
	if (lent >= 0) {
		EMIT(e, (uint8_t)(0x48 | lent >> 3 << 1), 0x8d, 0x8c,
		     (uint8_t)((lent & 7) << 3 |
			       X86_RCX)); /* lea rcx, [rcx+lent+near-prediction] */
		emit_u32(e, (uint32_t)(t->lent_near[LENT_PREDICTION] - prediction));
		return;
	}
	EMIT(e, 0x49, 0xba); /* mov r10, -prediction */
	emit_u64(e, -prediction);
	EMIT(e, 0x4a, 0x8d, 0x0c, 0x11); /* lea rcx, [rcx+r10] */
}

/* rcx becomes `right` if the branch leads to its prediction. The application's rcx goes to the
 * context. */
static void emit_guess_test(struct translation *t, const struct step *s, uint64_t prediction,
			    unsigned right)
{
	struct emitter *e = &t->out;
	bool lends = prediction > INT32_MAX && fragment_lent(t, LENT_PREDICTION) < 0;

	fragment_bring_bits(t, s);
	fragment_map_state(t, s, 0, 0);
	fragment_take_rcx(t);
	if (lends)
		emit_store(e, X86_R10, CTX_R10);
	if (s->insn.class == BT_INSN_RET)
		EMIT(e, 0x48, 0x8b, 0x0c, 0x24); /* mov rcx, [rsp] */
	else
		emit_target(t, s, X86_RCX, false);
	fragment_map_state(t, s, STATE_RCX, lends ? X86_R10 : 0);
	emit_difference(t, prediction - right);
	if (lends)
		emit_load(e, X86_R10, CTX_R10);
}

static void emit_prediction(struct translation *t, const struct step *s, uint64_t prediction)
{
	struct emitter *e = &t->out;
	bool loops = t->cache->fast_loop && !t->loops; /* a record is too long for it */
	int transfers = t->transfers;
	size_t over = 0;

	emit_guess_test(t, s, prediction, loops);
	if (loops) {
		EMIT(e, 0xe2, 0); /* loop, behind the hit */
		over = e->len;
	} else {
		EMIT(e, 0xe3, 5); /* jrcxz */
		t->miss_site = emit_jump(e);
	}
	emit_hit(t, s, prediction);
	if (loops) {
		emit_short(e, over, e->len);
		fragment_map_state(t, s, STATE_RCX, 0);
		t->miss_site = emit_jump(e);
	}
	t->transfers = transfers; /* those before a miss */
}

uint32_t fragment_emit_miss(struct translation *t)
{
	const struct step *s = &t->steps[t->count - 1];
	uint32_t trap = 0;

	emit_patch(&t->out, t->miss_site, t->out.base + t->out.len);
	fragment_map_state(t, s, STATE_RCX, 0);
	if (t->cache->kind.ticks) {
		emit_load(&t->out, X86_RCX, CTX_RCX);
	} else {
		trap = fragment_emit_record(t, t->last_segment, BRANCH_LOG_MISS,
					    t->cache->safe_point_record);
	}
	emit_plain_indirect(t, s);
	fragment_map_state(t, s, STATE_BETWEEN, 0);
	return trap;
}

void fragment_emit_indirect(struct translation *t, const struct step *s)
{
	uint64_t prediction = fragment_prediction(t, s);

	if (prediction)
		emit_prediction(t, s, prediction);
	else
		emit_plain_indirect(t, s);
}

/* ---- In the midst of a fragment ---- */

/* The same in the midst of code: the literal comes behind the fragment. */
static void push_return_address(struct translation *t, uint64_t addr)
{
	size_t site = emit_return_address(t, addr);

	if (site)
		t->literals[t->literal_count++] = (struct literal){site, addr};
}

void fragment_emit_literals(struct translation *t)
{
	for (int i = 0; i < t->literal_count; i++)
		emit_literal(t, t->literals[i].value, t->literals[i].site);
}

void fragment_emit_on(struct translation *t, const struct step *s)
{
	struct emitter *e = &t->out;

	if (is_indirect(s)) {
		emit_guess_test(t, s, fragment_prediction(t, s), 0);
		EMIT(e, 0xe3, 5); /* jrcxz over the jump */
		t->misses[t->miss_count++] =
			(struct missed){emit_jump(e), (int)(s - t->steps) % t->round};
		fragment_give_rcx(t);
	}
	fragment_bring_bits(t, s);
	fragment_map_state(t, s, 0, 0);
	if (s->insn.class == BT_INSN_CALL || s->insn.class == BT_INSN_ICALL)
		push_return_address(t, step_end(s));
	else if (s->insn.class == BT_INSN_RET)
		emit_pop(t, s);
	if (s->insn.class != BT_INSN_JMP && s->insn.class != BT_INSN_IJMP)
		fragment_map_state_to(t, fragment_way_on(t, s), STATE_MADE);
	fragment_count_transfer(t, fragment_way_on(t, s));
}

/* ---- The indirect entry ---- */

/* rcx becomes 0 if r11 is the fragment's address; else execution goes on to the search. Returns the
 * offset of the test. */
static size_t emit_address_test(struct translation *t)
{
	struct emitter *e = &t->out;
	bool loops = t->cache->fast_loop;
	size_t miss = e->len, entry;

	if (loops)
		emit_patch(e, emit_jump(e), search_address(t));
	entry = e->len;
	if (t->pc <= INT32_MAX) {
		EMIT(e, 0x49, 0x8d,
		     0x8b); /* lea rcx, [r11-pc] (one more where LOOP is to take it away) */
		emit_u32(e, loops - (uint32_t)t->pc);
	} else {
		EMIT(e, 0x48, 0xb9); /* mov rcx, -pc (likewise) */
		emit_u64(e, loops - t->pc);
		EMIT(e, 0x4a, 0x8d, 0x0c, 0x19); /* lea rcx, [rcx+r11] */
	}
	if (loops) {
		EMIT(e, 0xe2, 0); /* loop, to the jump */
		emit_short(e, e->len, miss);
		return entry;
	}
	EMIT(e, 0xe3, 5); /* jrcxz over the jump */
	emit_patch(e, emit_jump(e), search_address(t));
	return entry;
}

size_t fragment_emit_indirect_entry(struct translation *t, bool before_fresh, bool looks)
{
	struct emitter *e = &t->out;
	size_t entry = emit_address_test(t);

	if (t->cache->kind.ticks)
		emit_load(e, X86_R11, CTX_BITS);
	else if (before_fresh)
		emit_constant(e, X86_R11, BITS_EMPTY >> 1 | BITS_EMPTY << 63);
	else
		emit_bits_empty(e);
	if (looks)
		fragment_emit_stop_test(t, t->entry_sites);
	emit_load(e, X86_RCX, CTX_RCX);
	return entry;
}
