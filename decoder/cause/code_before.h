/* SPDX-License-Identifier: MIT */
/* The instructions that ran before a place of a function: as the history tells, or as the
 * function's code leaves no choice. Used by follower.c. */
#ifndef BT_CODE_BEFORE_H
#define BT_CODE_BEFORE_H

#include "decoder/cause/fault_private.h"

enum { CODE_BEFORE_MAX = 256 }; /* instructions */

/* The function's addresses, and the place in it. */
struct code_place {
	uint64_t pc, start, end;
};

/* The last instructions before the pc that the history knows to have run one after the other; end:
 * of the entries before it. Returns their number, 0: none are known, else *out is a new array. */
size_t code_before_by_history(const struct fault_context *c, const struct history *h, size_t end,
			      const struct code_place *place, struct history_insn **out);

/* The same for a history that does not tell it: a core file has none. */
size_t code_before_by_function(const struct fault_context *c, const struct code_place *place,
			       struct history_insn **out);

#endif
