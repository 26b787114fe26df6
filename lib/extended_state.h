/* SPDX-License-Identifier: MIT */
/* The registers of a thread beside the general ones, as a trace holds them: those of x87, SSE and
 * AVX, in the order in which XSAVE stores them in its standard form (Intel SDM volume 1, 13.4) and
 * Linux tells them (NT_X86_XSTATE of ptrace(2)), without the zeros at the end. An empty one is not
 * kept: MXCSR of one that is kept is never 0. Used where a snapshot is taken and by all that show
 * it. Bytes of a trace may be anything: what is not there is zero. Pure. */
#ifndef BT_EXTENDED_STATE_H
#define BT_EXTENDED_STATE_H

#include "lib/slice.h"

enum {
	EXTENDED_STATE_LEGACY = 512, /* what FXSAVE stores: x87, MXCSR, xmm0 to xmm15 */
	EXTENDED_STATE_SIZE = 832,   /* with the upper halves of ymm0 to ymm15 */
	EXTENDED_VECTORS = 16,
	EXTENDED_VECTOR_SIZE = 32,
};

/* Makes n bytes that the kernel told one that is kept: of AVX-512 and what is behind it nothing is
 * left, and the address of the last x87 instruction is 0, as programs see it (it may be one in the
 * engine's cache). Returns how many bytes it has; 0: the kernel told too few. */
size_t extended_state_keep(uint8_t *state, size_t n);

/* Whether the processor had AVX, and the program could use it. */
bool extended_state_has_avx(struct slice state);

/* Copies n bytes from an offset on. */
void extended_state_copy(struct slice state, size_t offset, uint8_t *out, size_t n);

/* Reads vector register n (below EXTENDED_VECTORS). Returns how many bytes of it are known: 0, 16,
 * or with AVX 32. A register of a component that is not in use is zero, whatever stands in its
 * place (SDM volume 1, 13.6). */
size_t extended_state_vector(struct slice state, unsigned n, uint8_t out[EXTENDED_VECTOR_SIZE]);

/* A vector register as all that show it write it: "ymm3", "0x" and all of its digits. */
struct extended_text {
	char name[8];
	char value[2 + 2 * EXTENDED_VECTOR_SIZE + 1];
	bool is_zero;
};

/* Said behind those that are not zero. %s: "other ", or "" where all are. */
#define EXTENDED_ZERO "the %svector registers are 0"

/* False: nothing of it is known. */
bool extended_state_text(struct slice state, unsigned n, struct extended_text *out);

#endif
