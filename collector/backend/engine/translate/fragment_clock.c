/* SPDX-License-Identifier: MIT */
/* rdtsc and rdtscp while a log is kept. A routine says before each whether it is executed in the
 * fragment, has been answered, or is left to the tracer (cache/routine_clock.c).
 *
 * What it gave is noted behind it. Nothing of that changes flags. The last store makes the note
 * count: a task that is stopped before it is stepped on, and one that dies before it has not
 * executed the instruction. So the registers before it stay in the context until then. */
#include "collector/backend/engine/translate/translation.h"

enum { OPCODE_RDTSC = 0x31, OPCODE_GROUP = 0x01, MODRM_RDTSCP = 0xf9 };

static bool is_rdtscp(const struct step *s)
{
	return s->insn.map == X86_MAP_0F && s->insn.opcode == OPCODE_GROUP && s->insn.modrm_at &&
	       s->bytes[s->insn.modrm_at] == MODRM_RDTSCP;
}

bool fragment_reads_clock(const struct step *s)
{
	return is_rdtscp(s) || (s->insn.map == X86_MAP_0F && s->insn.opcode == OPCODE_RDTSC);
}

bool fragment_notes_clock(const struct translation *t, const struct step *s)
{
	return t->cache->kind.logged && fragment_reads_clock(s);
}

/* mov gs:[rcx+end+at], reg: the lower half of rax or rdx; or the reverse. */
static void emit_half(struct emitter *e, bool to, unsigned reg, uint32_t at)
{
	EMIT(e, 0x65, to ? 0x89 : 0x8b, (uint8_t)(0x81 | reg << 3));
	emit_u32(e, SYSCALL_NOTES_END + at);
}

/* mov eax, gs:[at] */
static void emit_load_half(struct emitter *e, uint32_t at)
{
	EMIT(e, 0x65, 0x8b, 0x04, 0x25);
	emit_u32(e, at);
}

/* Behind the instruction: its note. */
static void emit_note(struct translation *t, const struct step *s)
{
	struct emitter *e = &t->out;
	const bool aux = is_rdtscp(s);

	emit_store(e, X86_RCX, CTX_SPILL);
	emit_load(e, X86_RCX, CTX_SYSCALL_NEXT);
	EMIT(e, 0x65, 0xc7, 0x81); /* mov dword gs:[rcx+number], marker */
	emit_u32(e, SYSCALL_NOTES_END + NOTE_NR);
	emit_u32(e, (uint32_t)(aux ? NOTE_OF_RDTSCP : NOTE_OF_RDTSC));
	emit_half(e, true, X86_RAX, NOTE_RESULT);
	emit_half(e, true, X86_RDX, NOTE_RESULT + 4);
	EMIT(e, 0x65, 0x4c, 0x89, 0x99); /* mov gs:[rcx+bits], r11 */
	emit_u32(e, SYSCALL_NOTES_END + NOTE_BITS);
	emit_load_half(e, CTX_NEXT);
	emit_half(e, true, X86_RAX, NOTE_NEXT);
	if (aux) {
		emit_load_half(e, CTX_SPILL);
		emit_half(e, true, X86_RAX, NOTE_SIZE);
	}
	emit_half(e, false, X86_RAX, NOTE_RESULT);
	EMIT(e, 0x48, 0x8d, 0x49, (uint8_t)(aux ? 2 * NOTE_SIZE : NOTE_SIZE)); /* lea rcx,
										  [rcx+note] */
	emit_store(e, X86_RCX, CTX_SYSCALL_NEXT);
	fragment_map_state(t, NULL, STATE_SPILLED, X86_RCX);
	emit_load(e, X86_RCX, CTX_SPILL);
}

void fragment_emit_clock(struct translation *t, const struct step *s)
{
	struct emitter *e = &t->out;
	size_t behind;

	fragment_bring_bits(t, s);
	fragment_map_state(t, s, 0, 0);
	emit_store(e, X86_RCX, CTX_RCX);
	fragment_map_state(t, s, STATE_RCX, 0);
	EMIT(e, 0x48, 0x8d, 0x0d); /* lea rcx, [rip+out] */
	emit_u32(e, emit_move_len(e) + 5);
	emit_store(e, X86_RCX, CTX_BACK);
	emit_patch(e, emit_jump(e), region_address(CODE_AT) + t->cache->clocks[is_rdtscp(s)]);
	fragment_map_state(t, s, 0, 0);
	fragment_add_cold(t, emit_jump(e), s->pc, EXIT_OUTSIDE);
	t->at_pc = step_end(s);
	fragment_map_state(t, NULL, 0, 0);
	behind = emit_jump(e);
	fragment_map_state(t, s, 0, 0);
	emit_bytes(e, s->bytes, s->insn.len);
	fragment_map_state(t, s, STATE_BETWEEN | STATE_RCX, X86_RDX);
	emit_note(t, s);
	emit_patch(e, behind, e->base + e->len);
	fragment_map_state(t, NULL, 0, 0);
}
