/* SPDX-License-Identifier: MIT */
/* The branch trace store (Intel SDM volume 3, "Branch Trace Store"): one record for each branch
 * that was taken, of 24 bytes, in two forms: as the processor writes it and perf's intel_bts PMU
 * passes it on ({from, to, flags}), and as perf samples in the ring of a branch event of period 1
 * ({header, from, to}), among them records of the task's switches. Branches that were not taken are
 * in the code between the records. Branches that the record leaves out (system calls, if the kernel
 * removes its own addresses) are not made up.
 *
 * Order of a ring: a switch away is written before the branches that the processor still held
 * (perf_event_switch() in kernel/events/core.c comes before the events are stopped, and ds.c drains
 * the store then): here it comes behind them.
 *
 * Used by the pmu backend at each stop, and by the import of perf.data. Any bytes can be read. */
#ifndef BT_BTS_FLOW_H
#define BT_BTS_FLOW_H

#include "hardware_decoders/flow.h"
#include "lib/slice.h"

enum {
	BTS_RECORD = 24,
};

typedef void bts_take(void *arg, const struct flow_item *item);

/* The code that tells kinds of branches (flow_kind_at). */
struct bts_code {
	flow_code *code; /* NULL: kinds are not known */
	void *arg;
};

/* Takes records as the processor writes them, oldest first. Empty ones are padding. A partial
 * record at the end and an impossible record become a gap of reason lost. */
void bts_records(struct slice bytes, const struct bts_code *code, bts_take *take, void *arg);

/* The ring of a branch event: sample_type IP|ADDR; into the same ring goes an event with
 * context_switch, sample_id_all and sample_type TIME|CPU, so that every record has 24 bytes. */
struct bts_ring {
	const uint8_t *data;
	uint64_t size; /* bytes, a power of two */
	uint64_t head; /* data_head: bytes ever written */
	uint64_t seen; /* bytes that were read before */
};

/* Takes the records written since `seen`, oldest first. A gap stands for overwritten records and
 * for bytes that are no record. The writer must not run. */
void bts_ring_read(const struct bts_ring *ring, const struct bts_code *code, bts_take *take,
		   void *arg);

#endif
