/* SPDX-License-Identifier: MIT */
/* The believable part of a processor's branch record (LBR), as the kernel gives it: entries oldest
 * first, without those that are stale, were never executed, or are the kernel's. Used by the LBR
 * source. Pure functions of bytes and code; any bytes can be read. */
#ifndef BT_LBR_STACK_H
#define BT_LBR_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/backend/pmu/lbr_window.h"
#include "lib/branch.h"

/* The processor, as far as it is known. */
struct lbr_machine {
	unsigned depth; /* entries of the record; 0: unknown */
	bool tail_told; /* slots without an entry are zeros in what the kernel gives; else they hold
			   what was there before: QUIRK(lbr-old-tail) */
};

/* Whether straight-line code, branches not taken, leads from start to end; true also where the code
 * is not known. */
typedef bool lbr_leads(void *arg, uint64_t start, uint64_t end);

struct lbr_run {
	struct lbr_entry entries[LBR_DEPTH_MAX]; /* oldest first */
	size_t count;
	bool complete;  /* it holds every branch of its window; else older ones may be missing */
	uint64_t began; /* address at which the kernel returned to user code before the oldest of
			   them; 0: unknown */
};

/* Reads what bpf_get_branch_snapshot() gave: bytes, and of them valid entries (-1: the kernel did
 * not say). */
void lbr_run_of_snapshot(struct lbr_run *run, const struct lbr_entry *entries, size_t bytes,
			 int valid, const struct lbr_machine *m, lbr_leads *leads, void *arg);

/* Reads the branch stack of a sample: count entries, newest first. */
void lbr_run_of_sample(struct lbr_run *run, const struct lbr_entry *entries, size_t count,
		       lbr_leads *leads, void *arg);

#endif
