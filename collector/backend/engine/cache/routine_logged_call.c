/* SPDX-License-Identifier: MIT */
/* System calls in the cache while a log is kept: before a call its arguments are noted, and whether
 * the log has room for what it may write; behind it that is copied into the log.
 *
 * A copy is a loop of many instructions: a task that is stopped there has the rest copied for it
 * (cache_logged_finish()). So has one that faults there: as far as that can be read the kernel may
 * have written, and no further. That needs no more than rsi, where the piece ends, rcx, where that
 * is in the log, and rdx, minus the bytes that are left. */
#include <errno.h>
#include <stddef.h>

#include "collector/backend/engine/cache/logged_calls.h"
#include "collector/backend/engine/cache/routines_private.h"
#include "collector/backend/engine/cache/syscall_policy.h"
#include "syscalls/syscall_ranges.h"

enum {
	ROW_BITS = 4, /* of the size of a row */
	ERRORS = -4095,
	MOST_ROWS = 64,
	/* Displacements from CTX_SYSCALL_NEXT: behind a call its note is before that. */
	AT_LOG = SYSCALL_NOTES_END,
};
_Static_assert(sizeof(struct logged_row) == 1 << ROW_BITS, "a shift");
_Static_assert(LOG_ALIGN == 8, "and edx, -8");

/* The number that streams have in the table of rows. */
enum { NUMBER_OF_STREAMS = POLICY_NUMBERS };

static bool is_same_row(const struct logged_row *a, const struct logged_row *b)
{
	return !memcmp(a, b, sizeof *a);
}

/* The rows of calls, and the number of that of each; behind them that of streams. */
struct logged_tables logged_call_tables(struct emitter *e)
{
	struct logged_tables tables = {.of_syscalls = (uint32_t)e->len};
	struct logged_row rows[MOST_ROWS];
	uint8_t count = 0;

	for (uint32_t nr = 0; nr <= NUMBER_OF_STREAMS; nr++) {
		struct logged_row row = {.pieces = {{.arg = 0}}};
		uint8_t i = 0;

		if (nr == NUMBER_OF_STREAMS)
			row = logged_stream_row();
		else if (logged_call_policy(nr) != POLICY_STOP)
			row = logged_call_row(nr);
		while (i < count && !is_same_row(&rows[i], &row))
			i++;
		assert(i < MOST_ROWS);
		rows[i] = row;
		count += i == count;
		emit_u8(e, i);
	}
	tables.rows = (uint32_t)e->len;
	emit_bytes(e, rows, count * sizeof rows[0]);
	return tables;
}

/* eax: the number of a call, and where its row is then. */
static void emit_row(struct emitter *e, const struct logged_tables *t)
{
	EMIT(e, 0x65, 0x0f, 0xb6, 0x80); /* movzx eax, byte gs:[rax+of_syscalls] */
	emit_u32(e, CODE_AT + t->of_syscalls);
	EMIT(e, 0xc1, 0xe0, ROW_BITS); /* shl eax, bits */
}

/* Where a field of the row's piece is. */
static uint32_t field(const struct logged_tables *t, unsigned piece, size_t offset)
{
	return CODE_AT + t->rows +
	       (uint32_t)(offsetof(struct logged_row, pieces) +
			  piece * sizeof(struct logged_piece) + offset);
}

/* The most that a piece may be. eax: place of the row; rcx: CTX_SYSCALL_NEXT; rdx is used. */
static void emit_length(struct emitter *e, const struct logged_tables *t, unsigned piece,
			uint32_t note, struct forward *no)
{
	size_t fixed, counted;

	EMIT(e, 0x65, 0x0f, 0xb6, 0x90); /* movzx edx, byte gs:[rax+by] */
	emit_u32(e, field(t, piece, offsetof(struct logged_piece, by)));
	EMIT(e, 0x85, 0xd2); /* test edx, edx */
	fixed = emit_jcc(e, CC_E);
	EMIT(e, 0x65, 0x48, 0x8b, 0x94, 0xd1); /* mov rdx, gs:[rcx+rdx*8+argument] */
	emit_u32(e, note + LOGGED_ARGS - 8);
	EMIT(e, 0x48, 0x81, 0xfa); /* cmp rdx, most */
	emit_u32(e, LOG_OF_CALL);
	emit_jump_if(e, no, CC_A);
	EMIT(e, 0x65, 0x0f, 0xaf, 0x90); /* imul edx, gs:[rax+unit] */
	emit_u32(e, field(t, piece, offsetof(struct logged_piece, unit)));
	EMIT(e, 0x81, 0xfa); /* cmp edx, most */
	emit_u32(e, LOG_OF_CALL);
	emit_jump_if(e, no, CC_A);
	counted = emit_jump(e);
	emit_patch(e, fixed, e->base + e->len);
	EMIT(e, 0x65, 0x8b, 0x90); /* mov edx, gs:[rax+unit] */
	emit_u32(e, field(t, piece, offsetof(struct logged_piece, unit)));
	emit_patch(e, counted, e->base + e->len);
	EMIT(e, 0x65, 0x89, 0x91); /* mov gs:[rcx+length], edx */
	emit_u32(e, note + LOGGED_LENGTHS + 4 * piece);
}

