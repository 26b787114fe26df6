/* SPDX-License-Identifier: MIT */
#include "collector/engine/glue.h"

#include "collector/engine/emit.h"
#include "collector/engine/layout.h"

enum {
	TABLE2_MASK = (TABLE2_ENTRIES * 16 - 1) & ~15,
	JE = 0x74,
	JMP8 = 0xeb,
	JRCXZ = 0xe3,
};

static size_t short_jump(struct emitter *e, uint8_t opcode)
{
	EMIT(e, opcode, 0);
	return e->len;
}

static void land(struct emitter *e, size_t from)
{
	e->bytes[from - 1] = (uint8_t)(e->len - from);
}

static void restore_flags(struct emitter *e)
{
	emit_load(e, X86_RAX, CTX_FLAGS);
	EMIT(e, 0x04, 0x7f, 0x9e); /* add al, 0x7f: the overflow flag from al; sahf: the others from ah */
}

static void jump_through(struct emitter *e, uint32_t at)
{
	EMIT(e, 0x65, 0xff, 0x24, 0x25);
	emit_u32(e, at);
}

/* rcx: the address jumped to; the application's rax and rcx are in the context. To its chain's indirect entry, or the trap with the
 * application's flags. Keeps what it found in table 1. */
static void emit_search(struct code_cache *c, struct emitter *e)
{
	size_t again, found, null, absent, back;

	c->wrong = (uint32_t)e->len; /* rax = -(address of the chain), rcx = address jumped to - address of the chain */
	EMIT(e, 0x48, 0xf7, 0xd0);		/* not rax */
	EMIT(e, 0x48, 0x8d, 0x4c, 0x01, 0x01);	/* lea rcx, [rcx+rax+1] */
	c->miss = (uint32_t)e->len;
	EMIT(e, 0x9f, 0x0f, 0x90, 0xc0); /* lahf; seto al */
	emit_store(e, X86_RAX, CTX_FLAGS);
	EMIT(e, 0x48, 0x85, 0xc9); /* test rcx, rcx: 0 is what free entries hold */
	null = short_jump(e, JE);
	EMIT(e, 0x69, 0xc1); /* imul eax, ecx, multiplier */
	emit_u32(e, TABLE2_MULTIPLIER);
	EMIT(e, 0xc1, 0xe8, TABLE2_SHIFT); /* shr eax */
	again = e->len;
	EMIT(e, 0x25); /* and eax, mask */
	emit_u32(e, TABLE2_MASK);
	EMIT(e, 0x65, 0x48, 0x39, 0x88); /* cmp gs:[rax+table2], rcx */
	emit_u32(e, TABLE2_AT);
	found = short_jump(e, JE);
	EMIT(e, 0x65, 0x48, 0x83, 0xb8); /* cmp qword gs:[rax+table2], 0 */
	emit_u32(e, TABLE2_AT);
	emit_u8(e, 0);
	absent = short_jump(e, JE);
	EMIT(e, 0x83, 0xc0, 16); /* add eax, 16 */
	back = short_jump(e, JMP8);
	e->bytes[back - 1] = (uint8_t)(again - back);
	land(e, found);
	EMIT(e, 0x65, 0x48, 0x8b, 0x80); /* mov rax, gs:[rax+table2+8] */
	emit_u32(e, TABLE2_AT + 8);
	emit_store(e, X86_RDX, CTX_RDX);
	EMIT(e, 0x0f, 0xb7, 0xd1);		 /* movzx edx, cx */
	EMIT(e, 0x65, 0x48, 0x89, 0x04, 0xd5); /* mov gs:[rdx*8+table1], rax */
	emit_u32(e, TABLE1_AT);
	emit_load(e, X86_RDX, CTX_RDX);
	emit_store(e, X86_RAX, CTX_ENTRY);
	restore_flags(e);
	jump_through(e, CTX_ENTRY);
	land(e, absent);
	land(e, null);
	restore_flags(e);
	c->miss_trap = (uint32_t)e->len;
	EMIT(e, 0xcc);
}

/* rcx: the record's second half, segment and kind; the application's rcx is in the context, CTX_BACK leads to the chain's stop and, a byte behind it, its jump
 * back. Stops without a record if it is asked to; checkpoint_record writes one before. Nothing here changes flags: some checkpoints stand where they are alive. */
static void emit_checkpoint(struct code_cache *c, struct emitter *e)
{
	size_t full, go, record;

	c->checkpoint = (uint32_t)e->len;
	emit_store(e, X86_RCX, CTX_ENTRY);
	EMIT(e, 0x65, 0x8b, 0x0c, 0x25); /* mov ecx, gs:[stop] */
	emit_u32(e, CTX_STOP);
	record = short_jump(e, JRCXZ);
	emit_load(e, X86_RCX, CTX_RCX);
	jump_through(e, CTX_BACK);
	c->checkpoint_record = (uint32_t)e->len;
	emit_store(e, X86_RCX, CTX_ENTRY);
	land(e, record);
	emit_load(e, X86_RCX, CTX_NEXT);
	EMIT(e, 0x65, 0x4c, 0x89, 0x99); /* mov gs:[rcx+records_end], r11 */
	emit_u32(e, RECORDS_END);
	emit_load(e, X86_R11, CTX_ENTRY);
	EMIT(e, 0x65, 0x4c, 0x89, 0x99); /* mov gs:[rcx+records_end+8], r11 */
	emit_u32(e, RECORDS_END + 8);
	EMIT(e, 0x48, 0x8d, 0x49, 16); /* lea rcx, [rcx+16] */
	emit_store(e, X86_RCX, CTX_NEXT);
	emit_bits_empty(e);
	full = short_jump(e, JRCXZ);
	EMIT(e, 0x65, 0x8b, 0x0c, 0x25); /* mov ecx, gs:[stop] */
	emit_u32(e, CTX_STOP);
	go = short_jump(e, JRCXZ);
	land(e, full);
	emit_load(e, X86_RCX, CTX_RCX);
	jump_through(e, CTX_BACK);
	land(e, go);
	emit_load(e, X86_RCX, CTX_BACK);
	EMIT(e, 0x48, 0x8d, 0x49, 1); /* lea rcx, [rcx+1] */
	emit_store(e, X86_RCX, CTX_BACK);
	emit_load(e, X86_RCX, CTX_RCX);
	jump_through(e, CTX_BACK);
}

void glue_emit(struct code_cache *c)
{
	struct emitter e = {.bytes = c->code, .room = GLUE_SIZE, .base = region_address(CODE_AT)};

	memset(c->code, 0xcc, GLUE_SIZE);
	emit_u8(&e, 0xcc); /* offset 0 means none */
	emit_search(c, &e);
	emit_checkpoint(c, &e);
	c->name = (uint32_t)e.len;
	emit_bytes(&e, "btrec", sizeof "btrec");
}
