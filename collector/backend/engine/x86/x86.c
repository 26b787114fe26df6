/* SPDX-License-Identifier: MIT */
/* x86_decode() goes through an instruction once: prefixes, opcode, ModRM and operand, immediate.
 * The opcode leads to a form (x86_forms.h): eight bytes that say which parts follow, which
 * registers and flags are used, and whether the instruction may run in the cache. A form may refer
 * to others by the mandatory prefix or by ModRM (resolve_form()). Opcodes that stand for several
 * instructions have a case in take_quirk().
 *
 * An instruction that must run outside of the cache counts as touching all registers and flags.
 *
 * A short input is padded, and only at the end is it seen whether the instruction was longer. */
#include "collector/backend/engine/x86/x86.h"

#include <string.h>

#include "collector/backend/engine/x86/x86_forms.h"
#include "lib/error.h"

enum {
	/* The bytes that may be looked at before the length is compared with the limit: 15
	 * prefixes, 5 bytes of EVEX and opcode, ModRM, SIB and displacement. */
	LOOKAHEAD = 32
};

enum prefix {
	P_66 = 1,
	P_67 = 2,
	P_FS = 4,
	P_GS = 8,
	P_LOCK = 16,
	P_REPEAT = 32,  /* f2, f3 */
	P_IGNORED = 64, /* the other segments */
	P_REX = 128,
};

static const uint8_t prefixes[256] = {
	[0x26] = P_IGNORED,      [0x2e] = P_IGNORED, [0x36] = P_IGNORED, [0x3e] = P_IGNORED,
	[0x40 ... 0x4f] = P_REX, [0x64] = P_FS,      [0x65] = P_GS,      [0x66] = P_66,
	[0x67] = P_67,           [0xf0] = P_LOCK,    [0xf2] = P_REPEAT,  [0xf3] = P_REPEAT,
};

/* Bytes of the first immediate, and of all. */
struct imm_size {
	uint8_t first, all;
};

/* With 66, without, with REX.W. */
static const struct imm_size imm_sizes[][3] = {
	[IMM_NONE] = {{0, 0}, {0, 0}, {0, 0}},  [IMM_8] = {{1, 1}, {1, 1}, {1, 1}},
	[IMM_16] = {{2, 2}, {2, 2}, {2, 2}},    [IMM_Z] = {{2, 2}, {4, 4}, {4, 4}},
	[IMM_V] = {{2, 2}, {4, 4}, {8, 8}},     [IMM_ENTER] = {{2, 3}, {2, 3}, {2, 3}},
	[IMM_TWO_8] = {{1, 2}, {1, 2}, {1, 2}}, [IMM_REL8] = {{1, 1}, {1, 1}, {1, 1}},
	[IMM_REL32] = {{4, 4}, {4, 4}, {4, 4}}, [IMM_32] = {{4, 4}, {4, 4}, {4, 4}},
};

enum { REX_B = 1, REX_X = 2, REX_R = 4, REX_W = 8 };

/* One instruction while it is taken apart. */
struct scan {
	const uint8_t *bytes;
	unsigned at;       /* of the next byte */
	unsigned prefixes; /* set of enum prefix */
	unsigned extend;   /* REX_*, wherever they were */
	unsigned pp;       /* enum form_prefix */
	unsigned vvvv;
	struct x86_form form;
};

static const struct x86_form no_form;
static const struct x86_form xop_forms[3] = {
	{MODRM | FORM_OUTSIDE | IMM(8), 0, 0, 0},
	{MODRM | FORM_OUTSIDE, 0, 0, 0},
	{MODRM | FORM_OUTSIDE | IMM(32), 0, 0, 0},
};

static int32_t signed_32(const uint8_t *bytes)
{
	int32_t value;

	memcpy(&value, bytes, sizeof value);
	return value;
}

