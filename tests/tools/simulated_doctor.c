// SPDX-License-Identifier: MIT
/* simulated_doctor [--json] MACHINE: what btrec doctor says on a machine that is not here; its exit
 * status is btrec's. simulated_doctor --list: the names of the machines.
 *
 * A machine is described by what it has; what has to do with events and BPF is answered by
 * tests/simulated (options.def); files and other attempts follow by the kernel's rules: ptrace(2),
 * Documentation/admin-guide/LSM/Yama.rst. */
#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/doctor/doctor.h"
#include "lib/array_size.h"
#include "tests/simulated/simulated.h"

#define DEVICES "/sys/bus/event_source/devices"

struct simulated {
	const char *name;
	const char *options; /* of the simulation (options.def) */
	const char *pmu;     /* its name */
	bool pti;
	const char *hypervisor; /* CPUID's signature */
	int yama;               /* -1: not in the kernel */
	unsigned filter;  /* attempts that a seccomp filter refuses, bits; TRY_PERF: all events */
	int filter_errno; /* 0: it kills */
	uint64_t as_limit_mb, memlock_kb, hard_memlock_kb; /* hard: 0: the same */
	int overcommit;
	uint64_t file_system;
	const char *core_pattern, *urls;
	const char *proc; /* "no", "other" */
	bool no_execmem, debuginfod;
	struct sim *sim;
};

#define SKYLAKE(more) .pmu = "skylake", .options = "model=0x5e,depth=32,pt=1," more
#define ZEN(more)     .options = "amd=1,depth=16," more
#define VIRTUAL(more) .options = "pmu=0,bts=0,depth=0,model=0x6a," more
#define USER          ",capabilities=0"
#define DOCKER                                                                            \
	(1u << TRY_PERF | 1u << TRY_PTRACE | 1u << TRY_SINGLE_BLOCK | 1u << TRY_VM_READ | \
	 1u << TRY_BPF | 1u << TRY_SNAPSHOT)

