/* SPDX-License-Identifier: MIT */
#include "collector/engine/translator.h"

#include <stdlib.h>

#include "collector/engine/branch_log.h"
#include "collector/engine/emit.h"
#include "collector/engine/layout.h"

enum {
	CHAIN_INSNS = 48,
	DISPATCH_BYTES = 11,
	LOOP_RECORD_BYTES = 9 + 7 + 9 + 10 + 5 + 1,
	MUTABLE_INSNS = 16,
	CHAIN_CONDITIONALS = 12, /* BITS_LIMIT and what a word holds leave room for 16 */
	CHAIN_BYTES = 1 << 15,	 /* more than any chain's code can be */
	SEGMENT_INSNS = 100000,	 /* without a branch; more is cut */
	LOOK_AHEAD = 64,	 /* instructions, in search of a cycle */
	COLD_MAX = 2 * CHAIN_INSNS,
	PLACES_MAX = 12 * CHAIN_INSNS,
};

struct step {
	struct x86_insn insn;
	uint64_t pc;
	uint8_t bytes[BT_INSN_MAX];
	bool inlined_jump; /* a direct jump that the chain follows */
};

/* A jump to something cold: the displacement's place, and what it leads to. */
struct cold {
	size_t site;
	uint64_t target;
	uint8_t kind;
};

struct translation {
	struct code_cache *cache;
	const struct code_source *source;
	uint64_t pc;
	struct step steps[CHAIN_INSNS];
	int count;
	bool ends_outside; /* behind the last step comes what is not for the cache */
	uint64_t next;	   /* where execution goes on behind the last step, if it is no branch */
	uint64_t at_pc;	   /* of places behind an instruction */
	bool mutable;	   /* the code compares itself */
	bool loops;	   /* its last branch closes a cycle that would leave no record: it writes one */
	uint32_t last_segment;
	int check_at;	   /* the step before which the checkpoint stands */
	bool check_flags;  /* flags are free there */
	struct emitter out;
	struct chain chain;
	struct cold cold[COLD_MAX];
	int cold_count;
	uint32_t loop_trap;
	uint64_t loop_target;
	size_t check_site, check_back; /* of the checkpoint's cold part; site 0: none */
	struct place places[PLACES_MAX];
	int place_count;
	bool r11_in; /* r11 is the application's now */
	bool shifted;
};

/* ---- Reading the chain ---- */

/* Whether a prefix extends the base register of a rip-relative operand: without effect, but not once there is a base. */
static bool extends_base(const struct step *s)
{
	for (int i = 0; i < s->insn.modrm_at; i++) {
		if (s->bytes[i] == 0xc4 || s->bytes[i] == 0x62)
			return !(s->bytes[i + 1] & 0x20);
		if (s->bytes[i] == 0xc5)
			return false;
	}
	return s->insn.rex & 1;
}

static bool fetch(const struct translation *t, uint64_t pc, struct step *s)
{
	size_t n = t->source->read(t->source->arg, pc, s->bytes, BT_INSN_MAX);

	s->pc = pc;
	return !x86_decode(s->bytes, n, &s->insn) && !(s->insn.traits & X86_OUTSIDE) && !(s->insn.traits & X86_RIP_RELATIVE && extends_base(s));
}

static bool in_chain(const struct translation *t, uint64_t pc)
{
	for (int i = 0; i < t->count; i++)
		if (t->steps[i].pc == pc)
			return true;
	return false;
}

static uint64_t behind(const struct step *s)
{
	return s->pc + s->insn.len;
}

static uint64_t target_of(const struct step *s)
{
	return behind(s) + (uint64_t)s->insn.displacement;
}

static bool is_conditional(const struct step *s)
{
	return s->insn.class == BT_INSN_JCC || s->insn.class == BT_INSN_JRCXZ || s->insn.class == BT_INSN_LOOP;
}

static bool near_start(const struct translation *t, uint64_t pc)
{
	int64_t d = (int64_t)(pc - t->pc);

	return d > INT32_MIN / 2 && d < INT32_MAX / 2;
}

/* A jump is followed inline unless it leads to what is there already, or back (a loop: its head is a chain of its own). */
static bool follow_jump(const struct translation *t, const struct step *s)
{
	uint64_t target = target_of(s);

	return target > s->pc && !t->mutable && !in_chain(t, target) && near_start(t, target) && code_cache_find(t->cache, target) == CHAIN_NONE;
}

