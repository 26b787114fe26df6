/* SPDX-License-Identifier: MIT */
/* System calls that are answered in the cache: in a replay the window has what the calls that come
 * next are, and what they gave (struct answer). A call that is the one expected, at its tick, has
 * that result, its memory is written, and mappings are changed as it did; the task goes on behind
 * it, and the kernel hears nothing of the call.
 * Any other, and one that would write other
 * bytes for the user, is made at a stop, where the tracer sees what is wrong.
 *
 * An answer is used up when all of it has been given. A fault before that (the program may have
 * made the memory what the kernel alone could write) leads to the stop, too. */
#include <stddef.h>

#include "collector/backend/engine/cache/logged_calls.h"
#include "collector/backend/engine/cache/routines_private.h"
#include "lib/array_size.h"

/* The operand of an instruction, gs:[rcx+end+field]. */
static void emit_field(struct emitter *e, uint32_t field) { emit_u32(e, LOG_END + field); }

/* Where history is kept the tracer sees that by the call's note. */
void answer_emit_same_tick(struct emitter *e, struct forward *no)
{
	size_t noted, same;

	emit_is_zero(e, CTX_ANSWER_NOTED);
	noted = emit_jcc(e, CC_NE);
	EMIT(e, 0x65, 0x8b, 0x81); /* mov eax, gs:[rcx+tick] */
	emit_field(e, ANSWER_TICK);
	EMIT(e, 0x65, 0x03, 0x04, 0x25); /* add eax, gs:[ticks] */
	emit_u32(e, CTX_ANSWER_TICKS);
	EMIT(e, 0x44, 0x29, 0xd8, 0x01, 0xc0); /* sub eax, r11d; add eax, eax: 31 bits */
	_Static_assert(TICKS_SHIFT == 31, "of those");
	emit_jump_if(e, no, CC_NE);
	same = emit_jump(e);
	emit_patch(e, noted, e->base + e->len);
	EMIT(e, 0x65, 0x81, 0x3c, 0x25); /* cmp dword gs:[next], room */
	emit_u32(e, CTX_SYSCALL_NEXT);
	emit_u32(e, (uint32_t)-NOTE_SIZE);
	emit_jump_if(e, no, CC_G);
	emit_patch(e, same, e->base + e->len);
}

/* To no, where the call is another than the answer's. rax is used, and flags. */
static void emit_same_call(struct emitter *e, struct forward *no)
{
	/* Comparisons of the arguments: prefix and form of each. */
	static const uint8_t modes[SYSCALL_ARGS][2] = {
		{0x48, 0xb9}, {0x48, 0xb1}, {0x48, 0x91}, /* rdi, rsi, rdx */
		{0x4c, 0x91}, {0x4c, 0x81}, {0x4c, 0x89}, /* r10, r8, r9 */
	};
	struct forward same = {.count = 0};

	EMIT(e, 0x65, 0x83, 0xb9); /* cmp dword gs:[rcx+form], call */
	emit_field(e, ANSWER_FORM);
	emit_u8(e, BT_LOGGED_CALL);
	emit_jump_if(e, no, CC_NE);
	emit_load(e, X86_RAX, CTX_RAX);
	EMIT(e, 0x65, 0x48, 0x3b, 0x81); /* cmp rax, gs:[rcx+nr] */
	emit_field(e, ANSWER_NR);
	emit_jump_if(e, no, CC_NE);
	answer_emit_same_tick(e, no);
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

/* rsi, rcx and rdx are what logged_call_emit_copy() needs of a piece. Jumps where it has no bytes.
 * Flags are used. */
static size_t emit_piece(struct emitter *e, unsigned piece)
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
	return none;
}

/* Compares the program's output with the recorded bytes, and jumps to `other` where they differ.
 * Uses rax, rcx, rdx and rsi, and flags. */
static void emit_same_output(struct emitter *e, struct forward *other)
{
	size_t none = emit_piece(e, ANSWER_OUTPUT), bytes = e->len, aligned, done, words;

	EMIT(e, 0xf6, 0xc2, 7); /* test dl, 7 */
	aligned = emit_jcc(e, CC_E);
	EMIT(e, 0x8a, 0x04, 0x16);       /* mov al, [rsi+rdx] */
	EMIT(e, 0x65, 0x3a, 0x84, 0x11); /* cmp al, gs:[rcx+rdx+end] */
	emit_u32(e, LOG_END);
	emit_jump_if(e, other, CC_NE);
	EMIT(e, 0x48, 0xff, 0xc2); /* inc rdx */
	emit_patch(e, emit_jump(e), e->base + bytes);
	emit_patch(e, aligned, e->base + e->len);
	EMIT(e, 0x48, 0x85, 0xd2); /* test rdx, rdx */
	done = emit_jcc(e, CC_E);
	words = e->len;
	EMIT(e, 0x48, 0x8b, 0x04, 0x16);       /* mov rax, [rsi+rdx] */
	EMIT(e, 0x65, 0x48, 0x3b, 0x84, 0x11); /* cmp rax, gs:[rcx+rdx+end] */
	emit_u32(e, LOG_END);
	emit_jump_if(e, other, CC_NE);
	EMIT(e, 0x48, 0x83, 0xc2, 8); /* add rdx, 8 */
	emit_patch(e, emit_jcc(e, CC_NE), e->base + words);
	emit_patch(e, done, e->base + e->len);
	emit_patch(e, none, e->base + e->len);
}

/* Copies a piece that the recorded call wrote into the program's memory. Uses rax, rcx, rdx and
 * rsi, and flags. */
