/* SPDX-License-Identifier: MIT */
/* The last branch record: one event for each task keeps it in use, for every branch of user code.
 * BPF programs take its entries inside the kernel (lbr_bpf.h); without the capabilities for these,
 * periodic samples give a coarse history.
 *
 * survey_machine() finds the processors' PMUs and tries an event on each; a failure becomes a
 * message that says who forbids it (open_fail()). open_snapshots() loads the programs and asks
 * whether they are of use. A task gets an event for each PMU (hybrid processors have two).
 *
 * At a stop capture_windows() reads the windows since the last one, each between two switches of
 * the task. enter_run() enters a window's branches into the history. Where code does not lead from
 * one branch to the next, or a window is not complete, it enters a gap. */
#include "collector/backend/pmu/lbr_private.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/backend/pmu/perf_cpu.h"
#include "lib/array_size.h"
#include "lib/insn.h"

enum {
	STRAIGHT_MAX = 4096, /* instructions that are looked at between two branches */
};

/* ---- Whether and how ---- */

struct perf_event_attr lbr_attr(const struct lbr_shared *l, unsigned pmu, bool samples)
{
	struct perf_event_attr a = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof a,
		.config = l->config[pmu] | PERF_COUNT_HW_CPU_CYCLES,
		.sample_type = PERF_SAMPLE_BRANCH_STACK,
		.read_format = PERF_IDLE_FORMAT,
		/* QUIRK(lbr-last-filter): the filter is that of the event that came last on the
		 * CPU, so there is but this one for a task. */
		.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	if (samples) {
		a.config = l->config[pmu] | PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
		a.sample_period = LBR_PERIOD;
		a.sample_type |= PERF_SAMPLE_IP;
		a.write_backward = 1;
	}
	return a;
}

static int find_pmus(const struct perf_kernel *k, struct lbr_shared *l)
{
	static const char *const hybrid[LBR_PMUS] = {"cpu_core", "cpu_atom"};

	l->pmus = 0;
	if (perf_pmu_type(k, "cpu") >= 0) {
		l->config[l->pmus++] = 0;
		return 0;
	}
	for (unsigned i = 0; i < LBR_PMUS; i++) {
		long type = perf_pmu_type(k, hybrid[i]);

		if (type >= 0)
			l->config[l->pmus++] = (uint64_t)type << 32; /* PERF_PMU_TYPE_SHIFT */
	}
	return l->pmus ? 0 : -BT_E_NO_HARDWARE;
}

/* QUIRK(lbr-old-tail): of AMD's record, and of Intel's architectural one, the kernel reads what is
 * valid, and leaves what it read before in the rest of its array (amd_pmu_lbr_read,
 * intel_pmu_store_lbr). */
static bool is_tail_told(const struct perf_kernel *k)
{
	struct perf_cpu c;

	perf_cpu_read(&c, k);
	return c.intel && !c.arch_lbr;
}

static unsigned record_depth(const struct perf_kernel *k)
{
	static const char *const files[] = {
		"/sys/bus/event_source/devices/cpu/caps/branches",
		"/sys/bus/event_source/devices/cpu_core/caps/branches",
	};
	long n = -1;

	for (size_t i = 0; i < ARRAY_SIZE(files) && n < 0; i++)
		n = perf_file_number(k, files[i]);
	return n > 0 && n <= LBR_DEPTH_MAX ? (unsigned)n : 0;
}

static int paranoid_fail(const struct perf_kernel *k, struct bt_error *err)
{
	return bt_fail(
		err, BT_E_PERMISSION, 0,
		"no permission for performance events (kernel.perf_event_paranoid is %ld): sysctl "
		"kernel.perf_event_paranoid=2, "
		"or give btrec CAP_PERFMON",
		perf_file_number(k, "/proc/sys/kernel/perf_event_paranoid"));
}

