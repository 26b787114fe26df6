/* SPDX-License-Identifier: MIT */
/* Shared by the parts of the LBR source alone: lbr (events, windows) and lbr_samples (the ring of
 * periodic samples). */
#ifndef BT_LBR_PRIVATE_H
#define BT_LBR_PRIVATE_H

#include "collector/backend/pmu/branch_source.h"
#include "collector/backend/pmu/lbr_stack.h"

enum {
	LBR_PMUS = 2,        /* hybrid processors have two */
	LBR_PERIOD = 100003, /* branches between two samples, without BPF: a prime */
	LBR_RING_PAGES =
		4, /* data pages of a task's ring of samples: about twenty samples 32 deep */
};

struct lbr_shared {
	struct lbr_machine machine;
	uint64_t config[LBR_PMUS]; /* of PERF_TYPE_HARDWARE, without the event: the upper half names
				      the PMU */
	unsigned pmus;
	void *snap; /* NULL: samples */
};

struct lbr_events {
	int fd[LBR_PMUS];
	void *ring[LBR_PMUS];    /* of samples */
	uint64_t head[LBR_PMUS]; /* offset of the newest sample that was read */
	uint64_t idle; /* time in which none of the events was on its counter, at the last look */
	pid_t tid;     /* of the watched thread */
};

/* The attributes of the event: with samples, or without, for the BPF programs. */
struct perf_event_attr lbr_attr(const struct lbr_shared *l, unsigned pmu, bool samples);

/* Maps the ring of event number i. 0 or an error. */
int lbr_ring_open(const struct pmu *p, struct lbr_events *e, unsigned i, struct bt_error *err);
void lbr_ring_close(const struct pmu *p, struct lbr_events *e, unsigned i);

/* Gives each sample that was not read yet, oldest first: its branch stack, newest first. The task
 * is stopped. */
typedef void lbr_take_sample(void *arg, const struct lbr_entry *entries, size_t count);
void lbr_ring_read(struct lbr_events *e, unsigned i, lbr_take_sample *take, void *arg);

/* The source for --source lbr. */
extern const struct branch_source_ops lbr_source;

#endif
