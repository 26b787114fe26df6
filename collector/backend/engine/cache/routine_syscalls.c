/* SPDX-License-Identifier: MIT */
/* The routines of system calls: whether one is made in the cache, by what the tracer has granted,
 * its arguments and the tables in the window; and what is noted of it.
 *
 * routine_emit_syscall() comes before a call. It looks up what the call needs (syscall_policy.h) by
 * its number and compares that with what is granted in the context. Then come tests of arguments,
 * each for calls of one kind: descriptors, opening, mappings, signal actions, masks, operations.
 * A test ends at `yes` or `no`, or goes on to the next; `yes` notes the call and returns to it.
 * After `no` the code leaves the cache, and the call is made at a stop.
 *
 * Before the call CTX_CALLING is set, then CTX_STOP is read. A tracer that wants a stop does it the
 * other way round, so one of the two sees the other.
 *
 * routine_emit_syscall_behind() comes after a call: it notes the result. A descriptor that the call
 * gave enters the table, and bytes written to descriptor 2 are copied (last_words.h).
 *
 * Instructions of ours that may fault at the program's addresses lie between marks in the cache
 * (masking, copying), by which cache_syscalls_fault() knows them. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/backend/engine/cache/logged_calls.h"
#include "collector/backend/engine/cache/routines_private.h"
#include "collector/backend/engine/cache/syscall_policy.h"
#include "lib/array_size.h"
#include "lib/page.h"

_Static_assert(DESCRIPTOR_NUMBER_BITS == 16 && DESCRIPTOR_BYTES == 2, "emit_row()");
_Static_assert(STATUS_AT + sizeof(struct stat) <= WORDS_TOTAL_AT, "layout.h");

/* Where in a routine they are. */
struct class_tables {
	uint32_t of_syscalls, classes;
};

/* The classes of calls (syscall_policy(), logged_call_policy()), and the number of that of each. */
static struct class_tables emit_classes(struct emitter *e, bool logged)
{
	enum {
		MOST = 64,
	};
	struct class_tables tables = {.of_syscalls = (uint32_t)e->len};
	uint32_t classes[MOST] = {0};
	uint8_t count = 0;

	for (uint32_t nr = 0; nr < POLICY_NUMBERS; nr++) {
		uint32_t policy = logged ? logged_call_policy(nr) : syscall_policy(nr);
		uint8_t i = 0;

		while (i < count && classes[i] != policy)
			i++;
		assert(i < MOST);
		classes[i] = policy;
		count += i == count;
		emit_u8(e, i);
	}
	tables.classes = (uint32_t)e->len;
	emit_bytes(e, classes, count * sizeof classes[0]);
	return tables;
}

/* eax: enum syscall_policy of the call, whose number, one of POLICY_NUMBERS, is in the context. */
static void emit_class(struct emitter *e, const struct class_tables *tables)
{
	EMIT(e, 0x65, 0x8b, 0x04, 0x25); /* mov eax, gs:[rax] */
	emit_u32(e, CTX_RAX);
	EMIT(e, 0x65, 0x0f, 0xb6, 0x80); /* movzx eax, byte gs:[rax+of_syscalls] */
	emit_u32(e, CODE_AT + tables->of_syscalls);
	EMIT(e, 0x65, 0x8b, 0x04, 0x85); /* mov eax, gs:[rax*4+classes] */
	emit_u32(e, CODE_AT + tables->classes);
}

/* Jumps when the call is not this one. */
size_t syscall_emit_unless(struct emitter *e, uint32_t nr)
{
	EMIT(e, 0x65, 0x81, 0x3c, 0x25); /* cmp dword gs:[rax], number */
	emit_u32(e, CTX_RAX);
	emit_u32(e, nr);
	return emit_jcc(e, CC_NE);
}

/* test eax, needs */
static void emit_test_class(struct emitter *e, uint32_t needs)
{
	emit_u8(e, 0xa9);
	emit_u32(e, needs);
}

/* To where what else the operation needs is looked at. */
static struct forward *way_of(const struct policy_operation *o, struct syscall_ways *to)
{
	return o->need & POLICY_COPY ? &to->copy : o->need & POLICY_WAIT ? &to->wait : &to->yes;
}

/* An operation in ecx. */
static void emit_operation(struct emitter *e, const struct policy_operation *o,
			   struct syscall_ways *to)
{
	size_t other;