/* Why perf_event_open failed. */
static int open_fail(const struct perf_kernel *k, int error, struct bt_error *err)
{
	switch (error) {
	case ENOENT:
	case ENODEV:
		return bt_fail(err, BT_E_NO_HARDWARE, 0,
			       "the kernel has no cycle counter here: no branch record; use the "
			       "engine (leave out --source)");
	case EOPNOTSUPP:
		return bt_fail(err, BT_E_NO_HARDWARE, 0,
			       "this processor, or what the virtual machine shows of it, has no "
			       "last branch record (AMD's: from Zen 4 and "
			       "Linux 6.1 on): use the engine (leave out --source)");
	case EACCES:
		return paranoid_fail(k, err);
	case EPERM:
		return bt_fail(err, BT_E_PERMISSION, 0,
			       "perf_event_open(2) is forbidden, by a seccomp filter as containers "
			       "set one: start the "
			       "container with "
			       "--cap-add=PERFMON or with --security-opt seccomp=unconfined");
	case EBUSY:
		return bt_fail(err, BT_E_NO_HARDWARE, 0,
			       "the branch record is busy: " PERF_BUSY_LBR);
	case EINVAL:
		return bt_fail(err, BT_E_UNSUPPORTED, 0,
			       "this kernel does not record every branch of user code on this "
			       "processor (AMD before Zen 4): "
			       "use the engine (leave out --source)");
	case ENOSYS:
		return bt_fail(err, BT_E_UNSUPPORTED, 0,
			       "this kernel has no perf_event_open(2): use the engine (leave out "
			       "--source)");
	default:
		return bt_fail(err, BT_E_IO, error, "cannot open an event for the branch record");
	}
}

/* Before Linux 6.10 AMD's record goes with samples only (amd_pmu_lbr_hw_config). */
static int try_event(const struct perf_kernel *k, const struct lbr_shared *l, unsigned pmu)
{
	struct perf_event_attr counting = lbr_attr(l, pmu, false),
			       sampling = lbr_attr(l, pmu, true);
	int fd = k->ops->open(k->arg, &counting, 0, -1, -1, 0);

	return fd == -EINVAL ? k->ops->open(k->arg, &sampling, 0, -1, -1, 0) : fd;
}

/* Finds out what can be had: fills all of *l but its programs. */
static int survey_machine(const struct perf_kernel *k, struct lbr_shared *l, struct bt_error *err)
{
	*l = (struct lbr_shared){
		.machine = {.depth = record_depth(k), .tail_told = is_tail_told(k)}};
	if (find_pmus(k, l))
		return bt_fail(err, BT_E_NO_HARDWARE, 0,
			       "no performance counters (PMU) here, as in most virtual machines: "
			       "/sys/bus/event_source/devices/cpu is missing; use the engine "
			       "(leave out --source)");
	for (unsigned i = 0; i < l->pmus; i++) {
		int fd = try_event(k, l, i);

		if (fd < 0)
			return open_fail(k, -fd, err);
		k->ops->close(k->arg, fd);
	}
	return 0;
}

/* Why the programs are of no use though they could be loaded; NULL: they are.
 * QUIRK(lbr-helper-none): without a record, and on AMD before Linux 6.10, the helper says ENOENT;
 * that it loads says nothing. QUIRK(lbr-old-tail): the entries behind the valid ones are of another
 * time, and look no different. */
static const char *why_useless(const struct lbr_shared *l, const struct snap_info *info)
{
	if (info->helper <= 0)
		return "bpf_get_branch_snapshot() finds no branch record (on AMD it does from "
		       "Linux 6.10 on)";
	if (!l->machine.tail_told && !info->counted)
		return "the kernel does not tell which entries are valid (it needs BTF of its "
		       "variables and CONFIG_KALLSYMS_ALL)";
	return NULL;
}

static void say_how(struct pmu *p, const struct lbr_shared *l, const char *why_not)
{
	char depth[16] = "";

	if (l->machine.depth)
		snprintf(depth, sizeof depth, "%u ", l->machine.depth);
	if (!why_not) {
		snprintf(p->how, sizeof p->how,
			 "LBR: the last %staken branches at each fault and each switch of a thread "
			 "(BPF)",
			 depth);
		p->lacking[0] = '\0';
		return;
	}
	snprintf(p->how, sizeof p->how,
		 "LBR: samples of the last %staken branches, every %d branches", depth, LBR_PERIOD);
	snprintf(p->lacking, sizeof p->lacking,
		 "no branches at faults, only samples every %d branches: %.200s", LBR_PERIOD,
		 why_not);
}

/* Opens the programs if they are there and of use. */
static void open_snapshots(struct pmu *p, struct lbr_shared *l)
{
	const struct perf_kernel *k = p->kernel;
	struct snap_info info = {0};
	struct bt_error err;
	const char *why = NULL;

	if (k->ops->snap_open(k->arg, &l->snap, &info, &err)) {
		l->snap = NULL;
		why = err.text;
	} else {
		why = why_useless(l, &info);
		if (why)
			k->ops->snap_close(k->arg, l->snap);
		if (why)
			l->snap = NULL;
	}
	say_how(p, l, why);
}

