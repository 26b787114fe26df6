/* SPDX-License-Identifier: MIT */
/* Shared by the source files of the routines, and nobody else: jumps to places that are not known
 * yet, and sequences that several routines have. */
#ifndef BT_ROUTINES_PRIVATE_H
#define BT_ROUTINES_PRIVATE_H

#include <assert.h>

#include "collector/backend/engine/cache/code_cache.h"
#include "collector/backend/engine/cache/emit.h"
#include "collector/backend/engine/cache/layout.h"

enum {
	JB = 0x72,
	JE = 0x74,
	JS = 0x78,
	JNE = 0x75,
	JMP8 = 0xeb,
	JRCXZ = 0xe3,
	CC_B = 2, /* conditions */
	CC_AE = 3,
	CC_E = 4,
	CC_NE = 5,
	CC_BE = 6,
	CC_A = 7,
	CC_S = 8,
	CC_LE = 14,
	CC_G = 15,
	FORWARD_MOST = 64,
};

static inline size_t short_jump(struct emitter *e, uint8_t opcode)
{
	EMIT(e, opcode, 0);
	return e->len;
}

static inline void land_jump(struct emitter *e, size_t from)
{
	assert(e->len - from <= INT8_MAX);
	e->bytes[from - 1] = (uint8_t)(e->len - from);
}

static inline void restore_flags(struct emitter *e)
{
	emit_load(e, X86_RAX, CTX_FLAGS);
	EMIT(e, 0x04, 0x7f,
	     0x9e); /* add al, 0x7f: the overflow flag from al; sahf: the others from ah */
}

static inline void jump_through(struct emitter *e, uint32_t at)
{
	EMIT(e, 0x65, 0xff, 0x24, 0x25);
	emit_u32(e, at);
}

/* A jump to a place that is not known yet. */
struct forward {
	size_t sites[FORWARD_MOST];
	int count;
};

static inline void emit_jump_if(struct emitter *e, struct forward *f, uint8_t condition)
{
	assert(f->count < FORWARD_MOST);
	f->sites[f->count++] = emit_jcc(e, condition);
}

static inline void land_all(struct emitter *e, const struct forward *f)
{
	for (int i = 0; i < f->count; i++)
		emit_patch(e, f->sites[i], e->base + e->len);
}

/* cmp dword gs:[at], 0 */
static inline void emit_is_zero(struct emitter *e, uint32_t at)
{
	EMIT(e, 0x65, 0x83, 0x3c, 0x25);
	emit_u32(e, at);
	emit_u8(e, 0);
}

/* Back to a system call, or CPUID, whose application's rcx is in the context, its rax and flags
 * too. */
static inline void emit_back_to_syscall(struct emitter *e)
{
	restore_flags(e);
	emit_load(e, X86_RAX, CTX_RAX);
	emit_load(e, X86_RCX, CTX_RCX);
	jump_through(e, CTX_BACK);
}

/* Notes a system call, but for its result. rcx: CTX_SYSCALL_NEXT; rax is used. */
void syscall_emit_note(struct emitter *e);

/* Where a system call goes on that has been found to be possible, or not. */
struct syscall_ways {
	struct forward yes, copy, wait, no;
	uint64_t ask; /* code that asks whether its descriptor is open */
};

/* ---- routine_map_calls.c ---- */

/* A call that changes mappings, whose number is in the context. Its arguments are noted if it may
 * be made; where a log is kept it maps no file. Ends at yes or no. rax and rcx are used, and flags.
 */
void map_call_emit(struct emitter *e, bool logged, struct syscall_ways *ways);

/* Behind a call that has failed, whose number is in eax, its result in the context, where a log is
 * kept: if it may have changed mappings the next that does is made at a stop, so that the mappings
 * can be read before. rax is used, and flags. */
void map_call_emit_failed(struct emitter *e);

/* ---- routine_failed_call.c ---- */

/* Where its table is, for the other one. */
uint32_t failed_call_table(struct emitter *e);