static void emit_data(struct emitter *e, unsigned piece)
{
	size_t none = emit_piece(e, piece);

	logged_call_emit_copy(e, true);
	emit_patch(e, none, e->base + e->len);
}

/* The registers of a system call, and where they are kept meanwhile: prefix and form of a mov
 * with gs:[rcx+disp]. */
static const struct change_register {
	uint8_t prefix, form, at;
} changed[] = {
	{0x4c, 0x91, 0},  /* r10 */
	{0x4c, 0x81, 8},  /* r8 */
	{0x4c, 0x89, 16}, /* r9 */
	{0x48, 0xb9, 24}, /* rdi */
};

static void emit_changed(struct emitter *e, uint8_t opcode)
{
	for (size_t i = 0; i < ARRAY_SIZE(changed); i++) {
		EMIT(e, 0x65, changed[i].prefix, opcode, changed[i].form);
		emit_field(e, CHANGE_SAVED + changed[i].at);
	}
}

/* rcx: the answer's change. Jumps where it has none. Flags are used. */
static void emit_find_change(struct emitter *e)
{
	emit_load(e, X86_RCX, CTX_ANSWER);
	EMIT(e, 0x65, 0x48, 0x8b, 0x89); /* mov rcx, gs:[rcx+change] */
	emit_field(e, ANSWER_CHANGE);
}

/* Makes the call that changes mappings as the program's did, if there is one; to other, where the
 * kernel does not do it. rsi and rdx are in the context. rax, rcx, rdx and rsi are used, and flags.
 */
static void emit_change(struct emitter *e, struct forward *other)
{
	static const uint8_t args[][2] = {{0x48, 0xb9}, {0x48, 0xb1}, {0x48, 0x91}, {0x4c, 0x91}};
	size_t none;

	emit_find_change(e);
	EMIT(e, 0x48, 0x85, 0xc9); /* test rcx, rcx */
	none = emit_jcc(e, CC_E);
	emit_store(e, X86_R11, CTX_BITS);
	emit_changed(e, 0x89);
	for (uint8_t i = 0; i < ARRAY_SIZE(args); i++) { /* rdi, rsi, rdx, r10 */
		EMIT(e, 0x65, args[i][0], 0x8b, args[i][1]);
		emit_field(e, CHANGE_ARGS + 8u * i);
	}
	EMIT(e, 0x49, 0xc7, 0xc0, 0xff, 0xff, 0xff, 0xff); /* mov r8, -1 */
	EMIT(e, 0x45, 0x31, 0xc9);                         /* xor r9d, r9d */
	EMIT(e, 0x65, 0x48, 0x8b, 0x81);                   /* mov rax, gs:[rcx+nr] */
	emit_field(e, CHANGE_NR);
	EMIT(e, 0x0f, 0x05); /* syscall */
	emit_find_change(e);
	emit_changed(e, 0x8b);
	emit_load(e, X86_R11, CTX_BITS);
	EMIT(e, 0x65, 0x48, 0x3b, 0x81); /* cmp rax, gs:[rcx+gives] */
	emit_field(e, CHANGE_GIVES);
	emit_jump_if(e, other, CC_NE);
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

/* Where history is kept. CTX_SPILL: the result. rax and rcx are used, and flags. */
static void emit_answer_note(struct emitter *e)
{
	size_t ticks;

	emit_is_zero(e, CTX_ANSWER_NOTED);
	ticks = emit_jcc(e, CC_E);
	emit_load(e, X86_RCX, CTX_SYSCALL_NEXT);
	syscall_emit_note(e);
	emit_load(e, X86_RAX, CTX_SPILL);
	EMIT(e, 0x65, 0x48, 0x89, 0x81); /* mov gs:[rcx+result], rax */
	emit_u32(e, SYSCALL_NOTES_END + NOTE_RESULT);
	EMIT(e, 0x48, 0x8d, 0x49, NOTE_SIZE); /* lea rcx, [rcx+note] */
	emit_store(e, X86_RCX, CTX_SYSCALL_NEXT);
	emit_patch(e, ticks, e->base + e->len);
}

void answered_call_emit(struct code_cache *c, struct emitter *e, struct forward *no)
{
	struct forward other = {.count = 0};

	emit_same_call(e, no);
	emit_store(e, X86_RSI, CTX_SPILL);
	emit_store(e, X86_RDX, CTX_RDX);
	c->answering = (uint32_t)e->len;
	emit_same_output(e, &other);
	emit_change(e, &other);
	for (unsigned i = 0; i < BT_LOGGED_DATA; i++)
		emit_data(e, i);
	c->answered = (uint32_t)e->len;
	emit_load(e, X86_RDX, CTX_RDX);
	emit_load(e, X86_RSI, CTX_SPILL);
	emit_load(e, X86_RCX, CTX_ANSWER);
	EMIT(e, 0x65, 0x48, 0x8b, 0x81); /* mov rax, gs:[rcx+result] */
	emit_field(e, ANSWER_RESULT);
	emit_store(e, X86_RAX, CTX_SPILL);
	EMIT(e, 0x65, 0x48, 0x8b, 0x81); /* mov rax, gs:[rcx+next] */
	emit_field(e, ANSWER_NEXT);
	emit_store(e, X86_RAX, CTX_ANSWER);
	emit_answer_note(e);
	emit_load(e, X86_RAX, CTX_SPILL);
	emit_store(e, X86_RAX, CTX_RAX);
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
	land_all(e, &other);
	c->answer_fails = (uint32_t)e->len;
	emit_load(e, X86_RDX, CTX_RDX);
	emit_load(e, X86_RSI, CTX_SPILL);
}
