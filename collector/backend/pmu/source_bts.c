/* SPDX-License-Identifier: MIT */
/* The branch trace store: the kernel's branch event of period 1, unprivileged and with page-table
 * isolation. The kernel drains the processor's store into the event's ring when the task leaves its
 * CPU, so that all of it is there at every stop; an event of the task's switches writes into the
 * same ring (hardware_decoders/bts_flow.h). */
#include "collector/backend/pmu/source_bts.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collector/backend/pmu/perf_cpu.h"
#include "collector/backend/pmu/ring.h"
#include "hardware_decoders/bts_flow.h"

enum {
	RING_WANTED = 4 << 20, /* bytes a task: some 170 thousand branches between two stops */
	RING_LEAST = 16 << 10,
};

struct bts_task {
	int fd, switches; /* switches -1: the kernel has no such event */
	struct perf_ring ring;
	uint64_t seen, idle;
};

/* QUIRK(aaj122): family 6 models whose branch records may have a wrong from-address (Intel's
 * specification updates, AAJ122 and its kin; gdb leaves them out, too). */
bool bts_has_erratum(const struct perf_cpu *c)
{
	static const uint8_t models[] = {0x1a, 0x1e, 0x1f, 0x2e, 0x25,
					 0x2c, 0x2f, 0x2a, 0x2d, 0x3a};

	return c->family == 6 && c->model < 256 && memchr(models, (int)c->model, sizeof models);
}

/* Whether there are two PMUs (PERF_PMU_TYPE_SHIFT, Linux 5.13). Time on the smaller cores is idle
 * time of the event, and so a gap. */
static bool is_hybrid(const struct perf_kernel *k) { return perf_pmu_type(k, "cpu_core") > 0; }

static int open_branches(const struct perf_kernel *k, pid_t tid)
{
	uint64_t larger = is_hybrid(k) ? (uint64_t)perf_pmu_type(k, "cpu_core") << 32 : 0;
	const struct perf_event_attr attr = {.size = sizeof attr,
					     .type = PERF_TYPE_HARDWARE,
					     .config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS | larger,
					     .sample_period = 1,
					     .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_ADDR,
					     .read_format = PERF_IDLE_FORMAT,
					     .exclude_kernel = 1,
					     .exclude_hv = 1,
					     .use_clockid = 1,
					     .clockid = CLOCK_MONOTONIC};

	return k->ops->open(k->arg, &attr, tid, -1, -1, 0);
}

/* The event of switches writes into the ring of the branches, which is mapped already. Both have
 * the same clock, as the kernel wants it. It is in the group of the branches: before Linux 6.3 a
 * software event may write into the ring of a hardware event only from there (24d3ae2f37d8: their
 * contexts were compared, not their tasks). */
static int open_switches(const struct perf_kernel *k, pid_t tid, int into)
{
	const struct perf_event_attr attr = {.size = sizeof attr,
					     .type = PERF_TYPE_SOFTWARE,
					     .config = PERF_COUNT_SW_DUMMY,
					     .sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
					     .sample_id_all = 1,
					     .context_switch = 1,
					     .exclude_kernel = 1,
					     .exclude_hv = 1,
					     .use_clockid = 1,
					     .clockid = CLOCK_MONOTONIC};
	int fd = k->ops->open(k->arg, &attr, tid, -1, into, 0);

	if (fd >= 0 &&
	    k->ops->ioctl(k->arg, fd, PERF_EVENT_IOC_SET_OUTPUT, (unsigned long)into) < 0) {
		k->ops->close(k->arg, fd);
		return -1;
	}
	return fd < 0 ? -1 : fd;
}

static void close_task(const struct perf_kernel *k, struct bts_task *t)
{
	if (t->switches >= 0)
		k->ops->close(k->arg, t->switches);
	perf_ring_unmap(&t->ring, k);
	if (t->fd >= 0)
		k->ops->close(k->arg, t->fd);
}

/* tid 0: this process, to see whether it can be done. */
static int open_task(const struct perf_kernel *k, pid_t tid, struct bts_task *t,
		     struct bt_error *err)
{
	int rc;

	*t = (struct bts_task){.fd = open_branches(k, tid), .switches = -1};
	if (t->fd < 0)
		return perf_refused(k, t->fd, "the branch trace store", PERF_BUSY_LBR, err);
	rc = perf_ring_map(&t->ring, k, t->fd, RING_WANTED, RING_LEAST);
	if (rc < 0) {
		close_task(k, t);
		return perf_ring_refused(rc, RING_LEAST, err);
	}
	t->switches = open_switches(k, tid, t->fd);
	return 0;
}