static int lbr_probe(struct pmu *p, struct bt_error *err)
{
	struct lbr_shared l;
	int rc = survey_machine(p->kernel, &l, err);

	if (rc)
		return rc;
	open_snapshots(p, &l);
	if (l.snap)
		p->kernel->ops->snap_close(p->kernel->arg, l.snap);
	return 0;
}

static int lbr_open(struct pmu *p, struct bt_error *err)
{
	struct lbr_shared *l = malloc(sizeof *l);
	int rc;

	if (!l)
		return bt_no_memory(err, NULL);
	rc = survey_machine(p->kernel, l, err);
	if (rc) {
		free(l);
		return rc;
	}
	open_snapshots(p, l);
	p->shared = l;
	return 0;
}

static void lbr_close(struct pmu *p)
{
	struct lbr_shared *l = p->shared;

	if (l && l->snap)
		p->kernel->ops->snap_close(p->kernel->arg, l->snap);
	free(l);
	p->shared = NULL;
}

/* ---- Tasks ---- */

static void lbr_detach(struct pmu *p, struct task *task, void *state)
{
	const struct lbr_shared *l = p->shared;
	struct lbr_events *e = state;

	(void)task;
	if (l->snap && e->tid)
		p->kernel->ops->snap_forget(p->kernel->arg, l->snap, e->tid);
	for (unsigned i = 0; i < l->pmus; i++) {
		lbr_ring_close(p, e, i);
		if (e->fd[i] >= 0)
			p->kernel->ops->close(p->kernel->arg, e->fd[i]);
	}
	free(e);
}

static int watch_task(const struct pmu *p, const struct lbr_shared *l, struct lbr_events *e,
		      pid_t tid, struct bt_error *err)
{
	int rc;

	if (!l->snap)
		return 0;
	rc = p->kernel->ops->snap_watch(p->kernel->arg, l->snap, tid);
	if (rc == -ENOSPC)
		return bt_fail(err, BT_E_UNSUPPORTED, 0, "more than %d threads at once", LBR_TASKS);
	if (rc)
		return bt_fail(err, BT_E_IO, -rc, "cannot enter it into the BPF programs' table");
	e->tid = tid;
	return 0;
}

static int open_events(const struct pmu *p, const struct lbr_shared *l, struct lbr_events *e,
		       pid_t tid, struct bt_error *err)
{
	for (unsigned i = 0; i < l->pmus; i++) {
		struct perf_event_attr a = lbr_attr(l, i, !l->snap);
		int rc = p->kernel->ops->open(p->kernel->arg, &a, tid, -1, -1, 0);

		if (rc < 0)
			return open_fail(p->kernel, -rc, err);
		e->fd[i] = rc;
		rc = l->snap ? 0 : lbr_ring_open(p, e, i, err);
		if (rc)
			return rc;
	}
	return 0;
}

static int lbr_attach(struct pmu *p, struct task *task, void **state, struct bt_error *err)
{
	const struct lbr_shared *l = p->shared;
	struct lbr_events *e = calloc(1, sizeof *e);
	int rc;

	if (!e)
		return bt_no_memory(err, NULL);
	for (unsigned i = 0; i < LBR_PMUS; i++)
		e->fd[i] = -1;
	rc = open_events(p, l, e, task->host_tid, err);
	if (!rc)
		rc = watch_task(p, l, e, task->host_tid, err);
	if (rc)
		lbr_detach(p, task, e);
	else
		*state = e;
	return rc;
}

/* ---- What was recorded ---- */

struct lbr_reading {
	struct pmu *p;
	struct task *task;
	const struct lbr_shared *l;
};

/* lbr_leads over the code of a task. */
static bool code_leads(void *arg, uint64_t start, uint64_t end)
{
	const struct lbr_reading *r = arg;
	struct bt_insn insn;
	uint64_t pc = start;

	for (unsigned n = 0; pc < end && n < STRAIGHT_MAX; n++, pc += insn.len) {
		uint8_t bytes[BT_INSN_MAX];
		int kind;

		if (address_space_fetch(r->task->process->space, r->task->host_tid, pc, false,
					bytes, &insn))
			return true; /* not known */
		kind = bt_insn_branch_kind(insn.class);
		if (kind >= 0 && kind != BT_BRANCH_JCC && kind != BT_BRANCH_SYSCALL)
			return false;
	}
	return pc <= end;
}

