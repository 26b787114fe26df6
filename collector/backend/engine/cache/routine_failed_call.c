/* SPDX-License-Identifier: MIT */
/* The arguments of a system call that has failed in the cache, or has opened a file, and what they
 * point to (paths, addresses of sockets): noted behind the call, where the kernel has left them in
 * their registers and has just read that memory. Why only these: which file a descriptor is, and
 * what could not be done, explain what follows. Another call that succeeds costs nothing more than
 * a look at its result's sign. Three errors are left out, which some programs get a million times
 * and which say nothing of an end: EAGAIN, for there is nothing yet, EBADF, of loops that close
 * whatever may be open, and ENODATA, of ls(1), which looks for attributes that hardly a file has.
 *
 * A fault of the loops is one at failing_end (cache_syscalls_fault()): the piece that was being
 * copied is not noted then. The recorder trusts nothing that it reads (take_failed()). */
#include <errno.h>

#include "collector/backend/engine/cache/routines_private.h"
#include "collector/backend/engine/cache/syscall_policy.h"
#include "syscalls/syscall_args.h"

enum {
	PIECE_BITS = 4, /* of a row of the table, for each piece */
	PIECE_ARG = 7,  /* the argument's number, from 1; 0: none */
	PIECE_COUNTED = 8,
	ERRORS = -4095,
	/* Displacements from a note's end, FAILURE_LEAST behind its beginning. */
	AT_NOTE = SYSCALL_NOTES_END - FAILURE_LEAST,
};

/* A byte for each call: of which arguments memory is noted. */
uint32_t failed_call_table(struct emitter *e)
{
	const uint64_t some[SYSCALL_ARGS] = {1, 1, 1, 1, 1, 1};
	uint32_t at = (uint32_t)e->len;

	for (uint32_t nr = 0; nr < POLICY_NUMBERS; nr++) {
		const struct syscall_shape *shape = syscall_shape(nr);
		unsigned pieces = 0, row = 0;

		for (unsigned i = 0;
		     i < SYSCALL_ARGS && shape->args[i].kind && pieces < FAILURE_PIECES; i++) {
			bool is_text;

			if (syscall_pointed_size(shape, i, some, &is_text))
				row |= (i + 1 + (is_text ? 0 : PIECE_COUNTED))
				       << PIECE_BITS * pieces++;
		}
		emit_u8(e, (uint8_t)row);
	}
	return at;
}

/* [rsi] to where rcx leads, edx bytes or up to a NUL. */
static void emit_copy(struct emitter *e, bool is_text)
{
	size_t again = e->len, end = 0;

	EMIT(e, 0x40, 0x8a, 0x3e);       /* mov dil, [rsi] */
	EMIT(e, 0x65, 0x40, 0x88, 0xb9); /* mov gs:[rcx+end], dil */
	emit_u32(e, SYSCALL_NOTES_END);
	EMIT(e, 0x48, 0xff, 0xc1, 0x48, 0xff, 0xc6); /* inc rcx; inc rsi */
	if (is_text) {
		EMIT(e, 0x40, 0x84, 0xff); /* test dil, dil */
		end = emit_jcc(e, CC_E);
	}
	EMIT(e, 0xff, 0xca); /* dec edx */
	emit_patch(e, emit_jcc(e, CC_NE), e->base + again);
	if (is_text)
		emit_patch(e, end, e->base + e->len);
}

/* mov rsi, gs:[rdi+rsi*8+argument]; ends where it is NULL. */
static void emit_argument(struct emitter *e, struct forward *none)
{
	EMIT(e, 0x65, 0x48, 0x8b, 0xb4, 0xf7);
	emit_u32(e, AT_NOTE + FAILURE_ARGS - 8);
	EMIT(e, 0x48, 0x85, 0xf6); /* test rsi, rsi */
	emit_jump_if(e, none, CC_E);
}

/* The piece of this number. eax: the table's row; it stays. rcx: the piece's place in the note, and
 * its end afterwards. */
