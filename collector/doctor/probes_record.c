/* SPDX-License-Identifier: MIT */
/* Ways to record: the backends, and the processor's own branch records. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "collector/backend/engine/cache/layout.h"
#include "collector/backend/pmu/source_bts.h"
#include "collector/doctor/doctor_private.h"
#include "lib/array_size.h"

#define PT_FOLDER PMU_DEVICES "/intel_pt"

static const unsigned region_mb = REGION_SIZE >> 20;

/* Everything rests on these. */
static bool can_trace(struct doctor *d, struct doctor_verdict *v)
{
	static const enum doctor_row rows[] = {DOCTOR_KERNEL, DOCTOR_PROC, DOCTOR_PTRACE};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct doctor_verdict *needed = doctor_ask(d, rows[i]);

		if (needed->answer != DOCTOR_NO)
			continue;
		verdict_no_as(v, needed);
		return false;
	}
	return true;
}

/* Programs may be smaller than btrec, or larger. Only a recording shows whether the region fits
 * into one. */
static void tell_no_room(const struct doctor *d, struct doctor_verdict *v)
{
	uint64_t soft, hard;

	if (doctor_limit(d, "Max address space", &soft, &hard) && hard != UINT64_MAX) {
		verdict_set(v, DOCTOR_PARTLY,
			    "%u MiB more than a program has may not fit under RLIMIT_AS, %" PRIu64
			    " MiB: else it is stepped, slowly",
			    region_mb, hard >> 20);
		verdict_change(v, "ulimit -v unlimited (a hard limit: as root)");
		return;
	}
	verdict_set(v, DOCTOR_PARTLY,
		    "%u MiB more than a program has may not fit: else it is stepped, slowly",
		    region_mb);
	if (machine_number(&d->machine, "/proc/sys/vm/overcommit_memory", 0) == 2)
		verdict_change(v, "sudo sysctl vm.overcommit_memory=0");
}

void probe_engine(struct doctor *d, struct doctor_verdict *v)
{
	int rc;

	if (!can_trace(d, v))
		return;
	rc = doctor_try(d, TRY_REGION);
	if (rc == -ENOMEM) {
		tell_no_room(d, v);
	} else if (rc == -EEXIST) {
		verdict_set(v, DOCTOR_NO, "its place in address spaces (0x%" PRIx64 ") is taken",
			    (uint64_t)WORLD_RESERVED_START);
	} else if (rc < 0) {
		verdict_set(v, DOCTOR_NO,
			    "its code cache cannot be mapped: %s (a security module that forbids "
			    "executable memory?)",
			    strerror(-rc));
	} else if (!d->hurried && doctor_try(d, TRY_MEMFD) < 0) {
		verdict_set(v, DOCTOR_PARTLY,
			    "every branch and exact ticks; slower than it could be, since its code "
			    "cannot be in a memory file (memfd_create)");
		if (doctor_is_filtered(d))
			verdict_change_filter(v);
	} else {
		verdict_set(v, DOCTOR_YES,
			    "every branch and exact ticks; its code cache fits (%u MiB)",
			    region_mb);
	}
}

void probe_step(struct doctor *d, struct doctor_verdict *v)
{
	if (can_trace(d, v))
		verdict_set(v, DOCTOR_YES,
			    "every branch and exact ticks, an instruction at a time: slow");
}

/* The verdict on an event of the processor's that was refused. */
static void set_refused(struct doctor_verdict *v, int rc, const char *lacking, const char *busy)
{
	if (rc == -EBUSY) {
		verdict_set(v, DOCTOR_NO, "%s", busy);
		verdict_change(v, "end it: pgrep -a 'perf|gdb|btrec' tells who it may be");
	} else if (rc == -EOPNOTSUPP || rc == -ENOENT || rc == -ENODEV || rc == -EINVAL) {
		verdict_set(v, DOCTOR_NO, "%s", lacking);
	} else {
		verdict_set(v, DOCTOR_NO, "perf_event_open: %s", strerror(-rc));
	}
}

/* All sources need a PMU. */
static bool has_pmu(struct doctor *d, struct doctor_verdict *v)
{
	const struct doctor_verdict *pmu = doctor_ask(d, DOCTOR_PMU);

	if (pmu->answer == DOCTOR_YES)
		return can_trace(d, v);
	verdict_no_as(v, pmu);
	return false;
}

/* The machine has the source. Asks whether btrec has it, and then its own probe, by which btrec run
 * goes. */