	if (o->value <= INT8_MAX) { /* cmp ecx, operation */
		EMIT(e, 0x83, 0xf9, (uint8_t)o->value);
	} else {
		EMIT(e, 0x81, 0xf9);
		emit_u32(e, o->value);
	}
	if (!(o->need & POLICY_ASKS)) {
		emit_jump_if(e, way_of(o, to), CC_E);
		return;
	}
	other = emit_jcc(e, CC_NE);
	EMIT(e, 0x48, 0x85, 0xd2); /* test rdx, rdx */
	emit_jump_if(e, way_of(o, to), CC_E);
	emit_patch(e, other, e->base + e->len);
}

/* The operations of the calls that have some; those that may run go to yes, or to what else they
 * need. Others are made only of descriptors that are not open. eax: enum syscall_policy of the
 * call. Ends at no. */
static void emit_operations(struct emitter *e, struct syscall_ways *to)
{
	for (size_t i = 0, end; i < policy_operations_count; i = end) {
		size_t other = syscall_emit_unless(e, policy_operations[i].nr);

		EMIT(e, 0x89,
		     policy_operations[i].need & POLICY_FIRST ? 0xf9
							      : 0xf1); /* mov ecx, edi; or esi */
		for (end = i; end < policy_operations_count &&
			      policy_operations[end].nr == policy_operations[i].nr;
		     end++)
			emit_operation(e, &policy_operations[end], to);
		emit_patch(e, other, e->base + e->len);
	}
	emit_test_class(e, POLICY_DESCRIPTORS);
	emit_patch(e, emit_jcc(e, CC_NE), to->ask);
	to->no.sites[to->no.count++] = emit_jump(e);
}

/* test dword gs:[syscalls], need */
void syscall_emit_test_grant(struct emitter *e, uint32_t need)
{
	EMIT(e, 0x65, 0xf7, 0x04, 0x25);
	emit_u32(e, CTX_SYSCALLS);
	emit_u32(e, need);
}

/* mov qword gs:[at], value */
static void emit_set(struct emitter *e, uint32_t at, uint32_t value)
{
	EMIT(e, 0x65, 0x48, 0xc7, 0x04, 0x25);
	emit_u32(e, at);
	emit_u32(e, value);
}

/* rcx: place of the row of the descriptor in ecx. Changes flags. */
static void emit_row(struct emitter *e)
{
	EMIT(e, 0x0f, 0xb7, 0xc9, 0x01, 0xc9); /* movzx ecx, cx; add ecx, ecx */
	EMIT(e, 0x65, 0x48, 0x03, 0x0c, 0x25); /* add rcx, gs:[table] */
	emit_u32(e, CTX_TABLE);
}

/* The upper bits of a descriptor's number, as they stand in its row: shr reg, bits; shl reg, bits.
 */
static void emit_upper_bits(struct emitter *e, unsigned reg)
{
	EMIT(e, 0xc1, (uint8_t)(0xe8 | reg), DESCRIPTOR_NUMBER_BITS, 0xc1, (uint8_t)(0xe0 | reg),
	     DESCRIPTOR_KIND_BITS);
}

/* ecx: the table's kind of the descriptor in it; the row may be another descriptor's. rax is
 * used, and flags. */
void syscall_emit_kind(struct emitter *e)
{
	size_t own;

	EMIT(e, 0x89, 0xc8); /* mov eax, ecx */
	emit_upper_bits(e, X86_RAX);
	emit_row(e);
	EMIT(e, 0x0f, 0xb7, 0x09, 0x31, 0xc1);          /* movzx ecx, word [rcx]; xor ecx, eax */
	EMIT(e, 0x83, 0xf9, 1 << DESCRIPTOR_KIND_BITS); /* cmp ecx, kinds */
	own = short_jump(e, JB);
	EMIT(e, 0x31, 0xc9); /* xor ecx, ecx: DESCRIPTOR_UNKNOWN */
	land_jump(e, own);
}

/* cmp ecx, kind */
void syscall_emit_compare_kind(struct emitter *e, uint8_t kind) { EMIT(e, 0x83, 0xf9, kind); }

