/* SPDX-License-Identifier: MIT */
/* The processor as /proc/cpuinfo shows it, and what the kernel means when it refuses an event of it. */
#ifndef BT_PERF_CPU_H
#define BT_PERF_CPU_H

#include "collector/pmu/perf_ops.h"

struct perf_cpu {
	bool intel;
	bool bts; /* the branch trace store is there for kernels */
	unsigned family, model, stepping;
};

/* What cannot be read is 0. */
void perf_cpu_read(struct perf_cpu *c, const struct perf_kernel *k);

/* Fills err for an event that perf_event_open or mmap refused with -errno rc; what is its name for people ("the branch trace store").
 * Returns -BT_E_NO_HARDWARE, -BT_E_PERMISSION or -BT_E_UNSUPPORTED. */
int perf_refused(const struct perf_kernel *k, int rc, const char *what, struct bt_error *err);

#endif