static void ask_source(const struct doctor *d, struct doctor_verdict *v, const char *name)
{
	struct pmu pmu = {.kernel = d->machine.perf, .source = branch_source_find(name)};
	struct bt_error err;

	if (v->answer == DOCTOR_NO)
		return;
	if (!pmu.source) {
		verdict_set(v, DOCTOR_NO, "the machine has it, this btrec cannot use it yet");
		*v->change = '\0';
	} else if (pmu.source->probe(&pmu, &err)) {
		verdict_set(v, DOCTOR_NO, "%.200s", err.text);
	} else if (*pmu.lacking) {
		verdict_set(v, DOCTOR_PARTLY, "%s", pmu.lacking);
	} else {
		verdict_set(v, DOCTOR_YES, "%.200s", pmu.how);
	}
}

static void look_for_lbr(struct doctor *d, struct doctor_verdict *v)
{
	const struct doctor_verdict *snapshot;
	int rc;

	if (!has_pmu(d, v))
		return;
	rc = doctor_open_event(d, DOCTOR_EVENT_LBR);
	if (rc == -EINVAL) /* AMD's before Linux 6.10 */
		rc = doctor_open_event(d, DOCTOR_EVENT_LBR_SAMPLES);
	if (rc == -EINVAL && doctor_is_amd(d)) {
		verdict_set(v, DOCTOR_NO,
			    "AMD's before Zen 4 have no branch records that could be used");
		return;
	}
	if (rc < 0) {
		char hypervisor[32];

		set_refused(v, rc,
			    doctor_hypervisor(d, hypervisor)
				    ? "the hypervisor shows no branch records"
				    : "this processor has no branch records",
			    PERF_BUSY_LBR);
		return;
	}
	verdict_set(v, DOCTOR_YES, "there");
	snapshot = doctor_ask(d, DOCTOR_SNAPSHOT);
	if (snapshot->answer != DOCTOR_YES)
		verdict_change(v, "%s", snapshot->change);
}

/* With isolated page tables there is no PMU intel_bts (bts_init in arch/x86/events/intel/bts.c). */
static bool is_isolated(const struct doctor *d)
{
	char text[128];

	return d->machine.ops->read(d->machine.state,
				    "/sys/devices/system/cpu/vulnerabilities/meltdown", text,
				    sizeof text) > 0 &&
	       strstr(text, "PTI");
}

static void look_for_bts(struct doctor *d, struct doctor_verdict *v)
{
	struct perf_cpu cpu;
	int rc;

	if (!doctor_is_intel(d)) {
		verdict_set(v, DOCTOR_NO, "Intel's only");
		return;
	}
	if (!has_pmu(d, v))
		return;
	perf_cpu_read(&cpu, d->machine.perf);
	if (bts_has_erratum(&cpu)) {
		verdict_set(
			v, DOCTOR_NO,
			"this processor may record wrong addresses (erratum AAJ122 and its kin)");
		return;
	}
	if (!cpu.bts) {
		char hypervisor[32];

		verdict_set(v, DOCTOR_NO,
			    doctor_hypervisor(d, hypervisor) ? "the hypervisor does not show it"
							     : "this processor has none");
		return;
	}
	rc = doctor_open_event(d, DOCTOR_EVENT_BTS);
	if (rc < 0) {
		set_refused(v, rc, "the kernel has no BTS for this processor", PERF_BUSY_LBR);
		return;
	}
	verdict_set(v, DOCTOR_YES, "there");
}

static void look_for_pt(struct doctor *d, struct doctor_verdict *v)
{
	char hypervisor[32];
	const struct doctor_verdict *perf;
	int rc;

	if (!doctor_is_intel(d)) {
		verdict_set(v, DOCTOR_NO, "Intel's only");
		return;
	}
	if (machine_number(&d->machine, PT_FOLDER "/type", -1) < 0) {
		verdict_set(v, DOCTOR_NO,
			    doctor_hypervisor(d, hypervisor) ? "the hypervisor shows none"
							     : "this processor or kernel has none");
		return;
	}
	if (!can_trace(d, v))
		return;
	perf = doctor_ask(d, DOCTOR_PERF);
	if (perf->answer == DOCTOR_NO) {
		verdict_no_as(v, perf);
		return;
	}
	rc = doctor_open_event(d, DOCTOR_EVENT_PT);
	if (rc < 0) {
		set_refused(v, rc, "the kernel has no Intel PT for this processor", PERF_BUSY_PT);
		return;
	}
	verdict_set(v, DOCTOR_YES, "there");
}

void probe_lbr(struct doctor *d, struct doctor_verdict *v)
{
	look_for_lbr(d, v);
	ask_source(d, v, "lbr");
}

void probe_bts(struct doctor *d, struct doctor_verdict *v)
{
	size_t len;

	look_for_bts(d, v);
	ask_source(d, v, "bts");
	len = strlen(v->why);
	if (v->answer == DOCTOR_YES && is_isolated(d))
		snprintf(v->why + len, sizeof v->why - len,
			 " (page-table isolation turns off intel_bts only, which is not needed)");
}

void probe_pt(struct doctor *d, struct doctor_verdict *v)
{
	look_for_pt(d, v);
	ask_source(d, v, "pt");
}