void logged_call_emit_before(struct code_cache *c, struct emitter *e, const struct logged_tables *t,
			     struct forward *no)
{
	/* The arguments, with the prefix and the form of a move of each. */
	static const uint8_t modes[SYSCALL_ARGS][2] = {
		{0x48, 0xb9}, {0x48, 0xb1}, {0x48, 0x91}, /* rdi, rsi, rdx */
		{0x4c, 0x91}, {0x4c, 0x81}, {0x4c, 0x89}, /* r10, r8, r9 */
	};
	const uint32_t note =
		AT_LOG + NOTE_SIZE; /* behind the call's own note, which is written later */
	struct forward full = {.count = 0};
	size_t fits, stream;

	emit_load(e, X86_RCX, CTX_SYSCALL_NEXT);
	for (unsigned i = 0; i < SYSCALL_ARGS; i++) {
		EMIT(e, 0x65, modes[i][0], 0x89, modes[i][1]); /* mov gs:[rcx+arg], reg */
		emit_u32(e, note + LOGGED_ARGS + 8 * i);
	}
	EMIT(e, 0x65, 0x8b, 0x04, 0x25); /* mov eax, gs:[stream] */
	emit_u32(e, CTX_STREAM);
	EMIT(e, 0x65, 0x89, 0x81); /* mov gs:[rcx+stream], eax */
	emit_u32(e, note + LOGGED_STREAM);
	EMIT(e, 0x85, 0xc0, 0xb8); /* test eax, eax; mov eax, streams */
	emit_u32(e, NUMBER_OF_STREAMS);
	stream = short_jump(e, JNE);
	EMIT(e, 0x65, 0x8b, 0x04, 0x25); /* mov eax, gs:[number] */
	emit_u32(e, CTX_RAX);
	land_jump(e, stream);
	emit_row(e, t);
	emit_store(e, X86_RDX, CTX_RDX);
	c->sizing = (uint32_t)e->len;
	for (unsigned i = 0; i < BT_LOGGED_DATA; i++)
		emit_length(e, t, i, note, &full);
	EMIT(e, 0x65, 0x03, 0x91); /* add edx, gs:[rcx+length of the first] */
	emit_u32(e, note + LOGGED_LENGTHS);
	EMIT(e, 0x83, 0xc2, LOG_ALIGN * BT_LOGGED_DATA); /* add edx, lost between them */
	EMIT(e, 0x65, 0x48, 0x03, 0x14, 0x25);           /* add rdx, gs:[next] */
	emit_u32(e, CTX_LOG_NEXT);
	fits = emit_jcc(e, CC_LE);
	land_all(e, &full);
	emit_load(e, X86_RDX, CTX_RDX);
	no->sites[no->count++] = emit_jump(e);
	emit_patch(e, fits, e->base + e->len);
	emit_load(e, X86_RDX, CTX_RDX);
	c->sized = (uint32_t)e->len;
}

/* mov al, or (wide) rax, [rsi+rdx+at], from memory; or to it. */
static void emit_memory(struct emitter *e, bool to, bool wide, uint8_t at)
{
	if (wide)
		emit_u8(e, 0x48);
	EMIT(e, (uint8_t)((to ? 0x88 : 0x8a) | wide), 0x44, 0x16, at);
}

/* The same of gs:[rcx+rdx+end+at], in the log. */
static void emit_logged(struct emitter *e, bool to, bool wide, uint8_t at)
{
	emit_u8(e, 0x65);
	if (wide)
		emit_u8(e, 0x48);
	EMIT(e, (uint8_t)((to ? 0x88 : 0x8a) | wide), 0x84, 0x11);
	emit_u32(e, LOG_END + (uint32_t)at);
}

static void emit_element(struct emitter *e, bool from_log, bool wide, uint8_t at)
{
	if (from_log) {
		emit_logged(e, false, wide, at);
		emit_memory(e, true, wide, at);
	} else {
		emit_memory(e, false, wide, at);
		emit_logged(e, true, wide, at);
	}
}