/* The descriptor in ecx is what CTX_COPY says. rax and rcx are used, and flags. */
static void emit_enter(struct emitter *e)
{
	EMIT(e, 0x89, 0xc8); /* mov eax, ecx */
	emit_upper_bits(e, X86_RAX);
	EMIT(e, 0x65, 0x0b, 0x04, 0x25); /* or eax, gs:[kind] */
	emit_u32(e, CTX_COPY);
	emit_row(e);
	EMIT(e, 0x66, 0x89, 0x01); /* mov [rcx], ax */
}

/* The first argument leaves the table when it is to be closed. ecx: its kind in the table. eax:
 * enum syscall_policy of the call, which stays. */
static void emit_leaving(struct emitter *e)
{
	size_t keep, unknown;

	emit_test_class(e, POLICY_CLOSE);
	keep = short_jump(e, JE);
	syscall_emit_compare_kind(e, DESCRIPTOR_UNKNOWN); /* its row is another's */
	unknown = short_jump(e, JE);
	EMIT(e, 0x89, 0xf9); /* mov ecx, edi */
	emit_row(e);
	EMIT(e, 0x66, 0xc7, 0x01, 0, 0); /* mov word [rcx], 0 */
	land_jump(e, unknown);
	land_jump(e, keep);
}

/* Asks the kernel whether the first argument is open. Only the kernel knows: other tasks and
 * processes open descriptors, and messages bring them. On a closed one every call fails at once
 * with EBADF. If another task opens it in between, the call may wait, and is interrupted as any
 * other that waits. Ends at yes or no. */
static void emit_ask(struct code_cache *c, struct emitter *e, struct syscall_ways *to)
{
	to->ask = e->base + e->len;
	emit_store(e, X86_R11, CTX_BITS);
	emit_store(e, X86_RSI, CTX_SPILL);
	c->asking = (uint32_t)e->len;
	EMIT(e, 0xb8); /* mov eax, number */
	emit_u32(e, SYS_fcntl);
	EMIT(e, 0xbe); /* mov esi, operation */
	emit_u32(e, F_GETFD);
	EMIT(e, 0x0f, 0x05); /* syscall */
	emit_load(e, X86_RSI, CTX_SPILL);
	c->asked = (uint32_t)e->len;
	emit_load(e, X86_R11, CTX_BITS);
	EMIT(e, 0x83, 0xf8, (uint8_t)-EBADF); /* cmp eax, error */
	emit_jump_if(e, &to->no, CC_NE);
	emit_set(e, CTX_COPY, 0);
	to->yes.sites[to->yes.count++] = emit_jump(e);
}

/* Where a log is kept: reads of at most a page, and writes to a stream that can be copied, of
 * descriptors whose kind, in ecx, is one of those. eax: enum syscall_policy of the call; both stay.
 * Others go on behind it. */
static void emit_log_kinds(struct emitter *e, struct forward *known)
{
	struct forward other = {.count = 0};
	size_t no_page;

	syscall_emit_compare_kind(e, DESCRIPTOR_PAGE);
	no_page = emit_jcc(e, CC_NE);
	emit_test_class(e, POLICY_WRITE);
	emit_jump_if(e, &other, CC_E);
	EMIT(e, 0x48, 0x81, 0xfa); /* cmp rdx, page */
	emit_u32(e, BT_PAGE);
	emit_jump_if(e, known, CC_BE);
	other.sites[other.count++] = emit_jump(e);
	emit_patch(e, no_page, e->base + e->len);
	syscall_emit_compare_kind(e, DESCRIPTOR_STREAM_1);
	emit_jump_if(e, &other, CC_B);
	syscall_emit_test_grant(e, POLICY_WRITE); /* a fault of the copy may be served */
	emit_jump_if(e, &other, CC_E);
	for (size_t i = 0; i < LOGGED_STREAM_CALLS; i++) {
		size_t different = syscall_emit_unless(e, logged_stream_calls[i]);

		EMIT(e, 0x65, 0x89, 0x0c, 0x25); /* mov gs:[stream], ecx */
		emit_u32(e, CTX_STREAM);
		EMIT(e, 0x65, 0x83, 0x2c, 0x25); /* sub dword gs:[stream], first - 1 */
		emit_u32(e, CTX_STREAM);
		emit_u8(e, DESCRIPTOR_STREAM_1 - 1);
		known->sites[known->count++] = emit_jump(e);
		emit_patch(e, different, e->base + e->len);
	}
	land_all(e, &other);
}

