/* SPDX-License-Identifier: MIT */
/* The features of processor, hypervisor and kernel. Kernel versions are those of doc/SOURCES.md. */
#include <errno.h>
#include <string.h>

#include "collector/doctor/doctor_private.h"
#include "lib/array_size.h"

/* The PMU's folder in sysfs: cpu, on hybrid processors that of the larger cores. NULL: there is
 * none, or (*known) nobody says. */
static const char *pmu_folder(const struct doctor *d, bool *known)
{
	char devices[4096];

	/* A list that fills it may have been cut off. */
	*known =
		d->machine.ops->list(d->machine.state, PMU_DEVICES, devices, sizeof devices) >= 0 &&
		strlen(devices) < sizeof devices - 2;
	if (!*known)
		return NULL;
	strncat(devices, " ", sizeof devices - strlen(devices) - 1);
	if (strstr(devices, " cpu_core "))
		return PMU_DEVICES "/cpu_core";
	return strstr(devices, " cpu ") ? PMU_DEVICES "/cpu" : NULL;
}

/* The kernel has been asked and knows none: no event is opened for that, which costs milliseconds
 * where nobody else has one open. */
static bool has_no_pmu(const struct doctor *d)
{
	bool known;

	return !pmu_folder(d, &known) && known;
}

static void file_of_pmu(const struct doctor *d, const char *name, char *out, size_t size)
{
	bool known;
	const char *folder = pmu_folder(d, &known);
	char path[128];

	*out = '\0';
	snprintf(path, sizeof path, "%s/%s", folder ? folder : "", name);
	if (folder && d->machine.ops->read(d->machine.state, path, out, size) > 0)
		out[strcspn(out, "\n")] = '\0';
}

void probe_hypervisor(struct doctor *d, struct doctor_verdict *v)
{
	char name[32];

	if (doctor_hypervisor(d, name))
		verdict_set(v, DOCTOR_FACT, "a virtual machine: %s", name);
	else
		verdict_set(v, DOCTOR_FACT, "none: the bare machine");
}

void probe_kernel(struct doctor *d, struct doctor_verdict *v)
{
	static const struct {
		int major, minor;
		bool intel, amd;
		const char *lacks;
	} rows[] = {
		{5, 12, true, true, "depth of the LBR in sysfs (5.12)"},
		{5, 16, true, false, "snapshots of the LBR (5.16)"},
		{6, 1, false, true, "AMD's branch records (6.1)"},
		{6, 10, false, true, "snapshots of AMD's branch records (6.10)"},
	};
	char release[128] = "unknown", lacks[160] = "";

	if (d->machine.ops->read(d->machine.state, MACHINE_RELEASE, release, sizeof release) > 0)
		release[strcspn(release, "\n")] = '\0';
	if (!doctor_kernel_from(d, 5, 3)) {
		verdict_set(v, DOCTOR_NO, "Linux %.40s: recording needs 5.3", release);
		verdict_change(v, "Linux 5.3 or later");
		return;
	}
	for (size_t i = 0; !d->hurried && i < ARRAY_SIZE(rows); i++) {
		size_t len = strlen(lacks);

		if (doctor_kernel_from(d, rows[i].major, rows[i].minor))
			continue;
		if ((rows[i].intel && doctor_is_intel(d)) || (rows[i].amd && doctor_is_amd(d)))
			snprintf(lacks + len, sizeof lacks - len, "%s%s", len ? ", " : "",
				 rows[i].lacks);
	}
	if (*lacks) {
		verdict_set(v, DOCTOR_PARTLY, "Linux %.40s, without %s", release, lacks);
		verdict_change(v, "Linux %s or later", doctor_is_amd(d) ? "6.10" : "5.16");
	} else {
		verdict_set(v, DOCTOR_YES, "Linux %.60s", release);
	}
}

void probe_pmu(struct doctor *d, struct doctor_verdict *v)
{
	const struct doctor_verdict *perf = has_no_pmu(d) ? NULL : doctor_ask(d, DOCTOR_PERF);
	char hypervisor[32], name[64], depth[32];
	int rc;

	if (perf && perf->answer == DOCTOR_NO) {
		verdict_set(v, DOCTOR_NO, "unknown: %.200s", perf->why);
		verdict_change(v, "%s", perf->change);
		return;
	}
	rc = perf ? doctor_open_event(d, DOCTOR_EVENT_CYCLES) : -ENOENT;
	if (rc >= 0) {
		file_of_pmu(d, "caps/pmu_name", name, sizeof name);
		file_of_pmu(d, "caps/branches", depth, sizeof depth);
		verdict_set(v, DOCTOR_YES, "counts cycles%s%s%s%s%s", *name ? "; " : "", name,
			    *depth ? "; branch records " : "", depth, *depth ? " deep" : "");
	} else if ((rc == -ENOENT || rc == -EOPNOTSUPP) && doctor_hypervisor(d, hypervisor)) {
		verdict_set(v, DOCTOR_NO, "no PMU: the hypervisor (%s) shows none", hypervisor);
		verdict_change(v, "the host must give the machine one (libvirt: <pmu state='on'/>; "
				  "clouds: a bare-metal instance)");
	} else if (rc == -ENOENT || rc == -EOPNOTSUPP) {
		verdict_set(v, DOCTOR_NO, "no PMU, or this kernel does not know it");
	} else {
		verdict_set(v, DOCTOR_NO, "perf_event_open of cycles: %s", strerror(-rc));
	}
}

