/* SPDX-License-Identifier: MIT */
/* System calls that are answered in the cache: in a replay the window has what the calls that come
 * next are, and what they gave (struct answer). A call that is the one expected, at its tick, has
 * that result, and its memory is written; the task goes on behind it, and the kernel hears nothing.
 * Any other is made at a stop, where the tracer sees what is wrong.
 *
 * An answer is used up when all of it has been given. A fault before that (the program may have
 * made the memory what the kernel alone could write) leads to the stop, too. */
#include <stddef.h>

#include "collector/backend/engine/cache/routines_private.h"

/* The operand of an instruction, gs:[rcx+end+field]. */
static void emit_field(struct emitter *e, uint32_t field) { emit_u32(e, LOG_END + field); }

/* To no, where the call is another than the answer's. rax is used, and flags. */
static void emit_same_call(struct emitter *e, struct forward *no)
{
	/* Comparisons of the arguments: prefix and form of each. */
	static const uint8_t modes[SYSCALL_ARGS][2] = {
		{0x48, 0xb9}, {0x48, 0xb1}, {0x48, 0x91}, /* rdi, rsi, rdx */
		{0x4c, 0x91}, {0x4c, 0x81}, {0x4c, 0x89}, /* r10, r8, r9 */
	};
	struct forward same = {.count = 0};

	emit_load(e, X86_RAX, CTX_RAX);
	EMIT(e, 0x65, 0x48, 0x3b, 0x81); /* cmp rax, gs:[rcx+nr] */
	emit_field(e, ANSWER_NR);
	emit_jump_if(e, no, CC_NE);
	EMIT(e, 0x65, 0x8b, 0x81); /* mov eax, gs:[rcx+tick] */
	emit_field(e, ANSWER_TICK);
	EMIT(e, 0x65, 0x03, 0x04, 0x25); /* add eax, gs:[ticks] */
	emit_u32(e, CTX_ANSWER_TICKS);
	EMIT(e, 0x44, 0x29, 0xd8, 0x01, 0xc0); /* sub eax, r11d; add eax, eax: 31 bits */
	_Static_assert(TICKS_SHIFT == 31, "of those");
	emit_jump_if(e, no, CC_NE);
	EMIT(e, 0x65, 0x8b, 0x81); /* mov eax, gs:[rcx+arg_count] */
	emit_field(e, ANSWER_ARG_COUNT);
	for (uint8_t i = 0; i < SYSCALL_ARGS; i++) {
		EMIT(e, 0x83, 0xf8, i); /* cmp eax, i */
		emit_jump_if(e, &same, CC_BE);
		EMIT(e, 0x65, modes[i][0], 0x3b, modes[i][1]); /* cmp reg, gs:[rcx+arg] */
		emit_field(e, ANSWER_ARGS + 8u * i);
		emit_jump_if(e, no, CC_NE);
	}
	land_all(e, &same);
}

/* What the call wrote goes to the program's memory. rax, rcx, rdx and rsi are used, and flags. */
static void emit_data(struct emitter *e, unsigned piece)
{
	size_t none;

	emit_load(e, X86_RCX, CTX_ANSWER);
	EMIT(e, 0x65, 0x8b, 0x91); /* mov edx, gs:[rcx+length] */
	emit_field(e, ANSWER_LENGTHS + 4 * piece);
	EMIT(e, 0x85, 0xd2); /* test edx, edx */
	none = emit_jcc(e, CC_E);
	EMIT(e, 0x65, 0x48, 0x8b, 0xb1); /* mov rsi, gs:[rcx+end] */
	emit_field(e, ANSWER_ENDS + 8 * piece);
	EMIT(e, 0x65, 0x48, 0x8b, 0x89); /* mov rcx, gs:[rcx+data] */
	emit_field(e, ANSWER_DATA + 8 * piece);
	EMIT(e, 0x48, 0xf7, 0xda); /* neg rdx */
	logged_call_emit_copy(e, true);
	emit_patch(e, none, e->base + e->len);
}

/* r11: the flags, as the kernel leaves them there (Intel SDM volume 2, SYSCALL). Below the
 * program's stack pointer its red zone is. */
static void emit_flags(struct emitter *e)
{
	emit_store(e, X86_RSP, CTX_SPILL);
	emit_constant(e, X86_RSP, region_address(STACK_END));
	EMIT(e, 0x9c, 0x41, 0x5b); /* pushfq; pop r11 */
	emit_load(e, X86_RSP, CTX_SPILL);
}

void answered_call_emit(struct code_cache *c, struct emitter *e, struct forward *no)
{
	emit_same_call(e, no);
	emit_store(e, X86_RSI, CTX_SPILL);
	emit_store(e, X86_RDX, CTX_RDX);
	c->answering = (uint32_t)e->len;
	for (unsigned i = 0; i < BT_LOGGED_DATA; i++)
		emit_data(e, i);
	c->answered = (uint32_t)e->len;
	emit_load(e, X86_RDX, CTX_RDX);
	emit_load(e, X86_RSI, CTX_SPILL);
	emit_load(e, X86_RCX, CTX_ANSWER);
	EMIT(e, 0x65, 0x48, 0x8b, 0x81); /* mov rax, gs:[rcx+result] */
	emit_field(e, ANSWER_RESULT);
	emit_store(e, X86_RAX, CTX_RAX);
	EMIT(e, 0x65, 0x48, 0x8b, 0x81); /* mov rax, gs:[rcx+next] */
	emit_field(e, ANSWER_NEXT);
	emit_store(e, X86_RAX, CTX_ANSWER);
	emit_load(e, X86_RCX, CTX_BACK);
	EMIT(e, 0x48, 0x83, 0xc1,
	     (uint8_t)emit_syscall_len(&(struct emitter){.near = !c->kind.apart})); /* add rcx, to
										       behind it */
	emit_store(e, X86_RCX, CTX_BACK);
	emit_store(e, X86_R11, CTX_BITS);
	restore_flags(e);
	emit_flags(e);
	emit_load(e, X86_RAX, CTX_RAX);
	jump_through(e, CTX_BACK);
	c->answer_fails = (uint32_t)e->len;
	emit_load(e, X86_RDX, CTX_RDX);
	emit_load(e, X86_RSI, CTX_SPILL);
}
