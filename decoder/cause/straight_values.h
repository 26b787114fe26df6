/* SPDX-License-Identifier: MIT */
/* Values of registers along instructions that ran one after the other, as far as the values behind
 * the last one tell them: those of a register that nothing changes until then, and those computed
 * of such registers, of numbers in the code, and of memory that nothing writes until then. Used by
 * the explanation of a failed access. */
#ifndef BT_STRAIGHT_VALUES_H
#define BT_STRAIGHT_VALUES_H

#include "decoder/cause/fault_private.h"

struct straight_values {
	const struct fault_context *c;
	const struct bt_regs *regs; /* behind the last one, those that `unchanged` tells of */
	bool is_memory_written;     /* behind the last one */
	const struct disasm *insns;
	const uint32_t *unchanged; /* registers that neither it nor a later instruction changes */
	size_t count;
	struct bt_regs computed;
	uint32_t known;    /* bit n: computed has register n */
	uint32_t constant; /* it is an address that the code names */
};

/* The registers before instruction i, those of which *known has the bit. Those before it, and no
 * others, must have been taken in (straight_values_step()). */
struct bt_regs straight_values_before(const struct straight_values *v, size_t i, uint32_t *known);

/* The address of an operand of instruction i; false: not known. */
bool straight_values_address(const struct straight_values *v, size_t i,
			     const struct disasm_memory *m, uint64_t *addr);

/* Reads a value that instruction i reads. False: memory may hold another one by now. */
bool straight_values_read(const struct straight_values *v, size_t i, uint64_t addr, unsigned size,
			  uint64_t *value);

/* The source of instruction i's result. */
bool straight_values_source(const struct straight_values *v, size_t i, uint64_t *value);

/* Takes instruction i into account. */
void straight_values_step(struct straight_values *v, size_t i);

#endif
