// SPDX-License-Identifier: MIT
/* simulated_doctor [--json] MACHINE: what btrec doctor says on a machine that is not here; its exit status is btrec's.
 * simulated_doctor --list: the names of the machines.
 *
 * A machine is described by what it has; files and attempts follow from that by the kernel's rules: perf_event_open(2), bpf(2), ptrace(2),
 * Documentation/admin-guide/LSM/Yama.rst, and the kernel versions of doc/SOURCES.md. */
#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/doctor/doctor.h"

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#define CAP_BPF 39
#endif

#define ALL_CAPABILITIES 0x1ffffffffffull
#define DEVICES "/sys/bus/event_source/devices"

struct simulated {
	const char *name;
	const char *vendor, *flags;
	int family, model;
	const char *pmu; /* its name, NULL: none */
	int depth;	 /* of branch records, 0: none */
	bool bts, pt, pti, brs, hybrid;
	const char *hypervisor; /* CPUID's signature */
	int major, minor;	/* of the kernel */
	uint64_t capabilities;
	int paranoid;
	int yama;	 /* -1: not in the kernel */
	unsigned filter; /* attempts that a seccomp filter refuses, bits */
	int filter_errno; /* 0: it kills */
	bool bts_in_use;
	uint64_t as_limit_mb, memlock_kb;
	int overcommit;
	uint64_t file_system;
	const char *core_pattern, *urls;
	const char *proc; /* "no", "other" */
	bool no_execmem, debuginfod;
};

#define INTEL .vendor = "GenuineIntel", .family = 6
#define SKYLAKE INTEL, .model = 0x5e, .flags = "fpu vme ds bts intel_pt", .pmu = "skylake", .depth = 32, .bts = true, .pt = true
#define PERF_CALLS \
	(1u << TRY_PERF | 1u << TRY_PERF_CYCLES | 1u << TRY_PERF_LBR | 1u << TRY_PERF_BTS | 1u << TRY_PERF_PT | 1u << TRY_PERF_BREAKPOINT)
#define DOCKER (PERF_CALLS | 1u << TRY_PTRACE | 1u << TRY_SINGLE_BLOCK | 1u << TRY_VM_READ | 1u << TRY_BPF | 1u << TRY_SNAPSHOT)

