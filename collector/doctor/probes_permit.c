/* SPDX-License-Identifier: MIT */
/* Permissions: by the kernel's settings, by capabilities, by a container's filter. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "collector/doctor/doctor_private.h"
#include "lib/array_size.h"

enum {
	RING_KB = 512, /* a buffer of branches is of no use with less */
	UNREADABLE = -100,
};

static bool is_refusal(int rc) { return rc == -EPERM || rc == -ENOSYS || rc == -MACHINE_KILLED; }

void probe_proc(struct doctor *d, struct doctor_verdict *v)
{
	switch (doctor_try(d, TRY_PROC)) {
	case -ENOENT:
		verdict_set(v, DOCTOR_NO, "there is no proc(5) on /proc");
		verdict_change(v, "sudo mount -t proc proc /proc");
		break;
	case -EXDEV:
		verdict_set(v, DOCTOR_NO, "/proc is that of another PID namespace");
		verdict_change(v, "unshare --mount-proc, or sudo mount -t proc proc /proc");
		break;
	default:
		verdict_set(v, DOCTOR_YES, "mounted");
	}
}

void probe_ptrace(struct doctor *d, struct doctor_verdict *v)
{
	const struct doctor_verdict *yama = doctor_ask(d, DOCTOR_YAMA);
	long long tracer = 0;
	char text[32];
	int rc = doctor_try(d, TRY_PTRACE);

	if (rc >= 0) {
		verdict_set(v, DOCTOR_YES, "what we start can be traced");
		return;
	}
	if (rc == -EAGAIN || rc == -ENOMEM) {
		verdict_set(v, DOCTOR_NO,
			    "unknown: no process can be started: %s (a limit of processes, or of "
			    "memory)",
			    strerror(-rc));
		verdict_change(v, "ulimit -u unlimited; more processes or memory for the container "
				  "or service");
		return;
	}
	if (machine_field(&d->machine, "/proc/self/status", "TracerPid", text, sizeof text))
		sscanf(text, "%lld", &tracer);
	if (yama->answer == DOCTOR_NO) {
		verdict_no_as(v, yama);
	} else if (doctor_is_filtered(d) && is_refusal(rc)) {
		verdict_set(v, DOCTOR_NO,
			    "ptrace is refused by a seccomp filter, as containers set one");
		verdict_change(v, "start the container with --cap-add=SYS_PTRACE, or "
				  "--security-opt seccomp=unconfined");
	} else if (tracer > 0) {
		verdict_set(
			v, DOCTOR_NO,
			"process %lld traces us and all that we start: a program has one tracer",
			tracer);
	} else {
		verdict_set(v, DOCTOR_NO, "ptrace is refused: %s (a security module?)",
			    strerror(-rc));
	}
}

void probe_yama(struct doctor *d, struct doctor_verdict *v)
{
	long long scope = machine_number(&d->machine, "/proc/sys/kernel/yama/ptrace_scope", -1);

	if (scope < 0) {
		verdict_set(v, DOCTOR_YES, "not in this kernel");
	} else if (scope <= 1) {
		verdict_set(v, DOCTOR_YES, "ptrace_scope is %lld: what we start may be traced",
			    scope);
	} else if (scope == 2 && doctor_has_capability(d, CAP_SYS_PTRACE)) {
		verdict_set(
			v, DOCTOR_YES,
			"ptrace_scope is 2: for root only, and we are capable (CAP_SYS_PTRACE)");
	} else if (scope == 2) {
		verdict_set(v, DOCTOR_NO, "kernel.yama.ptrace_scope is 2: ptrace is for root only");
		verdict_change(v, "sudo sysctl kernel.yama.ptrace_scope=1");
	} else {
		verdict_set(v, DOCTOR_NO,
			    "kernel.yama.ptrace_scope is %lld: ptrace is off until the next boot",
			    scope);
		verdict_change(v, "set kernel.yama.ptrace_scope=1 in /etc/sysctl.d, and reboot");
	}
}

void probe_seccomp(struct doctor *d, struct doctor_verdict *v)
{
	static const struct {
		enum machine_attempt what;
		const char *name;
		int capability; /* without which EPERM is not the filter's; 0: none */
	} calls[] = {
		{TRY_PTRACE, "ptrace", 0},
		{TRY_VM_READ, "process_vm_readv", 0},
		{TRY_PERF, "perf_event_open", 0},
		{TRY_BPF, "bpf", CAP_BPF},
	};
	char refused[128] = "";
	size_t len = 0;

	if (!doctor_is_filtered(d)) {
		verdict_set(v, DOCTOR_YES, "no filter");
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		int rc = doctor_try(d, calls[i].what);

		if (!is_refusal(rc) || (rc == -EPERM && calls[i].capability &&
					!doctor_is_capable(d, calls[i].capability)))
			continue;
		if (calls[i].what == TRY_PTRACE && !doctor_is_yes(d, DOCTOR_YAMA))
			continue;
		len += (size_t)snprintf(refused + len, sizeof refused - len, "%s%s",
					len ? ", " : "", calls[i].name);
	}
	if (!len) {
		verdict_set(v, DOCTOR_YES, "a filter that lets pass what we need");
		return;
	}
	verdict_set(v, DOCTOR_NO, "a filter refuses %s", refused);
	verdict_change_filter(v);
}