static int bts_probe(struct pmu *p, struct bt_error *err)
{
	struct perf_cpu c;
	struct bts_task t;
	int rc;

	perf_cpu_read(&c, p->kernel);
	if (!c.intel)
		return bt_fail(err, BT_E_NO_HARDWARE, 0,
			       "only Intel processors have a branch trace store");
	if (bts_has_erratum(&c))
		return bt_fail(
			err, BT_E_UNSUPPORTED, 0,
			"this processor (model 0x%x) may record wrong addresses (erratum AAJ122)",
			c.model);
	if (!c.bts)
		return bt_fail(
			err, BT_E_NO_HARDWARE, 0,
			"the branch trace store is not there for the kernel (a virtual machine?)");
	rc = open_task(p->kernel, 0, &t, err);
	if (rc < 0)
		return rc;
	snprintf(p->how, sizeof p->how,
		 "all taken branches of user code, up to %u between two stops",
		 (unsigned)(t.ring.size / BTS_RECORD));
	if (is_hybrid(p->kernel))
		snprintf(p->lacking, sizeof p->lacking,
			 "nothing is recorded on the smaller cores: taskset -c $(cat "
			 "/sys/devices/cpu_core/cpus) btrec run ...");
	else if (t.ring.size < RING_WANTED)
		snprintf(p->lacking, sizeof p->lacking,
			 "more would need kernel.perf_event_mlock_kb or ulimit -l raised");
	else if (t.switches < 0)
		snprintf(p->lacking, sizeof p->lacking, "arrivals and departures need Linux 4.3");
	close_task(p->kernel, &t);
	return 0;
}

static int bts_attach(struct pmu *p, struct task *task, void **state, struct bt_error *err)
{
	struct bts_task *t = malloc(sizeof *t);
	int rc;

	if (!t)
		return bt_no_memory(err, NULL);
	rc = open_task(p->kernel, task->host_tid, t, err);
	if (rc < 0) {
		free(t);
		return rc;
	}
	*state = t;
	return 0;
}

static void bts_detach(struct pmu *p, struct task *task, void *state)
{
	(void)task;
	close_task(p->kernel, state);
	free(state);
}

struct taker {
	struct pmu *p;
	struct task *task;
	bool idle; /* the event had no counter for a while */
};

/* Branches that the kernel passes on begin and end in user code. */
static void take_flow_item(void *arg, const struct flow_item *item)
{
	const struct taker *t = arg;

	if (t->idle && (item->kind == FLOW_BRANCH || item->kind == FLOW_GAP))
		return;
	if (item->kind == FLOW_BRANCH)
		pmu_branch(t->task, item->branch.from, item->branch.to, 0);
	else if (item->kind == FLOW_GAP)
		pmu_gap(t->task, (enum bt_gap_reason)item->branch.to);
	else if (item->kind == FLOW_ARRIVE)
		pmu_sched(t->p, t->task, item->time, item->cpu, BT_SCHED_IN);
	else if (item->kind == FLOW_DEPART)
		pmu_sched(t->p, t->task, item->time, item->cpu,
			  item->preempted ? BT_SCHED_PREEMPT : BT_SCHED_OUT);
}

/* The task is off its CPU: reading its registers has waited for that (wait_task_inactive() in the
 * kernel). */
static void bts_capture(struct pmu *p, struct task *task, void *state, enum capture_why why,
			const siginfo_t *info)
{
	static const struct bts_code no_code;
	struct bts_task *t = state;
	struct bts_ring ring = {.data = t->ring.data, .size = t->ring.size, .seen = t->seen};
	/* QUIRK(event-idle): branches may be missing anywhere among those that are there. */
	struct taker to = {
		.p = p, .task = task, .idle = perf_was_idle(p->kernel, &t->fd, 1, &t->idle)};

	(void)why;
	(void)info;
	if (to.idle)
		pmu_gap(task, BT_GAP_LOST);
	ring.head = __atomic_load_n(&t->ring.page->data_head, __ATOMIC_ACQUIRE);
	bts_ring_read(&ring, &no_code, take_flow_item, &to);
	t->seen = ring.head;
}

const struct branch_source_ops bts_source = {
	.name = "bts",
	.text = "branch trace store: all taken branches, slow",
	.probe = bts_probe,
	.attach = bts_attach,
	.detach = bts_detach,
	.capture = bts_capture,
};