static const struct simulated machines[] = {
	{.name = "skylake-user", SKYLAKE, .major = 6, .minor = 1, .paranoid = 2, .yama = 1},
	{.name = "skylake-root", SKYLAKE, .major = 6, .minor = 1, .paranoid = 2, .yama = 1, .capabilities = ALL_CAPABILITIES},
	{.name = "skylake-paranoid-4", SKYLAKE, .major = 6, .minor = 1, .paranoid = 4, .yama = 1},
	{.name = "skylake-pti-root", SKYLAKE, .pti = true, .major = 5, .minor = 15, .paranoid = 2, .yama = 1, .capabilities = ALL_CAPABILITIES},
	{.name = "skylake-bts-in-use", SKYLAKE, .bts_in_use = true, .major = 6, .minor = 1, .paranoid = 2, .yama = 1},
	{.name = "skylake-yama-2", SKYLAKE, .major = 6, .minor = 1, .paranoid = 2, .yama = 2},
	{.name = "skylake-yama-3-root", SKYLAKE, .major = 6, .minor = 1, .paranoid = 2, .yama = 3, .capabilities = ALL_CAPABILITIES},
	{.name = "skylake-container", SKYLAKE, .major = 6, .minor = 1, .paranoid = 2, .yama = 1, .capabilities = 0xa80425fb, .filter = DOCKER, .filter_errno = EPERM},
	{.name = "skylake-killing-filter", SKYLAKE, .major = 6, .minor = 1, .paranoid = 2, .yama = 1, .capabilities = ALL_CAPABILITIES, .filter = PERF_CALLS},
	{.name = "nehalem-root", INTEL, .model = 0x1a, .flags = "fpu vme ds bts", .pmu = "nehalem", .depth = 16, .bts = true, .major = 6, .minor = 1, .paranoid = 2,
	 .yama = -1, .capabilities = ALL_CAPABILITIES},
	{.name = "raptor-lake-root", INTEL, .hybrid = true, .model = 0xb7, .flags = "fpu ds bts intel_pt", .pmu = "alderlake_hybrid", .depth = 32, .bts = true, .pt = true,
	 .major = 6, .minor = 8, .paranoid = 2, .yama = 1, .capabilities = ALL_CAPABILITIES},
	{.name = "zen4-linux-6.1-root", .vendor = "AuthenticAMD", .family = 25, .model = 0x61, .flags = "fpu vme", .pmu = "", .depth = 16, .major = 6, .minor = 1,
	 .paranoid = 2, .yama = 1, .capabilities = ALL_CAPABILITIES},
	{.name = "zen4-linux-6.10-root", .vendor = "AuthenticAMD", .family = 25, .model = 0x61, .flags = "fpu vme", .pmu = "", .depth = 16, .major = 6, .minor = 10,
	 .paranoid = 2, .yama = 1, .capabilities = ALL_CAPABILITIES},
	{.name = "zen3-root", .vendor = "AuthenticAMD", .family = 25, .model = 0x21, .flags = "fpu vme", .pmu = "", .depth = 16, .brs = true, .major = 6, .minor = 1,
	 .paranoid = 2, .yama = 1, .capabilities = ALL_CAPABILITIES},
	{.name = "cloud-vm", INTEL, .model = 0x6a, .flags = "fpu vme hypervisor", .hypervisor = "KVMKVMKVM", .major = 5, .minor = 10, .paranoid = 2, .yama = 1,
	 .file_system = 0x01021994, .core_pattern = "|/usr/lib/systemd/systemd-coredump %P %u", .urls = "https://debuginfod.example.org", .debuginfod = true},
	{.name = "small-limits", INTEL, .model = 0x6a, .flags = "fpu", .hypervisor = "Microsoft Hv", .major = 5, .minor = 15, .paranoid = 2, .yama = 1, .as_limit_mb = 50,
	 .memlock_kb = 64, .overcommit = 2},
	{.name = "no-executable-memory", SKYLAKE, .major = 6, .minor = 1, .paranoid = 2, .yama = 1, .no_execmem = true},
	{.name = "no-proc", SKYLAKE, .major = 6, .minor = 1, .paranoid = 2, .yama = 1, .proc = "other", .urls = "https://debuginfod.example.org"},
	{.name = "old-kernel", SKYLAKE, .major = 4, .minor = 19, .paranoid = 2, .yama = 1},
};

static bool has(const struct simulated *s, int capability)
{
	return s->capabilities >> capability & 1;
}

static bool from(const struct simulated *s, int major, int minor)
{
	return s->major > major || (s->major == major && s->minor >= minor);
}

/* CAP_PERFMON and CAP_BPF are of Linux 5.8. */
static bool perfmon(const struct simulated *s)
{
	return has(s, CAP_SYS_ADMIN) || (from(s, 5, 8) && has(s, CAP_PERFMON));
}

static bool may_bpf(const struct simulated *s)
{
	return has(s, CAP_SYS_ADMIN) || (from(s, 5, 8) && has(s, CAP_BPF) && has(s, CAP_PERFMON));
}

/* ---- Files ---- */

