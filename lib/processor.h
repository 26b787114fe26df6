/* SPDX-License-Identifier: MIT */
/* Features of the processor that this runs on, and its CPUID. The engine chooses code by them, the
 * stepper instructions that it can step over. */
#ifndef BT_PROCESSOR_H
#define BT_PROCESSOR_H

#include <stdbool.h>
#include <stdint.h>

enum { PROCESSOR_LEAVES = 40 };

/* CPUID's result for this eax and this ecx, of which only the bits in the mask matter. */
struct processor_leaf {
	uint32_t leaf, subleaf, subleaf_mask;
	uint32_t eax, ebx, ecx, edx;
};

struct processor {
	bool fast_pext; /* PEXT (BMI2), in hardware */
	bool rorx;      /* RORX (BMI2) */
	bool fast_loop; /* a LOOP that falls through costs as much as a plain instruction, a JRCXZ
			   that jumps as much as a branch */
	bool lzcnt;
	bool avx2;         /* and the system lets it be used */
	bool vector_lzcnt; /* VPLZCNTQ (AVX-512), and the system lets it be used */
	/* Leaves that programs read at their start and that are the same on all processors of this
	 * machine, always. None if its processors differ, or may. */
	uint32_t leaf_count;
	struct processor_leaf leaves[PROCESSOR_LEAVES];
};

/* Probes the processor. */
struct processor processor_probe(void);

/* Whether sgdt, sidt, smsw, str and sldt may fault in user mode (User-Mode Instruction Prevention).
 */
bool processor_has_umip(void);

/* Whether xbegin is a legal instruction, even if every transaction aborts. Executes one, with a
 * handler for SIGILL meanwhile: under some hypervisors CPUID does not tell. Async-signal-unsafe;
 * for processes of one thread. */
bool processor_has_transactions(void);

enum { PROCESSOR_NAME = 49 };

/* The processor's brand string; "unknown" if it has none. */
void processor_name(char name[PROCESSOR_NAME]);

#endif