void logged_call_emit_copy(struct emitter *e, bool from_log)
{
	enum { WORDS = 4 };
	size_t bytes, words, many, aligned, done;

	/* First what makes the rest whole words, then what makes that whole rounds. */
	bytes = e->len;
	EMIT(e, 0xf6, 0xc2, 7); /* test dl, 7 */
	aligned = emit_jcc(e, CC_E);
	emit_element(e, from_log, false, 0);
	EMIT(e, 0x48, 0xff, 0xc2); /* inc rdx */
	emit_patch(e, emit_jump(e), e->base + bytes);
	emit_patch(e, aligned, e->base + e->len);
	words = e->len;
	EMIT(e, 0xf6, 0xc2, 8 * WORDS - 1); /* test dl, mask */
	many = emit_jcc(e, CC_E);
	emit_element(e, from_log, true, 0);
	EMIT(e, 0x48, 0x83, 0xc2, 8); /* add rdx, 8 */
	emit_patch(e, emit_jump(e), e->base + words);
	emit_patch(e, many, e->base + e->len);
	EMIT(e, 0x48, 0x85, 0xd2); /* test rdx, rdx */
	done = emit_jcc(e, CC_E);
	many = e->len;
	for (uint8_t i = 0; i < WORDS; i++)
		emit_element(e, from_log, true, (uint8_t)(8 * i));
	EMIT(e, 0x48, 0x83, 0xc2, 8 * WORDS); /* add rdx, round */
	emit_patch(e, emit_jcc(e, CC_NE), e->base + many);
	emit_patch(e, done, e->base + e->len);
}

/* Logs the bytes that the call has written of one piece. edi: offset of the row. Uses rax, rcx, rdx
 * and rsi, and flags. */
static void emit_piece(struct code_cache *c, struct emitter *e, const struct logged_tables *t,
		       unsigned piece)
{
	static const uint8_t partial[] = {EFAULT, EIO, EBADMSG};
	const uint32_t length = AT_LOG + LOGGED_LENGTHS + 4 * piece;
	struct forward have = {.count = 0}, nothing = {.count = 0};
	size_t failed, next, no_more;

	emit_load(e, X86_RCX, CTX_SYSCALL_NEXT);
	EMIT(e, 0x65, 0x8b, 0x91); /* mov edx, gs:[rcx+length] */
	emit_u32(e, length);
	EMIT(e, 0x65, 0x0f, 0xb6, 0xb7); /* movzx esi, byte gs:[rdi+arg] */
	emit_u32(e, field(t, piece, offsetof(struct logged_piece, arg)));
	EMIT(e, 0x85, 0xf6); /* test esi, esi */
	emit_jump_if(e, &nothing, CC_E);
	EMIT(e, 0x65, 0x48, 0x8b, 0xb4, 0xf1); /* mov rsi, gs:[rcx+rsi*8+argument] */
	emit_u32(e, AT_LOG + LOGGED_ARGS - 8);
	EMIT(e, 0x48, 0x85, 0xf6); /* test rsi, rsi */
	emit_jump_if(e, &nothing, CC_E);
	emit_load(e, X86_RAX, CTX_RAX);
	EMIT(e, 0x48, 0x3d); /* cmp rax, errors */
	emit_u32(e, (uint32_t)ERRORS);
	failed = emit_jcc(e, CC_AE);
	EMIT(e, 0x65, 0xf6, 0x87); /* test byte gs:[rdi+flags], cut */
	emit_u32(e, field(t, piece, offsetof(struct logged_piece, flags)));
	emit_u8(e, LOGGED_CUT);
	emit_jump_if(e, &have, CC_E);
	EMIT(e, 0x48, 0x3d); /* cmp rax, most */
	emit_u32(e, LOG_OF_CALL);
	emit_jump_if(e, &have, CC_A);
	EMIT(e, 0x65, 0x0f, 0xaf, 0x87); /* imul eax, gs:[rdi+unit] */
	emit_u32(e, field(t, piece, offsetof(struct logged_piece, unit)));
	EMIT(e, 0x65, 0xf6, 0x87); /* test byte gs:[rdi+flags], more */
	emit_u32(e, field(t, piece, offsetof(struct logged_piece, flags)));
	emit_u8(e, LOGGED_MORE);
	no_more = emit_jcc(e, CC_E);
	EMIT(e, 0x05); /* add eax, entry */
	emit_u32(e, SYSCALL_ENTRY_MOST);
	emit_patch(e, no_more, e->base + e->len);
	EMIT(e, 0x39, 0xd0, 0x0f, 0x42, 0xd0); /* cmp eax, edx; cmovb edx, eax */
	have.sites[have.count++] = emit_jump(e);
	emit_patch(e, failed, e->base + e->len);
	for (size_t i = 0; i < sizeof partial; i++) {
		EMIT(e, 0x83, 0xf8, (uint8_t)-partial[i]); /* cmp eax, error */
		emit_jump_if(e, &have, CC_E);
	}
	EMIT(e, 0x65, 0xf6, 0x87); /* test byte gs:[rdi+flags], ever */
	emit_u32(e, field(t, piece, offsetof(struct logged_piece, flags)));
	emit_u8(e, LOGGED_EVER);
	emit_jump_if(e, &have, CC_NE);
	land_all(e, &nothing);
	EMIT(e, 0x31, 0xd2); /* xor edx, edx */
	land_all(e, &have);
	EMIT(e, 0x65, 0x89, 0x91); /* mov gs:[rcx+length], edx */
	emit_u32(e, length);
	EMIT(e, 0x85, 0xd2); /* test edx, edx */
	next = emit_jcc(e, CC_E);
	emit_load(e, X86_RCX, CTX_LOG_NEXT);
	EMIT(e, 0x48, 0x01, 0xd6, 0x48, 0x01, 0xd1, 0x48, 0xf7,
	     0xda); /* add rsi, rdx; add rcx, rdx; neg rdx */
	c->logs[piece].from = (uint32_t)e->len;
	logged_call_emit_copy(e, false);
	c->logs[piece].to = (uint32_t)e->len;
	emit_load(e, X86_RCX, CTX_SYSCALL_NEXT);
	EMIT(e, 0x65, 0x03, 0x91); /* add edx, gs:[rcx+length]: without what faulted */
	emit_u32(e, length);
	EMIT(e, 0x65, 0x89, 0x91); /* mov gs:[rcx+length], edx */
	emit_u32(e, length);
	EMIT(e, 0x83, 0xc2, LOG_ALIGN - 1, 0x83, 0xe2,
	     (uint8_t)-LOG_ALIGN);             /* add edx, align-1; and edx, -align */
	EMIT(e, 0x65, 0x48, 0x01, 0x14, 0x25); /* add gs:[next], rdx */
	emit_u32(e, CTX_LOG_NEXT);
	emit_patch(e, next, e->base + e->len);
}