static int put(char *out, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static int put(char *out, size_t size, const char *fmt, ...)
{
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(out, size, fmt, ap);
	va_end(ap);
	return len < (int)size ? len : (int)size - 1;
}

static int put_limits(const struct simulated *s, char *out, size_t size)
{
	char as[32] = "unlimited";

	if (s->as_limit_mb)
		snprintf(as, sizeof as, "%" PRIu64, s->as_limit_mb << 20);
	return put(out, size,
		   "Limit                     Soft Limit           Hard Limit           Units     \n"
		   "Max core file size        0                    unlimited            bytes     \n"
		   "Max locked memory         %-20" PRIu64 " %-20" PRIu64 " bytes     \n"
		   "Max address space         %-20s %-20s bytes     \n",
		   (s->memlock_kb ? s->memlock_kb : 8192) << 10, (s->memlock_kb ? s->memlock_kb : 8192) << 10, as, as);
}

static int put_number(char *out, size_t size, bool there, long long value)
{
	return there ? put(out, size, "%lld\n", value) : -ENOENT;
}

static int simulated_read(void *state, const char *path, char *out, size_t size)
{
	const struct simulated *s = state;

	if (!strcmp(path, "/proc/cpuinfo"))
		return put(out, size, "processor\t: 0\nvendor_id\t: %s\ncpu family\t: %d\nmodel\t\t: %d\nmodel name\t: of the tests\nflags\t\t: %s\n\n", s->vendor,
			   s->family, s->model, s->flags);
	if (!strcmp(path, "/proc/self/status"))
		return put(out, size, "Name:\tbtrec\nTracerPid:\t0\nCapEff:\t%016" PRIx64 "\nSeccomp:\t%d\nSeccomp_filters:\t%d\n", s->capabilities,
			   s->filter ? 2 : 0, s->filter != 0);
	if (!strcmp(path, "/proc/self/limits"))
		return put_limits(s, out, size);
	if (!strcmp(path, "/proc/sys/kernel/osrelease"))
		return put(out, size, "%d.%d.0-test\n", s->major, s->minor);
	if (!strcmp(path, "/proc/sys/kernel/core_pattern"))
		return put(out, size, "%s\n", s->core_pattern ? s->core_pattern : "core");
	if (!strcmp(path, "/proc/sys/kernel/perf_event_paranoid"))
		return put_number(out, size, true, s->paranoid);
	if (!strcmp(path, "/proc/sys/kernel/perf_event_mlock_kb"))
		return put_number(out, size, true, s->memlock_kb ? 4 : 516);
	if (!strcmp(path, "/proc/sys/kernel/yama/ptrace_scope"))
		return put_number(out, size, s->yama >= 0, s->yama);
	if (!strcmp(path, "/proc/sys/vm/overcommit_memory"))
		return put_number(out, size, true, s->overcommit);
	if (!strcmp(path, DEVICES "/intel_pt/type") || !strcmp(path, DEVICES "/intel_pt/caps/mtc") || !strcmp(path, DEVICES "/intel_pt/caps/psb_cyc"))
		return put_number(out, size, s->pt, 8);
	if (!strcmp(path, s->hybrid ? DEVICES "/cpu_core/caps/branches" : DEVICES "/cpu/caps/branches"))
		return put_number(out, size, s->depth && from(s, 5, 12), s->depth);
	if (!strcmp(path, s->hybrid ? DEVICES "/cpu_core/caps/pmu_name" : DEVICES "/cpu/caps/pmu_name"))
		return s->pmu && *s->pmu ? put(out, size, "%s\n", s->pmu) : -ENOENT;
	if (!strcmp(path, "/usr/lib64/libdebuginfod.so.1"))
		return s->debuginfod ? put(out, size, "\177ELF") : -ENOENT;
	if (!strcmp(path, "/etc/os-release"))
		return put(out, size, "NAME=\"Debian GNU/Linux\"\nID=debian\n");
	return -ENOENT;
}

static int simulated_list(void *state, const char *path, char *out, size_t size)
{
	const struct simulated *s = state;

	if (strcmp(path, DEVICES) != 0)
		return -ENOENT;
	/* bts_init refuses where the kernel's page tables are isolated. */
	return put(out, size, " breakpoint%s%s%s msr software tracepoint", !s->pmu ? "" : s->hybrid ? " cpu_atom cpu_core" : " cpu", s->bts && !s->pti ? " intel_bts" : "", s->pt ? " intel_pt" : "");
}

static void simulated_cpuid(void *state, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
	const struct simulated *s = state;

	(void)subleaf;
	memset(out, 0, 4 * sizeof *out);
	if (leaf == 1)
		out[2] = s->hypervisor ? 1u << 31 : 0;
	else if (leaf == 0x40000000 && s->hypervisor)
		memcpy(&out[1], s->hypervisor, strlen(s->hypervisor) < 12 ? strlen(s->hypervisor) : 12);
}

static const char *simulated_environment(void *state, const char *name)
{
	return strcmp(name, "DEBUGINFOD_URLS") ? NULL : ((const struct simulated *)state)->urls;
}

static int simulated_directory(void *state, struct machine_directory *out)
{
	const struct simulated *s = state;

	*out = (struct machine_directory){.path = "/home/user/.local/share/btrec", .type = s->file_system ? s->file_system : 0xef53, .room = 40ull << 30, .writable = true};
	return 0;
}

/* ---- Attempts ---- */

static int try_ptrace(const struct simulated *s)
{
	return s->yama == 3 || (s->yama == 2 && !has(s, CAP_SYS_PTRACE)) ? -EPERM : 0;
}

static int try_perf(const struct simulated *s, enum machine_attempt what)
{
	if (s->paranoid > 2 && !perfmon(s))
		return -EACCES;
	if (what == TRY_PERF || what == TRY_PERF_BREAKPOINT)
		return 0;
	if (what == TRY_PERF_PT)
		return s->pt ? 0 : -ENOENT;
	if (!s->pmu)
		return -ENOENT;
	if (what == TRY_PERF_LBR)
		return s->brs ? -EINVAL : !s->depth ? -EOPNOTSUPP : s->bts_in_use ? -EBUSY : 0;
	if (what == TRY_PERF_BTS)
		return s->bts || strcmp(s->vendor, "GenuineIntel") != 0 ? 0 : -EOPNOTSUPP;
	return 0;
}

static int try_snapshot(const struct simulated *s)
{
	if (!may_bpf(s))
		return -EPERM;
	if (!from(s, 5, 16)) /* the verifier does not know the helper */
		return -EINVAL;
	if (!s->depth || s->brs || (!strcmp(s->vendor, "AuthenticAMD") && !from(s, 6, 10)))
		return -ENOENT;
	return 384;
}

static int simulated_attempt(void *state, enum machine_attempt what)
{
	const struct simulated *s = state;

	if (s->filter >> what & 1)
		return s->filter_errno ? -s->filter_errno : -MACHINE_KILLED;
	switch (what) {
	case TRY_PROC:
		return !s->proc ? 0 : strcmp(s->proc, "other") ? -ENOENT : -EXDEV;
	case TRY_PTRACE:
		return try_ptrace(s);
	case TRY_REGION:
		return s->no_execmem ? -EACCES : s->as_limit_mb && s->as_limit_mb < 100 ? -ENOMEM : 0;
	case TRY_BPF:
		return may_bpf(s) ? 0 : -EPERM;
	case TRY_SNAPSHOT:
		return try_snapshot(s);
	case TRY_SINGLE_BLOCK:
		return try_ptrace(s) ? -EPERM : s->hypervisor ? MACHINE_BLOCK_SIZE : MACHINE_BLOCK_BRANCHES;
	case TRY_CPUID_TRAP:
		return strcmp(s->vendor, "GenuineIntel") || s->hypervisor ? -ENODEV : 1;
	case TRY_RDTSC_TRAP:
		return 1;
	case TRY_VM_READ:
	case TRY_MEMFD:
		return 0;
	default:
		return try_perf(s, what);
	}
}

static const struct machine_ops simulated_ops = {
	.read = simulated_read,
	.list = simulated_list,
	.cpuid = simulated_cpuid,
	.environment = simulated_environment,
	.directory = simulated_directory,
	.attempt = simulated_attempt,
};

static const struct simulated *find(const char *name)
{
	for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++)
		if (!strcmp(machines[i].name, name))
			return &machines[i];
	return NULL;
}

int main(int argc, char **argv)
{
	const struct simulated *s = find(argv[argc - 1]);
	struct doctor doctor;
	struct bt_error err;
	int rc;

	if (argc == 2 && !strcmp(argv[1], "--list")) {
		for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++)
			puts(machines[i].name);
		return 0;
	}
	if (!s)
		return 99;
	doctor_init(&doctor, (struct machine){.ops = &simulated_ops, .state = (void *)(uintptr_t)s});
	rc = argc == 3 ? doctor_print_json(stdout, &doctor, &err) : doctor_print_text(stdout, &doctor);
	return rc < 0 ? 99 : rc ? 0 : bt_error_exit_status(BT_E_NO_HARDWARE);
}
