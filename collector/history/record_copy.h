/* SPDX-License-Identifier: MIT */
/* Copies records out of the window, turns their bits from complements into bits, and counts what
 * they say, in one pass. There are hundreds of millions of them a second, so each processor has its
 * own way. Used by the branch log. The source may change meanwhile: only the copy is looked at. */
#ifndef BT_RECORD_COPY_H
#define BT_RECORD_COPY_H

#include "collector/history/branch_log.h"

struct record_sums {
	uint64_t ticks;
	uint64_t arrivals; /* records that are INDIRECT or LOOP */
	bool bad; /* perhaps one that cannot be a record: wrong bits, or no kind. ticks may be wrong
		     then */
};

/* Copies n records, and sums up the copies: the program may write to `from` meanwhile. */
typedef struct record_sums record_copy_fn(struct branch_log_record *to,
					  const struct branch_log_record *from, size_t n);

record_copy_fn record_copy_by_bsr;    /* any processor's way */
record_copy_fn record_copy_by_lzcnt;  /* processor.lzcnt */
record_copy_fn record_copy_by_pairs;  /* processor.lzcnt, processor.avx2 */
record_copy_fn record_copy_by_vector; /* processor.vector_lzcnt */

/* The best that the processor has. */
record_copy_fn *record_copy_best(const struct processor *p);

#endif
