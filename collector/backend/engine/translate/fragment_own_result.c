/* SPDX-License-Identifier: MIT */
/* Instructions with a result of their own, while a log is kept. A routine says before each whether
 * it is executed in the fragment, has been answered, or is left to the tracer
 * (cache/routine_own_result.c).
 *
 * What it gave is noted behind it. Nothing of that changes flags. The last store makes the note
 * count: a task that is stopped before it is stepped on, and one that dies before it has not
 * executed the instruction. So the registers before it stay in the context until then. */
#include "collector/backend/engine/translate/translation.h"

enum {
	OPCODE_RDTSC = 0x31,
	OPCODE_CPUID = 0xa2,
	OPCODE_GROUP = 0x01, /* of these, by their ModRM byte: */
	MODRM_XGETBV = 0xd0,
	MODRM_RDTSCP = 0xf9,
};

static enum bt_logged_form form_of(const struct step *s)
{
	if (s->insn.map != X86_MAP_0F)
		return BT_LOGGED_CALL;
	switch (s->insn.opcode) {
	case OPCODE_RDTSC:
		return BT_LOGGED_RDTSC;
	case OPCODE_CPUID:
		return BT_LOGGED_CPUID;
	case OPCODE_GROUP:
		return !s->insn.modrm_at                            ? BT_LOGGED_CALL
		       : s->bytes[s->insn.modrm_at] == MODRM_XGETBV ? BT_LOGGED_XGETBV
		       : s->bytes[s->insn.modrm_at] == MODRM_RDTSCP ? BT_LOGGED_RDTSCP
								    : BT_LOGGED_CALL;
	default:
		return BT_LOGGED_CALL;
	}
}

bool fragment_gives_result(const struct step *s) { return form_of(s) != BT_LOGGED_CALL; }

bool fragment_notes_result(const struct translation *t, const struct step *s)
{
	return t->cache->kind.logged && fragment_gives_result(s);
}

/* mov gs:[rcx+end+at], reg: the lower half of rax, rbx or rdx; or the reverse. */
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
static void emit_note(struct translation *t, enum bt_logged_form form)
{
	struct emitter *e = &t->out;
	const bool is_long = form == BT_LOGGED_RDTSCP || form == BT_LOGGED_CPUID;

	emit_store(e, X86_RCX, CTX_SPILL);
	emit_load(e, X86_RCX, CTX_SYSCALL_NEXT);
	EMIT(e, 0x65, 0xc7, 0x81); /* mov dword gs:[rcx+number], marker */
	emit_u32(e, SYSCALL_NOTES_END + NOTE_NR);
	emit_u32(e, (uint32_t)(NOTE_OF_INSTRUCTION - (int)form));
	emit_half(e, true, X86_RAX, NOTE_RESULT);
	emit_half(e, true, X86_RDX, NOTE_RESULT + 4);
	EMIT(e, 0x65, 0x4c, 0x89, 0x99); /* mov gs:[rcx+bits], r11 */
	emit_u32(e, SYSCALL_NOTES_END + NOTE_BITS);
	emit_load_half(e, CTX_NEXT);
	emit_half(e, true, X86_RAX, NOTE_NEXT);
	if (is_long) {
		emit_load_half(e, CTX_SPILL);
		emit_half(e, true, X86_RAX, NOTE_SIZE + NOTE_ECX);
		emit_half(e, true, X86_RBX, NOTE_SIZE + NOTE_EBX);
	}
	emit_half(e, false, X86_RAX, NOTE_RESULT);
	EMIT(e, 0x48, 0x8d, 0x49, (uint8_t)(is_long ? 2 * NOTE_SIZE : NOTE_SIZE)); /* lea rcx,
										  [rcx+note] */
	emit_store(e, X86_RCX, CTX_SYSCALL_NEXT);
	fragment_map_state(t, NULL, STATE_SPILLED, X86_RCX);
	emit_load(e, X86_RCX, CTX_SPILL);
}

void fragment_emit_noted(struct translation *t, const struct step *s)
{
	struct emitter *e = &t->out;
	const enum bt_logged_form form = form_of(s);
	size_t behind;

	fragment_emit_to_routine(t, s, t->cache->own_results[form]);
	fragment_add_cold(t, emit_jump(e), s->pc, EXIT_OUTSIDE);
	t->at_pc = step_end(s);
	fragment_map_state(t, NULL, 0, 0);
	behind = emit_jump(e);
	fragment_map_state(t, s, 0, 0);
	if (form == BT_LOGGED_CPUID)
		EMIT(e, 0x0f, 0xa2); /* the routine passes over it; its prefixes mean nothing */
	else
		emit_bytes(e, s->bytes, s->insn.len);
	fragment_map_state(t, s, STATE_BETWEEN | STATE_RCX,
			   form == BT_LOGGED_CPUID ? X86_RBX : X86_RDX);
	emit_note(t, form);
	emit_patch(e, behind, e->base + e->len);
	fragment_map_state(t, NULL, 0, 0);
}
