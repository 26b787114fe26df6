/* SPDX-License-Identifier: MIT */
/* The address and value of an instruction's operands, by the registers that it is executed with.
 * Used by spin.c and when a stretch ends (cache_stretch.c). The instruction was decoded by
 * x86_decode(). Pure. */
#ifndef BT_OPERAND_H
#define BT_OPERAND_H

#include "collector/backend/engine/x86/x86.h"
#include "lib/regs.h"

/* The general register of this number (enum x86_reg; its low four bits). */
uint64_t *operand_register(struct bt_regs *r, unsigned reg);

/* The address of the memory operand, which the instruction must have, of one at `from` with these
 * bytes. */
uint64_t operand_address(const struct x86_insn *insn, const uint8_t *bytes, struct bt_regs *r,
			 uint64_t from);

#endif
