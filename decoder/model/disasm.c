/* SPDX-License-Identifier: MIT */
/* Zydis decodes an instruction and formats it; this picks what people and the explanation of a
 * fault need. disasm_decode() keeps the bytes, the target of a direct branch and the operands in
 * memory, each as base, index, scale and displacement, with registers by their numbers in
 * regs.def. disasm_address() computes from registers what such an operand referred to.
 *
 * disasm_text() has Zydis make tokens, and puts the name of a function where a token is an
 * absolute address. */
#include "decoder/model/disasm.h"

#include <Zydis/Zydis.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/array_size.h"
#include "lib/error.h"

#define REG(name) (offsetof(struct bt_regs, name) / sizeof(uint64_t))

/* By ZydisRegister - ZYDIS_REGISTER_RAX. */
static const uint8_t general[] = {
	REG(rax), REG(rcx), REG(rdx), REG(rbx), REG(rsp), REG(rbp), REG(rsi), REG(rdi),
	REG(r8),  REG(r9),  REG(r10), REG(r11), REG(r12), REG(r13), REG(r14), REG(r15),
};

/* The number of the full register that holds a general register or rip. */
static uint8_t reg_number(ZydisRegister reg)
{
	ZydisRegister full = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);

	/* Zydis has no enclosing register for rip. */
	if (reg == ZYDIS_REGISTER_RIP || reg == ZYDIS_REGISTER_EIP)
		return REG(rip);
	if (full >= ZYDIS_REGISTER_RAX && full <= ZYDIS_REGISTER_R15)
		return general[full - ZYDIS_REGISTER_RAX];
	return DISASM_NO_REG;
}

/* In 64-bit mode the other segments have base 0. */
static uint8_t segment_number(ZydisRegister segment)
{
	if (segment == ZYDIS_REGISTER_FS)
		return REG(fs_base);
	return segment == ZYDIS_REGISTER_GS ? REG(gs_base) : DISASM_NO_REG;
}

static bool only_computes(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o)
{
	return o->mem.type == ZYDIS_MEMOP_TYPE_AGEN || z->mnemonic == ZYDIS_MNEMONIC_NOP ||
	       z->meta.category == ZYDIS_CATEGORY_PREFETCH;
}

static bool is_bit_test(ZydisMnemonic mnemonic)
{
	return mnemonic == ZYDIS_MNEMONIC_BT || mnemonic == ZYDIS_MNEMONIC_BTS ||
	       mnemonic == ZYDIS_MNEMONIC_BTR || mnemonic == ZYDIS_MNEMONIC_BTC;
}

static bool is_masked(const ZydisDecodedInstruction *z)
{
	static const ZydisMnemonic moves[] = {
		ZYDIS_MNEMONIC_MASKMOVQ,   ZYDIS_MNEMONIC_MASKMOVDQU, ZYDIS_MNEMONIC_VMASKMOVDQU,
		ZYDIS_MNEMONIC_VMASKMOVPS, ZYDIS_MNEMONIC_VMASKMOVPD, ZYDIS_MNEMONIC_VPMASKMOVD,
		ZYDIS_MNEMONIC_VPMASKMOVQ,
	};

	for (size_t i = 0; i < ARRAY_SIZE(moves); i++)
		if (z->mnemonic == moves[i])
			return true;
	return z->avx.mask.reg != ZYDIS_REGISTER_NONE && z->avx.mask.reg != ZYDIS_REGISTER_K0;
}

/* Whether the instruction is of a set that every x86-64 processor has. Sets with an instruction
 * that is illegal on purpose, such as ud2, are left out, too. */
static bool is_basic(const ZydisDecodedInstruction *z)
{
	static const ZydisISASet sets[] = {
		ZYDIS_ISA_SET_I86,      ZYDIS_ISA_SET_I186,        ZYDIS_ISA_SET_I386,
		ZYDIS_ISA_SET_I486REAL, ZYDIS_ISA_SET_PENTIUMREAL, ZYDIS_ISA_SET_PENTIUMMMX,
		ZYDIS_ISA_SET_X87,      ZYDIS_ISA_SET_CMOV,        ZYDIS_ISA_SET_FCMOV,
		ZYDIS_ISA_SET_FAT_NOP,  ZYDIS_ISA_SET_SSE,         ZYDIS_ISA_SET_SSE2,
		ZYDIS_ISA_SET_SSEMXCSR, ZYDIS_ISA_SET_LONGMODE,
	};

	for (size_t i = 0; i < ARRAY_SIZE(sets); i++)
		if (z->meta.isa_set == sets[i])
			return true;
	return false;
}

