/* SPDX-License-Identifier: MIT */
/* Instructions that save the state of the x87 unit, and with it the address of the x87 instruction
 * that was executed last (FIP, Intel SDM volume 1, 8.1.8): that is one in the cache. The program is
 * given 0, as under the stepper (tracee_clear_x87_address()).
 *
 * The cache's code overwrites the address in memory, as such instructions may be frequent: FNSTENV
 * in feclearexcept(3), XSAVE in the lazy binding of functions. Its own address it is not made
 * again: who translates code and who runs it are not the same, and AMD's processors mostly drop it
 * at a switch to another task, so that nobody can count on it.
 *
 * While a log is kept all of these pointers are given as 0: the selector and opcode of that
 * instruction, and the address and selector of its operand. A processor of AMD drops them with the
 * address, so they would tell of switches between tasks; others keep less of them (FCS and FDS
 * deprecation, FDP_EXCPTN_ONLY: Intel SDM volume 1, 8.1.8). */
#include <assert.h>

#include "collector/backend/engine/translate/translation.h"
#include "lib/array_size.h"

enum { POINTERS = 3 };

/* Bytes of the operand of such an instruction: 2, 4 or 8. */
struct saved_bytes {
	uint8_t at, bytes;
};

struct saving_insn {
	uint8_t map, opcode, reg;   /* map: enum x86_map; reg: ModRM.reg */
	struct saved_bytes address; /* with the selector behind it where that is reserved */
	struct saved_bytes pointers[POINTERS]; /* the address and others; bytes 0: no more */
	bool masked; /* it saves only parts that have a bit in eax and are in use; XSTATE_BV names
			them */
};

/* Where they are in the forms of fnstenv with operands of 32 and 16 bits and of fxsave (Intel SDM
 * volume 1, figures 8-9 and 8-11, table 10-2). */
#define POINTERS_32                         \
	{                                   \
		{12, 8}, {20, 4}, { 24, 2 } \
	}
#define POINTERS_16          \
	{                    \
		{            \
			6, 8 \
		}            \
	}
#define POINTERS_FXSAVE                   \
	{                                 \
		{6, 2}, {8, 8}, { 16, 8 } \
	}

static const struct saving_insn saving_insns[] = {
	{X86_MAP_1, 0xd9, 6, {12, 4}, POINTERS_32, false},     /* fnstenv */
	{X86_MAP_1, 0xdd, 6, {12, 4}, POINTERS_32, false},     /* fnsave */
	{X86_MAP_0F, 0xae, 0, {8, 8}, POINTERS_FXSAVE, false}, /* fxsave */
	{X86_MAP_0F, 0xae, 4, {8, 8}, POINTERS_FXSAVE, true},  /* xsave */
	{X86_MAP_0F, 0xae, 6, {8, 8}, POINTERS_FXSAVE, true},  /* xsaveopt */
	{X86_MAP_0F, 0xc7, 4, {8, 8}, POINTERS_FXSAVE, true},  /* xsavec */
};

/* The first two with an operand of 16 bits (REX.W comes before 66). */
static const struct saving_insn saving_16 = {.address = {6, 2}, .pointers = POINTERS_16};

enum {
	LOWEST_OPCODE = 0xae, /* of them */
	XSTATE_BV_AT = 512,
	X87_BIT = 1, /* of eax and XSTATE_BV */
};

static const struct saving_insn *saving_insn(const struct step *s)
{
	const struct x86_insn *in = &s->insn;
	unsigned modrm = in->modrm_at ? s->bytes[in->modrm_at] : 0xc0;

	if (in->map > X86_MAP_0F || in->opcode < LOWEST_OPCODE || modrm >= 0xc0 ||
	    (in->map == X86_MAP_0F && (in->prefix_66 || in->prefix_f2_f3)))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(saving_insns); i++) {
		const struct saving_insn *x = &saving_insns[i];

		if (x->map == in->map && x->opcode == in->opcode && x->reg == (modrm >> 3 & 7))
			return x->map == X86_MAP_1 && in->prefix_66 && !(in->rex & 8) ? &saving_16
										      : x;
	}
	return NULL;
}

static int64_t step_displacement(const struct step *s)
{
	const struct x86_insn *in = &s->insn;
	int32_t wide = 0;

	if (in->disp_size == sizeof wide)
		memcpy(&wide, s->bytes + in->disp_at, sizeof wide);
	return in->disp_size == 1 ? (int8_t)s->bytes[in->disp_at] : wide;
}

bool fragment_saves_x87(const struct step *s) { return saving_insn(s); }

bool fragment_reaches_x87(const struct step *s)
{
	return !(s->insn.traits & X86_ADDRESS32) &&
	       step_displacement(s) <= INT32_MAX - XSTATE_BV_AT;
}

/* Its ModRM byte, and SIB, with a 32-bit displacement; reg: the other operand's number. Without a
 * base mod stays 0. */
