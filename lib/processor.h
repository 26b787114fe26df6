/* SPDX-License-Identifier: MIT */
/* What the processor this runs on is good at, and what CPUID says of it. The engine chooses code by
 * it, the stepper what it can step over. */
#ifndef BT_PROCESSOR_H
#define BT_PROCESSOR_H

#include <stdbool.h>
#include <stdint.h>

enum { PROCESSOR_LEAVES = 40 };

/* What CPUID gives for this eax and, as far as its bits are in the mask, this ecx. */
struct processor_leaf {
	uint32_t leaf, subleaf, subleaf_mask;
	uint32_t eax, ebx, ecx, edx;
};

struct processor {
	bool fast_pext; /* PEXT (BMI2), in hardware */
	bool rorx;      /* RORX (BMI2) */
	bool fast_loop; /* LOOP that does not branch costs no more than another instruction, JRCXZ
			   that does a branch */
	bool lzcnt;
	bool avx2;         /* and the system lets it be used */
	bool vector_lzcnt; /* VPLZCNTQ (AVX-512), and the system lets it be used */
	/* Leaves that are the same on all processors of this machine for as long as it runs, of
	 * those that programs ask for when they start. None where its processors differ, or may. */
	uint32_t leaf_count;
	struct processor_leaf leaves[PROCESSOR_LEAVES];
};

/* Asks the processor it runs on. */
struct processor processor_probe(void);

/* Whether sgdt, sidt, smsw, str and sldt may fault in user mode (User-Mode Instruction Prevention).
 */
bool processor_has_umip(void);

/* Whether xbegin is no illegal instruction: it begins a transaction, or always gives it up. It is
 * tried, with a handler for SIGILL meanwhile: CPUID says nothing of it under some hypervisors.
 * Async-signal-unsafe; for processes of one thread. */
bool processor_has_transactions(void);

enum { PROCESSOR_NAME = 49 };

/* What it calls itself, "unknown" where it does not. */
void processor_name(char name[PROCESSOR_NAME]);

#endif
