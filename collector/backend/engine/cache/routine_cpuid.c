/* SPDX-License-Identifier: MIT */
/* CPUID in the cache. What it gives is the same on all processors of most machines, always
 * (processor.leaves): a table has it. Under a hypervisor the instruction takes as long as tens of
 * system calls. */
#include "collector/backend/engine/cache/routines_private.h"

enum { MOV = 0x8b, AND = 0x23, CMP = 0x3b };

/* An operation of a 32-bit register with gs:[rdx+at]. */
static void emit_with_row(struct emitter *e, uint8_t opcode, unsigned reg, size_t at)
{
	EMIT(e, 0x65, opcode, (uint8_t)(0x82 | reg << 3));
	emit_u32(e, (uint32_t)at);
}

void cpuid_emit_search(struct emitter *e, struct cpuid_sites *table, struct forward *unknown)
{
	size_t again, back, other, found;

	emit_is_zero(e, CTX_CPUID);
	emit_jump_if(e, unknown, CC_E);
	emit_u8(e, 0xba); /* mov edx, table */
	table->begin = e->len;
	emit_u32(e, 0);
	again = e->len;
	EMIT(e, 0x81, 0xfa); /* cmp edx, its end */
	table->end = e->len;
	emit_u32(e, 0);
	emit_jump_if(e, unknown, CC_AE);
	emit_with_row(e, CMP, X86_RAX, offsetof(struct processor_leaf, leaf));
	other = emit_jcc(e, CC_NE);
	EMIT(e, 0x65, 0x8b, 0x0c, 0x25); /* mov ecx, gs:[rcx] */
	emit_u32(e, CTX_RCX);
	emit_with_row(e, AND, X86_RCX, offsetof(struct processor_leaf, subleaf_mask));
	emit_with_row(e, CMP, X86_RCX, offsetof(struct processor_leaf, subleaf));
	found = short_jump(e, JE);
	emit_patch(e, other, e->base + e->len);
	EMIT(e, 0x83, 0xc2, sizeof(struct processor_leaf)); /* add edx, row */
	back = short_jump(e, JMP8);
	e->bytes[back - 1] = (uint8_t)(again - back);
	land_jump(e, found);
}

void cpuid_emit_known(struct emitter *e, uint8_t to)
{
	emit_load(e, X86_RCX, CTX_BACK);
	EMIT(e, 0x48, 0x8d, 0x49, to); /* lea rcx, [rcx+to] */
	emit_store(e, X86_RCX, CTX_ENTRY);
	restore_flags(e);
	EMIT(e, 0x0f, 0xae, 0xf0, 0x0f, 0xae,
	     0xe8); /* mfence; lfence: CPUID waits for what is before it */
	emit_with_row(e, MOV, X86_RAX, offsetof(struct processor_leaf, eax));
	emit_with_row(e, MOV, X86_RBX, offsetof(struct processor_leaf, ebx));
	emit_with_row(e, MOV, X86_RCX, offsetof(struct processor_leaf, ecx));
	emit_with_row(e, MOV, X86_RDX, offsetof(struct processor_leaf, edx));
	jump_through(e, CTX_ENTRY);
}

void routine_emit_cpuid(struct emitter *e, struct cpuid_sites *table)
{
	struct forward unknown = {.count = 0};

	emit_store(e, X86_RAX, CTX_RAX);
	emit_store(e, X86_RCX, CTX_RCX);
	EMIT(e, 0x9f, 0x0f, 0x90, 0xc0); /* lahf; seto al */
	emit_store(e, X86_RAX, CTX_FLAGS);
	emit_load(e, X86_RAX, CTX_RAX);
	cpuid_emit_search(e, table, &unknown);
	cpuid_emit_known(e, CPUID_BYTES);
	land_all(e, &unknown);
	emit_load(e, X86_RDX, CTX_RDX);
	emit_back_to_syscall(e);
}

void cpuid_emit_leaves(struct emitter *e, const struct processor *p,
		       const struct cpuid_sites *table)
{
	uint32_t begin = CODE_AT + (uint32_t)e->len,
		 end = begin + p->leaf_count * (uint32_t)sizeof *p->leaves;

	emit_bytes(e, p->leaves, p->leaf_count * sizeof *p->leaves);
	memcpy(e->bytes + table->begin, &begin, sizeof begin);
	memcpy(e->bytes + table->end, &end, sizeof end);
}