/* Whether the instruction may write memory other than by a push: in mutable code what follows it may be something else then. */
static bool may_write(const struct step *s)
{
	static const uint8_t loads[] = {0x8b, 0x8a, 0x8d, 0x63, 0x03, 0x0b, 0x13, 0x1b, 0x23, 0x2b, 0x33, 0x3b, 0x39, 0x38, 0x3a, 0x84, 0x85};

	if (s->insn.traits & X86_REPEATED || !s->insn.modrm_at)
		return s->insn.map == X86_MAP_1 && ((s->insn.opcode >= 0xa2 && s->insn.opcode <= 0xa5) || s->insn.opcode == 0xaa || s->insn.opcode == 0xab);
	if (s->bytes[s->insn.modrm_at] >= 0xc0)
		return false;
	for (size_t i = 0; i < sizeof loads; i++)
		if (s->insn.map == X86_MAP_1 && s->insn.opcode == loads[i])
			return false;
	return true;
}

static void read_steps(struct translation *t)
{
	uint64_t pc = t->pc;
	int conditionals = 0;

	t->mutable = t->source->is_mutable(t->source->arg, pc);
	while (t->count < (t->mutable ? MUTABLE_INSNS : CHAIN_INSNS)) {
		struct step *s = &t->steps[t->count];

		t->next = pc;
		*s = (struct step){0};
		if (t->count && t->source->is_mutable(t->source->arg, pc) != t->mutable)
			return;
		if (!fetch(t, pc, s)) {
			t->ends_outside = true;
			return;
		}
		t->count++;
		pc = behind(s);
		t->next = pc;
		if (is_conditional(s)) {
			if (++conditionals == CHAIN_CONDITIONALS || in_chain(t, pc))
				return;
		} else if (s->insn.class == BT_INSN_JMP) {
			s->inlined_jump = follow_jump(t, s);
			if (!s->inlined_jump)
				return;
			pc = t->next = target_of(s);
		} else if (s->insn.class != BT_INSN_PLAIN || (t->mutable && may_write(s))) {
			return;
		}
	}
}

static void read_chain(struct translation *t)
{
	read_steps(t);
	if (t->count == CHAIN_INSNS || (t->count && !t->ends_outside && t->steps[t->count - 1].inlined_jump))
		t->steps[t->count - 1].inlined_jump = false;
}

/* Whether execution can come from pc to the branch at `to` along direct branches alone, as far as one can see. */
static bool may_come_to(const struct translation *t, uint64_t pc, uint64_t to)
{
	for (int i = 0; i < LOOK_AHEAD; i++) {
		struct step s = {0};

		if (pc == to)
			return true;
		if (!fetch(t, pc, &s))
			return false; /* the stretch ends there */
		if (s.insn.class == BT_INSN_PLAIN)
			pc = behind(&s);
		else if (s.insn.class == BT_INSN_JMP || s.insn.class == BT_INSN_CALL)
			pc = target_of(&s);
		else
			return false;
	}
	return true;
}

static bool has_conditional(const struct translation *t)
{
	for (int i = 0; i < t->count; i++)
		if (is_conditional(&t->steps[i]))
			return true;
	return false;
}

/* A cycle of direct branches without a conditional leaves no other record; each has a branch that leads back. */
static bool closes_silent_cycle(const struct translation *t)
{
	const struct step *last = &t->steps[t->count - 1];

	if (t->ends_outside || (last->insn.class != BT_INSN_JMP && last->insn.class != BT_INSN_CALL))
		return false;
	return target_of(last) <= last->pc && may_come_to(t, target_of(last), last->pc);
}

/* An instruction that rewrites every flag from nothing but registers: before it a checkpoint may use them. One that touches memory could fault,
 * and the program would see what the checkpoint left. */
static bool frees_flags(const struct step *s)
{
	bool memory = s->insn.map != X86_MAP_1 || (s->insn.modrm_at && s->bytes[s->insn.modrm_at] < 0xc0);

	return s->insn.class == BT_INSN_PLAIN && s->insn.flags_written == X86_ARITHMETIC && !s->insn.flags_read && !memory &&
	       !(s->insn.traits & X86_REPEATED) && !(s->insn.regs & X86_BIT(X86_R11));
}