/* A REX byte counts only right before the opcode. */
static void take_prefixes(struct scan *s, struct x86_insn *insn)
{
	unsigned kind, byte = s->bytes[0], rex = 0;

	while ((kind = prefixes[byte])) {
		s->prefixes |= kind;
		rex = kind == P_REX ? byte : 0;
		if (kind == P_REPEAT)
			insn->prefix_f2_f3 = (uint8_t)byte;
		if (++s->at == BT_INSN_MAX)
			break;
		byte = s->bytes[s->at];
	}
	insn->rex = (uint8_t)rex;
	s->extend = rex & 15;
	if (s->prefixes & (P_REPEAT | P_66))
		s->pp = insn->prefix_f2_f3 ? (insn->prefix_f2_f3 == 0xf3 ? PP_F3 : PP_F2) : PP_66;
}

static void take_opcode(struct scan *s, struct x86_insn *insn, unsigned map)
{
	insn->map = (uint8_t)map;
	insn->opcode_at = (uint8_t)s->at;
	insn->opcode = s->bytes[s->at++];
}

static void find_legacy_form(struct scan *s, struct x86_insn *insn)
{
	unsigned map = X86_MAP_1;

	if (s->bytes[s->at] == 0x0f) {
		unsigned second = s->bytes[++s->at];

		map = second == 0x38 ? X86_MAP_0F38 : second == 0x3a ? X86_MAP_0F3A : X86_MAP_0F;
		s->at += map != X86_MAP_0F;
	}
	take_opcode(s, insn, map);
	s->form = x86_legacy_forms[map][insn->opcode];
}

/* The bits that VEX and its kin have inverted: R, X, B from the byte behind the first, vvvv from
 * the last. */
static void take_vex_fields(struct scan *s, unsigned rxb, unsigned last)
{
	s->extend = (~rxb >> 5 & 7) | (last & 0x80 ? REX_W : 0);
	s->vvvv = ~last >> 3 & 15;
	s->pp = last & 3;
}

static void find_vector_form(struct scan *s, struct x86_insn *insn, const uint8_t (*map)[256])
{
	take_opcode(s, insn, X86_MAP_OTHER);
	s->form = map ? x86_vector_forms[map[s->pp][insn->opcode]] : no_form;
}

static void find_vex2_form(struct scan *s, struct x86_insn *insn)
{
	unsigned b = s->bytes[s->at + 1];

	take_vex_fields(s, b | 0x60, b & 0x7f);
	s->at += 2;
	find_vector_form(s, insn, x86_vex_maps[1]);
}

static void find_vex3_form(struct scan *s, struct x86_insn *insn)
{
	unsigned map = s->bytes[s->at + 1] & 31;

	take_vex_fields(s, s->bytes[s->at + 1], s->bytes[s->at + 2]);
	s->at += 3;
	find_vector_form(s, insn, map < VEX_MAPS ? x86_vex_maps[map] : NULL);
}

/* Bit 3 of the second byte is 0, bit 2 of the third is 1. */
static void find_evex_form(struct scan *s, struct x86_insn *insn)
{
	unsigned map = s->bytes[s->at + 1] & 15;
	bool well_formed = map < EVEX_MAPS && s->bytes[s->at + 2] & 4;

	take_vex_fields(s, s->bytes[s->at + 1], s->bytes[s->at + 2]);
	s->at += 4;
	find_vector_form(s, insn, well_formed ? x86_evex_maps[map] : NULL);
}

static void find_xop_form(struct scan *s, struct x86_insn *insn)
{
	unsigned map = (s->bytes[s->at + 1] & 31) - 8;

	take_vex_fields(s, s->bytes[s->at + 1], s->bytes[s->at + 2]);
	s->at += 3;
	take_opcode(s, insn, X86_MAP_OTHER);
	s->form = map < 3 ? xop_forms[map] : no_form;
}

/* In 64-bit mode c4, c5 and 62 are VEX and EVEX before any byte; 8f is XOP where it would not be
 * pop. */
static void find_form(struct scan *s, struct x86_insn *insn)
{
	unsigned first = s->bytes[s->at];

	if (first == 0xc5)
		find_vex2_form(s, insn);
	else if (first == 0xc4)
		find_vex3_form(s, insn);
	else if (first == 0x62)
		find_evex_form(s, insn);
	else if (first == 0x8f && (s->bytes[s->at + 1] & 31) >= 8)
		find_xop_form(s, insn);
	else {
		find_legacy_form(s, insn);
		return;
	}
	if (s->prefixes & (P_66 | P_LOCK | P_REPEAT) || insn->rex)
		s->form = no_form;
}

