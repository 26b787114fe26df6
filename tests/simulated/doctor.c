/* SPDX-License-Identifier: MIT */
/* The simulated machine as btrec doctor asks it: what has to do with performance counters and BPF
 * is the simulation's, the rest that of the machine that we run on. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "collector/doctor/doctor.h"
#include "tests/simulated/simulated.h"

/* What Linux says of this process there. */
static int status_text(const struct sim *s, char *out, size_t size)
{
	return snprintf(out, size,
			"Name:\tbtrec\nTracerPid:\t0\nCapEff:\t%016" PRIx64 "\nSeccomp:\t%d\n",
			s->o.capabilities, s->o.seccomp ? 2 : 0);
}

static int sim_read(void *state, const char *path, char *out, size_t size)
{
	struct sim *s = state;
	struct machine here = machine_here();
	ssize_t n = sim_perf_ops.file(s, path, out, size);

	if (n >= 0)
		return (int)n;
	if (!strcmp(path, "/proc/self/status"))
		return status_text(s, out, size);
	if (!strcmp(path, "/proc/sys/kernel/osrelease"))
		return snprintf(out, size, "%u.%u.0\n", (unsigned)s->o.kernel / 100,
				(unsigned)s->o.kernel % 100);
	if (!strncmp(path, "/sys/", strlen("/sys/")))
		return -ENOENT;
	return here.ops->read(here.state, path, out, size);
}

static int sim_list(void *state, const char *path, char *out, size_t size)
{
	const struct sim *s = state;
	struct machine here = machine_here();

	if (strcmp(path, "/sys/bus/event_source/devices") != 0)
		return here.ops->list(here.state, path, out, size);
	return snprintf(out, size, " breakpoint%s software",
			!s->o.pmu     ? ""
			: s->o.hybrid ? " cpu_atom cpu_core"
				      : " cpu");
}

/* No hypervisor. */
static void sim_cpuid(void *state, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
	(void)state;
	(void)leaf;
	(void)subleaf;
	memset(out, 0, 4 * sizeof *out);
}

static const char *sim_environment(void *state, const char *name)
{
	struct machine here = machine_here();

	(void)state;
	return here.ops->environment(here.state, name);
}

static int sim_directory(void *state, struct machine_directory *out)
{
	struct machine here = machine_here();

	(void)state;
	return here.ops->directory(here.state, out);
}

static int open_event(struct sim *s)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .size = sizeof attr,
				       .exclude_kernel = 1,
				       .disabled = 1};
	int fd = sim_perf_ops.open(s, &attr, 0, -1, -1, 0);

	if (fd >= 0)
		sim_perf_ops.close(s, fd);
	return fd < 0 ? fd : 0;
}

/* What the helper gives where the programs can be loaded. */
static int call_helper(struct sim *s)
{
	struct snap_info info = {0};
	struct bt_error err;
	void *snap;
	int rc = sim_snap_open(s, &snap, &info, &err);

	if (rc)
		return rc == -BT_E_PERMISSION ? -EPERM : -EINVAL;
	sim_snap_close(s, snap);
	return (int)info.helper;
}

int sim_try(struct sim *s, enum machine_attempt what)
{
	int rc = what == TRY_PERF ? open_event(s) : call_helper(s);

	return what == TRY_BPF && rc != -EPERM ? 0 : rc;
}

static int sim_attempt(void *state, enum machine_attempt what)
{
	bool own = what == TRY_PERF || what == TRY_BPF || what == TRY_SNAPSHOT;

	return own ? sim_try(state, what) : machine_attempt_here(what);
}

struct machine sim_machine(struct perf_kernel *kernel)
{
	static const struct machine_ops ops = {
		.read = sim_read,
		.list = sim_list,
		.cpuid = sim_cpuid,
		.environment = sim_environment,
		.directory = sim_directory,
		.attempt = sim_attempt,
	};

	return (struct machine){.ops = &ops, .state = kernel->arg, .perf = kernel};
}