static struct simulated machines[] = {
	{.name = "skylake-user", SKYLAKE("kernel=601" USER), .yama = 1},
	{.name = "skylake-root", SKYLAKE("kernel=601"), .yama = 1},
	{.name = "skylake-paranoid-4", SKYLAKE("kernel=601,paranoid=4" USER), .yama = 1},
	{.name = "skylake-pti-root", SKYLAKE("kernel=515"), .pti = true, .yama = 1},
	{.name = "skylake-bts-in-use", SKYLAKE("kernel=601,bts_used=1" USER), .yama = 1},
	{.name = "skylake-yama-2", SKYLAKE("kernel=601" USER), .yama = 2},
	{.name = "skylake-yama-3-root", SKYLAKE("kernel=601"), .yama = 3},
	{.name = "skylake-container",
	 SKYLAKE("kernel=601,seccomp=1,capabilities=0xa80425fb"),
	 .yama = 1,
	 .filter = DOCKER,
	 .filter_errno = EPERM},
	{.name = "skylake-killing-filter",
	 SKYLAKE("kernel=601,seccomp=2"),
	 .yama = 1,
	 .filter = 1u << TRY_PERF},
	{.name = "filter-without-memfd",
	 SKYLAKE("kernel=601" USER),
	 .yama = 1,
	 .filter = 1u << TRY_MEMFD,
	 .filter_errno = ENOSYS},
	{.name = "nehalem-root",
	 .pmu = "nehalem",
	 .options = "model=0x1a,depth=16,kernel=601",
	 .yama = -1},
	{.name = "raptor-lake-root",
	 .pmu = "alderlake_hybrid",
	 .options = "hybrid=1,arch=1,coexist=1,model=0xb7,depth=32,pt=1,kernel=608",
	 .yama = 1},
	{.name = "zen4-linux-6.1-root", ZEN("kernel=601"), .yama = 1},
	{.name = "zen4-linux-6.10-root", ZEN("kernel=610"), .yama = 1},
	{.name = "zen3-root", ZEN("brs=1,kernel=601"), .yama = 1},
	{.name = "cloud-vm",
	 VIRTUAL("kernel=510" USER),
	 .hypervisor = "KVMKVMKVM",
	 .yama = 1,
	 .file_system = 0x01021994,
	 .core_pattern = "|/usr/lib/systemd/systemd-coredump %P %u",
	 .urls = "https://debuginfod.example.org",
	 .debuginfod = true},
	{.name = "small-limits",
	 VIRTUAL("kernel=515" USER),
	 .hypervisor = "Microsoft Hv",
	 .yama = 1,
	 .as_limit_mb = 50,
	 .memlock_kb = 64,
	 .overcommit = 2},
	{.name = "soft-limit",
	 SKYLAKE("kernel=601" USER),
	 .yama = 1,
	 .memlock_kb = 64,
	 .hard_memlock_kb = 8192},
	{.name = "no-executable-memory", SKYLAKE("kernel=601" USER), .yama = 1, .no_execmem = true},
	{.name = "no-proc",
	 SKYLAKE("kernel=601" USER),
	 .yama = 1,
	 .proc = "other",
	 .urls = "https://debuginfod.example.org"},
	{.name = "old-kernel", SKYLAKE("kernel=419" USER), .yama = 1},
};

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
	uint64_t soft = s->memlock_kb ? s->memlock_kb : 8192,
		 hard = s->hard_memlock_kb ? s->hard_memlock_kb : soft;
	char as[32] = "unlimited";

	if (s->as_limit_mb)
		snprintf(as, sizeof as, "%" PRIu64, s->as_limit_mb << 20);
	return put(
		out, size,
		"Limit                     Soft Limit           Hard Limit           Units     \n"
		"Max core file size        0                    unlimited            bytes     \n"
		"Max locked memory         %-20" PRIu64 " %-20" PRIu64 " bytes     \n"
		"Max address space         %-20s %-20s bytes     \n",
		soft << 10, hard << 10, as, as);
}

static int put_number(char *out, size_t size, bool there, long long value)
{
	return there ? put(out, size, "%lld\n", value) : -ENOENT;
}

static int simulated_read(void *state, const char *path, char *out, size_t size)
{
	const struct simulated *s = state;

	ssize_t n = sim_perf_ops.file(s->sim, path, out, size);

	if (n >= 0)
		return (int)n;
	if (!strcmp(path, "/proc/self/status"))
		return put(out, size,
			   "Name:\tbtrec\nTracerPid:\t0\nCapEff:\t%016" PRIx64
			   "\nSeccomp:\t%d\nSeccomp_filters:\t%d\n",
			   s->sim->o.capabilities, s->filter ? 2 : 0, s->filter != 0);
	if (!strcmp(path, "/proc/self/limits"))
		return put_limits(s, out, size);
	if (!strcmp(path, "/proc/sys/kernel/osrelease"))
		return put(out, size, "%u.%u.0-test\n", (unsigned)s->sim->o.kernel / 100,
			   (unsigned)s->sim->o.kernel % 100);
	if (!strcmp(path, "/proc/sys/kernel/core_pattern"))
		return put(out, size, "%s\n", s->core_pattern ? s->core_pattern : "core");
	if (!strcmp(path, "/proc/sys/kernel/perf_event_mlock_kb"))
		return put_number(out, size, true, s->memlock_kb ? 4 : 516);
	if (!strcmp(path, "/proc/sys/kernel/yama/ptrace_scope"))
		return put_number(out, size, s->yama >= 0, s->yama);
	if (!strcmp(path, "/proc/sys/vm/overcommit_memory"))
		return put_number(out, size, true, s->overcommit);
	if (!strcmp(path, s->sim->o.hybrid ? DEVICES "/cpu_core/caps/pmu_name"
					   : DEVICES "/cpu/caps/pmu_name"))
		return s->pmu ? put(out, size, "%s\n", s->pmu) : -ENOENT;
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
	return put(out, size, " breakpoint%s%s msr software tracepoint",
		   !s->sim->o.pmu     ? ""
		   : s->sim->o.hybrid ? " cpu_atom cpu_core"
				      : " cpu",
		   s->sim->o.pt ? " intel_pt" : "");
}