/* Follows the references of the form; takes in ModRM, which may select. */
static unsigned resolve_form(struct scan *s, struct x86_insn *insn)
{
	unsigned modrm, mandatory;

	if (s->form.what & FORM_BY_PREFIX)
		s->form = x86_forms_by_prefix[s->form.regs][s->pp];
	mandatory = s->form.what >> FORM_MANDATORY_SHIFT;
	if (mandatory && !(mandatory >> s->pp & 1))
		s->form = no_form;
	if (!(s->form.what & FORM_MODRM))
		return 0xc0;
	insn->modrm_at = (uint8_t)s->at;
	modrm = s->bytes[s->at++];
	if (s->form.what & FORM_BY_REG) {
		unsigned row = s->form.regs + (s->form.what & FORM_SPLIT && modrm >= 0xc0);

		s->form = x86_forms_by_reg[row][modrm >> 3 & 7];
		mandatory = s->form.what >> FORM_MANDATORY_SHIFT;
		if (mandatory && !(mandatory >> s->pp & 1))
			s->form = no_form;
	}
	if (s->form.what & (modrm >= 0xc0 ? FORM_ONLY_MEMORY : FORM_NO_MEMORY))
		s->form = no_form;
	if (s->form.what & FORM_VSIB &&
	    (modrm & 7) != 4) /* it is the SIB byte that names the vector */
		s->form = no_form;
	return modrm;
}

/* The memory operand: the parts of its address. */
static unsigned take_memory(struct scan *s, struct x86_insn *insn, unsigned modrm)
{
	unsigned mod = modrm >> 6, base = modrm & 7,
		 size = mod == 1   ? 1
			: mod == 2 ? 4
				   : 0,
		 regs = 0;

	if (base == 4) {
		unsigned sib = s->bytes[s->at++], index = (sib >> 3 & 7) | (s->extend & REX_X) << 2;

		base = sib & 7;
		if (s->form.what & FORM_VSIB)
			insn->traits |= X86_GATHERED;
		else if (index != X86_RSP)
			regs = X86_BIT(index);
		if (base == 5 && !mod)
			size = 4;
		else
			regs |= X86_BIT(base | (s->extend & REX_B) << 3);
	} else if (base == 5 && !mod) {
		size = 4;
		insn->traits |= X86_RIP_RELATIVE;
		insn->displacement = signed_32(s->bytes + s->at);
	} else {
		regs = X86_BIT(base | (s->extend & REX_B) << 3);
	}
	if (size) {
		insn->disp_at = (uint8_t)s->at;
		insn->disp_size = (uint8_t)size;
		s->at += size;
	}
	return regs;
}

/* The register that three bits and an extension name. */
static unsigned register_bit(const struct x86_insn *insn, unsigned number, unsigned extension,
			     bool byte)
{
	if (byte && !insn->rex)
		return X86_BIT(number & 3);
	return X86_BIT(number | extension << 3);
}

static unsigned take_operands(struct scan *s, struct x86_insn *insn, unsigned modrm)
{
	uint32_t what = s->form.what;
	unsigned regs = 0;

	if (what & FORM_MODRM) {
		if (modrm < 0xc0 && !(what & FORM_MOD_IGNORED))
			regs = take_memory(s, insn, modrm);
		else if (what & FORM_RM)
			regs = register_bit(insn, modrm & 7, s->extend & REX_B,
					    what & FORM_BYTE_RM);
		if (what & FORM_REG)
			regs |= register_bit(insn, modrm >> 3 & 7, s->extend >> 2 & 1,
					     what & FORM_BYTE_REG);
		if (what & FORM_VVVV)
			regs |= X86_BIT(s->vvvv);
	} else if (what & FORM_OPCODE_REG) {
		regs = register_bit(insn, insn->opcode & 7, s->extend & REX_B, what & FORM_BYTE_RM);
	}
	return regs;
}