static void emit_piece(struct emitter *e, unsigned piece)
{
	struct forward none = {.count = 0};
	size_t text, few, copied;

	EMIT(e, 0x89, 0xc2, 0xc1, 0xea, (uint8_t)(PIECE_BITS * piece)); /* mov edx, eax; shr edx */
	EMIT(e, 0x83, 0xe2, PIECE_ARG | PIECE_COUNTED);                 /* and edx, piece */
	emit_jump_if(e, &none, CC_E);
	emit_load(e, X86_RDI, CTX_SYSCALL_NEXT);
	EMIT(e, 0x89, 0xd6, 0x83, 0xe6, PIECE_ARG); /* mov esi, edx; and esi, arg */
	EMIT(e, 0xf6, 0xc2, PIECE_COUNTED);         /* test dl, counted */
	text = emit_jcc(e, CC_E);
	EMIT(e, 0x65, 0x8b, 0x94, 0xf7); /* mov edx, gs:[rdi+rsi*8+next argument] */
	emit_u32(e, AT_NOTE + FAILURE_ARGS);
	EMIT(e, 0x81, 0xfa); /* cmp edx, most */
	emit_u32(e, SYSCALL_ADDRESS_MAX);
	few = emit_jcc(e, CC_BE);
	EMIT(e, 0xba); /* mov edx, most */
	emit_u32(e, SYSCALL_ADDRESS_MAX);
	emit_patch(e, few, e->base + e->len);
	EMIT(e, 0x85, 0xd2); /* test edx, edx */
	emit_jump_if(e, &none, CC_E);
	emit_argument(e, &none);
	emit_copy(e, false);
	copied = emit_jump(e);
	emit_patch(e, text, e->base + e->len);
	emit_argument(e, &none);
	EMIT(e, 0xba); /* mov edx, most */
	emit_u32(e, SYSCALL_POINTED_MAX);
	emit_copy(e, true);
	emit_patch(e, copied, e->base + e->len);
	emit_load(e, X86_RDI, CTX_SYSCALL_NEXT);
	EMIT(e, 0x8d, 0x51, FAILURE_LEAST - FAILURE_BYTES); /* lea edx, [rcx+some] */
	EMIT(e, 0x29, 0xfa, 0x65, 0x66, 0x89, 0x97);        /* sub edx, edi; mov gs:[rdi+end], dx */
	emit_u32(e, AT_NOTE + FAILURE_ENDS + 2 * piece);
	land_all(e, &none);
}

/* The next note comes behind all pieces. */
static void emit_whole_notes(struct emitter *e)
{
	size_t fits, again;

	emit_load(e, X86_RCX, CTX_SYSCALL_NEXT);
	EMIT(e, 0x65, 0x0f, 0xb7, 0x91); /* movzx edx, word gs:[rcx+first end] */
	emit_u32(e, AT_NOTE + FAILURE_ENDS);
	EMIT(e, 0x65, 0x0f, 0xb7, 0xb1); /* movzx esi, word gs:[rcx+second end] */
	emit_u32(e, AT_NOTE + FAILURE_ENDS + 2);
	EMIT(e, 0x39, 0xf2, 0x0f, 0x42, 0xd6);              /* cmp edx, esi; cmovb edx, esi */
	EMIT(e, 0x83, 0xea, FAILURE_LEAST - FAILURE_BYTES); /* sub edx, some */
	fits = emit_jcc(e, CC_LE);
	again = e->len;
	EMIT(e, 0x48, 0x83, 0xc1, NOTE_SIZE, 0x83, 0xea,
	     NOTE_SIZE); /* add rcx, note; sub edx, note */
	emit_patch(e, emit_jcc(e, CC_G), e->base + again);
	emit_store(e, X86_RCX, CTX_SYSCALL_NEXT);
	emit_patch(e, fits, e->base + e->len);
}

