/* SPDX-License-Identifier: MIT */
/* Shared by the doctor's probes and its two ways to print alone: the table of rows (rows.def), and
 * helpers to answer. A probe fills one verdict and asks for other rows by doctor_ask() alone, so
 * that each is probed once. */
#ifndef BT_DOCTOR_PRIVATE_H
#define BT_DOCTOR_PRIVATE_H

#include <linux/capability.h>

#include "collector/doctor/doctor.h"

#ifndef CAP_PERFMON
#define CAP_PERFMON 38 /* Linux 5.8 */
#define CAP_BPF     39
#endif

#define PMU_DEVICES "/sys/bus/event_source/devices"

enum doctor_group {
	GROUP_RECORD,
	GROUP_PERMIT,
	GROUP_PROCESSOR,
	GROUP_AROUND,
	GROUPS,
};

struct doctor_row_info {
	const char *name, *serves;
	enum doctor_group group;
	void (*probe)(struct doctor *d, struct doctor_verdict *v);
};

extern const struct doctor_row_info doctor_rows[DOCTOR_ROWS];

#define BT_DOCTOR_ROW(id, group, name, serves, probe) \
	void probe(struct doctor *d, struct doctor_verdict *v);
#include "collector/doctor/rows.def"
#undef BT_DOCTOR_ROW

void verdict_set(struct doctor_verdict *v, enum doctor_answer answer, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void verdict_change(struct doctor_verdict *v, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* No, for the reason that another row has given. */
void verdict_no_as(struct doctor_verdict *v, const struct doctor_verdict *cause);

enum doctor_event {
	DOCTOR_EVENT_CYCLES,
	DOCTOR_EVENT_LBR,
	DOCTOR_EVENT_LBR_SAMPLES,
	DOCTOR_EVENT_BTS,
	DOCTOR_EVENT_PT,
	DOCTOR_EVENT_BREAKPOINT,
	DOCTOR_EVENTS,
};

/* Opens and closes it. Returns 0 or -errno. To be called only where the row of perf events says
 * that they are permitted. It finds out whether a filter kills whoever asks for one. */
int doctor_open_event(const struct doctor *d, enum doctor_event which);

int doctor_try(const struct doctor *d, enum machine_attempt what);
bool doctor_is_yes(struct doctor *d, enum doctor_row row);

/* By the vendor in /proc/cpuinfo. */
bool doctor_is_intel(const struct doctor *d);
bool doctor_is_amd(const struct doctor *d);

/* Whether the kernel is this version or a later one. */
bool doctor_kernel_from(const struct doctor *d, int major, int minor);

bool doctor_has_capability(const struct doctor *d, int which);
/* CAP_BPF, CAP_PERFMON and their kin were CAP_SYS_ADMIN once, which still stands for them. */
bool doctor_is_capable(const struct doctor *d, int which);

bool doctor_is_filtered(const struct doctor *d);

/* The name of the hypervisor, false: there is none. */
bool doctor_hypervisor(const struct doctor *d, char name[32]);

/* The limits that /proc/self/limits has under this name, in its unit; UINT64_MAX: none. False: it
 * is not there. */
bool doctor_limit(const struct doctor *d, const char *name, uint64_t *soft, uint64_t *hard);

/* How to get these capabilities. */
void verdict_change_capabilities(struct doctor_verdict *v, const char *list);

/* How to get rid of a container's filter. */
void verdict_change_filter(struct doctor_verdict *v);

#endif