static void take_immediate(struct scan *s, struct x86_insn *insn)
{
	unsigned kind = s->form.what >> FORM_IMM_SHIFT & 15;
	const struct imm_size *size;

	if (kind == IMM_OFFSET) {
		insn->disp_at = (uint8_t)s->at;
		insn->disp_size = s->prefixes & P_67 ? 4 : 8;
		s->at += insn->disp_size;
		return;
	}
	size = &imm_sizes[kind][s->extend & REX_W ? 2 : s->prefixes & P_66 ? 0 : 1];
	if (!size->all)
		return;
	insn->imm_at = (uint8_t)s->at;
	insn->imm_size = size->first;
	if (kind == IMM_REL8)
		insn->displacement = (int8_t)s->bytes[s->at];
	else if (kind == IMM_REL32)
		insn->displacement = signed_32(s->bytes + s->at);
	s->at += size->all;
}

/* Opcodes that are several instructions. */
static void take_quirk(struct scan *s, struct x86_insn *insn, unsigned modrm)
{
	uint8_t last = s->bytes[s->at - 1];

	if (insn->map == X86_MAP_1 && insn->opcode == 0x90) {
		if (s->extend & REX_B && s->pp != PP_F3)
			s->form.regs = X86_BIT(X86_RAX) | X86_BIT(X86_R8);
	} else if (insn->map == X86_MAP_1 && insn->opcode == 0xc8) { /* enter */
		/* With a level (of 5 bits) it copies what may lie where it pushes: when it faults
		 * half-way and is raised again at its own address (engine_signals.c), it reads what
		 * it has pushed the first time. */
		if (last & 31)
			s->form.what |= FORM_OUTSIDE;
	} else if (insn->map == X86_MAP_1) { /* int */
		if (last == 0x80)
			insn->class = BT_INSN_SYSCALL;
	} else if (insn->opcode == 0x0f) { /* 3DNow! */
		insn->map = X86_MAP_OTHER;
		insn->opcode = last;
		insn->opcode_at = (uint8_t)(s->at - 1);
		insn->imm_at = insn->imm_size = 0;
	} else {
		for (size_t i = 0; i < x86_forms_0f01_count; i++)
			if (x86_forms_0f01[i].modrm == modrm &&
			    x86_forms_0f01[i].prefixes >> s->pp & 1)
				s->form = x86_forms_0f01[i].form;
	}
}

/* A gs prefix changes nothing where there is no memory operand; which instructions have an implicit
 * one is not known here. */
static bool gs_matters(const struct x86_insn *insn, unsigned modrm)
{
	if (insn->map == X86_MAP_0F ? insn->opcode == 0x1f
				    : insn->map == X86_MAP_1 && insn->opcode == 0x90)
		return false;
	return insn->class == BT_INSN_PLAIN || modrm < 0xc0;
}

/* LOCK is for what reads, changes and writes memory; elsewhere it raises #UD (Intel SDM volume 2,
 * LOCK), which must come before anything of ours does. */
static bool may_be_locked(const struct x86_insn *insn, unsigned modrm)
{
	unsigned op = insn->opcode, reg = modrm >> 3 & 7;

	if (modrm >= 0xc0)
		return false;
	if (insn->map == X86_MAP_0F) /* bts, btr, btc; cmpxchg, xadd; cmpxchg8b, cmpxchg16b */
		return op == 0xab || op == 0xb3 || op == 0xbb || (op == 0xba && reg > 4) ||
		       (op & ~1u) == 0xb0 || (op & ~1u) == 0xc0 || (op == 0xc7 && reg == 1);
	if (insn->map != X86_MAP_1)
		return false;
	if (op < 0x38) /* add, or, adc, sbb, and, sub, xor */
		return (op & 7) < 2;
	if (op >= 0x80 && op <= 0x83) /* the same with a constant, but for cmp */
		return reg < 7;
	return (op & ~1u) == 0x86 || ((op & ~1u) == 0xf6 && (reg & ~1u) == 2) ||
	       ((op & ~1u) == 0xfe && reg < 2); /* xchg; not, neg; inc, dec */
}

