/* SPDX-License-Identifier: MIT */
/* Copies the program's output to its descriptor 2, behind a call in the cache (cache_words.c). */
#include "collector/backend/engine/cache/routines_private.h"

/* Its last bytes go where the ring ends. A fault in the loop is one at copy_end
 * (cache_syscalls_fault()): the kernel need not have looked at what goes to /dev/null, and another
 * thread may have unmapped it meanwhile. rax and rcx are used, and flags. */
void words_emit_copy(struct code_cache *c, struct emitter *e)
{
	struct forward nothing = {.count = 0};
	size_t few, again;

	emit_load(e, X86_RCX, CTX_RAX);
	EMIT(e, 0x48, 0x85, 0xc9); /* test rcx, rcx: its result */
	emit_jump_if(e, &nothing, CC_LE);
	emit_store(e, X86_RSI, CTX_SPILL);
	emit_store(e, X86_RDX, CTX_RDX);
	emit_store(e, X86_RDI, CTX_R10);
	c->copying = (uint32_t)e->len;
	emit_load(e, X86_RDX, WORDS_TOTAL_AT);
	EMIT(e, 0x48, 0x81, 0xf9); /* cmp rcx, bytes */
	emit_u32(e, WORDS_BYTES);
	few = emit_jcc(e, CC_BE);
	EMIT(e, 0x48, 0x8d, 0xb4, 0x0e); /* lea rsi, [rsi+rcx-bytes] */
	emit_u32(e, (uint32_t)-WORDS_BYTES);
	EMIT(e, 0x48, 0x8d, 0x94, 0x0a); /* lea rdx, [rdx+rcx-bytes] */
	emit_u32(e, (uint32_t)-WORDS_BYTES);
	EMIT(e, 0xb9); /* mov ecx, bytes */
	emit_u32(e, WORDS_BYTES);
	emit_patch(e, few, e->base + e->len);
	again = e->len;
	EMIT(e, 0x8a, 0x06, 0x89, 0xd7, 0x81,
	     0xe7); /* mov al, [rsi]; mov edi, edx; and edi, mask */
	emit_u32(e, WORDS_BYTES - 1);
	EMIT(e, 0x65, 0x88, 0x87); /* mov gs:[rdi+ring], al */
	emit_u32(e, WORDS_AT);
	EMIT(e, 0x48, 0xff, 0xc6, 0x48, 0xff, 0xc2, 0x48, 0xff,
	     0xc9); /* inc rsi; inc rdx; dec rcx */
	emit_patch(e, emit_jcc(e, CC_NE), e->base + again);
	c->copy_end = (uint32_t)e->len;
	emit_store(e, X86_RDX, WORDS_TOTAL_AT);
	emit_load(e, X86_RDI, CTX_R10);
	emit_load(e, X86_RDX, CTX_RDX);
	emit_load(e, X86_RSI, CTX_SPILL);
	c->copied = (uint32_t)e->len;
	land_all(e, &nothing);
}