/* The first argument is a descriptor of which the table allows the call, or it is not open. eax:
 * enum syscall_policy of the call, which stays. Ends at yes or no, or behind. */
static void emit_descriptor(struct code_cache *c, struct emitter *e,
			    const struct class_tables *tables, struct syscall_ways *to)
{
	struct forward known = {.count = 0};
	size_t no_table, unsure, any;

	syscall_emit_test_grant(e, POLICY_TABLE);
	no_table = emit_jcc(e, CC_E);
	EMIT(e, 0x89, 0xf9); /* mov ecx, edi */
	syscall_emit_kind(e);
	emit_class(e, tables);
	syscall_emit_compare_kind(e, DESCRIPTOR_AT_ONCE);
	emit_jump_if(e, &known, CC_E);
	if (c->kind.logged)
		emit_log_kinds(e, &known);
	syscall_emit_test_grant(e, POLICY_WAIT);
	unsure = emit_jcc(e, CC_E);
	emit_test_class(e, POLICY_ANY);
	emit_jump_if(e, &known, CC_NE);
	if (!c->kind.logged) {
		syscall_emit_compare_kind(e, DESCRIPTOR_WAITS);
		emit_jump_if(e, &known, CC_E);
	}
	emit_patch(e, unsure, e->base + e->len);
	syscall_emit_compare_kind(e, DESCRIPTOR_UNKNOWN);
	emit_jump_if(e, &to->no, CC_NE);
	emit_patch(e, no_table, e->base + e->len);
	emit_test_class(e, POLICY_ANY);
	any = emit_jcc(e, CC_NE);
	syscall_emit_test_grant(e, POLICY_WAIT);
	emit_jump_if(e, &to->no, CC_E);
	emit_patch(e, any, e->base + e->len);
	emit_ask(c, e, to);
	land_all(e, &known);
	emit_leaving(e);
}

/* A call that opens a file does so only to read it. eax: enum syscall_policy of the call, which
 * stays. */
static void emit_opening(struct emitter *e, bool logged, struct forward *no)
{
	size_t other, at, folder;

	emit_test_class(e, POLICY_OPENS);
	other = emit_jcc(e, CC_E);
	EMIT(e, 0x89, 0xd1, 0x65, 0x81, 0x3c, 0x25); /* mov ecx, edx; cmp dword gs:[rax], openat */
	emit_u32(e, CTX_RAX);
	emit_u32(e, SYS_openat);
	at = short_jump(e, JE);
	EMIT(e, 0x89, 0xf1); /* mov ecx, esi */
	land_jump(e, at);
	EMIT(e, 0xf6, 0xc1, O_ACCMODE); /* test cl, mode */
	emit_jump_if(e, no, CC_NE);
	if (logged) {                /* a file that is cut may be mapped */
		EMIT(e, 0xf7, 0xc1); /* test ecx, flag */
		emit_u32(e, O_TRUNC);
		emit_jump_if(e, no, CC_NE);
	}
	/* Folders are not noted: find(1) opens thousands, and they explain little. */
	EMIT(e, 0xf7, 0xc1); /* test ecx, folder */
	emit_u32(e, O_DIRECTORY);
	folder = emit_jcc(e, CC_NE);
	emit_set(e, CTX_COPY, COPY_OPENED);
	emit_patch(e, folder, e->base + e->len);
	emit_patch(e, other, e->base + e->len);
}

/* A call that tells the kind of a descriptor not yet known: its result will be looked at. eax: enum
 * syscall_policy of the call, which stays. */
static void emit_telling(struct emitter *e, const struct class_tables *tables)
{
	struct forward no = {.count = 0};

	emit_test_class(e, POLICY_PATHS);
	emit_jump_if(e, &no, CC_E);
	no.sites[no.count++] = syscall_emit_unless(e, SYS_newfstatat);
	EMIT(e, 0x41, 0xf7, 0xc2); /* test r10d, flag */
	emit_u32(e, AT_EMPTY_PATH);
	emit_jump_if(e, &no, CC_E);
	emit_is_zero(e, CTX_DEVICE);
	emit_jump_if(e, &no, CC_E);
	EMIT(e, 0x89, 0xf9); /* mov ecx, edi */
	syscall_emit_kind(e);
	emit_class(e, tables);
	syscall_emit_compare_kind(e, DESCRIPTOR_UNKNOWN);
	emit_jump_if(e, &no, CC_NE);
	emit_set(e, CTX_COPY, COPY_TOLD);
	land_all(e, &no);
}

