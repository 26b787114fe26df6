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
enum {
	PT_TYPE = 8,
};

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
	unsigned filter; /* attempts that a seccomp filter refuses, bits; TRY_PERF: all events */
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
#define LINUX(x, y) .major = x, .minor = y
#define USUAL .paranoid = 2, .yama = 1
#define ROOT .capabilities = ALL_CAPABILITIES
#define ZEN .vendor = "AuthenticAMD", .family = 25, .flags = "fpu vme", .pmu = "", .depth = 16
#define DOCKER (1u << TRY_PERF | 1u << TRY_PTRACE | 1u << TRY_SINGLE_BLOCK | 1u << TRY_VM_READ | 1u << TRY_BPF | 1u << TRY_SNAPSHOT)

static const struct simulated machines[] = {
	{.name = "skylake-user", SKYLAKE, LINUX(6, 1), USUAL},
	{.name = "skylake-root", SKYLAKE, LINUX(6, 1), USUAL, ROOT},
	{.name = "skylake-paranoid-4", SKYLAKE, LINUX(6, 1), .paranoid = 4, .yama = 1},
	{.name = "skylake-pti-root", SKYLAKE, .pti = true, LINUX(5, 15), USUAL, ROOT},
	{.name = "skylake-bts-in-use", SKYLAKE, .bts_in_use = true, LINUX(6, 1), USUAL},
	{.name = "skylake-yama-2", SKYLAKE, LINUX(6, 1), .paranoid = 2, .yama = 2},
	{.name = "skylake-yama-3-root", SKYLAKE, LINUX(6, 1), .paranoid = 2, .yama = 3, ROOT},
	{.name = "skylake-container", SKYLAKE, LINUX(6, 1), USUAL, .capabilities = 0xa80425fb, .filter = DOCKER, .filter_errno = EPERM},
	{.name = "skylake-killing-filter", SKYLAKE, LINUX(6, 1), USUAL, ROOT, .filter = 1u << TRY_PERF},
	{.name = "filter-without-memfd", SKYLAKE, LINUX(6, 1), USUAL, .filter = 1u << TRY_MEMFD, .filter_errno = ENOSYS},
	{.name = "nehalem-root", INTEL, .model = 0x1a, .flags = "fpu vme ds bts", .pmu = "nehalem", .depth = 16, .bts = true,
	 LINUX(6, 1), .paranoid = 2, .yama = -1, ROOT},
	{.name = "raptor-lake-root", INTEL, .hybrid = true, .model = 0xb7, .flags = "fpu ds bts intel_pt",
	 .pmu = "alderlake_hybrid", .depth = 32, .bts = true, .pt = true, LINUX(6, 8), USUAL, ROOT},
	{.name = "zen4-linux-6.1-root", ZEN, .model = 0x61, LINUX(6, 1), USUAL, ROOT},
	{.name = "zen4-linux-6.10-root", ZEN, .model = 0x61, LINUX(6, 10), USUAL, ROOT},
	{.name = "zen3-root", ZEN, .model = 0x21, .brs = true, LINUX(6, 1), USUAL, ROOT},
	{.name = "cloud-vm", INTEL, .model = 0x6a, .flags = "fpu vme hypervisor", .hypervisor = "KVMKVMKVM", LINUX(5, 10),
	 USUAL, .file_system = 0x01021994, .core_pattern = "|/usr/lib/systemd/systemd-coredump %P %u", .urls = "https://debuginfod.example.org", .debuginfod = true},
	{.name = "small-limits", INTEL, .model = 0x6a, .flags = "fpu", .hypervisor = "Microsoft Hv", LINUX(5, 15), USUAL,
	 .as_limit_mb = 50, .memlock_kb = 64, .overcommit = 2},
	{.name = "no-executable-memory", SKYLAKE, LINUX(6, 1), USUAL, .no_execmem = true},
	{.name = "no-proc", SKYLAKE, LINUX(6, 1), USUAL, .proc = "other", .urls = "https://debuginfod.example.org"},
	{.name = "old-kernel", SKYLAKE, LINUX(4, 19), USUAL},
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
		return put(out, size,
			   "processor\t: 0\nvendor_id\t: %s\ncpu family\t: %d\nmodel\t\t: %d\nmodel name\t: of the tests\nflags\t\t: %s\n\n",
			   s->vendor, s->family, s->model, s->flags);
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
		return put_number(out, size, s->pt, PT_TYPE);
	if (!strcmp(path, DEVICES "/cpu_core/type"))
		return put_number(out, size, s->hybrid, 4);
	if (!strcmp(path, s->hybrid ? DEVICES "/cpu_core/caps/branches" : DEVICES "/cpu/caps/branches"))
		return put_number(out, size, s->depth && from(s, 5, 12), s->depth);
	if (!strcmp(path, s->hybrid ? DEVICES "/cpu_core/caps/pmu_name" : DEVICES "/cpu/caps/pmu_name"))
		return s->pmu && *s->pmu ? put(out, size, "%s\n", s->pmu) : -ENOENT;
	if (!strcmp(path, "/sys/devices/system/cpu/vulnerabilities/meltdown"))
		return put(out, size, s->pti ? "Mitigation: PTI\n" : "Not affected\n");
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
	return put(out, size, " breakpoint%s%s%s msr software tracepoint",
		   !s->pmu ? "" : s->hybrid ? " cpu_atom cpu_core" : " cpu", s->bts && !s->pti ? " intel_bts" : "", s->pt ? " intel_pt" : "");
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

	*out = (struct machine_directory){.path = "/home/user/.local/share/btrec", .room = 40ull << 30, .writable = true,
					  .type = s->file_system ? s->file_system : 0xef53};
	return 0;
}

