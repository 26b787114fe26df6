/* SPDX-License-Identifier: MIT */
#include "collector/doctor/doctor.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "collector/doctor/doctor_private.h"
#include "lib/array_size.h"

const struct doctor_row_info doctor_rows[DOCTOR_ROWS] = {
#define BT_DOCTOR_ROW(id, row_group, row_name, row_serves, row_probe) \
	[DOCTOR_##id] = {.name = row_name,                            \
			 .serves = row_serves,                        \
			 .group = GROUP_##row_group,                  \
			 .probe = row_probe},
#include "collector/doctor/rows.def"
#undef BT_DOCTOR_ROW
};

void doctor_init(struct doctor *d, struct machine machine)
{
	*d = (struct doctor){.machine = machine};
}

const struct doctor_verdict *doctor_ask(struct doctor *d, enum doctor_row row)
{
	struct doctor_verdict *v = &d->verdicts[row];

	if (v->answer == DOCTOR_NOT_ASKED)
		doctor_rows[row].probe(d, v);
	return v;
}

void doctor_presume(struct doctor *d, enum doctor_row row) { d->verdicts[row].answer = DOCTOR_YES; }

void doctor_hurry(struct doctor *d) { d->hurried = true; }

void doctor_choose(struct doctor *d, struct doctor_choice *out)
{
	const struct doctor_verdict *engine = doctor_ask(d, DOCTOR_ENGINE);

	*out = (struct doctor_choice){0};
	if (engine->answer != DOCTOR_NO) {
		out->backend = "engine";
		out->source = "bits";
		snprintf(out->reason, sizeof out->reason, "exact; %s",
			 doctor_ask(d, DOCTOR_PMU)->answer == DOCTOR_YES
				 ? "the PMU's branch records are fewer and have no ticks"
				 : "there is no PMU to be used here");
	} else if (doctor_is_yes(d, DOCTOR_STEP)) {
		out->backend = "step";
		out->source = "bits";
		snprintf(out->reason, sizeof out->reason, "the engine cannot run here: %s",
			 engine->why);
	} else {
		snprintf(out->reason, sizeof out->reason, "%s", doctor_ask(d, DOCTOR_STEP)->why);
	}
}

/* ---- What probes share ---- */

void verdict_set(struct doctor_verdict *v, enum doctor_answer answer, const char *fmt, ...)
{
	va_list ap;

	v->answer = answer;
	va_start(ap, fmt);
	vsnprintf(v->why, sizeof v->why, fmt, ap);
	va_end(ap);
}

void verdict_change(struct doctor_verdict *v, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(v->change, sizeof v->change, fmt, ap);
	va_end(ap);
}

void verdict_no_as(struct doctor_verdict *v, const struct doctor_verdict *cause)
{
	verdict_set(v, DOCTOR_NO, "%s", cause->why);
	verdict_change(v, "%s", cause->change);
}

int doctor_try(const struct doctor *d, enum machine_attempt what)
{
	return d->machine.ops->attempt(d->machine.state, what);
}

bool doctor_is_yes(struct doctor *d, enum doctor_row row)
{
	return doctor_ask(d, row)->answer == DOCTOR_YES;
}

static bool has_vendor(const struct doctor *d, const char *name)
{
	char vendor[64];

	return machine_field(&d->machine, "/proc/cpuinfo", "vendor_id", vendor, sizeof vendor) &&
	       !strcmp(vendor, name);
}

bool doctor_is_intel(const struct doctor *d) { return has_vendor(d, "GenuineIntel"); }

bool doctor_is_amd(const struct doctor *d) { return has_vendor(d, "AuthenticAMD"); }

bool doctor_kernel_from(const struct doctor *d, int major, int minor)
{
	char release[128];
	int x = 0, y = 0;

	if (d->machine.ops->read(d->machine.state, MACHINE_RELEASE, release, sizeof release) <= 0 ||
	    sscanf(release, "%d.%d", &x, &y) != 2)
		return false;
	return x > major || (x == major && y >= minor);
}

bool doctor_has_capability(const struct doctor *d, int which)
{
	char text[64];

	return machine_field(&d->machine, "/proc/self/status", "CapEff", text, sizeof text) &&
	       strtoull(text, NULL, 16) >> which & 1;
}

bool doctor_is_capable(const struct doctor *d, int which)
{
	return doctor_has_capability(d, which) || doctor_has_capability(d, CAP_SYS_ADMIN);
}

bool doctor_is_filtered(const struct doctor *d)
{
	char text[64];

	return machine_field(&d->machine, "/proc/self/status", "Seccomp", text, sizeof text) &&
	       strcmp(text, "0") != 0;
}

bool doctor_hypervisor(const struct doctor *d, char name[32])
{
	static const struct {
		const char *signature, *name;
	} known[] = {
		{"KVMKVMKVM", "KVM"},           {"Microsoft Hv", "Hyper-V"},
		{"VMwareVMware", "VMware"},     {"XenVMMXenVMM", "Xen"},
		{"TCGTCGTCGTCG", "QEMU"},       {"bhyve bhyve ", "bhyve"},
		{"VBoxVBoxVBox", "VirtualBox"}, {" lrpepyh  vr", "Parallels"},
	};
	uint32_t r[4];
	char signature[13] = "";

	d->machine.ops->cpuid(d->machine.state, 1, 0, r);
	if (!(r[2] >> 31))
		return false;
	d->machine.ops->cpuid(d->machine.state, 0x40000000, 0, r);
	memcpy(signature, &r[1], 12);
	snprintf(name, 32, "one of an unknown kind");
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (!strcmp(signature, known[i].signature))
			snprintf(name, 32, "%s", known[i].name);
	return true;
}

static uint64_t limit_number(const char *text)
{
	return strcmp(text, "unlimited") ? strtoull(text, NULL, 10) : UINT64_MAX;
}

bool doctor_limit(const struct doctor *d, const char *name, uint64_t *soft, uint64_t *hard)
{
	char text[4096], first[32], second[32];
	const char *line;

	if (d->machine.ops->read(d->machine.state, "/proc/self/limits", text, sizeof text) <= 0)
		return false;
	line = strstr(text, name);
	if (!line || sscanf(line + strlen(name), "%31s %31s", first, second) != 2)
		return false;
	*soft = limit_number(first);
	*hard = limit_number(second);
	return true;
}

void verdict_change_capabilities(struct doctor_verdict *v, const char *list)
{
	verdict_change(v, "sudo setcap %s+ep \"$(command -v btrec)\" (or run btrec as root)", list);
}

void verdict_change_filter(struct doctor_verdict *v)
{
	verdict_change(v, "start the container with --security-opt seccomp=unconfined");
}