/* A write to descriptor 2, which is to be copied, or made at a stop. eax: enum syscall_policy of
 * the call, which stays. */
static void emit_saying(struct emitter *e, struct forward *no)
{
	struct forward other = {.count = 0};

	emit_test_class(e, POLICY_TELLS);
	emit_jump_if(e, &other, CC_E);
	EMIT(e, 0x83, 0xff, STDERR_FILENO); /* cmp edi, descriptor */
	emit_jump_if(e, &other, CC_NE);
	syscall_emit_test_grant(e, POLICY_COPIES);
	emit_jump_if(e, no, CC_E);
	no->sites[no->count++] = syscall_emit_unless(e, SYS_write);
	emit_load(e, X86_RCX, WORDS_TOTAL_AT);
	EMIT(e, 0x48, 0x01, 0xd1); /* add rcx, rdx */
	emit_jump_if(e, no, CC_B);
	EMIT(e, 0x65, 0x48, 0x3b, 0x0c, 0x25); /* cmp rcx, gs:[most] */
	emit_u32(e, WORDS_MOST_AT);
	emit_jump_if(e, no, CC_A);
	emit_set(e, CTX_COPY, COPY_WORDS);
	land_all(e, &other);
}

/* Behind such a call: a file of a local file system becomes known as one. Others may change or take
 * away the memory that the kernel has written, so the kernel is asked once more, into memory of
 * ours. Where a log is kept it has to be open for reading alone: others may be outputs, or
 * mapped. rax and rcx are used, and flags; the call's flags, in r11, and rsi are kept in the
 * context.
 */
static void emit_told(struct code_cache *c, struct emitter *e)
{
	struct forward no = {.count = 0};
	size_t known;

	emit_is_zero(e, CTX_RAX); /* its result */
	known = emit_jcc(e, CC_NE);
	emit_store(e, X86_R11, CTX_R11);
	emit_store(e, X86_RSI, CTX_SPILL);
	c->telling = (uint32_t)e->len;
	emit_load(e, X86_RSI, CTX_TABLE);
	EMIT(e, 0x48, 0x81, 0xc6); /* add rsi, status */
	emit_u32(e, (uint32_t)(STATUS_AT - DESCRIPTORS_AT));
	EMIT(e, 0xb8); /* mov eax, number */
	emit_u32(e, SYS_fstat);
	EMIT(e, 0x0f, 0x05, 0x85, 0xc0); /* syscall; test eax, eax */
	emit_jump_if(e, &no, CC_NE);
	EMIT(e, 0x8b, 0x46, offsetof(struct stat, st_mode),
	     0x25); /* mov eax, [rsi+mode]; and eax, type */
	emit_u32(e, S_IFMT);
	emit_u8(e, 0x3d); /* cmp eax, type */
	emit_u32(e, S_IFREG);
	emit_jump_if(e, &no, CC_NE);
	EMIT(e, 0x48, 0x8b, 0x46, offsetof(struct stat, st_dev)); /* mov rax, [rsi+device] */
	EMIT(e, 0x65, 0x48, 0x3b, 0x04, 0x25);                    /* cmp rax, gs:[device] */
	emit_u32(e, CTX_DEVICE);
	emit_jump_if(e, &no, CC_NE);
	if (c->kind.logged) {
		EMIT(e, 0xb8); /* mov eax, number */
		emit_u32(e, SYS_fcntl);
		EMIT(e, 0xbe); /* mov esi, operation */
		emit_u32(e, F_GETFL);
		EMIT(e, 0x0f, 0x05, 0xa8, O_ACCMODE); /* syscall; test al, mode */
		emit_jump_if(e, &no, CC_NE);
	}
	emit_set(e, CTX_COPY, DESCRIPTOR_AT_ONCE);
	EMIT(e, 0x89, 0xf9); /* mov ecx, edi */
	emit_enter(e);
	land_all(e, &no);
	emit_load(e, X86_RSI, CTX_SPILL);
	c->told = (uint32_t)e->len;
	emit_load(e, X86_R11, CTX_R11);
	emit_patch(e, known, e->base + e->len);
}

