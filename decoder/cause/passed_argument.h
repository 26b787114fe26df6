/* SPDX-License-Identifier: MIT */
/* The argument of a call into a library that one of the library's instructions went through: all
 * instructions since the call are in the history, and a register that still has an argument, or
 * that plus a number, is followed along them. Used by the name of a failed access. */
#ifndef BT_PASSED_ARGUMENT_H
#define BT_PASSED_ARGUMENT_H

#include "decoder/cause/fault_private.h"
#include "decoder/cause/own_code.h"

struct passed_argument {
	unsigned number;        /* from 1; of those that are passed in registers */
	uint64_t value;         /* that it had at the call */
	size_t entry;           /* the call's in the history */
	uint64_t call;          /* its instruction */
	uint64_t callee;        /* where it leads: a function, or a stub that jumps to one */
	bool is_jump;           /* it is the last of its function, which has no frame any more */
	uint32_t unchanged;     /* registers that have been left as they were there */
	bool is_memory_written; /* since then, elsewhere than in the stack of the library */
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
