/* SPDX-License-Identifier: MIT */
/* The sources of the branches of natively running tasks: the rows of one table (branch_source.c). A
 * source opens events for each task, and at every stop brings what the processor recorded into the
 * task's history. Used by pmu.c only; a source reaches the kernel through perf_ops only. */
#ifndef BT_BRANCH_SOURCE_H
#define BT_BRANCH_SOURCE_H

#include <signal.h>

#include "collector/backend/backend.h"
#include "collector/backend/pmu/perf_ops.h"

struct branch_source_ops;

enum {
	PMU_TEXT_MAX = 300,
};

/* The pmu backend of one recording. */
struct pmu {
	const struct perf_kernel *kernel;
	const struct branch_source_ops *source; /* NULL: none, only events are recorded */
	const struct backend_ops *runner; /* runs the code: native_ops, or a simulated processor */
	const struct observer *observer;  /* once the recorder has begun */
	const struct bt_clock *clock;
	void *shared;           /* the source's own, for all tasks */
	char how[PMU_TEXT_MAX]; /* the branches that the source gives here, for the trace's header:
				   "the last 32 taken branches at faults and switches" */
	char lacking[PMU_TEXT_MAX]; /* the reason why it gives no more, and a remedy; empty: none.
				       Said once, at the start */
};

/* Why the task stands still while its branches are captured. */
enum capture_why {
	CAPTURE_STOP,     /* an event of the program's: a system call, a signal handler, its turn is
			     over */
	CAPTURE_SIGNAL,   /* a signal waits to be delivered; info is filled */
	CAPTURE_EXIT,     /* it ends */
	CAPTURE_SNAPSHOT, /* the recorded branches are about to be written, with registers and
			     stacks */
};

struct branch_source_ops {
	const char *name; /* as in --source and in the trace's header */
	const char *text; /* for people */
	bool whole; /* tells of system calls and handlers itself: the runner enters none into the
		       history */

	/* Whether it can be used here, and how: fills p->how and p->lacking, opens nothing that
	 * stays. Returns 0, or an error that says which facility is lacking and what to do:
	 * BT_E_NO_HARDWARE (no such hardware, or busy), BT_E_PERMISSION, BT_E_UNSUPPORTED (kernel,
	 * or not built in). */
	int (*probe)(struct pmu *p, struct bt_error *err);

	/* Opens what all tasks share (p->shared), and does what probe does. Errors as there. May be
	 * NULL when probe is all there is to do. */
	int (*open)(struct pmu *p, struct bt_error *err);
	void (*close)(struct pmu *p);

	/* A stopped task is about to run under the backend for the first time: opens its events.
	 * *state becomes the source's own for it, released by detach. On an error the task runs on
	 * with a history that says that it is missing. */
	int (*attach)(struct pmu *p, struct task *task, void **state, struct bt_error *err);
	void (*detach)(struct pmu *p, struct task *task, void *state);

	/* A stop of the task that means something to the program. Brings what was recorded of the
	 * stopped task since the last time into its history, oldest first (task_branch,
	 * branch_ring_gap), with a gap wherever branches may be missing: also at the end, when the
	 * newest are. info is NULL but for CAPTURE_SIGNAL. */
	void (*capture)(struct pmu *p, struct task *task, void *state, enum capture_why why,
			const siginfo_t *info);

	/* The task runs another program from here on; task->tid may be another. Its branches before
	 * have been captured. May be NULL. */
	void (*execed)(struct pmu *p, struct task *task, void *state);
};

/* All of them, in the order in which --source auto tries them; a NULL ends them. */
extern const struct branch_source_ops *const branch_sources[];

/* NULL: no such source. */
const struct branch_source_ops *branch_source_find(const char *name);

/* The task arrived on a CPU (its number) or departed from it at a time of CLOCK_MONOTONIC
 * (attr.use_clockid): for sources that have switch records. */
void pmu_sched(const struct pmu *p, const struct task *task, uint64_t time, uint32_t cpu,
	       enum bt_sched what);

/* Enters a branch that the processor recorded as taken into the task's history: its kind is that of
 * the code, which the observer knows then. flags: those of struct perf_branch_entry. */
void pmu_branch(struct task *task, uint64_t from, uint64_t to, uint64_t flags);

/* A gap in the history, unless its last entry is one of the same reason. */
void pmu_gap(struct task *task, enum bt_gap_reason reason);

#endif