/* A call that says what a signal does. Ends at yes or no. */
static void emit_action(struct emitter *e, struct syscall_ways *to)
{
	static const uint8_t ours[] = {SIGTRAP, SIGSEGV, SIGBUS};

	for (size_t i = 0; i < sizeof ours; i++) {
		EMIT(e, 0x83, 0xff, ours[i]); /* cmp edi, signal */
		emit_jump_if(e, &to->no, CC_E);
	}
	to->yes.sites[to->yes.count++] = emit_jump(e);
}

/* A call that sets the signal mask. The set is read here first: a fault is the call's, which is
 * then made at a stop (cache_syscalls_fault()). Ends at yes or no. */
static void emit_masking(struct code_cache *c, struct emitter *e, struct syscall_ways *to)
{
	EMIT(e, 0x48, 0x85, 0xf6); /* test rsi, rsi: it only asks */
	emit_jump_if(e, &to->yes, CC_E);
	EMIT(e, 0x83, 0xff, SIG_UNBLOCK); /* cmp edi, how */
	emit_jump_if(e, &to->yes, CC_E);
	c->masking = (uint32_t)e->len;
	EMIT(e, 0x48, 0x8b, 0x0e); /* mov rcx, [rsi] */
	c->masked = (uint32_t)e->len;
	EMIT(e, 0xf7, 0xc1); /* test ecx, signals */
	emit_u32(e, 1u << (SIGTRAP - 1) | 1u << (SIGSEGV - 1) | 1u << (SIGBUS - 1));
	emit_jump_if(e, &to->no, CC_NE);
	to->yes.sites[to->yes.count++] = emit_jump(e);
}

void syscall_emit_note(struct emitter *e)
{
	static const struct {
		uint32_t from, to;
	} words[] = {{CTX_RAX, NOTE_NR}, {CTX_NEXT, NOTE_NEXT}};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		EMIT(e, 0x65, 0x8b, 0x04, 0x25); /* mov eax, gs:[from] */
		emit_u32(e, words[i].from);
		EMIT(e, 0x65, 0x89, 0x81); /* mov gs:[rcx+to], eax */
		emit_u32(e, SYSCALL_NOTES_END + words[i].to);
	}
	EMIT(e, 0x65, 0x4c, 0x89, 0x99); /* mov gs:[rcx+bits], r11 */
	emit_u32(e, SYSCALL_NOTES_END + NOTE_BITS);
}

/* Before a system call: CTX_BACK leads to the jump out of the cache, five bytes behind it is the
 * call. Goes there, the bits in the context and the application's r11 in its register, when all
 * that the call needs is granted, it can be noted, and no stop is wanted. */
