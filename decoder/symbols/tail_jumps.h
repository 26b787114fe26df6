/* SPDX-License-Identifier: MIT */
/* Functions that a call has entered and that went on in another function by a jump, not by a call:
 * an optimised program has no frame of them. Their jumps are in the branch history. Used by
 * signatures, so that stacks of optimised and plain builds tell the same. */
#ifndef BT_TAIL_JUMPS_H
#define BT_TAIL_JUMPS_H

#include "decoder/model/history.h"
#include "decoder/symbols/symbols.h"

/* Finds the jumps from one function into another in the frame that the call at entry `call` made;
 * entry `end` of h is the next call of the stack, or the moment. Fills jumps, the newest first,
 * with indexes of entries of h. Returns how many there are; of more than max the newest. */
size_t tail_jumps_find(const struct history *h, struct symbols *s, size_t call, size_t end,
		       size_t *jumps, size_t max);

#endif
