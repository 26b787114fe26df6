/* SPDX-License-Identifier: MIT */
#include "lib/system_store.h"

#include <string.h>

#include <Zydis/Zydis.h>

#include "lib/array_size.h"

/* The base of a table, which follows a limit of 0; or what is stored of a word. */
static const struct {
	ZydisMnemonic mnemonic;
	bool is_table;
	uint64_t value;
} rows[] = {
	{ZYDIS_MNEMONIC_SGDT, true, 0xfffffffffffe0000},
	{ZYDIS_MNEMONIC_SIDT, true, 0xffffffffffff0000},
	{ZYDIS_MNEMONIC_SMSW, false, 0x80050033}, /* CR0_STATE */
	{ZYDIS_MNEMONIC_SLDT, false, 0},          /* of a program without an LDT */
	{ZYDIS_MNEMONIC_STR, false, 0x40},        /* GDT_ENTRY_TSS * 8 */
};

enum { LIMIT = 2, WORD = 2, REGISTERS = 16 };

/* General register i in the processor's order. */
static uint64_t *register_of(struct bt_regs *r, unsigned i)
{
	uint64_t *all[REGISTERS] = {&r->rax, &r->rcx, &r->rdx, &r->rbx, &r->rsp, &r->rbp,
				    &r->rsi, &r->rdi, &r->r8,  &r->r9,  &r->r10, &r->r11,
				    &r->r12, &r->r13, &r->r14, &r->r15};

	return all[i];
}

static bool address_of(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *op,
		       const struct bt_regs *regs, uint64_t *addr)
{
	ZydisRegisterContext context = {0};
	struct bt_regs r = *regs;

	for (unsigned i = 0; i < REGISTERS; i++) {
		context.values[ZYDIS_REGISTER_RAX + i] = *register_of(&r, i);
		context.values[ZYDIS_REGISTER_EAX + i] = (uint32_t)*register_of(&r, i);
	}
	if (ZYAN_FAILED(ZydisCalcAbsoluteAddressEx(z, op, r.rip, &context, addr)))
		return false;
	if (op->mem.segment == ZYDIS_REGISTER_FS)
		*addr += r.fs_base;
	if (op->mem.segment == ZYDIS_REGISTER_GS)
		*addr += r.gs_base;
	return true;
}

bool bt_system_store_decode(const uint8_t *bytes, size_t n, const struct bt_regs *regs,
			    struct bt_system_store *out)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction z;
	ZydisDecoder decoder;
	size_t i = 0;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, bytes, n, &z, operands)))
		return false;
	while (i < ARRAY_SIZE(rows) && rows[i].mnemonic != z.mnemonic)
		i++;
	if (i == ARRAY_SIZE(rows))
		return false;
	*out = (struct bt_system_store){.regs = *regs};
	out->regs.rip += z.length;
	if (operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER) {
		/* The kernel writes so many bytes, and leaves those above. */
		memcpy(register_of(&out->regs, (unsigned)ZydisRegisterGetId(operands[0].reg.value)),
		       &rows[i].value, z.operand_width / 8);
		return true;
	}
	out->n = rows[i].is_table ? LIMIT + sizeof rows[i].value : WORD;
	memcpy(out->bytes + (rows[i].is_table ? LIMIT : 0), &rows[i].value,
	       rows[i].is_table ? sizeof rows[i].value : WORD);
	return address_of(&z, &operands[0], regs, &out->addr);
}

bool bt_saved_parts_address(const uint8_t *bytes, size_t n, const struct bt_regs *regs,
			    uint64_t *addr)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction z;
	ZydisDecoder decoder;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, bytes, n, &z, operands)))
		return false;
	switch (z.mnemonic) {
	case ZYDIS_MNEMONIC_XSAVE:
	case ZYDIS_MNEMONIC_XSAVE64:
	case ZYDIS_MNEMONIC_XSAVEC:
	case ZYDIS_MNEMONIC_XSAVEC64:
	case ZYDIS_MNEMONIC_XSAVEOPT:
	case ZYDIS_MNEMONIC_XSAVEOPT64:
		return address_of(&z, &operands[0], regs, addr);
	default:
		return false;
	}
}