void routine_emit_syscall(struct code_cache *c, struct emitter *e, const struct logged_tables *t)
{
	struct syscall_ways to = {.yes = {.count = 0}};
	struct class_tables tables = emit_classes(e, c->kind.logged);
	size_t plain, known, other, unanswered, answered = 0;

	c->call = (uint32_t)e->len;
	emit_store(e, X86_RAX, CTX_RAX);
	EMIT(e, 0x9f, 0x0f, 0x90, 0xc0); /* lahf; seto al */
	emit_store(e, X86_RAX, CTX_FLAGS);
	if (c->kind.logged) {
		emit_load(e, X86_RCX, CTX_ANSWER);
		unanswered = short_jump(e, JRCXZ);
		answered = emit_jump(e);
		land_jump(e, unanswered);
	}
	emit_load(e, X86_RCX, CTX_RAX);
	EMIT(e, 0x48, 0x81, 0xf9); /* cmp rcx, numbers */
	emit_u32(e, POLICY_NUMBERS);
	emit_jump_if(e, &to.no, CC_AE);
	emit_class(e, &tables);
	EMIT(e, 0x65, 0x8b, 0x0c, 0x25); /* mov ecx, gs:[syscalls] */
	emit_u32(e, CTX_SYSCALLS);
	EMIT(e, 0xf7, 0xd1, 0x85, 0xc1); /* not ecx; test ecx, eax */
	emit_jump_if(e, &to.no, CC_NE);
	EMIT(e, 0x65, 0x81, 0x3c, 0x25); /* cmp dword gs:[next], free */
	emit_u32(e, CTX_SYSCALL_NEXT);
	emit_u32(e, (uint32_t) - (SYSCALL_NOTES_FREE + (c->kind.logged ? LOGGED_BYTES : 0)));
	emit_jump_if(e, &to.no, CC_G);
	if (c->kind.logged)
		emit_set(e, CTX_STREAM, 0);
	emit_test_class(e, POLICY_DESCRIPTORS);
	plain = emit_jcc(e, CC_E);
	emit_descriptor(c, e, &tables, &to);
	emit_patch(e, plain, e->base + e->len);
	emit_set(e, CTX_COPY, 0);
	emit_opening(e, c->kind.logged, &to.no);
	emit_telling(e, &tables);
	emit_saying(e, &to.no);
	emit_test_class(e, POLICY_MAPS);
	other = emit_jcc(e, CC_E);
	map_call_emit(e, c->kind.logged, &to);
	emit_patch(e, other, e->base + e->len);
	emit_test_class(e, POLICY_ACTION);
	other = emit_jcc(e, CC_E);
	emit_action(e, &to);
	emit_patch(e, other, e->base + e->len);
	emit_test_class(e, POLICY_MASKS);
	other = emit_jcc(e, CC_E);
	emit_masking(c, e, &to);
	emit_patch(e, other, e->base + e->len);
	emit_test_class(e, POLICY_COPY);
	emit_jump_if(e, &to.copy, CC_NE);
	emit_test_class(e, POLICY_GIVES);
	known = emit_jcc(e, CC_E);
	emit_set(e, CTX_COPY, DESCRIPTOR_WAITS);
	emit_patch(e, known, e->base + e->len);
	emit_test_class(e, POLICY_OPERATION);
	emit_jump_if(e, &to.yes, CC_E);
	emit_operations(e, &to);
	land_all(e, &to.copy);
	syscall_emit_test_grant(e, POLICY_COPY);
	emit_jump_if(e, &to.no, CC_E);
	EMIT(e, 0x89, 0xf9); /* mov ecx, edi */
	syscall_emit_kind(e);
	emit_store(e, X86_RCX, CTX_COPY);
	to.yes.sites[to.yes.count++] = emit_jump(e);
	land_all(e, &to.wait);
	syscall_emit_test_grant(e, POLICY_WAIT);
	emit_jump_if(e, &to.no, CC_E);
	land_all(e, &to.yes);
	if (c->kind.logged)
		logged_call_emit_before(c, e, t, &to.no);
	/* The tracer writes CTX_STOP before it reads CTX_CALLING. The task writes CTX_CALLING
	 * before it reads CTX_STOP. So one of the two sees what the other wrote, and the call does
	 * not begin or is interrupted. */
	EMIT(e, 0xb9, 1, 0, 0, 0, 0x65, 0x87, 0x0c,
	     0x25); /* mov ecx, 1; xchg gs:[calling], ecx: a barrier */
	emit_u32(e, CTX_CALLING);
	emit_is_zero(e, CTX_STOP);
	emit_jump_if(e, &to.no, CC_NE);
	emit_load(e, X86_RCX, CTX_SYSCALL_NEXT);
	syscall_emit_note(e);
	emit_load(e, X86_RCX, CTX_BACK);
	EMIT(e, 0x48, 0x8d, 0x49, 5); /* lea rcx, [rcx+5]: over the jump */
	emit_store(e, X86_RCX, CTX_BACK);
	emit_store(e, X86_R11, CTX_BITS);
	emit_load(e, X86_R11, CTX_R11);
	c->granted = (uint32_t)e->len;
	emit_back_to_syscall(e);
	c->granted_end = (uint32_t)e->len;
	if (c->kind.logged) {
		emit_patch(e, answered, e->base + e->len);
		answered_call_emit(c, e, &to.no);
	}
	land_all(e, &to.no);
	c->syscall_stops = (uint32_t)e->len;
	emit_set(e, CTX_CALLING, 0);
	emit_back_to_syscall(e);
}

/* Behind a system call: its result is noted, and a descriptor that it gave is what the first
 * argument is, or what it has told. Keeps all but rcx, and goes to CTX_BACK. */
