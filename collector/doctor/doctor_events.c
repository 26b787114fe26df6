/* SPDX-License-Identifier: MIT */
/* Events of ring 3, as perf_event_open(2) takes them, opened to see whether they can be. */
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>

#include "collector/doctor/doctor_private.h"

int doctor_open_event(const struct doctor *d, enum doctor_event which)
{
	static const struct perf_event_attr attrs[DOCTOR_EVENTS] = {
		[DOCTOR_EVENT_CYCLES] = {.type = PERF_TYPE_HARDWARE,
					 .config = PERF_COUNT_HW_CPU_CYCLES},
		[DOCTOR_EVENT_LBR] = {.type = PERF_TYPE_HARDWARE,
				      .config = PERF_COUNT_HW_CPU_CYCLES,
				      .sample_type = PERF_SAMPLE_BRANCH_STACK,
				      .branch_sample_type =
					      PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY},
		[DOCTOR_EVENT_LBR_SAMPLES] = {.type = PERF_TYPE_HARDWARE,
					      .config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
					      .sample_period = 100003,
					      .sample_type = PERF_SAMPLE_BRANCH_STACK,
					      .branch_sample_type = PERF_SAMPLE_BRANCH_USER |
								    PERF_SAMPLE_BRANCH_ANY},
		/* A period of 1: the kernel takes the branch trace store (intel_pmu_bts_config in
		   arch/x86/events/intel/core.c). */
		[DOCTOR_EVENT_BTS] = {.type = PERF_TYPE_HARDWARE,
				      .config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
				      .sample_period = 1,
				      .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_ADDR},
		[DOCTOR_EVENT_PT] = {.type = 0}, /* its type is in sysfs */
		[DOCTOR_EVENT_BREAKPOINT] = {.type = PERF_TYPE_BREAKPOINT,
					     .bp_type = HW_BREAKPOINT_X,
					     .bp_addr = 0x1000,
					     .bp_len = sizeof(long),
					     .sample_period = 1},
	};
	struct perf_event_attr attr = attrs[which];
	const struct perf_kernel *k = d->machine.perf;
	long type = which == DOCTOR_EVENT_PT ? perf_pmu_type(k, "intel_pt") : (long)attr.type,
	     larger = perf_pmu_type(k, "cpu_core");
	int fd;

	if (type < 0)
		return -ENOENT;
	attr.type = (uint32_t)type;
	if (attr.type == PERF_TYPE_HARDWARE && larger > 0)
		attr.config |=
			(uint64_t)larger
			<< 32; /* of a hybrid processor's PMUs (PERF_PMU_TYPE_SHIFT, Linux 5.13) */
	attr.size = sizeof attr;
	attr.disabled = 1;
	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
	fd = k->ops->open(k->arg, &attr, 0, -1, -1, 0);
	if (fd < 0)
		return fd;
	k->ops->close(k->arg, fd);
	return 0;
}