static bool must_run_outside(const struct scan *s, const struct x86_insn *insn, unsigned modrm)
{
	if (s->form.what & FORM_OUTSIDE)
		return true;
	/* 66 makes a branch a 16-bit one on some processors; REX.W comes before it (AMD APM volume
	 * 3, 1.2.7), as in calls of
	 * __tls_get_addr. */
	if (s->prefixes & P_66 && !(s->extend & REX_W) && insn->class != BT_INSN_PLAIN)
		return true;
	if (s->prefixes & P_67 && insn->traits & X86_RIP_RELATIVE)
		return true;
	/* AMD: f3 makes LOOPNE a LOOPE, f2 LOOPE a LOOPNE (seen on Zen 3). */
	if (s->prefixes & P_REPEAT && insn->map == X86_MAP_1 && (insn->opcode & 0xfe) == 0xe0)
		return true;
	if (s->prefixes & P_LOCK && !may_be_locked(insn, modrm))
		return true;
	return s->prefixes & P_GS && gs_matters(insn, modrm);
}

static void take_prefix_traits(const struct scan *s, struct x86_insn *insn)
{
	insn->prefix_66 = s->prefixes & P_66 ? 1 : 0;
	if (s->prefixes & P_67)
		insn->traits |= X86_ADDRESS32;
	if (s->prefixes & P_FS)
		insn->traits |= X86_SEGMENT;
	if (s->form.what & FORM_STRING && s->prefixes & P_REPEAT) {
		insn->traits |= X86_REPEATED;
		insn->flags_written = 0;
		insn->regs |= X86_BIT(X86_RCX);
	}
}

/* Traits that few instructions have: those of prefixes, of shifts by 0, and of instructions that
 * run outside the cache. */
static void take_the_rest(struct scan *s, struct x86_insn *insn, unsigned modrm)
{
	take_prefix_traits(s, insn);
	if (s->form.what & FORM_SHIFT &&
	    !(s->bytes[insn->imm_at] &
	      (s->extend & REX_W && !(s->form.what & FORM_BYTE_RM) ? 63 : 31)))
		insn->flags_written = 0;
	if (must_run_outside(s, insn, modrm)) {
		/* nothing is said of it: it may touch everything */
		insn->traits |= X86_OUTSIDE;
		insn->regs = 0xffff;
		insn->flags_read = X86_ARITHMETIC;
		insn->flags_written = 0;
	}
}

/* Returns false when it is no instruction. */
static bool scan_insn(struct scan *s, struct x86_insn *insn)
{
	unsigned modrm, regs;

	take_prefixes(s, insn);
	find_form(s, insn);
	modrm = resolve_form(s, insn);
	if (!(s->form.what & FORM_VALID))
		return false;
	regs = take_operands(s, insn, modrm);
	take_immediate(s, insn);
	insn->class = s->form.what >> FORM_CLASS_SHIFT & 15;
	if (s->form.what & FORM_QUIRK)
		take_quirk(s, insn, modrm);
	insn->len = (uint8_t)s->at;
	insn->regs = (uint16_t)(regs | s->form.regs);
	insn->flags_read = s->form.reads;
	insn->flags_written = s->form.writes;
	if (s->prefixes & ~(unsigned)P_REX || s->form.what & (FORM_OUTSIDE | FORM_SHIFT))
		take_the_rest(s, insn, modrm);
	return true;
}

int x86_decode(const uint8_t *bytes, size_t n, struct x86_insn *insn)
{
	uint8_t padded[LOOKAHEAD] = {0};
	struct scan s = {.bytes = bytes};
	bool valid;

	if (n < LOOKAHEAD) {
		if (n)
			memcpy(padded, bytes, n);
		s.bytes = padded;
	}
	*insn = (struct x86_insn){0};
	valid = scan_insn(&s, insn);
	if (valid && s.at <= n && s.at <= BT_INSN_MAX)
		return 0;
	*insn = (struct x86_insn){0};
	return s.at > n && n < BT_INSN_MAX ? -BT_E_TRUNCATED : -BT_E_CORRUPT;
}