/* Whether code leads from the last entry of the history to an address; true where that entry is a
 * gap. */
static bool follows_newest(const struct lbr_reading *r, uint64_t addr)
{
	const struct bt_branch *last = branch_ring_newest(&r->task->ring);

	return !last || !bt_branch_is_branch(last) ||
	       code_leads((void *)(uintptr_t)r, last->to, addr);
}

/* users: of the record, 1 is ours; -1: unknown. A gap stands between entries that the code does not
 * connect: another's filter may be in force (QUIRK(lbr-last-filter)), or the kernel's have closed
 * up an empty slot (QUIRK(lbr-zero)). */
static void enter_run(const struct lbr_reading *r, const struct lbr_run *run, int users)
{
	if (!run->complete || users > 1 || (run->began && !follows_newest(r, run->began)))
		pmu_gap(r->task, BT_GAP_UNSAMPLED);
	for (size_t i = 0; i < run->count; i++) {
		const struct lbr_entry *e = &run->entries[i];

		if (!follows_newest(r, e->from))
			pmu_gap(r->task, BT_GAP_UNSAMPLED);
		pmu_branch(r->task, e->from, e->to, e->flags);
	}
}

static void take_sample(void *arg, const struct lbr_entry *entries, size_t count)
{
	const struct lbr_reading *r = arg;
	struct lbr_run run;

	lbr_run_of_sample(&run, entries, count, code_leads, arg);
	enter_run(r, &run, -1);
	pmu_gap(r->task, BT_GAP_UNSAMPLED); /* it was an interruption, and the program went on */
}

static void take_window(const struct lbr_reading *r, const struct lbr_window *w)
{
	struct lbr_run run;

	if (w->bytes < 0 || !w->users) {
		pmu_gap(r->task, BT_GAP_UNSAMPLED);
		return;
	}
	lbr_run_of_snapshot(&run, w->entries, (size_t)w->bytes, w->valid, &r->l->machine,
			    code_leads, (void *)(uintptr_t)r);
	enter_run(r, &run, w->users);
}

static void capture_windows(const struct lbr_reading *r, struct lbr_events *e)
{
	struct snap_read read;
	/* QUIRK(lbr-unused): then nobody had the record in use, and the helper gives what was read
	 * last on that CPU, perhaps of another program. */
	bool idle = perf_was_idle(r->p->kernel, e->fd, r->l->pmus, &e->idle);

	if (r->p->kernel->ops->snap_read(r->p->kernel->arg, r->l->snap, e->tid, &read)) {
		pmu_gap(r->task, BT_GAP_UNSAMPLED);
		return;
	}
	if (idle || read.lost)
		pmu_gap(r->task, BT_GAP_UNSAMPLED);
	for (size_t i = 0; !idle && i < read.count; i++) {
		bool fault = read.fault && read.fault->number == read.windows[i]->number;

		take_window(r, fault ? read.fault : read.windows[i]);
	}
	/* QUIRK(lbr-null-target): the newest branch may be missing, too. */
	if (!follows_newest(r, r->task->regs.rip))
		pmu_gap(r->task, BT_GAP_UNSAMPLED);
}

static void lbr_capture(struct pmu *p, struct task *task, void *state, enum capture_why why,
			const siginfo_t *info)
{
	struct lbr_reading r = {.p = p, .task = task, .l = p->shared};
	struct lbr_events *e = state;

	(void)why;
	(void)info;
	if (r.l->snap) {
		capture_windows(&r, e);
		return;
	}
	for (unsigned i = 0; i < r.l->pmus; i++)
		lbr_ring_read(e, i, take_sample, &r);
	pmu_gap(task, BT_GAP_UNSAMPLED);
}

static void lbr_execed(struct pmu *p, struct task *task, void *state)
{
	const struct lbr_shared *l = p->shared;
	struct lbr_events *e = state;
	struct bt_error err;

	if (!l->snap || e->tid == task->host_tid)
		return;
	p->kernel->ops->snap_forget(p->kernel->arg, l->snap, e->tid);
	e->tid = 0;
	if (watch_task(p, l, e, task->host_tid, &err))
		pmu_gap(task, BT_GAP_UNSAMPLED);
}

const struct branch_source_ops lbr_source = {
	.name = "lbr",
	.text = "the processor's last branch record",
	.probe = lbr_probe,
	.open = lbr_open,
	.close = lbr_close,
	.attach = lbr_attach,
	.detach = lbr_detach,
	.capture = lbr_capture,
	.execed = lbr_execed,
};
