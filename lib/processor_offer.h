/* SPDX-License-Identifier: MIT */
/* The features that a processor offers to programs: CPUID's leaves of features, and the states that
 * the system has enabled. Those of a recording are kept in its log, and compared with those of the
 * machine that replays it. */
#ifndef BT_PROCESSOR_OFFER_H
#define BT_PROCESSOR_OFFER_H

#include <stddef.h>

#include "lib/processor.h"

enum {
	PROCESSOR_OFFERED = 32, /* leaves */
	PROCESSOR_MAKER = 13,
};

struct processor_offer {
	uint64_t xcr0; /* states that the system has enabled (XGETBV); 0: none */
	size_t count;
	struct processor_leaf leaves[PROCESSOR_OFFERED];
};

/* Asks the processor that this runs on: leaves 0, 1, 7, 0xd, 0x80000001 and 0x80000008. Fields that
 * differ between the processors of a machine are left out. */
void processor_offer_read(struct processor_offer *o);

/* The maker's name: GenuineIntel, AuthenticAMD. Empty if leaf 0 is not there. Other characters than
 * letters become '?'. */
void processor_offer_maker(const struct processor_offer *o, char maker[PROCESSOR_MAKER]);

/* Writes the names, as /proc/cpuinfo has them, of the features that programs can use and that `had`
 * has and `now` lacks, with a space between two. Features that one maker alone has are left out.
 * Returns how many they are; text holds as many as there is room for. */
size_t processor_offer_missing(const struct processor_offer *had, const struct processor_offer *now,
			       char *text, size_t size);

#endif