static void emit_operand(struct emitter *e, const struct step *s, unsigned reg, uint32_t at)
{
	unsigned modrm = s->bytes[s->insn.modrm_at], sib = s->bytes[s->insn.modrm_at + 1];
	bool has_sib = (modrm & 7) == 4,
	     no_base = modrm < 0x40 && ((has_sib ? sib : modrm) & 7) == 5;

	emit_u8(e, (uint8_t)((no_base ? 0 : 0x80) | reg << 3 | (modrm & 7)));
	if (has_sib)
		emit_u8(e, (uint8_t)sib);
	emit_u32(e, (uint32_t)step_displacement(s) + at);
}

/* The prefixes before the opcode: W is REX.W or 0. */
static void emit_prefixes(struct emitter *e, const struct step *s, unsigned w)
{
	unsigned rex = 0x40 | w | (s->insn.rex & 3);

	if (s->insn.traits & X86_SEGMENT)
		emit_u8(e, 0x64);
	if (rex != 0x40)
		emit_u8(e, (uint8_t)rex);
}

/* Emits the instruction made, as if it were one of the application's that ends where s ends. */
static void emit_made(struct translation *t, const struct step *s, struct step *made)
{
	int rc = x86_decode(made->bytes, sizeof made->bytes, &made->insn);

	assert(!rc);
	made->pc = step_end(s) - made->insn.len;
	fragment_emit_plain(t, made);
}

static void emit_clear_bytes(struct translation *t, const struct step *s,
			     const struct saved_bytes *b)
{
	struct step clear = {.pc = 0};
	struct emitter e = {.bytes = clear.bytes, .room = BT_INSN_MAX};

	if (b->bytes == 2)
		emit_u8(&e, 0x66);
	emit_prefixes(&e, s, b->bytes == 8 ? 8 : 0);
	emit_u8(&e, 0xc7); /* mov [...], 0 */
	emit_operand(&e, s, 0, b->at);
	emit_bytes(&e, (const uint8_t[4]){0}, b->bytes == 2 ? 2 : 4);
	emit_made(t, s, &clear);
}

static void emit_clear(struct translation *t, const struct step *s, const struct saving_insn *x)
{
	if (!t->cache->kind.logged) {
		emit_clear_bytes(t, s, &x->address);
		return;
	}
	for (size_t i = 0; i < POINTERS && x->pointers[i].bytes; i++)
		emit_clear_bytes(t, s, &x->pointers[i]);
}

/* Jumps, to be patched by the caller, when the lowest bit of ecx is 0; changes that and no flag. */
static size_t emit_unless_bit(struct emitter *e)
{
	_Static_assert(X87_BIT == 1, "the lowest one");
	EMIT(e, 0x8d, 0x0c, 0xcd, 0, 0, 0, 0); /* lea ecx, [rcx*8] */
	EMIT(e, 0x8d, 0x0c, 0xcd, 0, 0, 0, 0);
	EMIT(e, 0x8d, 0x0c, 0x09); /* lea ecx, [rcx+rcx] */
	EMIT(e, 0x0f, 0xb6, 0xc9); /* movzx ecx, cl */
	EMIT(e, 0xe3, 0);          /* jrcxz */
	return e->len;
}

static void emit_load_parts(struct translation *t, const struct step *s)
{
	struct step load = {.pc = 0};
	struct emitter e = {.bytes = load.bytes, .room = BT_INSN_MAX};

	emit_prefixes(&e, s, 0);
	EMIT(&e, 0x0f, 0xb6); /* movzx ecx, byte [...] */
	emit_operand(&e, s, X86_RCX, XSTATE_BV_AT);
	emit_made(t, s, &load);
}

/* The same where the address is there: else these bytes are as they were. */
static void emit_clear_if_saved(struct translation *t, const struct step *s,
				const struct saving_insn *x)
{
	struct emitter *e = &t->out;
	size_t not_asked, not_in_use;

	emit_store(e, X86_RCX, CTX_RCX);
	EMIT(e, 0x89, 0xc1); /* mov ecx, eax */
	not_asked = emit_unless_bit(e);
	emit_load(e, X86_RCX, CTX_RCX);
	emit_load_parts(t, s);
	not_in_use = emit_unless_bit(e);
	emit_load(e, X86_RCX, CTX_RCX);
	emit_clear(t, s, x);
	emit_short(e, not_asked, e->len);
	emit_short(e, not_in_use, e->len);
	emit_load(e, X86_RCX, CTX_RCX);
}

void fragment_emit_x87_save(struct translation *t, const struct step *s, int first_entry)
{
	const struct saving_insn *x = saving_insn(s);
	size_t clears = t->out.len;

	fragment_map_state(t, s, STATE_BETWEEN, 0);
	(x->masked ? emit_clear_if_saved : emit_clear)(t, s, x);
	/* Before the end of this the code behind the instruction is not reached; nor does the
	 * instruction run again. */
	for (int i = first_entry; i < t->state_count; i++)
		if (t->state_map[i].at >= clears ||
		    t->state_map[i].pc != (int32_t)(int64_t)(s->pc - t->pc))
			t->state_map[i].state |= STATE_BETWEEN;
	t->at_pc = step_end(s);
	fragment_map_state(t, NULL, 0, 0);
}