static void place_checkpoint(struct translation *t)
{
	t->loops = closes_silent_cycle(t);
	t->check_at = -1;
	if (!has_conditional(t))
		return;
	if (t->mutable) {
		t->check_at = 0;
		return;
	}
	for (int i = 0; i < t->count && !is_conditional(&t->steps[i]); i++)
		if (frees_flags(&t->steps[i]) && !(t->steps[i].insn.opcode == 0xf7 || t->steps[i].insn.opcode == 0xf6)) { /* div faults */
			t->check_at = i;
			t->check_flags = true;
			return;
		}
	t->check_at = 0;
	t->check_flags = false;
}

/* ---- Places ---- */

static void place(struct translation *t, const struct step *s, unsigned state, unsigned reg)
{
	uint64_t pc = s ? s->pc : t->at_pc;
	struct place p = {.at = (uint16_t)(t->out.len), .state = (uint8_t)state, .reg = (uint8_t)reg, .pc = (int32_t)(int64_t)(pc - t->pc)};

	p.state |= (t->r11_in ? PLACE_R11 : 0) | (t->shifted ? PLACE_SHIFTED : 0);
	if (t->place_count && t->places[t->place_count - 1].at == p.at) {
		const struct place *last = &t->places[t->place_count - 1];

		/* A jump that the chain follows has no code: execution stops before it, not behind. */
		if (last->state == p.state && last->reg == p.reg)
			return;
		t->place_count--;
	}
	if (t->place_count < PLACES_MAX)
		t->places[t->place_count++] = p;
	else
		t->out.overflow = true;
}

static void add_cold(struct translation *t, size_t site, uint64_t target, uint8_t kind)
{
	if (t->cold_count < COLD_MAX)
		t->cold[t->cold_count++] = (struct cold){site, target, kind};
	else
		t->out.overflow = true;
}

/* ---- The stolen register ---- */

static void bring_r11(struct translation *t, const struct step *s)
{
	if (t->r11_in)
		return;
	place(t, s, 0, 0);
	emit_store(&t->out, X86_R11, CTX_BITS);
	emit_load(&t->out, X86_R11, CTX_R11);
	t->r11_in = true;
}

static void bring_bits(struct translation *t, const struct step *s)
{
	if (!t->r11_in)
		return;
	place(t, s, 0, 0);
	emit_store(&t->out, X86_R11, CTX_R11);
	emit_load(&t->out, X86_R11, CTX_BITS);
	t->r11_in = false;
}

/* ---- Instructions ---- */

static uint64_t rip_target(const struct step *s)
{
	return behind(s) + (uint64_t)s->insn.displacement;
}

/* The instruction with its [rip+disp32] made [base], a register of the low eight but rsp and rbp. */
static void emit_rebased(struct translation *t, const struct step *s, unsigned base)
{
	const struct x86_insn *in = &s->insn;

	emit_bytes(&t->out, s->bytes, in->modrm_at);
	emit_u8(&t->out, (uint8_t)((s->bytes[in->modrm_at] & 0x38) | base));
	emit_bytes(&t->out, s->bytes + in->disp_at + 4, (size_t)(in->len - in->disp_at - 4));
}

static bool is_lea(const struct x86_insn *in)
{
	return in->map == X86_MAP_1 && in->opcode == 0x8d;
}

/* Whether the instruction is a load whose destination is rewritten and can hold the address before. */
static bool loads_whole_register(const struct x86_insn *in)
{
	if (in->prefix_66 || in->prefix_f2_f3)
		return false;
	if (in->map == X86_MAP_1)
		return in->opcode == 0x8b || (in->opcode == 0x63 && in->rex & 8);
	return in->map == X86_MAP_0F && (in->opcode == 0xb6 || in->opcode == 0xb7 || in->opcode == 0xbe || in->opcode == 0xbf);
}

static unsigned modrm_reg(const struct step *s)
{
	return (s->bytes[s->insn.modrm_at] >> 3 & 7) | (s->insn.rex & 4 ? 8 : 0);
}