void logged_call_emit_behind(struct code_cache *c, struct emitter *e, const struct logged_tables *t)
{
	struct forward unknown = {.count = 0};
	size_t stream;

	emit_load(e, X86_RCX, CTX_SYSCALL_NEXT);
	EMIT(e, 0x65, 0xc7, 0x81); /* mov dword gs:[rcx], marker */
	emit_u32(e, AT_LOG);
	emit_u32(e, (uint32_t)NOTE_OF_LOG);
	emit_load(e, X86_RAX, CTX_LOG_NEXT);
	EMIT(e, 0x65, 0x89, 0x81); /* mov gs:[rcx+data], eax */
	emit_u32(e, AT_LOG + LOGGED_DATA);
	emit_store(e, X86_RSI, CTX_SPILL);
	emit_store(e, X86_RDX, CTX_RDX);
	emit_store(e, X86_RDI, CTX_R10);
	c->logging = (uint32_t)e->len;
	EMIT(e, 0xb8); /* mov eax, streams */
	emit_u32(e, NUMBER_OF_STREAMS);
	EMIT(e, 0x65, 0x83, 0xb9); /* cmp dword gs:[rcx+stream], 0 */
	emit_u32(e, AT_LOG + LOGGED_STREAM);
	emit_u8(e, 0);
	stream = short_jump(e, JNE);
	EMIT(e, 0x65, 0x8b, 0x81); /* mov eax, gs:[rcx+number] */
	emit_u32(e, AT_LOG - NOTE_SIZE + NOTE_NR);
	EMIT(e, 0x3d); /* cmp eax, numbers: the program can have overwritten the number */
	emit_u32(e, POLICY_NUMBERS);
	emit_jump_if(e, &unknown, CC_AE);
	land_jump(e, stream);
	emit_row(e, t);
	EMIT(e, 0x89, 0xc7); /* mov edi, eax */
	for (unsigned i = 0; i < BT_LOGGED_DATA; i++)
		emit_piece(c, e, t, i);
	land_all(e, &unknown);
	emit_load(e, X86_RCX, CTX_SYSCALL_NEXT);
	EMIT(e, 0x48, 0x8d, 0x49, LOGGED_BYTES); /* lea rcx, [rcx+note] */
	emit_store(e, X86_RCX, CTX_SYSCALL_NEXT);
	emit_load(e, X86_RDI, CTX_R10);
	emit_load(e, X86_RDX, CTX_RDX);
	emit_load(e, X86_RSI, CTX_SPILL);
	c->logged = (uint32_t)e->len;
}
