/* SPDX-License-Identifier: MIT */
/* Inputs for the fuzz target of Intel PT, made by libipt's encoder. */
#ifndef BT_GENERATE_PT_H
#define BT_GENERATE_PT_H

#include "lib/buf.h"

enum pt_input_kind {
	PT_INPUT_PLAIN,
	PT_INPUT_32,       /* of 32-bit code */
	PT_INPUT_OVERFLOW, /* packets lost */
	PT_INPUT_ENDLESS,  /* ends in a loop that consumes nothing */
	PT_INPUT_KERNEL,   /* goes where no code is */
	PT_INPUT_ASYNC,    /* an exception within the program, and interrupts */
};

/* Appends the input of that kind, of enum pt_input_kind. */
void pt_input(struct buf *out, unsigned kind);

#endif
