/* SPDX-License-Identifier: MIT */
/* The flow of user code that an Intel PT stream tells (Intel SDM volume 3, chapter "Intel Processor Trace"): each branch, taken or
 * not, and where user code was left and entered. Packets and instructions are decoded by libipt, which needs the code that ran; the
 * branches are in the order in which they retired. Kernel code, where the stream has it, is stepped over.
 *
 * A conditional jump to the instruction behind it is told as not taken: libipt gives instructions, and they are the same.
 *
 * Any bytes can be read: where they cannot be decoded, or where code lacks, a gap comes out, and reading goes on at the next
 * synchronization point (PSB). The time that decoding takes is bounded by a multiple of the stream's length. */
#ifndef BT_PT_FLOW_H
#define BT_PT_FLOW_H

#include "lib/branch.h"
#include "lib/error.h"

struct pt_flow;

enum pt_flow_kind {
	PT_FLOW_BRANCH, /* branch: complete */
	PT_FLOW_LEAVE,	/* user code was left at branch.from: by a system call (SYSCALL), an interrupt or exception before the instruction
			 * there (ASYNC), or into code that the capture's filter leaves out (GAP) */
	PT_FLOW_ENTER,	/* user code goes on at branch.to */
	PT_FLOW_GAP,	/* branch: a gap */
};

struct pt_flow_item {
	enum pt_flow_kind kind;
	struct bt_branch branch;
	uint64_t tsc;	  /* about when; 0: unknown */
	uint64_t addr;	  /* of a gap: where decoding stood, 0: unknown */
	const char *cause; /* of a gap: in words, or NULL */
};

/* Up to n bytes of code at addr into bytes; returns how many, 0: none is known there. */
typedef size_t pt_flow_code(void *arg, uint64_t addr, uint8_t *bytes, size_t n);

struct pt_flow_config {
	struct slice bytes; /* borrowed until pt_flow_free() */
	/* The processor, for its errata; not intel: unknown. */
	bool intel;
	uint16_t family;
	uint8_t model, stepping;
	/* For times between TSC packets: CPUID leaf 15h eax and ebx, MTCFreq of IA32_RTIT_CTL, and the maximal non-turbo ratio;
	 * 0 where unknown. */
	uint32_t ctc_denominator, ctc_numerator;
	uint8_t mtc_freq, nominal_ratio;
	enum bt_gap_reason head; /* why what lies before the first synchronization point cannot be read */
	pt_flow_code *code;
	void *arg;
};

/* Begins to read a stream. Errors: BT_E_NO_MEMORY. */
int pt_flow_new(struct pt_flow **out, const struct pt_flow_config *config, struct bt_error *err) BT_MUST_USE;
void pt_flow_free(struct pt_flow *f);

/* The next item. Returns 1; 0 at the end of the stream. Code is asked for during this call only. */
int pt_flow_next(struct pt_flow *f, struct pt_flow_item *item);

/* Makes entries of one task's history from the items that belong to it: what left user code and what entered it again are one
 * entry. Zero it for a new task. */
struct pt_join {
	bool left;
	struct bt_branch at;
};

/* Whether the item completes an entry, which is in *out then. Coming back from an interrupt to where it happened is none. */
bool pt_join(struct pt_join *j, const struct pt_flow_item *item, struct bt_branch *out);

#endif
