/* SPDX-License-Identifier: MIT */
#include "collector/backend/engine/cache/routines.h"

#include "collector/backend/engine/cache/routines_private.h"

/* r11: the address jumped to; the application's rcx is in the context. To its fragment's indirect
 * entry, or the trap with the application's flags. Keeps what it found in table 1, or notes the
 * arrival; not where it is for fragments that count. */
static void emit_search(struct code_cache *c, struct emitter *e)
{
	size_t again, found, null, absent, back, keep, note, counting, counted;
	uint64_t go;

	c->miss_counting = (uint32_t)e->len;
	EMIT(e, 0xb9, 1, 0, 0, 0); /* mov ecx, 1 */
	counting = short_jump(e, JMP8);
	c->miss = (uint32_t)e->len;
	EMIT(e, 0xb9, 0, 0, 0, 0); /* mov ecx, 0 */
	land_jump(e, counting);
	emit_store(e, X86_RAX, CTX_RAX);
	c->miss_rax = (uint32_t)e->len;
	EMIT(e, 0x9f, 0x0f, 0x90, 0xc0); /* lahf; seto al */
	emit_store(e, X86_RAX, CTX_FLAGS);
	c->miss_kept = (uint32_t)e->len;
	EMIT(e, 0x4d, 0x85, 0xdb); /* test r11, r11: 0 is what free entries hold, */
	null = emit_jcc(e, CC_LE); /* and below it is TABLE2_COUNTING */
	EMIT(e, 0x48, 0xc1, 0xe1, 63, 0x4c, 0x09, 0xd9); /* shl rcx, 63; or rcx, r11 */
	EMIT(e, 0x41, 0x69, 0xc3);                       /* imul eax, r11d, multiplier */
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
	land_jump(e, found);
	EMIT(e, 0x65, 0x48, 0x8b, 0x80); /* mov rax, gs:[rax+table2+8] */
	emit_u32(e, TABLE2_AT + 8);
	emit_store(e, X86_RAX, CTX_ENTRY);
	EMIT(e, 0x48, 0x85, 0xc9); /* test rcx, rcx */
	counted = short_jump(e, JS);
	emit_load(e, X86_RCX, CTX_SAMPLE);
	keep = short_jump(e, JRCXZ);
	note = emit_jump(e);
	land_jump(e, keep);
	EMIT(e, 0x41, 0x0f, 0xb7, 0xcb);       /* movzx ecx, r11w */
	EMIT(e, 0x65, 0x48, 0x89, 0x04, 0xcd); /* mov gs:[rcx*8+table1], rax */
	emit_u32(e, TABLE1_AT);
	go = e->base + e->len;
	land_jump(e, counted);
	restore_flags(e);
	emit_load(e, X86_RAX, CTX_RAX);
	jump_through(e, CTX_ENTRY);
	land_jump(e, absent);
	emit_patch(e, null, e->base + e->len);
	restore_flags(e);
	emit_load(e, X86_RAX, CTX_RAX);
	c->miss_trap = (uint32_t)e->len;
	EMIT(e, 0xcc,
	     0xcc); /* a task behind the first one was stopped by it, and is nowhere else */
	emit_patch(e, note, e->base + e->len);
	emit_load(e, X86_RAX, CTX_FROM);
	EMIT(e, 0x65, 0x48, 0x89, 0x81); /* mov gs:[rcx+records_end], rax */
	emit_u32(e, RECORDS_END);
	EMIT(e, 0x65, 0x4c, 0x89, 0x99); /* mov gs:[rcx+records_end+8], r11 */
	emit_u32(e, RECORDS_END + 8);
	EMIT(e, 0x48, 0x8d, 0x49, RECORD_BYTES); /* lea rcx, [rcx+record] */
	emit_store(e, X86_RCX, CTX_SAMPLE);
	emit_patch(e, emit_jump(e), go);
}

/* rcx becomes 0 where nobody waits for the turn. */
static void emit_is_waited_for(struct emitter *e)
{
	EMIT(e, 0x65, 0x8b, 0x0c, 0x25); /* mov ecx, gs:[waited] */
	emit_u32(e, CTX_WAITED);
}

/* Decrements gs:[at]; rcx is used. Jumps when it becomes 0: the jump is to be landed. */
static size_t emit_count_down(struct emitter *e, uint32_t at)
{
	emit_load(e, X86_RCX, at);
	EMIT(e, 0x48, 0x8d, 0x49, 0xff); /* lea rcx, [rcx-1] */
	emit_store(e, X86_RCX, at);
	return short_jump(e, JRCXZ);
}

/* Back to the fragment, behind its stop. */
static void emit_go_on(struct emitter *e)
{
	emit_load(e, X86_RCX, CTX_BACK);
	EMIT(e, 0x48, 0x8d, 0x49, STOP_BYTES); /* lea rcx, [rcx+stop] */
	emit_store(e, X86_RCX, CTX_BACK);
	emit_load(e, X86_RCX, CTX_RCX);
	jump_through(e, CTX_BACK);
}

/* A safe point has written a record at a multiple of SPIN_BYTES. While others wait for the turn it
 * stops when that was so several times running: there are hardly any other records, as in a loop
 * without an indirect branch. */
