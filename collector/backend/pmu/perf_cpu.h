/* SPDX-License-Identifier: MIT */
/* The processor as /proc/cpuinfo shows it, and what the kernel means when it refuses an event of
 * it. Used by the sources. No state; whatever cannot be read is 0. */
#ifndef BT_PERF_CPU_H
#define BT_PERF_CPU_H

#include "collector/backend/pmu/perf_ops.h"

struct perf_cpu {
	bool intel;
	bool bts;      /* the branch trace store is there for kernels */
	bool arch_lbr; /* its branch record is the architectural one (Intel, from Alder Lake and
			  Sapphire Rapids on) */
	unsigned family, model, stepping;
};

/* Messages for EBUSY: who may hold the resource, and what to do (x86_add_exclusive in
 * arch/x86/events/core.c, Linux 4.1 on): the branch record and the branch event of period 1, the
 * PMU intel_bts, and Intel PT exclude each other on all of the machine; PT not on processors that
 * let it run beside the others (from Goldmont and Ice Lake on). One of a kind does not exclude
 * another, but for PT, of which a task has one. */
#define PERF_BUSY_LBR                                                                           \
	"somebody records with Intel PT or the PMU intel_bts (perf record -e intel_pt//, perf " \
	"record -e intel_bts//, gdb's "                                                         \
	"record btrace pt), which exclude it; end that"
#define PERF_BUSY_PT                                                                           \
	"somebody records with it already, or with the branch record or BTS (perf record -b, " \
	"perf record --call-graph lbr, "                                                       \
	"gdb's record btrace), which exclude it; end that"

/* Fields that cannot be read are 0. */
void perf_cpu_read(struct perf_cpu *c, const struct perf_kernel *k);

/* Fills err for an event that perf_event_open or mmap refused with -errno rc; what is its name for
 * people ("the branch trace store"), busy what EBUSY means there. Returns -BT_E_NO_HARDWARE,
 * -BT_E_PERMISSION or -BT_E_UNSUPPORTED. */
int perf_refused(const struct perf_kernel *k, int rc, const char *what, const char *busy,
		 struct bt_error *err);

#endif