static void emit_rip_relative(struct translation *t, const struct step *s)
{
	static const uint8_t lent[] = {X86_RAX, X86_RCX, X86_RDX, X86_RBX, X86_RSI, X86_RDI};
	unsigned reg = modrm_reg(s), base = X86_RAX;
	bool into_itself = loads_whole_register(&s->insn) && reg < 8 && reg != X86_RSP && reg != X86_RBP;

	if (is_lea(&s->insn) && !s->insn.prefix_66) {
		emit_constant(&t->out, reg, s->insn.rex & 8 ? rip_target(s) : (uint32_t)rip_target(s));
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
	emit_constant(&t->out, base, rip_target(s));
	place(t, s, PLACE_SPILLED, base);
	emit_rebased(t, s, base);
	if (into_itself)
		return;
	t->at_pc = behind(s);
	place(t, NULL, PLACE_SPILLED, base);
	emit_load(&t->out, base, CTX_SPILL);
}

static void emit_plain(struct translation *t, const struct step *s)
{
	if (s->insn.regs & X86_BIT(X86_R11))
		bring_r11(t, s);
	place(t, s, 0, 0);
	if (s->insn.traits & X86_RIP_RELATIVE)
		emit_rip_relative(t, s);
	else
		emit_bytes(&t->out, s->bytes, s->insn.len);
}

/* ---- Checkpoints ---- */

static void emit_checkpoint(struct translation *t, const struct step *s)
{
	struct emitter *e = &t->out;

	bring_bits(t, s);
	place(t, s, 0, 0);
	if (t->check_flags) {
		EMIT(e, 0x65, 0x4c, 0x3b, 0x1c, 0x25); /* cmp r11, gs:[limit] */
		emit_u32(e, CTX_LIMIT);
		place(t, s, PLACE_BETWEEN, 0); /* its flags are lost until the instruction that follows has run */
		t->check_site = emit_jcc(e, 3); /* jae */
		t->check_back = e->len;
		return;
	}
	/* Flags are alive: rcx tests the highest 16 bits, and the wish to stop. */
	emit_store(e, X86_R11, CTX_BITS);
	emit_store(e, X86_RCX, CTX_RCX);
	place(t, s, PLACE_BETWEEN, 0);
	EMIT(e, 0x65, 0x0f, 0xb7, 0x0c, 0x25); /* movzx ecx, word gs:[bits+6] */
	emit_u32(e, CTX_BITS + 6);
	EMIT(e, 0xe3, 5); /* jrcxz over the jump */
	t->check_site = emit_jump(e);
	EMIT(e, 0x65, 0x8b, 0x0c, 0x25); /* mov ecx, gs:[stop] */
	emit_u32(e, CTX_STOP);
	EMIT(e, 0xe3, 5);
	emit_u8(e, 0xe9);
	emit_u32(e, (uint32_t)(t->check_site - (e->len + 4) - 1)); /* to the jump above */
	emit_load(e, X86_RCX, CTX_RCX);
	t->check_back = e->len;
}

/* Writes a record through the glue; the application's rcx is in the context. Goes on behind the int3, whose place is returned, or stops at it. */
static uint32_t emit_record(struct translation *t, uint32_t segment, enum branch_log_kind kind, uint32_t glue)
{
	struct emitter *e = &t->out;

	EMIT(e, 0x48, 0x8d, 0x0d); /* lea rcx, [rip+stop] */
	emit_u32(e, 9 + 10 + 5);
	emit_store(e, X86_RCX, CTX_BACK);
	emit_constant(e, X86_RCX, (uint64_t)kind << 32 | segment);
	emit_patch(e, emit_jump(e), region_address(CODE_AT) + glue);
	emit_u8(e, 0xcc);
	return (uint32_t)e->len - 1;
}

/* Behind the chain: the way to the glue, the stop, and the way back. */
static void emit_checkpoint_cold(struct translation *t, uint32_t *trap)
{
	struct emitter *e = &t->out;
	size_t back_site;

	emit_patch(e, t->check_site, e->base + e->len);
	if (t->check_flags) /* else it is there already, and rcx has been used */
		emit_store(e, X86_RCX, CTX_RCX);
	*trap = emit_record(t, t->chain.segment, BRANCH_LOG_DIRECT, t->cache->checkpoint);
	back_site = emit_jump(e);
	emit_patch(e, back_site, e->base + t->check_back);
}

/* ---- Branches ---- */

/* Pushes a return address; the jump that follows is `jump` bytes long, and emit_literal() comes behind it. */
static void emit_return_address(struct translation *t, uint64_t addr, uint32_t jump)
{
	struct emitter *e = &t->out;

	if (addr <= INT32_MAX) {
		emit_u8(e, 0x68); /* push imm32 */
		emit_u32(e, (uint32_t)addr);
		return;
	}
	EMIT(e, 0xff, 0x35); /* push [rip+jump] */
	emit_u32(e, jump);
}

static void emit_literal(struct translation *t, uint64_t addr)
{
	if (addr > INT32_MAX)
		emit_u64(&t->out, addr);
}

static void emit_conditional(struct translation *t, const struct step *s)
{
	struct emitter *e = &t->out;
	size_t site;

	bring_bits(t, s);
	if (!t->shifted) {
		place(t, s, 0, 0);
		emit_bit_shift(e);
		t->shifted = true;
	}
	place(t, s, 0, 0);
	if (s->insn.class == BT_INSN_JCC) {
		site = emit_jcc(e, s->insn.opcode & 15);
	} else {
		if (s->insn.traits & X86_ADDRESS32)
			emit_u8(e, 0x67);
		EMIT(e, s->insn.opcode, 2, 0xeb, 5);
		place(t, s, PLACE_BETWEEN, 0);
		site = emit_jump(e);
	}
	add_cold(t, site, target_of(s), EXIT_LINK);
	t->shifted = false;
	place(t, s, PLACE_BETWEEN, 0);
	emit_bit_set(e);
	t->at_pc = behind(s);
	place(t, NULL, 0, 0);
}

/* To wherever rcx says; rax and rcx are in the context. */
static void emit_dispatch(struct translation *t)
{
	EMIT(&t->out, 0x0f, 0xb7, 0xc1); /* movzx eax, cx */
	EMIT(&t->out, 0x65, 0xff, 0x24, 0xc5); /* jmp gs:[rax*8+table1] */
	emit_u32(&t->out, TABLE1_AT);
}

static void emit_return(struct translation *t, const struct step *s)
{
	struct emitter *e = &t->out;
	uint32_t pops = 8 + (s->insn.imm_size ? (uint32_t)(s->bytes[s->insn.imm_at] | s->bytes[s->insn.imm_at + 1] << 8) : 0);

	bring_bits(t, s);
	place(t, s, 0, 0);
	emit_store(e, X86_RCX, CTX_RCX);
	emit_store(e, X86_RAX, CTX_RAX);
	EMIT(e, 0x48, 0x8b, 0x0c, 0x24); /* mov rcx, [rsp] */
	place(t, s, PLACE_RAX_RCX, 0);
	EMIT(e, 0x48, 0x8d, 0xa4, 0x24); /* lea rsp, [rsp+pops] */
	emit_u32(e, pops);
	place(t, s, PLACE_BETWEEN, 0);
	emit_dispatch(t);
}

/* mov rcx, what the indirect jump or call leads to. */
static void emit_load_target(struct translation *t, const struct step *s)
{
	const struct x86_insn *in = &s->insn;
	uint8_t modrm = s->bytes[in->modrm_at];

	if (in->traits & X86_RIP_RELATIVE) {
		emit_constant(&t->out, X86_RCX, rip_target(s));
		place(t, s, PLACE_RAX_RCX, 0);
		EMIT(&t->out, 0x48, 0x8b, 0x09); /* mov rcx, [rcx] */
		return;
	}
	/* Prefixes but 3e (notrack) and f2 (bnd) and those without a meaning here; fs and the address size matter. */
	for (int i = 0; i < in->opcode_at; i++)
		if (s->bytes[i] == 0x64 || s->bytes[i] == 0x67)
			emit_u8(&t->out, s->bytes[i]);
	EMIT(&t->out, (uint8_t)(0x48 | (in->rex & 3)), 0x8b, (uint8_t)((modrm & 0xc7) | X86_RCX << 3));
	emit_bytes(&t->out, s->bytes + in->modrm_at + 1, (size_t)(in->len - in->modrm_at - 1));
}

static void emit_indirect(struct translation *t, const struct step *s)
{
	struct emitter *e = &t->out;

	if (s->insn.regs & X86_BIT(X86_R11))
		bring_r11(t, s);
	place(t, s, 0, 0);
	emit_store(e, X86_RCX, CTX_RCX);
	emit_store(e, X86_RAX, CTX_RAX);
	emit_load_target(t, s);
	place(t, s, PLACE_RAX_RCX, 0);
	if (t->r11_in) {
		emit_store(e, X86_R11, CTX_R11);
		emit_load(e, X86_R11, CTX_BITS);
		t->r11_in = false;
		place(t, s, PLACE_RAX_RCX, 0);
	}
	if (s->insn.class == BT_INSN_ICALL)
		emit_return_address(t, behind(s), DISPATCH_BYTES);
	place(t, s, PLACE_BETWEEN, 0);
	emit_dispatch(t);
	if (s->insn.class == BT_INSN_ICALL)
		emit_literal(t, behind(s));
}

/* The last branch, which closes a cycle: its record, when it has been executed but for the jump. */
static void emit_loop_record(struct translation *t, const struct step *s)
{
	if (!t->loops)
		return;
	emit_store(&t->out, X86_RCX, CTX_RCX);
	place(t, s, PLACE_BETWEEN, 0);
	t->loop_trap = emit_record(t, t->last_segment, BRANCH_LOG_LOOP, t->cache->checkpoint_record);
	t->loop_target = target_of(s);
}

static void emit_call(struct translation *t, const struct step *s)
{
	bring_bits(t, s);
	place(t, s, 0, 0);
	emit_return_address(t, behind(s), t->loops ? LOOP_RECORD_BYTES + 5 : 5);
	place(t, s, PLACE_BETWEEN, 0);
	emit_loop_record(t, s);
	add_cold(t, emit_jump(&t->out), target_of(s), EXIT_LINK);
	emit_literal(t, behind(s));
}

static void emit_end(struct translation *t, uint64_t pc, uint8_t kind)
{
	t->at_pc = pc;
	bring_bits(t, NULL);
	place(t, NULL, 0, 0);
	add_cold(t, emit_jump(&t->out), pc, kind);
}

/* ---- The chain ---- */

/* The indirect entry: is rcx ours, then the record. Ends where the records are full; gives the place of the jump to the body. */
static size_t emit_indirect_entry(struct translation *t)
{
	struct emitter *e = &t->out;
	size_t wrong, body;

	EMIT(e, 0x48, 0xb8); /* mov rax, -pc */
	emit_u64(e, -t->pc);
	EMIT(e, 0x48, 0x8d, 0x0c, 0x01); /* lea rcx, [rcx+rax] */
	EMIT(e, 0xe3, 5);		 /* jrcxz */
	wrong = emit_jump(e);
	emit_patch(e, wrong, region_address(CODE_AT) + t->cache->wrong);
	emit_load(e, X86_RCX, CTX_NEXT);
	EMIT(e, 0x65, 0x4c, 0x89, 0x99); /* mov gs:[rcx+records_end], r11 */
	emit_u32(e, RECORDS_END);
	EMIT(e, 0x65, 0x48, 0xc7, 0x81); /* mov qword gs:[rcx+records_end+8], segment: BRANCH_LOG_INDIRECT */
	emit_u32(e, RECORDS_END + 8);
	emit_u32(e, t->chain.segment);
	EMIT(e, 0x48, 0x8d, 0x49, 16); /* lea rcx, [rcx+16] */
	emit_store(e, X86_RCX, CTX_NEXT);
	emit_bits_empty(e);
	emit_load(e, X86_RAX, CTX_RAX);
	EMIT(e, 0xe3, 9 + 5); /* jrcxz full */
	emit_load(e, X86_RCX, CTX_RCX);
	body = emit_jump(e);
	emit_load(e, X86_RCX, CTX_RCX);
	return body;
}

static int kind_of(const struct step *s)
{
	return bt_insn_branch_kind(s->insn.class);
}

/* From the last instruction of a chain that its size limit ended to the branch behind it: segments are the same whatever chains
 * they were found in. Without one, *s is the last instruction before what is not for the cache. */
static void read_on(const struct translation *t, struct step *s)
{
	struct step next = *s;

	for (int i = 0; i < SEGMENT_INSNS; i++) {
		if (!fetch(t, behind(s), &next))
			return;
		*s = next;
		if (s->insn.class != BT_INSN_PLAIN)
			return;
	}
}

/* The segments of the chain. False without memory. */
static bool add_segments(struct translation *t)
{
	uint64_t start = t->pc;
	uint32_t number = SEGMENT_NONE;

	for (int i = 0; i < t->count; i++) {
		const struct step *s = &t->steps[i];
		bool last = i + 1 == t->count;
		struct segment seg;
		uint32_t n;

		struct step branch = *s;

		if (s->insn.class == BT_INSN_PLAIN && !last)
			continue;
		if (s->insn.class == BT_INSN_PLAIN && !t->ends_outside)
			read_on(t, &branch);
		s = &branch;
		seg = (struct segment){.pc = start, .from = s->pc, .end = behind(s), .to = behind(s), .kind = SEGMENT_FALL};
		if (s->insn.class != BT_INSN_PLAIN) {
			seg.kind = (uint8_t)kind_of(s);
			seg.tick = seg.kind == BT_BRANCH_JCC;
			seg.to = seg.kind == BT_BRANCH_JCC || seg.kind == BT_BRANCH_JMP || seg.kind == BT_BRANCH_CALL ? target_of(s) : 0;
		}
		n = segment_add(t->cache->segments, &seg);
		if (n == SEGMENT_NONE || n > INT32_MAX)
			return false;
		if (number == SEGMENT_NONE)
			number = n;
		t->last_segment = n;
		if (!code_cache_add_span(t->cache, seg.pc, seg.end))
			return false;
		start = seg.kind == BT_BRANCH_JMP ? seg.to : seg.end;
	}
	t->chain.segment = number;
	return number != SEGMENT_NONE;
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

/* Compares the chain's code with what it is made from; flags stay. Its bytes are one stretch: jumps are not followed. */
static void emit_comparison(struct translation *t)
{
	struct emitter *e = &t->out;
	const struct step *first = &t->steps[0];
	uint8_t bytes[MUTABLE_INSNS * BT_INSN_MAX + 8] = {0};
	size_t len = 0, pieces = 0, sites[MUTABLE_INSNS * BT_INSN_MAX];

	for (int i = 0; i < t->count; i++) {
		memcpy(bytes + len, t->steps[i].bytes, t->steps[i].insn.len);
		len += t->steps[i].insn.len;
	}
	place(t, first, 0, 0);
	emit_store(e, X86_RAX, CTX_RAX);
	emit_store(e, X86_RCX, CTX_RCX);
	emit_store(e, X86_RDX, CTX_RDX);
	place(t, first, PLACE_BETWEEN, 0);
	emit_constant(e, X86_RAX, t->pc);
	for (size_t at = 0, n; at < len; at += n) {
		uint64_t value = 0;

		n = len - at >= 8 ? 8 : len - at >= 4 ? 4 : len - at >= 2 ? 2 : 1;
		memcpy(&value, bytes + at, n);
		emit_piece(e, (uint32_t)at, n);
		emit_constant(e, X86_RDX, -value);
		EMIT(e, 0x48, 0x8d, 0x0c, 0x11, 0xe3, 5); /* lea rcx, [rcx+rdx]; jrcxz over the jump */
		sites[pieces++] = emit_jump(e);
	}
	EMIT(e, 0xeb, 3 * 9 + 5); /* jmp over what follows */
	for (size_t i = 0; i < pieces; i++)
		emit_patch(e, sites[i], e->base + e->len);
	emit_load(e, X86_RAX, CTX_RAX);
	emit_load(e, X86_RCX, CTX_RCX);
	emit_load(e, X86_RDX, CTX_RDX);
	add_cold(t, emit_jump(e), t->pc, EXIT_CHANGED);
	emit_load(e, X86_RAX, CTX_RAX);
	emit_load(e, X86_RCX, CTX_RCX);
	emit_load(e, X86_RDX, CTX_RDX);
}

static void emit_last_jump(struct translation *t, const struct step *s)
{
	bring_bits(t, s);
	place(t, s, 0, 0);
	emit_loop_record(t, s);
	add_cold(t, emit_jump(&t->out), target_of(s), EXIT_LINK);
}

static void emit_step(struct translation *t, int i)
{
	const struct step *s = &t->steps[i];
	static void (*const rows[BT_INSN_CLASSES])(struct translation *, const struct step *) = {
		[BT_INSN_PLAIN] = emit_plain, [BT_INSN_JCC] = emit_conditional, [BT_INSN_JRCXZ] = emit_conditional,
		[BT_INSN_LOOP] = emit_conditional, [BT_INSN_CALL] = emit_call, [BT_INSN_RET] = emit_return,
		[BT_INSN_IJMP] = emit_indirect, [BT_INSN_ICALL] = emit_indirect,
	};

	if (i == t->check_at)
		emit_checkpoint(t, s);
	if (i == 0 && t->mutable)
		emit_comparison(t);
	/* The bit is shifted before the instruction that sets the flags, not between it and its branch: those two then fuse. */
	if (s->insn.class == BT_INSN_PLAIN && i + 1 < t->count && t->steps[i + 1].insn.class == BT_INSN_JCC && !t->r11_in &&
	    !(s->insn.regs & X86_BIT(X86_R11)) && !(i + 1 == t->check_at)) {
		place(t, s, i == t->check_at && t->check_flags ? PLACE_BETWEEN : 0, 0);
		emit_bit_shift(&t->out);
		t->shifted = true;
	}
	if (s->insn.class == BT_INSN_JMP) {
		place(t, s, 0, 0);
		if (!s->inlined_jump)
			emit_last_jump(t, s);
		return;
	}
	if (rows[s->insn.class])
		rows[s->insn.class](t, s);
	if (i == t->check_at && t->check_flags)
		for (int k = 0; k < t->place_count; k++) /* until this instruction has run */
			if (t->places[k].pc == (int32_t)(int64_t)(s->pc - t->pc) && t->check_back <= t->places[k].at)
				t->places[k].state |= PLACE_BETWEEN;
}

static bool goes_on(const struct step *s)
{
	return s->insn.class == BT_INSN_PLAIN || is_conditional(s);
}

static void emit_exits(struct translation *t)
{
	struct cache_exit loop = {.trap = t->chain.start + t->loop_trap, .target = t->loop_target, .kind = EXIT_STOP};
	uint32_t trap;

	if (t->loop_trap && !t->out.overflow)
		t->out.overflow = !code_cache_add_exit(t->cache, &loop);
	for (int i = 0; i < t->cold_count; i++) {
		const struct cold *c = &t->cold[i];
		struct cache_exit x = {.trap = t->chain.start + (uint32_t)t->out.len, .site = t->chain.start + (uint32_t)c->site,
				       .target = c->target, .kind = c->kind};

		emit_patch(&t->out, c->site, t->out.base + t->out.len);
		emit_u8(&t->out, 0xcc);
		if (!t->out.overflow)
			t->out.overflow = !code_cache_add_exit(t->cache, &x);
	}
	if (t->check_site) {
		struct cache_exit x = {.kind = EXIT_STOP, .target = t->steps[t->check_at].pc};

		emit_checkpoint_cold(t, &trap);
		x.trap = t->chain.start + trap;
		if (!t->out.overflow)
			t->out.overflow = !code_cache_add_exit(t->cache, &x);
	}
}

static void emit_chain(struct translation *t, bool indirect)
{
	struct emitter *e = &t->out;

	if (indirect) {
		size_t to_body = emit_indirect_entry(t);

		t->chain.indirect = t->chain.start;
		add_cold(t, emit_jump(e), t->pc, EXIT_STOP); /* the records are full */
		emit_patch(e, to_body, e->base + e->len);
	}
	t->chain.body = t->chain.start + (uint32_t)e->len;
	for (int i = 0; i < t->count; i++)
		emit_step(t, i);
	if (t->ends_outside)
		emit_end(t, t->next, EXIT_OUTSIDE);
	else if (goes_on(&t->steps[t->count - 1]))
		emit_end(t, behind(&t->steps[t->count - 1]), EXIT_LINK);
	place(t, NULL, PLACE_BETWEEN, 0);
	emit_exits(t);
}

static bool add_places(struct translation *t)
{
	t->chain.place_first = t->cache->place_count;
	t->chain.place_count = (uint32_t)t->place_count;
	for (int i = 0; i < t->place_count; i++)
		if (!code_cache_add_place(t->cache, &t->places[i]))
			return false;
	return true;
}

static uint32_t build(struct translation *t, bool indirect)
{
	struct code_cache *c = t->cache;
	uint8_t *bytes;
	uint32_t number;

	if (!code_cache_room(c, CHAIN_BYTES, &bytes, &t->chain.start))
		return CHAIN_NONE;
	t->out = (struct emitter){.bytes = bytes, .room = CHAIN_BYTES, .base = region_address(CODE_AT + t->chain.start)};
	t->chain.pc = t->pc;
	t->chain.span_first = c->span_count;
	if (!add_segments(t))
		return CHAIN_NONE;
	t->chain.span_count = c->span_count - t->chain.span_first;
	emit_chain(t, indirect);
	if (t->out.overflow || !add_places(t))
		return CHAIN_NONE;
	t->chain.end = t->chain.start + (uint32_t)t->out.len;
	number = code_cache_add(c, &t->chain);
	if (number != CHAIN_NONE && indirect)
		code_cache_publish(c, number);
	return number;
}

uint32_t translator_translate(struct code_cache *c, const struct code_source *source, uint64_t pc, bool indirect)
{
	struct translation *t = calloc(1, sizeof *t);
	uint32_t number = CHAIN_NONE;

	if (!t)
		return CHAIN_NONE;
	t->cache = c;
	t->source = source;
	t->pc = pc;
	read_chain(t);
	if (t->count) {
		place_checkpoint(t);
		number = build(t, indirect);
		if (number == CHAIN_NONE) /* half a chain has left exits and places: begin anew */
			code_cache_clear(c);
	}
	free(t);
	return number;
}
