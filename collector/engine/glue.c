/* SPDX-License-Identifier: MIT */
#include "collector/engine/glue.h"

#include "collector/engine/calls.h"
#include "collector/engine/emit.h"
#include "collector/engine/layout.h"

enum {
	JE = 0x74,
	JMP8 = 0xeb,
	JRCXZ = 0xe3,
	CC_AE = 3, /* conditions */
	CC_E = 4,
	CC_NE = 5,
	CALL_BRANCHES = 32,
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

/* rcx: the address jumped to; the application's r10 and rcx are in the context. To its chain's indirect entry, or the trap with the
 * application's flags. Keeps what it found in table 1. */
static void emit_search(struct code_cache *c, struct emitter *e)
{
	size_t again, found, null, absent, back;

	c->wrong = (uint32_t)e->len; /* r10 = -(address of the chain), rcx = address jumped to - address of the chain */
	EMIT(e, 0x49, 0xf7, 0xd2);		/* not r10 */
	EMIT(e, 0x4a, 0x8d, 0x4c, 0x11, 0x01);	/* lea rcx, [rcx+r10+1] */
	c->miss = (uint32_t)e->len;
	emit_store(e, X86_RAX, CTX_RAX);
	EMIT(e, 0x9f, 0x0f, 0x90, 0xc0); /* lahf; seto al */
	emit_store(e, X86_RAX, CTX_FLAGS);
	EMIT(e, 0x48, 0x85, 0xc9); /* test rcx, rcx: 0 is what free entries hold */
	null = short_jump(e, JE);
	EMIT(e, 0x69, 0xc1); /* imul eax, ecx, multiplier */
	emit_u32(e, TABLE2_MULTIPLIER);
	EMIT(e, 0xc1, 0xe8, TABLE2_SHIFT); /* shr eax */
	again = e->len;
	EMIT(e, 0x25); /* and eax, mask */
	c->mask_site = (uint32_t)e->len;
	emit_u32(e, 0);
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
	emit_load(e, X86_RAX, CTX_RAX);
	jump_through(e, CTX_ENTRY);
	land(e, absent);
	land(e, null);
	restore_flags(e);
	emit_load(e, X86_RAX, CTX_RAX);
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

/* A jump to a place that is not known yet. */
struct forward {
	size_t sites[CALL_BRANCHES];
	int count;
};

static void jump_if(struct emitter *e, struct forward *f, uint8_t condition)
{
	f->sites[f->count++] = emit_jcc(e, condition);
}

static void land_all(struct emitter *e, const struct forward *f)
{
	for (int i = 0; i < f->count; i++)
		emit_patch(e, f->sites[i], e->base + e->len);
}

/* The second argument of the calls that have operations. Ends at no; those that may run go to yes, or to copy. */
static void emit_operations(struct emitter *e, struct forward *yes, struct forward *copy, struct forward *no)
{
	for (size_t i = 0; i < calls_operations_count; i++) {
		const struct calls_operation *o = &calls_operations[i];
		size_t other;

		EMIT(e, 0x65, 0x81, 0x3c, 0x25); /* cmp dword gs:[rax], number */
		emit_u32(e, CTX_RAX);
		emit_u32(e, o->nr);
		other = emit_jcc(e, CC_NE);
		for (int k = 0; k < o->count; k++) {
			EMIT(e, 0x81, 0xfe); /* cmp esi, operation */
			emit_u32(e, o->allowed[k]);
			jump_if(e, k < o->copies ? copy : yes, CC_E);
		}
		emit_patch(e, other, e->base + e->len);
	}
	no->sites[no->count++] = emit_jump(e);
}

/* The first argument is a descriptor that is in the table; one that is to be closed leaves it. al: enum calls_need of the call, which stays. */
static void emit_descriptor(struct emitter *e, struct forward *no)
{
	size_t keep;

	EMIT(e, 0x89, 0xf9, 0x81, 0xf9); /* mov ecx, edi; cmp ecx, descriptors */
	emit_u32(e, DESCRIPTORS);
	jump_if(e, no, CC_AE);
	EMIT(e, 0x65, 0x80, 0xb9); /* cmp byte gs:[rcx+table], at once */
	emit_u32(e, DESCRIPTORS_AT);
	emit_u8(e, DESCRIPTOR_AT_ONCE);
	jump_if(e, no, CC_NE);
	EMIT(e, 0xa8, CALLS_CLOSE); /* test al, closes */
	keep = short_jump(e, JE);
	EMIT(e, 0x65, 0xc6, 0x81); /* mov byte gs:[rcx+table], 0 */
	emit_u32(e, DESCRIPTORS_AT);
	emit_u8(e, 0);
	land(e, keep);
}

/* Notes the call, but for its result; rcx: CTX_CALL_NEXT. */
static void emit_note(struct emitter *e)
{
	static const struct {
		uint32_t from, to;
	} words[] = {{CTX_RAX, NOTE_NR}, {CTX_NEXT, NOTE_NEXT}};

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		EMIT(e, 0x65, 0x8b, 0x04, 0x25); /* mov eax, gs:[from] */
		emit_u32(e, words[i].from);
		EMIT(e, 0x65, 0x89, 0x81); /* mov gs:[rcx+to], eax */
		emit_u32(e, CALL_NOTES_END + words[i].to);
	}
	EMIT(e, 0x65, 0x4c, 0x89, 0x99); /* mov gs:[rcx+bits], r11 */
	emit_u32(e, CALL_NOTES_END + NOTE_BITS);
}

/* Back to a system call whose application's rcx is in the context, its rax and flags too. */
static void emit_back_to_call(struct emitter *e)
{
	restore_flags(e);
	emit_load(e, X86_RAX, CTX_RAX);
	emit_load(e, X86_RCX, CTX_RCX);
	jump_through(e, CTX_BACK);
}

/* mov qword gs:[at], value */
static void emit_set(struct emitter *e, uint32_t at, uint32_t value)
{
	EMIT(e, 0x65, 0x48, 0xc7, 0x04, 0x25);
	emit_u32(e, at);
	emit_u32(e, value);
}

/* Before a system call: CTX_BACK leads to the jump out of the cache, five bytes behind it is the call. Goes there, the bits in the context and the
 * application's r11 in its register, when all that the call needs is granted, it can be noted, and no stop is wanted. */
static void emit_call(struct code_cache *c, struct emitter *e)
{
	struct forward yes = {.count = 0}, copy = {.count = 0}, no = {.count = 0};
	uint32_t table = (uint32_t)e->len;
	size_t plain;

	for (uint32_t nr = 0; nr < CALLS_NUMBERS; nr++)
		emit_u8(e, calls_class(nr));
	c->call = (uint32_t)e->len;
	emit_store(e, X86_RAX, CTX_RAX);
	EMIT(e, 0x9f, 0x0f, 0x90, 0xc0); /* lahf; seto al */
	emit_store(e, X86_RAX, CTX_FLAGS);
	emit_load(e, X86_RCX, CTX_RAX);
	EMIT(e, 0x48, 0x81, 0xf9); /* cmp rcx, numbers */
	emit_u32(e, CALLS_NUMBERS);
	jump_if(e, &no, CC_AE);
	EMIT(e, 0x65, 0x0f, 0xb6, 0x81); /* movzx eax, byte gs:[rcx+table] */
	emit_u32(e, CODE_AT + table);
	EMIT(e, 0x65, 0x8b, 0x0c, 0x25); /* mov ecx, gs:[calls] */
	emit_u32(e, CTX_CALLS);
	EMIT(e, 0xf7, 0xd1, 0x84, 0xc1); /* not ecx; test cl, al */
	jump_if(e, &no, CC_NE);
	EMIT(e, 0x65, 0x83, 0x3c, 0x25); /* cmp dword gs:[stop], 0 */
	emit_u32(e, CTX_STOP);
	emit_u8(e, 0);
	jump_if(e, &no, CC_NE);
	EMIT(e, 0x65, 0x83, 0x3c, 0x25); /* cmp dword gs:[call_next], 0 */
	emit_u32(e, CTX_CALL_NEXT);
	emit_u8(e, 0);
	jump_if(e, &no, CC_E);
	EMIT(e, 0xa8, CALLS_DESCRIPTORS); /* test al */
	plain = emit_jcc(e, CC_E);
	emit_descriptor(e, &no);
	emit_patch(e, plain, e->base + e->len);
	emit_set(e, CTX_COPY, 0);
	EMIT(e, 0xa8, CALLS_COPY);
	jump_if(e, &copy, CC_NE);
	EMIT(e, 0xa8, CALLS_OPERATION);
	jump_if(e, &yes, CC_E);
	emit_operations(e, &yes, &copy, &no);
	land_all(e, &copy);
	EMIT(e, 0x65, 0xf6, 0x04, 0x25); /* test byte gs:[calls], copy */
	emit_u32(e, CTX_CALLS);
	emit_u8(e, CALLS_COPY);
	jump_if(e, &no, CC_E);
	emit_set(e, CTX_COPY, 1);
	land_all(e, &yes);
	emit_load(e, X86_RCX, CTX_CALL_NEXT);
	emit_note(e);
	emit_load(e, X86_RCX, CTX_BACK);
	EMIT(e, 0x48, 0x8d, 0x49, 5); /* lea rcx, [rcx+5]: over the jump */
	emit_store(e, X86_RCX, CTX_BACK);
	emit_store(e, X86_R11, CTX_BITS);
	emit_load(e, X86_R11, CTX_R11);
	emit_back_to_call(e);
	land_all(e, &no);
	emit_back_to_call(e);
}

/* Behind a system call: its result is noted, and a descriptor that it gave is what the first argument is. Keeps all but rcx, and goes to CTX_BACK. */
static void emit_called(struct code_cache *c, struct emitter *e)
{
	size_t nothing, failed;

	c->called = (uint32_t)e->len;
	emit_load(e, X86_RCX, CTX_CALL_NEXT);
	EMIT(e, 0x65, 0x48, 0x89, 0x81); /* mov gs:[rcx+result], rax */
	emit_u32(e, CALL_NOTES_END + NOTE_RESULT);
	EMIT(e, 0x48, 0x8d, 0x49, NOTE_SIZE); /* lea rcx, [rcx+note] */
	emit_store(e, X86_RCX, CTX_CALL_NEXT);
	emit_load(e, X86_RCX, CTX_COPY);
	nothing = short_jump(e, JRCXZ);
	emit_store(e, X86_RAX, CTX_RAX);
	EMIT(e, 0x48, 0x89, 0xc1, 0x9f, 0x0f, 0x90, 0xc0); /* mov rcx, rax; lahf; seto al */
	emit_store(e, X86_RAX, CTX_FLAGS);
	EMIT(e, 0x48, 0x81, 0xf9); /* cmp rcx, descriptors */
	emit_u32(e, DESCRIPTORS);
	failed = emit_jcc(e, CC_AE);
	EMIT(e, 0x65, 0xc6, 0x81); /* mov byte gs:[rcx+table], at once */
	emit_u32(e, DESCRIPTORS_AT);
	emit_u8(e, DESCRIPTOR_AT_ONCE);
	emit_patch(e, failed, e->base + e->len);
	restore_flags(e);
	emit_load(e, X86_RAX, CTX_RAX);
	land(e, nothing);
	jump_through(e, CTX_BACK);
}

void glue_emit(struct code_cache *c)
{
	struct emitter e = {.bytes = c->code, .room = GLUE_SIZE, .base = region_address(CODE_AT)};

	memset(c->code, 0xcc, GLUE_SIZE);
	emit_u8(&e, 0xcc); /* offset 0 means none */
	emit_search(c, &e);
	emit_checkpoint(c, &e);
	emit_call(c, &e);
	emit_called(c, &e);
	c->own_call = (uint32_t)e.len;
	EMIT(&e, 0x0f, 0x05, 0xcc); /* syscall; int3 */
	c->name = (uint32_t)e.len;
	emit_bytes(&e, "btrec", sizeof "btrec");
}
