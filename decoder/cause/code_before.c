/* SPDX-License-Identifier: MIT */
#include "decoder/cause/code_before.h"

#include <stdlib.h>
#include <string.h>

enum { FUNCTION_MAX = 1 << 16 }; /* bytes */

size_t code_before_by_history(const struct fault_context *c, const struct history *h, size_t end,
			      const struct code_place *place, struct history_insn **out)
{
	struct history_insn *all;
	long n = h && end ? history_straight(h, c->m, end, place->pc, &all) : 0;

	if (n <= 0)
		return 0;
	/* An entry behind them is of the instruction itself, or of later ones. */
	for (long i = 0; i < n; i++)
		if (all[i].addr == place->pc)
			n = i;
	if (n > 0 && n <= CODE_BEFORE_MAX && all[0].addr >= place->start &&
	    all[0].addr < place->end) {
		*out = all;
		return (size_t)n;
	}
	free(all);
	return 0;
}

/* The block of the function that ends with the pc: the instructions that must have run before it,
 * from the last target of a jump on. */
struct code_block {
	uint64_t start, pc;
	bool is_known; /* no jump of the function may lead elsewhere */
};

static void note_target(struct code_block *b, uint64_t target)
{
	if (target <= b->pc && target > b->start)
		b->start = target;
}

/* Takes an instruction of the function into account. */
static void note_instruction(struct code_block *b, uint64_t addr, const struct bt_insn *insn)
{
	uint64_t behind = addr + insn->len;

	switch (insn->class) {
	case BT_INSN_PLAIN:
		if (insn->traits & BT_TRAIT_BEGINS)
			b->is_known = false;
		return;
	case BT_INSN_IJMP:
	case BT_INSN_IRET:
		b->is_known = false;
		return;
	case BT_INSN_JCC:
	case BT_INSN_JRCXZ:
	case BT_INSN_LOOP:
	case BT_INSN_JMP:
	case BT_INSN_CALL:
		note_target(b, behind + (uint64_t)insn->displacement);
		break;
	default:
		break;
	}
	note_target(b, behind);
}

size_t code_before_by_function(const struct fault_context *c, const struct code_place *place,
			       struct history_insn **out)
{
	struct code_block b = {.start = place->start, .pc = place->pc, .is_known = true};
	uint64_t at = place->start, size = place->end - place->start;
	uint8_t *code;
	size_t n = 0;

	if (size > FUNCTION_MAX)
		return 0;
	code = malloc(size);
	*out = calloc(CODE_BEFORE_MAX, sizeof **out);
	if (!code || !*out || symbols_code(c->s, c->f->space, c->f->epoch, at, code, size) < size)
		b.is_known = false;
	for (uint64_t i = 0; b.is_known && i < size;) {
		struct bt_insn insn;

		if (bt_insn_decode(code + i, size - i, &insn))
			b.is_known = false;
		else
			note_instruction(&b, at + i, &insn);
		i += insn.len;
	}
	for (uint64_t i = b.start - at; b.is_known && at + i < b.pc;) {
		struct bt_insn insn;

		if (n == CODE_BEFORE_MAX || bt_insn_decode(code + i, size - i, &insn)) {
			n = 0;
			break;
		}
		(*out)[n].addr = at + i;
		(*out)[n].len = insn.len;
		memcpy((*out)[n++].bytes, code + i, insn.len);
		i += insn.len;
	}
	free(code);
	if (!n)
		free(*out);
	return n;
}
