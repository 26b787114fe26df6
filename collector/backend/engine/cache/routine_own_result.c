/* SPDX-License-Identifier: MIT */
/* Instructions with a result of their own in the cache while a log is kept, and in its replay. A
 * fragment goes to the routine first. CTX_BACK leads to three places in it, a jump's length from
 * one to the next: the way out of the cache; behind the instruction; the instruction, behind which
 * the fragment notes what it gave (fragment_own_result.c).
 *
 * In a replay the window has what the instruction gave (struct answer). The next answer is given if
 * it is one of this instruction, at this tick; else the task goes out, and the tracer sees what is
 * wrong. In a recording the instruction is executed if its note has room; CPUID is passed over
 * where a table has what it gives (routine_cpuid.c). */
#include "collector/backend/engine/cache/routines_private.h"
#include "lib/logged_call.h"

enum {
	JUMP_BYTES = 5,
	BEHIND = JUMP_BYTES, /* from CTX_BACK */
	INSTRUCTION = 2 * JUMP_BYTES,
	/* As much as a system call wants: the tracer knows by that what a task lacked
	   (lacked_room()). */
	ROOM = SYSCALL_NOTES_FREE + LOGGED_BYTES,
};
_Static_assert(ROOM >= 2 * NOTE_SIZE, "rdtscp, CPUID");

/* The task goes on there. */
static void emit_lead(struct emitter *e, uint8_t to)
{
	emit_load(e, X86_RCX, CTX_BACK);
	EMIT(e, 0x48, 0x8d, 0x49, to); /* lea rcx, [rcx+to] */
	emit_store(e, X86_RCX, CTX_BACK);
	emit_back_to_syscall(e);
}

/* Where history is kept the session compares ticks at the next stop: those of a note that has no
 * result. rax and rcx are used, and flags. */
static void emit_tick_note(struct emitter *e)
{
	size_t ticks;

	emit_is_zero(e, CTX_ANSWER_NOTED);
	ticks = emit_jcc(e, CC_E);
	emit_load(e, X86_RCX, CTX_SYSCALL_NEXT);
	syscall_emit_note(e);
	EMIT(e, 0x65, 0xc7, 0x81); /* mov dword gs:[rcx+number], marker */
	emit_u32(e, SYSCALL_NOTES_END + NOTE_NR);
	emit_u32(e, (uint32_t)(NOTE_OF_INSTRUCTION - BT_LOGGED_RDTSC)); /* the short one */
	EMIT(e, 0x48, 0x8d, 0x49, NOTE_SIZE);                           /* lea rcx, [rcx+note] */
	emit_store(e, X86_RCX, CTX_SYSCALL_NEXT);
	emit_patch(e, ticks, e->base + e->len);
}

/* mov reg, gs:[rcx+field]: the lower half of the register. rcx: CTX_ANSWER. */
static void emit_half(struct emitter *e, unsigned reg, uint32_t field)
{
	EMIT(e, 0x65, 0x8b, (uint8_t)(0x81 | reg << 3));
	emit_u32(e, LOG_END + field);
}

/* rcx: CTX_ANSWER. */
static void emit_answer(struct emitter *e, enum bt_logged_form form, struct forward *no)
{
	EMIT(e, 0x65, 0x83, 0xb9); /* cmp dword gs:[rcx+form], form */
	emit_u32(e, LOG_END + ANSWER_FORM);
	emit_u8(e, (uint8_t)form);
	emit_jump_if(e, no, CC_NE);
	answer_emit_same_tick(e, no);
	emit_half(e, X86_RAX, ANSWER_RESULT);
	emit_store(e, X86_RAX, CTX_RAX);
	emit_half(e, X86_RDX, ANSWER_RESULT + 4);
	if (form == BT_LOGGED_RDTSCP || form == BT_LOGGED_CPUID) {
		emit_half(e, X86_RAX, ANSWER_ECX);
		emit_store(e, X86_RAX, CTX_RCX);
	}
	if (form == BT_LOGGED_CPUID)
		emit_half(e, X86_RBX, ANSWER_EBX);
	EMIT(e, 0x65, 0x48, 0x8b, 0x81); /* mov rax, gs:[rcx+next] */
	emit_u32(e, LOG_END + ANSWER_NEXT);
	emit_store(e, X86_RAX, CTX_ANSWER);
	emit_tick_note(e);
	emit_lead(e, BEHIND);
}

/* What is in the table is given, and noted. */
static void emit_known(struct emitter *e, struct cpuid_sites *table)
{
	struct forward unknown = {.count = 0};

	emit_load(e, X86_RAX, CTX_RAX);
	cpuid_emit_search(e, table, &unknown);
	cpuid_emit_known(e, INSTRUCTION + CPUID_BYTES);
	land_all(e, &unknown);
	emit_load(e, X86_RDX, CTX_RDX);
}

/* The application's rcx is in the context, CTX_BACK leads to the way out. */
static void emit_own_result(struct emitter *e, enum bt_logged_form form, struct cpuid_sites *table)
{
	struct forward no = {.count = 0};
	size_t unanswered, answered;

	emit_store(e, X86_RDX, CTX_RDX); /* the first of all, for who is killed here */
	if (form == BT_LOGGED_CPUID)
		emit_store(e, X86_RBX, CTX_RBX);
	emit_store(e, X86_RAX, CTX_RAX);
	EMIT(e, 0x9f, 0x0f, 0x90, 0xc0); /* lahf; seto al */
	emit_store(e, X86_RAX, CTX_FLAGS);
	emit_load(e, X86_RCX, CTX_ANSWER);
	unanswered = short_jump(e, JRCXZ);
	answered = emit_jump(e);
	land_jump(e, unanswered);
	emit_is_zero(e, CTX_OWN_RESULTS);
	emit_jump_if(e, &no, CC_E);
	EMIT(e, 0x65, 0x81, 0x3c, 0x25); /* cmp dword gs:[next], room */
	emit_u32(e, CTX_SYSCALL_NEXT);
	emit_u32(e, (uint32_t)-ROOM);
	emit_jump_if(e, &no, CC_G);
	if (form == BT_LOGGED_CPUID)
		emit_known(e, table);
	emit_lead(e, INSTRUCTION);
	emit_patch(e, answered, e->base + e->len);
	emit_answer(e, form, &no);
	land_all(e, &no);
	emit_back_to_syscall(e);
}

void routine_emit_own_results(struct code_cache *c, struct emitter *e, struct cpuid_sites *table)
{
	for (enum bt_logged_form form = BT_LOGGED_RDTSC; form < BT_LOGGED_FORMS; form++) {
		c->own_results[form] = (uint32_t)e->len;
		emit_own_result(e, form, table);
	}
}