/* Behind the note of a call that may have failed, with its result and flags in the context: notes
 * its arguments if it has. `opened` leads here from behind one that may have opened a file, which
 * is noted if it has. rax and rcx are used, flags, and CTX_COPY if that was COPY_OPENED. */
void failed_call_emit_note(struct code_cache *c, struct emitter *e, uint32_t table,
			   const struct forward *opened);

/* ---- routine_logged_call.c ---- */

/* Where in the routines they are. */
struct logged_tables {
	uint32_t of_syscalls, rows;
};
struct logged_tables logged_call_tables(struct emitter *e);

/* Before a call, whose number is in the context: notes its arguments, or goes to `no` where the log
 * may have no room. rax and rcx are used, and flags. */
void logged_call_emit_before(struct code_cache *c, struct emitter *e, const struct logged_tables *t,
			     struct forward *no);

/* Behind its note, with its result and flags in the context: the memory that it has written goes to
 * the log. rax and rcx are used, and flags. */
void logged_call_emit_behind(struct code_cache *c, struct emitter *e,
			     const struct logged_tables *t);

/* A piece of memory into the log, or (from_log) out of it. rsi: its end in memory; rcx: its end in
 * the log, from the log's end; rdx: minus its length, not 0, and the rest afterwards. rax is used,
 * and flags. */
void logged_call_emit_copy(struct emitter *e, bool from_log);

/* ---- routine_answered_call.c ---- */

/* Before a call, with rax and flags in the context, of which an answer is known (rcx: CTX_ANSWER):
 * gives it, and goes to behind the call; or goes to `no`. */
void answered_call_emit(struct code_cache *c, struct emitter *e, struct forward *no);

/* To no, where ticks are counted and the task has another than that of the answer (rcx:
 * CTX_ANSWER); or where history is kept and there is no room for a note. rax is used, and flags. */
void answer_emit_same_tick(struct emitter *e, struct forward *no);

/* ---- routine_cpuid.c ---- */

enum { CPUID_BYTES = 2 };

/* Where the code says where the table of leaves begins and ends. */
struct cpuid_sites {
	size_t begin, end;
};

/* Where no log is kept, before CPUID: the application's rdx is in the context, CTX_BACK leads to
 * the instruction. Where what it gives is in the table it is passed over; else all is as it was. */
void routine_emit_cpuid(struct emitter *e, struct cpuid_sites *table);

/* Goes on with the row's offset in rdx, or to unknown. eax is the application's, whose rcx is in
 * the context. rcx, rdx and flags are used. */
void cpuid_emit_search(struct emitter *e, struct cpuid_sites *table, struct forward *unknown);

/* Gives what is in that row, and goes on at `to` bytes behind CTX_BACK. */
void cpuid_emit_known(struct emitter *e, uint8_t to);

/* The table. */
void cpuid_emit_leaves(struct emitter *e, const struct processor *p,
		       const struct cpuid_sites *table);

/* ---- routine_own_result.c ---- */

/* Before instructions with a result of their own, where a log is kept: notes in c where they are.
 */
void routine_emit_own_results(struct code_cache *c, struct emitter *e, struct cpuid_sites *table);

/* ---- routine_words.c ---- */

/* Behind a write to descriptor 2, with its result in the context: copies what it has written. rax
 * and rcx are used, and flags. */
void words_emit_copy(struct code_cache *c, struct emitter *e);

/* ---- routine_syscalls.c ---- */

/* Jumps when the call, whose number is in the context, is not this one. */
size_t syscall_emit_unless(struct emitter *e, uint32_t nr);

/* test dword gs:[syscalls], need: enum syscall_policy. */
void syscall_emit_test_grant(struct emitter *e, uint32_t need);

/* ecx: the table's kind of the descriptor in it; and a comparison with that. rax is used, and
 * flags. */
void syscall_emit_kind(struct emitter *e);
void syscall_emit_compare_kind(struct emitter *e, uint8_t kind);

/* Before a system call, and behind it: notes in c where they are. */
void routine_emit_syscall(struct code_cache *c, struct emitter *e, const struct logged_tables *t);
void routine_emit_syscall_behind(struct code_cache *c, struct emitter *e,
				 const struct logged_tables *t);

#endif