void routine_emit_syscall_behind(struct code_cache *c, struct emitter *e,
				 const struct logged_tables *t)
{
	size_t nothing, some, failed, copied, told, other, said, good, bad, behind;
	struct forward opened = {.count = 0};
	uint32_t table = failed_call_table(e);

	c->called = (uint32_t)e->len;
	emit_load(e, X86_RCX, CTX_SYSCALL_NEXT);
	EMIT(e, 0x65, 0x48, 0x89, 0x81); /* mov gs:[rcx+result], rax */
	emit_u32(e, SYSCALL_NOTES_END + NOTE_RESULT);
	EMIT(e, 0x48, 0x8d, 0x49, NOTE_SIZE); /* lea rcx, [rcx+note] */
	emit_store(e, X86_RCX, CTX_SYSCALL_NEXT);
	c->noted = (uint32_t)e->len;
	emit_set(e, CTX_CALLING, 0);
	if (c->kind.logged) {
		emit_store(e, X86_RAX, CTX_RAX);
		c->result_kept = (uint32_t)e->len;
		EMIT(e, 0x9f, 0x0f, 0x90, 0xc0); /* lahf; seto al */
		emit_store(e, X86_RAX, CTX_FLAGS);
		logged_call_emit_behind(c, e, t);
		restore_flags(e);
		emit_load(e, X86_RAX, CTX_RAX);
		emit_load(e, X86_RCX, CTX_SYSCALL_NEXT);
		EMIT(e, 0x48, 0x8d, 0x49, (uint8_t)-LOGGED_BYTES); /* lea rcx, [rcx-log] */
	}
	/* A result below zero: movsx rcx, byte gs:[rcx+sign]. It changes no flags. */
	EMIT(e, 0x65, 0x48, 0x0f, 0xbe, 0x89);
	emit_u32(e, SYSCALL_NOTES_END - NOTE_SIZE + NOTE_RESULT + 7);
	good = short_jump(e, JRCXZ);
	bad = emit_jump(e);
	land_jump(e, good);
	behind = e->len;
	emit_load(e, X86_RCX, CTX_COPY);
	nothing = short_jump(e, JRCXZ);
	some = emit_jump(e);
	land_jump(e, nothing);
	jump_through(e, CTX_BACK);
	emit_patch(e, some, e->base + e->len);
	emit_store(e, X86_RAX, CTX_RAX);
	EMIT(e, 0x9f, 0x0f, 0x90, 0xc0); /* lahf; seto al */
	emit_store(e, X86_RAX, CTX_FLAGS);
	EMIT(e, 0x81, 0xf9); /* cmp ecx, words */
	emit_u32(e, COPY_WORDS);
	other = emit_jcc(e, CC_NE);
	words_emit_copy(c, e);
	said = emit_jump(e);
	emit_patch(e, other, e->base + e->len);
	EMIT(e, 0x81, 0xf9); /* cmp ecx, opened */
	emit_u32(e, COPY_OPENED);
	emit_jump_if(e, &opened, CC_E);
	EMIT(e, 0x81, 0xf9); /* cmp ecx, told */
	emit_u32(e, COPY_TOLD);
	copied = emit_jcc(e, CC_NE);
	emit_told(c, e);
	told = emit_jump(e);
	emit_patch(e, copied, e->base + e->len);
	emit_load(e, X86_RCX, CTX_RAX);
	EMIT(e, 0x85, 0xc9); /* test ecx, ecx */
	failed = emit_jcc(e, CC_S);
	emit_enter(e);
	emit_patch(e, failed, e->base + e->len);
	emit_patch(e, told, e->base + e->len);
	emit_patch(e, said, e->base + e->len);
	restore_flags(e);
	emit_load(e, X86_RAX, CTX_RAX);
	jump_through(e, CTX_BACK);
	emit_patch(e, bad, e->base + e->len);
	emit_store(e, X86_RAX, CTX_RAX);
	EMIT(e, 0x9f, 0x0f, 0x90, 0xc0); /* lahf; seto al */
	emit_store(e, X86_RAX, CTX_FLAGS);
	if (c->kind.logged) {
		emit_load(e, X86_RCX, CTX_SYSCALL_NEXT);
		EMIT(e, 0x65, 0x8b, 0x81); /* mov eax, gs:[rcx+number] */
		emit_u32(e, SYSCALL_NOTES_END - LOGGED_BYTES - NOTE_SIZE + NOTE_NR);
		map_call_emit_failed(e);
	}
	failed_call_emit_note(c, e, table, &opened);
	restore_flags(e);
	emit_load(e, X86_RAX, CTX_RAX);
	emit_patch(e, emit_jump(e), e->base + behind);
}
