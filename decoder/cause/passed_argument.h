/* SPDX-License-Identifier: MIT */
/* The argument of a call into a library that one of the library's instructions went through: all
 * instructions since the call are in the history, and a register that still has an argument, or
 * that plus a number, is followed along them. Used by the name of a failed access. */
#ifndef BT_PASSED_ARGUMENT_H
#define BT_PASSED_ARGUMENT_H

#include "decoder/cause/fault_private.h"
#include "decoder/cause/own_code.h"

struct passed_argument {
	unsigned number;        /* from 1, among those passed in registers */
	uint64_t value;         /* its value at the call */
	size_t entry;           /* index of the call in the history */
	uint64_t call;          /* address of the call instruction */
	uint64_t callee;        /* the call's target: a function, or a stub that jumps to one */
	bool is_jump;           /* it is a tail jump: its function has no frame any more */
	uint32_t unchanged;     /* bit n: register n is as it was at the call */
	bool is_memory_written; /* memory but the library's stack was written since the call */
};

/* The register that an argument is passed in (System V AMD64 ABI, 3.2.3); a number of lib/regs.def.
 */
uint8_t passed_argument_register(unsigned number);

/* Finds what the base register of an operand of the context's instruction has of the last call out
 * of the user's own code, which returns to return_addr. h has all branches; `end` of them lie
 * before the instruction. False: nothing is proven. */
bool passed_argument_find(const struct fault_context *c, const struct history *h, size_t end,
			  const struct disasm_memory *m, struct own_code *own, uint64_t return_addr,
			  struct passed_argument *p);

#endif