void probe_snapshot(struct doctor *d, struct doctor_verdict *v)
{
	const struct doctor_verdict *bpf = doctor_ask(d, DOCTOR_BPF);
	bool amd = doctor_is_amd(d);
	int rc;

	if (!doctor_kernel_from(d, 5, 16)) {
		verdict_set(v, DOCTOR_NO, "bpf_get_branch_snapshot came with Linux 5.16");
		verdict_change(v, "Linux %s or later", amd ? "6.10" : "5.16");
		return;
	}
	if (bpf->answer != DOCTOR_YES) {
		verdict_no_as(v, bpf);
		return;
	}
	rc = doctor_try(d, TRY_SNAPSHOT);
	if (rc > 0) {
		verdict_set(v, DOCTOR_YES, "bpf_get_branch_snapshot, called, gives entries");
	} else if (rc == -ENOENT && amd && !doctor_kernel_from(d, 6, 10) &&
		   doctor_is_yes(d, DOCTOR_PMU)) {
		verdict_set(v, DOCTOR_NO, "bpf_get_branch_snapshot serves AMD from Linux 6.10 on");
		verdict_change(v, "Linux 6.10 or later");
	} else if (rc == -ENOENT || !rc) {
		verdict_set(v, DOCTOR_NO,
			    "bpf_get_branch_snapshot, called, says that there are no branch "
			    "records here");
	} else {
		verdict_set(v, DOCTOR_NO, "bpf_get_branch_snapshot: %s",
			    rc == -MACHINE_KILLED ? "killed" : strerror(-rc));
	}
}

void probe_breakpoint(struct doctor *d, struct doctor_verdict *v)
{
	const struct doctor_verdict *perf = doctor_ask(d, DOCTOR_PERF);
	int rc;

	if (perf->answer == DOCTOR_NO) {
		verdict_no_as(v, perf);
		return;
	}
	rc = doctor_open_event(d, DOCTOR_EVENT_BREAKPOINT);
	if (rc >= 0)
		verdict_set(v, DOCTOR_YES, "as perf events");
	else
		verdict_set(v, DOCTOR_NO, "perf_event_open: %s", strerror(-rc));
}

void probe_blocks(struct doctor *d, struct doctor_verdict *v)
{
	char hypervisor[32];
	int stops = doctor_try(d, TRY_SINGLE_BLOCK);

	if (stops < 0)
		verdict_set(v, DOCTOR_NO,
			    stops == -EIO ? "the processor, or its hypervisor, has none" : "%s",
			    strerror(-stops));
	else if (stops <= MACHINE_BLOCK_BRANCHES + 1)
		verdict_set(v, DOCTOR_YES, "%d stops in %d instructions with %d branches", stops,
			    MACHINE_BLOCK_SIZE, MACHINE_BLOCK_BRANCHES);
	else
		verdict_set(v, DOCTOR_NO,
			    "%d stops in %d instructions with %d branches: it stops at every "
			    "instruction%s%s",
			    stops, MACHINE_BLOCK_SIZE, MACHINE_BLOCK_BRANCHES,
			    doctor_hypervisor(d, hypervisor) ? ", as under " : "",
			    doctor_hypervisor(d, hypervisor) ? hypervisor : "");
}

static void set_trap(struct doctor_verdict *v, int rc, const char *without)
{
	if (rc > 0)
		verdict_set(v, DOCTOR_YES, "it traps when asked to");
	else if (!rc)
		verdict_set(v, DOCTOR_NO, "asked to trap, it did not");
	else
		verdict_set(v, DOCTOR_NO, "%s",
			    rc == -ENODEV || rc == -EINVAL ? without : strerror(-rc));
}

void probe_cpuid(struct doctor *d, struct doctor_verdict *v)
{
	set_trap(v, doctor_try(d, TRY_CPUID_TRAP),
		 "the processor, or its hypervisor, has no faulting CPUID");
}

void probe_rdtsc(struct doctor *d, struct doctor_verdict *v)
{
	set_trap(v, doctor_try(d, TRY_RDTSC_TRAP), "this kernel cannot");
}
