/* SPDX-License-Identifier: MIT */
/* Rings of events of the processor, for the fuzz target ring. Used by generate_corpus. */
#ifndef BT_GENERATE_RING_H
#define BT_GENERATE_RING_H

#include "lib/buf.h"

enum { RING_INPUTS = 5 };

/* Appends the input with that number, below RING_INPUTS: of the branch event whole, partly
 * overwritten and without new records; of the samples whole and around the ring's end. */
void ring_input(struct buf *out, unsigned which);

#endif