static void emit_spin(struct emitter *e, uint64_t on)
{
	size_t next, stop, waited;

	emit_is_waited_for(e);
	waited = short_jump(e, JRCXZ);
	emit_load(e, X86_R11, CTX_SPIN_NEXT);
	EMIT(e, 0x49, 0xf7, 0xd3); /* not r11 */
	emit_load(e, X86_RCX, CTX_NEXT);
	EMIT(e, 0x4a, 0x8d, 0x8c, 0x19); /* lea rcx, [rcx+r11+1-spin] */
	emit_u32(e, 1 - SPIN_BYTES);
	emit_load(e, X86_R11, CTX_NEXT);
	emit_store(e, X86_R11, CTX_SPIN_NEXT);
	emit_bits_empty(e);
	next = short_jump(e, JRCXZ);
	emit_load(e, X86_RCX, CTX_SPINS_FROM);
	emit_store(e, X86_RCX, CTX_SPINS);
	land_jump(e, waited);
	emit_patch(e, emit_jump(e), on);
	land_jump(e, next);
	stop = emit_count_down(e, CTX_SPINS);
	emit_patch(e, emit_jump(e), on);
	land_jump(e, stop);
	emit_load(e, X86_RCX, CTX_RCX);
	jump_through(e, CTX_BACK);
}

/* rcx: the record's second half, segment and kind; the application's rcx is in the context,
 * CTX_BACK leads to the fragment's stop and, behind that, to where it goes on. Stops without a
 * record if it is asked to; safe_point_record writes one before. Nothing here changes flags: some
 * safe points stand where they are alive. */
static void emit_safe_point(struct code_cache *c, struct emitter *e)
{
	size_t full, go, record, sampled;
	uint64_t on;

	c->safe_point = (uint32_t)e->len;
	emit_store(e, X86_RCX, CTX_ENTRY);
	EMIT(e, 0x65, 0x8b, 0x0c, 0x25); /* mov ecx, gs:[stop] */
	emit_u32(e, CTX_STOP);
	record = short_jump(e, JRCXZ);
	emit_load(e, X86_RCX, CTX_RCX);
	jump_through(e, CTX_BACK);
	c->safe_point_record = (uint32_t)e->len;
	emit_store(e, X86_RCX, CTX_ENTRY);
	land_jump(e, record);
	emit_load(e, X86_RCX, CTX_NEXT);
	EMIT(e, 0x65, 0x4c, 0x89, 0x99); /* mov gs:[rcx+records_end], r11 */
	emit_u32(e, RECORDS_END);
	emit_load(e, X86_R11, CTX_ENTRY);
	c->record_bits = (uint32_t)e->len;
	EMIT(e, 0x65, 0x4c, 0x89, 0x99); /* mov gs:[rcx+records_end+8], r11 */
	emit_u32(e, RECORDS_END + 8);
	EMIT(e, 0x48, 0x8d, 0x49, 16); /* lea rcx, [rcx+16] */
	emit_store(e, X86_RCX, CTX_NEXT);
	c->record_made = (uint32_t)e->len;
	emit_bits_empty(e);
	full = short_jump(e, JRCXZ);
	_Static_assert(SPIN_BYTES == 1 << 8, "a byte is 0 at multiples of it");
	EMIT(e, 0x0f, 0xb6, 0xc9); /* movzx ecx, cl */
	sampled = short_jump(e, JRCXZ);
	on = e->base + e->len;
	EMIT(e, 0x65, 0x8b, 0x0c, 0x25); /* mov ecx, gs:[stop] */
	emit_u32(e, CTX_STOP);
	go = short_jump(e, JRCXZ);
	land_jump(e, full);
	emit_load(e, X86_RCX, CTX_RCX);
	jump_through(e, CTX_BACK);
	land_jump(e, go);
	emit_go_on(e);
	land_jump(e, sampled);
	emit_spin(e, on);
}

/* Behind PAUSE: the application's rcx is in the context, CTX_BACK leads to the jump to the
 * fragment's stop and, behind that, to where it goes on. */
static void emit_pause(struct code_cache *c, struct emitter *e)
{
	size_t calm, stop;

	c->pause = (uint32_t)e->len;
	emit_is_waited_for(e);
	calm = short_jump(e, JRCXZ);
	stop = emit_count_down(e, CTX_PAUSES);
	land_jump(e, calm);
	emit_go_on(e);
	land_jump(e, stop);
	emit_load(e, X86_RCX, CTX_RCX);
	jump_through(e, CTX_BACK);
}

void routines_emit(struct code_cache *c, const struct processor *processor)
{
	struct cpuid_sites table;
	struct logged_tables logged = {0};
	struct emitter e = {
		.bytes = c->code, .room = ROUTINES_SIZE, .base = region_address(CODE_AT)};

	memset(c->code, 0xcc, ROUTINES_SIZE);
	emit_u8(&e, 0xcc); /* offset 0 means none */
	emit_search(c, &e);
	emit_safe_point(c, &e);
	emit_pause(c, &e);
	if (c->kind.logged)
		logged = logged_call_tables(&e);
	routine_emit_syscall(c, &e, &logged);
	routine_emit_syscall_behind(c, &e, &logged);
	c->cpuid = (uint32_t)e.len;
	if (c->kind.logged)
		routine_emit_own_results(c, &e, &table);
	else
		routine_emit_cpuid(&e, &table);
	c->own_syscall = (uint32_t)e.len;
	EMIT(&e, 0x0f, 0x05, 0xcc); /* syscall; int3 */
	c->name = (uint32_t)e.len;
	emit_bytes(&e, "btrec", sizeof "btrec");
	cpuid_emit_leaves(&e, processor, &table); /* the last, as its length varies: kept fragments
					       know the places of the others */
	assert(!e.overflow);
}