void probe_capabilities(struct doctor *d, struct doctor_verdict *v)
{
	static const struct {
		int which;
		const char *name;
	} rows[] = {
		{CAP_SYS_PTRACE, "SYS_PTRACE"},
		{CAP_SYS_ADMIN, "SYS_ADMIN"},
		{CAP_SYS_RESOURCE, "SYS_RESOURCE"},
		{CAP_PERFMON, "PERFMON"},
		{CAP_BPF, "BPF"},
	};
	char has[96] = "", lacks[96] = "", all[64];

	if (!machine_field(&d->machine, "/proc/self/status", "CapEff", all, sizeof all)) {
		verdict_set(v, DOCTOR_FACT, "unknown: there is no proc(5) on /proc");
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char *list = doctor_has_capability(d, rows[i].which) ? has : lacks;
		size_t len = strlen(list);

		snprintf(list + len, sizeof has - len, "%s%s", len ? ", " : "", rows[i].name);
	}
	if (!*lacks)
		verdict_set(v, DOCTOR_YES, "%s", has);
	else if (*has)
		verdict_set(v, DOCTOR_PARTLY, "%s; not %s", has, lacks);
	else
		verdict_set(v, DOCTOR_FACT, "none: an ordinary user");
}

void probe_perf(struct doctor *d, struct doctor_verdict *v)
{
	long long paranoid =
		machine_number(&d->machine, "/proc/sys/kernel/perf_event_paranoid", UNREADABLE);
	int rc = doctor_try(d, TRY_PERF);
	char setting[80] = "kernel.perf_event_paranoid cannot be read";

	if (paranoid != UNREADABLE)
		snprintf(setting, sizeof setting, "kernel.perf_event_paranoid is %lld", paranoid);

	if (rc >= 0) {
		verdict_set(v, DOCTOR_YES, "of our own processes, in ring 3 (%s)", setting);
	} else if (rc == -EACCES) {
		verdict_set(v, DOCTOR_NO, "%s: none without CAP_PERFMON", setting);
		verdict_change(v, "sudo sysctl kernel.perf_event_paranoid=2");
	} else if (doctor_is_filtered(d) && is_refusal(rc)) {
		verdict_set(
			v, DOCTOR_NO,
			"perf_event_open is refused by a seccomp filter, as containers set one");
		verdict_change(v, "start the container with --cap-add=PERFMON, or --security-opt "
				  "seccomp=unconfined");
	} else if (rc == -ENOSYS) {
		verdict_set(v, DOCTOR_NO, "this kernel was built without perf events");
	} else {
		verdict_set(v, DOCTOR_NO, "perf_event_open: %s (a security module?)",
			    strerror(-rc));
	}
}

void probe_bpf(struct doctor *d, struct doctor_verdict *v)
{
	bool capable = doctor_is_capable(d, CAP_BPF) && doctor_is_capable(d, CAP_PERFMON);
	int rc = doctor_try(d, TRY_BPF);

	if (rc >= 0) {
		verdict_set(v, DOCTOR_YES, "a program for raw tracepoints can be loaded");
	} else if (!capable && rc == -EPERM) {
		verdict_set(v, DOCTOR_NO,
			    doctor_kernel_from(d, 5, 8)
				    ? "BPF needs CAP_BPF and CAP_PERFMON"
				    : "BPF needs CAP_SYS_ADMIN (before Linux 5.8)");
		if (doctor_is_filtered(
			    d)) /* in a container no file may have what the container has not */
			verdict_change(v,
				       "start the container with --cap-add=BPF --cap-add=PERFMON");
		else
			verdict_change_capabilities(v, doctor_kernel_from(d, 5, 8)
							       ? "cap_bpf,cap_perfmon"
							       : "cap_sys_admin");
	} else if (doctor_is_filtered(d) && is_refusal(rc)) {
		verdict_set(v, DOCTOR_NO,
			    "bpf is refused by a seccomp filter, as containers set one");
		verdict_change_filter(v);
	} else if (rc == -ENOSYS) {
		verdict_set(v, DOCTOR_NO, "this kernel was built without BPF");
	} else {
		verdict_set(v, DOCTOR_NO, "BPF: %s%s", strerror(-rc),
			    rc == -EPERM ? " (kernel lockdown, a security module?)" : "");
	}
}

void probe_memlock(struct doctor *d, struct doctor_verdict *v)
{
	long long shared =
		machine_number(&d->machine, "/proc/sys/kernel/perf_event_mlock_kb", UNREADABLE);
	uint64_t soft = 0, hard = 0;
	char own[64] = "no limit";

	if (doctor_has_capability(d, CAP_IPC_LOCK)) {
		verdict_set(v, DOCTOR_YES, "any amount (CAP_IPC_LOCK)");
		return;
	}
	if (!doctor_limit(d, "Max locked memory", &soft, &hard)) {
		verdict_set(v, DOCTOR_FACT, "unknown: no /proc/self/limits");
		return;
	}
	if (shared == UNREADABLE) {
		verdict_set(v, DOCTOR_FACT, "unknown: kernel.perf_event_mlock_kb cannot be read");
		return;
	}
	/* The soft limit counts (perf_mmap in kernel/events/core.c). */
	if (soft != UINT64_MAX)
		snprintf(own, sizeof own, "%" PRIu64 " KiB", soft / 1024);
	verdict_set(v, soft / 1024 + (uint64_t)shared >= RING_KB ? DOCTOR_YES : DOCTOR_PARTLY,
		    "%lld KiB a processor for all of a user's buffers "
		    "(kernel.perf_event_mlock_kb), then %s (RLIMIT_MEMLOCK)",
		    shared, own);
	if (v->answer == DOCTOR_PARTLY && hard / 1024 + (uint64_t)shared >= RING_KB)
		verdict_change(v, "ulimit -l $(ulimit -Hl)");
	else if (v->answer == DOCTOR_PARTLY)
		verdict_change(v, "sudo sysctl kernel.perf_event_mlock_kb=%d", RING_KB + 4);
}