static unsigned access_of(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o)
{
	if (only_computes(z, o))
		return 0;
	return (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ ? DISASM_READ : 0) |
	       (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE ? DISASM_WRITE : 0);
}

static struct disasm_memory memory_operand(const ZydisDecodedInstruction *z,
					   const ZydisDecodedOperand *o)
{
	struct disasm_memory m = {
		.access = (uint8_t)access_of(z, o),
		.implicit = o->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN,
		.masked = is_masked(z),
		.vector = o->mem.type == ZYDIS_MEMOP_TYPE_VSIB,
		.size = o->size / 8,
		.base = reg_number(o->mem.base),
		.index = reg_number(o->mem.index),
		.index_bits = z->address_width,
		.scale = o->mem.scale,
		.address_bits = z->address_width,
		.segment = segment_number(o->mem.segment),
		.bit_index = DISASM_NO_REG,
		.displacement = o->mem.disp.has_displacement ? o->mem.disp.value : 0,
	};

	if (m.implicit && m.base == REG(rsp) && m.access == DISASM_WRITE)
		m.displacement -= m.size;
	/* Intel SDM 2B, POP: an address with rsp is computed after rsp was incremented. */
	if (!m.implicit && m.base == REG(rsp) && z->mnemonic == ZYDIS_MNEMONIC_POP)
		m.displacement += m.size;
	if (z->mnemonic == ZYDIS_MNEMONIC_XLAT) {
		m.index = REG(rax);
		m.index_bits = 8;
		m.scale = 1;
	}
	return m;
}

static void add_memory(struct disasm *d, const ZydisDecodedInstruction *z,
		       const ZydisDecodedOperand *o)
{
	struct disasm_memory *m;

	if (o->type != ZYDIS_OPERAND_TYPE_MEMORY || d->memory_count == DISASM_MEMORY_MAX)
		return;
	m = &d->memory[d->memory_count++];
	*m = memory_operand(z, o);
	if (is_bit_test(z->mnemonic) && o[1].type == ZYDIS_OPERAND_TYPE_REGISTER)
		m->bit_index = reg_number(o[1].reg.value);
	if (!m->implicit || (m->base != REG(rsp) && z->mnemonic != ZYDIS_MNEMONIC_LEAVE))
		return;
	d->push = d->push || m->access == DISASM_WRITE;
	d->pop = d->pop || m->access == DISASM_READ;
}

