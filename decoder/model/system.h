/* SPDX-License-Identifier: MIT */
/* Stretches of tasks on CPUs, with their branches: from an arrival to a departure (SCHED records),
 * or up to a sample that names CPU and time. Built from a model, immutable. Used by by_cpu. */
#ifndef BT_SYSTEM_H
#define BT_SYSTEM_H

#include "decoder/model/model.h"

#define SYSTEM_UNKNOWN     UINT64_MAX /* a time */
#define SYSTEM_UNKNOWN_CPU UINT32_MAX /* the last of them */

/* How a stretch ends. */
enum system_end {
	SYSTEM_BLOCKED,   /* the task departed, to wait for something */
	SYSTEM_PREEMPTED, /* it departed while it could run */
	SYSTEM_EXITED,    /* it ended */
	SYSTEM_SAMPLED,   /* a sample was taken; nothing tells how it went on */
	SYSTEM_LOST,      /* its departure is not in the trace */
	SYSTEM_ENDS,
};

struct system_stretch {
	uint32_t task, cpu;   /* cpu: its number, or SYSTEM_UNKNOWN_CPU */
	uint64_t start, end;  /* ns, as the records' times; one of them may be SYSTEM_UNKNOWN */
	uint64_t first, last; /* branches: positions in the task's history, last exclusive; all
				 ones: up to its end */
	size_t samples;       /* taken in it */
	enum system_end how;
};

struct system_view {
	struct system_stretch *at; /* by CPU, then by time */
	size_t count;
};

/* Builds it. A trace without arrivals, departures and samples that name a CPU gives no stretch.
 * Errors: BT_E_NO_MEMORY. */
int system_build(struct system_view *v, const struct model *m, struct bt_error *err) BT_MUST_USE;
void system_release(struct system_view *v);

/* The end of the stretches of a CPU that begins at index i. */
size_t system_cpu_end(const struct system_view *v, size_t i);

#endif