/* ---- Attempts ---- */

static int try_ptrace(const struct simulated *s)
{
	return s->yama == 3 || (s->yama == 2 && !has(s, CAP_SYS_PTRACE)) ? -EPERM : 0;
}

static int refused(const struct simulated *s)
{
	return s->filter_errno ? -s->filter_errno : -MACHINE_KILLED;
}

/* perf_event_open(2): what may be measured, then whose the event is. */
static int simulated_open(void *arg, const struct perf_event_attr *attr, pid_t tid, int cpu, int group, unsigned long flags)
{
	const struct simulated *s = arg;
	bool branches = attr->sample_type & PERF_SAMPLE_BRANCH_STACK, intel = !strcmp(s->vendor, "GenuineIntel");

	(void)tid;
	(void)cpu;
	(void)group;
	(void)flags;
	if (s->filter >> TRY_PERF & 1)
		abort(); /* it would kill who asks */
	if ((s->paranoid > 2 || !attr->exclude_kernel) && !perfmon(s))
		return -EACCES;
	if (attr->type == PERF_TYPE_BREAKPOINT || attr->type == PERF_TYPE_SOFTWARE)
		return 3;
	if (attr->type == PT_TYPE)
		return s->pt ? 3 : -ENOENT;
	if (!s->pmu || attr->type != PERF_TYPE_HARDWARE || (attr->config >> 32 != 0) != s->hybrid)
		return -ENOENT;
	if (branches)
		return s->brs ? -EINVAL : !s->depth ? -EOPNOTSUPP : s->bts_in_use ? -EBUSY : 3;
	if (intel && (uint32_t)attr->config == PERF_COUNT_HW_BRANCH_INSTRUCTIONS && attr->sample_period == 1)
		return s->bts ? 3 : -EOPNOTSUPP;
	return 3;
}

static void simulated_close(void *arg, int fd)
{
	(void)arg;
	if (fd != 3)
		abort();
}

static ssize_t simulated_file(void *arg, const char *path, char *out, size_t size)
{
	return simulated_read(arg, path, out, size);
}

static const struct perf_ops simulated_perf = {
	.open = simulated_open,
	.close = simulated_close,
	.file = simulated_file,
};

static int try_perf(const struct simulated *s)
{
	const struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE, .exclude_kernel = 1};
	int fd = simulated_open((void *)(uintptr_t)s, &attr, 0, -1, -1, 0);

	return fd < 0 ? fd : 0;
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
		return refused(s);
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
	case TRY_PERF:
		return try_perf(s);
	default:
		abort();
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
	struct perf_kernel kernel = {.ops = &simulated_perf, .arg = (void *)(uintptr_t)s};
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
	doctor_init(&doctor, (struct machine){.ops = &simulated_ops, .state = (void *)(uintptr_t)s, .perf = &kernel});
	rc = argc == 3 ? doctor_print_json(stdout, &doctor, &err) : doctor_print_text(stdout, &doctor);
	return rc < 0 ? 99 : rc ? 0 : bt_error_exit_status(BT_E_NO_HARDWARE);
}