static void note_written(struct disasm *d, const ZydisDecodedOperand *o)
{
	uint8_t number;

	if (o->type != ZYDIS_OPERAND_TYPE_REGISTER ||
	    !(o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
		return;
	number = reg_number(o->reg.value);
	if (number != DISASM_NO_REG)
		d->written |= UINT32_C(1) << number;
}

static bool is_register(const ZydisDecodedOperand *o)
{
	return o->type == ZYDIS_OPERAND_TYPE_REGISTER && reg_number(o->reg.value) != DISASM_NO_REG;
}

static void note_move(struct disasm *d, const ZydisDecodedInstruction *z,
		      const ZydisDecodedOperand *o)
{
	d->move_to = d->move_from = DISASM_NO_REG;
	if (z->mnemonic != ZYDIS_MNEMONIC_MOV || z->operand_width != 64 || !is_register(&o[0]) ||
	    (!is_register(&o[1]) && !d->memory_count))
		return;
	d->move_to = reg_number(o[0].reg.value);
	if (is_register(&o[1]))
		d->move_from = reg_number(o[1].reg.value);
}

/* movzx of a part of a register that is not its lowest is none of these. */
static bool is_low_part(ZydisRegister reg)
{
	return reg < ZYDIS_REGISTER_AH || reg > ZYDIS_REGISTER_BH;
}

static void note_result(struct disasm *d, const ZydisDecodedInstruction *z,
			const ZydisDecodedOperand *o)
{
	static const struct {
		ZydisMnemonic mnemonic;
		enum disasm_effect effect;
	} effects[] = {
		{ZYDIS_MNEMONIC_MOV, DISASM_COPY},     {ZYDIS_MNEMONIC_MOVZX, DISASM_COPY},
		{ZYDIS_MNEMONIC_MOVSX, DISASM_EXTEND}, {ZYDIS_MNEMONIC_MOVSXD, DISASM_EXTEND},
		{ZYDIS_MNEMONIC_CDQE, DISASM_EXTEND},  {ZYDIS_MNEMONIC_LEA, DISASM_ADDRESS},
		{ZYDIS_MNEMONIC_ADD, DISASM_ADD},      {ZYDIS_MNEMONIC_SHL, DISASM_SHIFT_UP},
	};
	struct disasm_result r = {.effect = DISASM_OTHER};
	const ZydisDecodedOperand *from = &o[1];

	for (size_t i = 0; i < ARRAY_SIZE(effects); i++)
		if (z->mnemonic == effects[i].mnemonic)
			r.effect = (uint8_t)effects[i].effect;
	/* A write to 32 bits clears the others: a 32-bit copy sets the whole register, too. */
	if (!r.effect || !is_register(&o[0]) || z->address_width != 64 ||
	    (o[0].size != 64 && (o[0].size != 32 || r.effect != DISASM_COPY)))
		return;
	r.to = reg_number(o[0].reg.value);
	r.from = DISASM_NO_REG;
	r.size = (uint8_t)(from->size / 8);
	if (from->type == ZYDIS_OPERAND_TYPE_REGISTER) {
		if (!is_register(from) || !is_low_part(from->reg.value))
			return;
		r.from = reg_number(from->reg.value);
	} else if (from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
		r.is_number = true;
		r.number = from->imm.value.u;
		if (o[0].size == 32)
			r.number &= UINT32_MAX;
		r.size = 8;
	} else if (from->type != ZYDIS_OPERAND_TYPE_MEMORY || !d->memory_count) {
		return;
	}
	d->result = r;
}

int disasm_decode(struct disasm *d, const uint8_t *bytes, size_t n, uint64_t addr)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT] = {0};
	ZydisDecodedInstruction z;
	ZydisDecoder decoder;
	struct bt_insn insn;
	int rc = bt_insn_decode(bytes, n, &insn);

	*d = (struct disasm){0};
	if (rc)
		return rc;
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, bytes, n, &z, operands)))
		return -BT_E_CORRUPT;
	d->addr = addr;
	d->len = insn.len;
	d->class = insn.class;
	d->is_basic = is_basic(&z);
	d->has_target = z.raw.imm[0].is_relative;
	d->target = addr + insn.len + (uint64_t)insn.displacement;
	memcpy(d->bytes, bytes, insn.len);
	/* Hidden operands come last. */
	for (unsigned i = 0; i < z.operand_count; i++)
		add_memory(d, &z, &operands[i]);
	for (unsigned i = 0; i < z.operand_count; i++)
		note_written(d, &operands[i]);
	note_move(d, &z, operands);
	note_result(d, &z, operands);
	return 0;
}

static uint64_t truncate_to(uint64_t v, unsigned bits)
{
	return bits < 64 ? v & ((1ull << bits) - 1) : v;
}

/* The bytes that the bit number in a register adds to the address of a bt: it counts bits as a
 * signed number of the operand's size, and whole operands are stepped over (Intel SDM 2A, BT). */
static uint64_t bit_offset(const struct disasm_memory *m, const struct bt_regs *regs)
{
	unsigned bits = m->size * 8u;
	int64_t bit = (int64_t)(bt_regs_get(regs, m->bit_index) << (64 - bits)) >> (64 - bits);

	return (uint64_t)((bit & -(int64_t)bits) / 8);
}

bool disasm_address(const struct disasm *d, const struct disasm_memory *m,
		    const struct bt_regs *regs, uint64_t *addr)
{
	uint64_t at = (uint64_t)m->displacement;

	if (m->vector)
		return false;
	if (m->base == REG(rip))
		at += d->addr + d->len;
	else if (m->base != DISASM_NO_REG)
		at += bt_regs_get(regs, m->base);
	if (m->index != DISASM_NO_REG)
		at += truncate_to(bt_regs_get(regs, m->index), m->index_bits) * m->scale;
	if (m->bit_index != DISASM_NO_REG && m->size && m->size <= 8)
		at += bit_offset(m, regs);
	at = truncate_to(at, m->address_bits);
	if (m->segment != DISASM_NO_REG)
		at += bt_regs_get(regs, m->segment);
	*addr = at;
	return true;
}

/* Text under construction in a buffer that may be too short for it. */
struct operand_text {
	char *at;
	size_t left;
};

static void put_string(struct operand_text *t, const char *s)
{
	size_t n = strlen(s);

	if (n >= t->left)
		n = t->left - 1;
	memcpy(t->at, s, n);
	t->at += n;
	t->left -= n;
	*t->at = '\0';
}

static void put_number(struct operand_text *t, const char *before, uint64_t v)
{
	char number[40];

	snprintf(number, sizeof number, "%s0x%" PRIx64, before, v);
	put_string(t, number);
}

