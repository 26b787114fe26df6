/* SPDX-License-Identifier: MIT */
#include "collector/backend/engine/x86/operand.h"

#include <string.h>

uint64_t *operand_register(struct bt_regs *r, unsigned reg)
{
	uint64_t *const regs[] = {&r->rax, &r->rcx, &r->rdx, &r->rbx, &r->rsp, &r->rbp,
				  &r->rsi, &r->rdi, &r->r8,  &r->r9,  &r->r10, &r->r11,
				  &r->r12, &r->r13, &r->r14, &r->r15};

	return regs[reg & 15];
}

uint64_t operand_address(const struct x86_insn *insn, const uint8_t *bytes, struct bt_regs *r,
			 uint64_t from)
{
	unsigned modrm = bytes[insn->modrm_at], base = modrm & 7, sib = 0;
	uint64_t addr = 0;
	int32_t wide;

	if (insn->disp_size == sizeof wide) {
		memcpy(&wide, bytes + insn->disp_at, sizeof wide);
		addr = (uint64_t)(int64_t)wide;
	} else if (insn->disp_size) {
		addr = (uint64_t)(int64_t)(int8_t)bytes[insn->disp_at];
	}
	if (base == X86_RSP) {
		unsigned index;

		sib = bytes[insn->modrm_at + 1];
		base = sib & 7;
		index = (sib >> 3 & 7) | (insn->rex & 2) << 2;
		if (index != X86_RSP)
			addr += *operand_register(r, index) << (sib >> 6);
	}
	if (insn->traits & X86_RIP_RELATIVE)
		addr += from + insn->len;
	else if (base != X86_RBP || modrm >> 6)
		addr += *operand_register(r, base | (insn->rex & 1) << 3);
	if (insn->traits & X86_ADDRESS32)
		addr = (uint32_t)addr;
	return insn->traits & X86_SEGMENT ? addr + r->fs_base : addr;
}
