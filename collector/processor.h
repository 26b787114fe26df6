/* SPDX-License-Identifier: MIT */
/* What the processor this runs on is good at. */
#ifndef BT_PROCESSOR_H
#define BT_PROCESSOR_H

#include <stdbool.h>

struct processor {
	bool fast_pext; /* PEXT (BMI2), in hardware */
	bool rorx;	/* RORX (BMI2) */
	bool lzcnt;
	bool vector_lzcnt; /* VPLZCNTQ (AVX-512), and the system lets it be used */
};

struct processor processor_probe(void);

#endif