/* All arguments. rcx: the note's beginning, and FAILURE_LEAST behind it afterwards. */
static void emit_arguments(struct emitter *e)
{
	static const uint8_t modes[SYSCALL_ARGS][2] = {
		{0x48, 0xb9}, {0x48, 0xb1}, {0x48, 0x91}, /* rdi, rsi, rdx */
		{0x4c, 0x91}, {0x4c, 0x81}, {0x4c, 0x89}, /* r10, r8, r9 */
	};

	EMIT(e, 0x65, 0xc7, 0x81); /* mov dword gs:[rcx], marker */
	emit_u32(e, SYSCALL_NOTES_END);
	emit_u32(e, (uint32_t)NOTE_OF_FAILURE);
	EMIT(e, 0x65, 0xc7, 0x81); /* mov dword gs:[rcx+ends], 0 */
	emit_u32(e, SYSCALL_NOTES_END + FAILURE_ENDS);
	emit_u32(e, 0);
	for (unsigned i = 0; i < SYSCALL_ARGS; i++) {
		EMIT(e, 0x65, modes[i][0], 0x89, modes[i][1]); /* mov gs:[rcx+arg], reg */
		emit_u32(e, SYSCALL_NOTES_END + FAILURE_ARGS + 8 * i);
	}
	EMIT(e, 0x48, 0x8d, 0x49, FAILURE_LEAST); /* lea rcx, [rcx+note] */
	emit_store(e, X86_RCX, CTX_SYSCALL_NEXT);
}

void failed_call_emit_note(struct code_cache *c, struct emitter *e, uint32_t table,
			   const struct forward *opened)
{
	static const uint8_t left_out[] = {EAGAIN, EBADF, ENODATA};
	struct forward nothing = {.count = 0};
	size_t noted;

	emit_load(e, X86_RCX, CTX_RAX);
	EMIT(e, 0x48, 0x81, 0xf9); /* cmp rcx, errors */
	emit_u32(e, (uint32_t)ERRORS);
	emit_jump_if(e, &nothing, CC_B);
	for (size_t i = 0; i < sizeof left_out; i++) {
		EMIT(e, 0x83, 0xf9, (uint8_t)-left_out[i]); /* cmp ecx, error */
		emit_jump_if(e, &nothing, CC_E);
	}
	noted = emit_jump(e);
	land_all(e, opened);
	EMIT(e, 0x65, 0x48, 0xc7, 0x04, 0x25); /* mov qword gs:[copy], 0 */
	emit_u32(e, CTX_COPY);
	emit_u32(e, 0);
	emit_load(e, X86_RCX, CTX_RAX);
	EMIT(e, 0x48, 0x85, 0xc9); /* test rcx, rcx: its failure has been noted */
	emit_jump_if(e, &nothing, CC_S);
	emit_patch(e, noted, e->base + e->len);
	emit_load(e, X86_RCX, CTX_SYSCALL_NEXT);
	emit_arguments(e);
	EMIT(e, 0x65, 0x8b, 0x81); /* mov eax, gs:[rcx+number] */
	emit_u32(e, AT_NOTE - (c->kind.logged ? LOGGED_BYTES : 0) - NOTE_SIZE + NOTE_NR);
	/* The program can have overwritten the number. */
	EMIT(e, 0x3d); /* cmp eax, numbers */
	emit_u32(e, POLICY_NUMBERS);
	emit_jump_if(e, &nothing, CC_AE);
	EMIT(e, 0x65, 0x0f, 0xb6, 0x80); /* movzx eax, byte gs:[rax+table] */
	emit_u32(e, CODE_AT + table);
	EMIT(e, 0x85, 0xc0); /* test eax, eax */
	emit_jump_if(e, &nothing, CC_E);
	EMIT(e, 0x65, 0xf7, 0x04, 0x25); /* test dword gs:[syscalls], need */
	emit_u32(e, CTX_SYSCALLS);
	emit_u32(e, POLICY_READS);
	emit_jump_if(e, &nothing, CC_E);
	emit_store(e, X86_RSI, CTX_SPILL);
	emit_store(e, X86_RDX, CTX_RDX);
	emit_store(e, X86_RDI, CTX_R10);
	c->failing = (uint32_t)e->len;
	EMIT(e, 0x48, 0x83, 0xe9, FAILURE_LEAST - FAILURE_BYTES); /* sub rcx, some */
	for (unsigned i = 0; i < FAILURE_PIECES; i++)
		emit_piece(e, i);
	c->failing_end = (uint32_t)e->len;
	emit_whole_notes(e);
	emit_load(e, X86_RDI, CTX_R10);
	emit_load(e, X86_RDX, CTX_RDX);
	emit_load(e, X86_RSI, CTX_SPILL);
	c->failed = (uint32_t)e->len;
	land_all(e, &nothing);
}
