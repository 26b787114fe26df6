/* SPDX-License-Identifier: MIT */
/* The flow of user code that an Intel PT stream tells (Intel SDM volume 3, chapter "Intel Processor
 * Trace"): each branch, taken or not, and where user code was left and entered. Packets and
 * instructions are decoded by libipt, which needs the code that ran; the branches are in the order
 * in which they retired. Kernel code, where the stream has it, is stepped over.
 *
 * A conditional jump to the instruction behind it counts as not taken: libipt gives instructions,
 * which are the same either way.
 *
 * Each point where decoding begins is an item of its own (FLOW_SYNC): from there on the code may
 * belong to another process.
 *
 * Any bytes can be read. Bytes that cannot be decoded and missing code give a gap, and decoding
 * goes on at the next synchronization point (PSB). Decoding time is bounded by a multiple of the
 * stream's length. If that runs out, a gap comes before the newest part, which has much more time
 * for each byte. If that runs out too, a gap comes before the bytes behind the last synchronization
 * point, and at last one at the end.
 *
 * Used by the pmu backend and the import of perf.data, one flow a stream; a flow belongs to one
 * thread. */
#ifndef BT_PT_FLOW_H
#define BT_PT_FLOW_H

#include "hardware_decoders/flow.h"
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
		head; /* why bytes before the first synchronization point cannot be read */
	/* pt_flow_spent() of an earlier decoding of the same first bytes, or 0. That much time is
	 * added, so that they are decoded the same. */
	uint64_t known;
	flow_code *code;
	void *arg;
};

/* Returns 0 if streams can be read here, -BT_E_UNSUPPORTED if libipt is not installed. */
int pt_flow_available(struct bt_error *err) BT_MUST_USE;

/* Begins to read a stream. Errors: BT_E_NO_MEMORY; BT_E_UNSUPPORTED: libipt is not installed. */
int pt_flow_new(struct pt_flow **out, const struct pt_flow_config *config,
		struct bt_error *err) BT_MUST_USE;
void pt_flow_free(struct pt_flow *f);

/* The next item. Returns 1; 0 at the end of the stream. Code is asked for during this call only. */
int pt_flow_next(struct pt_flow *f, struct flow_item *item);

/* The number of instructions and events decoded so far; and whether that was too many, so that a
 * gap's place depends on the stream's length. */
uint64_t pt_flow_spent(const struct pt_flow *f);
bool pt_flow_ran_out(const struct pt_flow *f);

/* The offset of the last synchronization point; bytes.len if there is none. */
size_t pt_flow_last_sync(struct slice bytes);

#endif