static void simulated_cpuid(void *state, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
	const struct simulated *s = state;

	(void)subleaf;
	memset(out, 0, 4 * sizeof *out);
	if (leaf == 1)
		out[2] = s->hypervisor ? 1u << 31 : 0;
	else if (leaf == 0x40000000 && s->hypervisor)
		memcpy(&out[1], s->hypervisor,
		       strlen(s->hypervisor) < 12 ? strlen(s->hypervisor) : 12);
}

static const char *simulated_environment(void *state, const char *name)
{
	return strcmp(name, "DEBUGINFOD_URLS") ? NULL : ((const struct simulated *)state)->urls;
}

static int simulated_directory(void *state, struct machine_directory *out)
{
	const struct simulated *s = state;

	*out = (struct machine_directory){.path = "/home/user/.local/share/btrec",
					  .room = 40ull << 30,
					  .writable = true,
					  .type = s->file_system ? s->file_system : 0xef53};
	return 0;
}

/* ---- Attempts ---- */

static int try_ptrace(const struct simulated *s)
{
	return s->yama == 3 || (s->yama == 2 && !(s->sim->o.capabilities >> CAP_SYS_PTRACE & 1))
		       ? -EPERM
		       : 0;
}

static int refused(const struct simulated *s)
{
	return s->filter_errno ? -s->filter_errno : -MACHINE_KILLED;
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
		return s->no_execmem                            ? -EACCES
		       : s->as_limit_mb && s->as_limit_mb < 100 ? -ENOMEM
								: 0;
	case TRY_BPF:
	case TRY_SNAPSHOT:
	case TRY_PERF:
		return sim_try(s->sim, what);
	case TRY_SINGLE_BLOCK:
		return try_ptrace(s)   ? -EPERM
		       : s->hypervisor ? MACHINE_BLOCK_SIZE
				       : MACHINE_BLOCK_BRANCHES;
	case TRY_CPUID_TRAP:
		return s->sim->o.amd || s->hypervisor ? -ENODEV : 1;
	case TRY_RDTSC_TRAP:
		return 1;
	case TRY_VM_READ:
	case TRY_MEMFD:
		return 0;
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

static struct simulated *find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(machines); i++)
		if (!strcmp(machines[i].name, name))
			return &machines[i];
	return NULL;
}

int main(int argc, char **argv)
{
	struct simulated *s = find(argv[argc - 1]);
	struct perf_kernel kernel = {.ops = &sim_perf_ops};
	struct doctor doctor;
	struct sim *sim;
	struct bt_error err;
	int rc;

	if (argc == 2 && !strcmp(argv[1], "--list")) {
		for (size_t i = 0; i < ARRAY_SIZE(machines); i++)
			puts(machines[i].name);
		return 0;
	}
	sim = s ? calloc(1, sizeof *sim) : NULL;
	if (!sim || sim_options_parse(&sim->o, s->options, &err))
		return 99;
	kernel.arg = s->sim = sim;
	sim->o.memlock = (s->memlock_kb ? s->memlock_kb : 8192) << 10;
	doctor_init(&doctor, (struct machine){.ops = &simulated_ops, .state = s, .perf = &kernel});
	rc = argc == 3 ? doctor_print_json(stdout, &doctor, &err)
		       : doctor_print_text(stdout, &doctor);
	sim_release(sim);
	free(sim);
	return rc < 0 ? 99 : rc ? 0 : bt_error_exit_status(BT_E_NO_HARDWARE);
}
