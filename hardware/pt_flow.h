/* SPDX-License-Identifier: MIT */
/* The flow of user code that an Intel PT stream tells (Intel SDM volume 3, chapter "Intel Processor
 * Trace"): each branch, taken or not, and where user code was left and entered. Packets and
 * instructions are decoded by libipt, which needs the code that ran; the branches are in the order
 * in which they retired. Kernel code, where the stream has it, is stepped over.
 *
 * A conditional jump to the instruction behind it is told as not taken: libipt gives instructions,
 * and they are the same.
 *
 * Each point at which decoding begins is an item of its own (FLOW_SYNC): the code may be another's
 * from there on.
 *
 * Any bytes can be read: where they cannot be decoded, or where code lacks, a gap comes out, and
 * reading goes on at the next synchronization point (PSB). The time that decoding takes is bounded
 * by a multiple of the stream's length. Where that does not do, a gap comes before the newest part,
 * which is allowed much more for each of its bytes; where that is too little, too, one more before
 * what lies behind the last synchronization point, and at last one at the end.
 *
 * Used by the pmu backend and the import of perf.data, one flow a stream; a flow belongs to one
 * thread. */
#ifndef BT_PT_FLOW_H
#define BT_PT_FLOW_H

#include "hardware/flow.h"
#include "lib/error.h"

struct pt_flow;

struct pt_flow_config {
	struct slice bytes; /* borrowed until pt_flow_free() */
	/* The processor, for its errata; not intel: unknown. */
	bool intel;
	uint16_t family;
	uint8_t model, stepping;
	/* For times between TSC packets: CPUID leaf 15h eax and ebx, MTCFreq of IA32_RTIT_CTL, and
	 * the maximal non-turbo ratio; 0 where unknown. */
	uint32_t ctc_denominator, ctc_numerator;
	uint8_t mtc_freq, nominal_ratio;
	enum bt_gap_reason
		head; /* why what lies before the first synchronization point cannot be read */
	/* Where its first bytes were decoded before: what pt_flow_spent() said then. So much more
	 * time may be taken, so that they come to the same. */
	uint64_t known;
	flow_code *code;
	void *arg;
};

/* Whether streams can be read here: 0, or -BT_E_UNSUPPORTED when libipt is not installed. */
int pt_flow_available(struct bt_error *err) BT_MUST_USE;

/* Begins to read a stream. Errors: BT_E_NO_MEMORY; BT_E_UNSUPPORTED, when libipt is not installed.
 */
int pt_flow_new(struct pt_flow **out, const struct pt_flow_config *config,
		struct bt_error *err) BT_MUST_USE;
void pt_flow_free(struct pt_flow *f);

/* The next item. Returns 1; 0 at the end of the stream. Code is asked for during this call only. */
int pt_flow_next(struct pt_flow *f, struct flow_item *item);

/* The instructions and events that were decoded until now; and whether there were too many, so that
 * there is a gap whose place depends on the length of the stream. */
uint64_t pt_flow_spent(const struct pt_flow *f);
bool pt_flow_ran_out(const struct pt_flow *f);

/* Where the last synchronization point in the bytes is; their number: there is none. */
size_t pt_flow_last_sync(struct slice bytes);

#endif