/* The only address an instruction can have in its text: the target of a direct branch, or a
 * rip-relative operand's. */
static uint64_t address_in_text(const struct disasm *d)
{
	struct bt_regs none = {0};
	uint64_t addr = d->target;

	if (!d->has_target && d->memory_count)
		disasm_address(d, &d->memory[0], &none, &addr);
	return addr;
}

static void put_address(struct operand_text *t, const struct disasm *d,
			const struct disasm_style *style)
{
	uint64_t addr = address_in_text(d);
	char name[DISASM_TEXT_MAX];

	if (style && style->name && style->name(style->arg, addr, name, sizeof name))
		put_string(t, name);
	else
		put_number(t, "", addr);
}

static void formatter_init(ZydisFormatter *f, const struct disasm_style *style)
{
	bool att = style && style->syntax == DISASM_ATT;

	ZydisFormatterInit(f, att ? ZYDIS_FORMATTER_STYLE_ATT : ZYDIS_FORMATTER_STYLE_INTEL);
	ZydisFormatterSetProperty(f, ZYDIS_FORMATTER_PROP_FORCE_SIZE, !att);
	ZydisFormatterSetProperty(f, ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE,
				  ZYDIS_PADDING_DISABLED);
	ZydisFormatterSetProperty(f, ZYDIS_FORMATTER_PROP_DISP_PADDING, ZYDIS_PADDING_DISABLED);
	ZydisFormatterSetProperty(f, ZYDIS_FORMATTER_PROP_IMM_PADDING, ZYDIS_PADDING_DISABLED);
	ZydisFormatterSetProperty(f, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE);
}

const char *disasm_text(const struct disasm *d, const struct disasm_style *style, char *out,
			size_t size)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisFormatterTokenConst *token;
	ZydisDecodedInstruction z;
	ZydisFormatter formatter;
	ZydisDecoder decoder;
	char buffer[1024];
	struct operand_text t = {.at = out, .left = size};

	if (!size)
		return out;
	*out = '\0';
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	formatter_init(&formatter, style);
	if (!d->len ||
	    ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, d->bytes, d->len, &z, operands)) ||
	    ZYAN_FAILED(ZydisFormatterTokenizeInstruction(&formatter, &z, operands,
							  z.operand_count_visible, buffer,
							  sizeof buffer, d->addr, &token, NULL))) {
		put_string(&t, "(bad)");
		return out;
	}
	do {
		ZydisTokenType type;
		ZyanConstCharPointer value;

		if (ZYAN_FAILED(ZydisFormatterTokenGetValue(token, &type, &value)))
			break;
		if (type == ZYDIS_TOKEN_ADDRESS_ABS)
			put_address(&t, d, style);
		else
			put_string(&t, value);
	} while (ZYAN_SUCCESS(ZydisFormatterTokenNext(&token)));
	return out;
}

/* The name of the part of a register that an address uses. */
static const char *part_name(uint8_t reg, unsigned bits)
{
	if (bits == 8)
		return "al";
	for (unsigned i = 0; bits == 32 && i < sizeof general; i++)
		if (general[i] == reg)
			return ZydisRegisterGetString(
				ZydisRegisterEncode(ZYDIS_REGCLASS_GPR32, (ZyanU8)i));
	return bt_reg_info[reg].name;
}

const char *disasm_memory_text(const struct disasm_memory *m, char *out, size_t size)
{
	struct operand_text t = {.at = out, .left = size};
	const char *plus = "";
	char scale[8];

	if (!size)
		return out;
	*out = '\0';
	if (m->segment != DISASM_NO_REG)
		put_string(&t, m->segment == REG(fs_base) ? "fs:" : "gs:");
	put_string(&t, "[");
	if (m->base != DISASM_NO_REG) {
		put_string(&t, part_name(m->base, m->address_bits));
		plus = "+";
	}
	if (m->index != DISASM_NO_REG) {
		snprintf(scale, sizeof scale, "*%u", m->scale);
		put_string(&t, plus);
		put_string(&t, part_name(m->index, m->index_bits));
		put_string(&t, m->scale > 1 ? scale : "");
		plus = "+";
	}
	if (m->vector) {
		put_string(&t, plus);
		put_string(&t, "vector");
		plus = "+";
	}
	if (!*plus)
		put_number(&t, "", (uint64_t)m->displacement);
	else if (m->displacement)
		put_number(&t, m->displacement < 0 ? "-" : "+",
			   m->displacement < 0 ? -(uint64_t)m->displacement
					       : (uint64_t)m->displacement);
	put_string(&t, "]");
	return out;
}
