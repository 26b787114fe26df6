/* SPDX-License-Identifier: MIT */
/* Counters that nobody reads: cycles, and what is there on every machine, events of the kernel's
 * own and breakpoints. */
#include <errno.h>

#include "tests/simulated/simulated.h"

static int claims(struct sim *s, const struct perf_event_attr *a, pid_t tid)
{
	(void)tid;
	if (a->type == PERF_TYPE_SOFTWARE || a->type == PERF_TYPE_BREAKPOINT)
		return 1;
	if (a->type != PERF_TYPE_HARDWARE || (uint32_t)a->config != PERF_COUNT_HW_CPU_CYCLES ||
	    a->sample_type & PERF_SAMPLE_BRANCH_STACK)
		return 0;
	return s->o.pmu ? 1 : -ENOENT;
}

const struct sim_device sim_counter = {
	.name = "counter",
	.claims = claims,
};
