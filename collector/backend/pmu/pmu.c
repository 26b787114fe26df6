/* SPDX-License-Identifier: MIT */
/* The pmu backend: a runner runs the code (natively, or on a simulated processor), and at every
 * stop that means something to the program the source brings what the processor recorded into the
 * task's history. */
#include "collector/backend/pmu/pmu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pmu_task {
	void *source; /* the source's own */
	bool attached, failed;
};

static void detach_pmu_task(struct pmu *p, struct task *task)
{
	struct pmu_task *pt = task->backend;

	if (pt->attached)
		p->source->detach(p, task, pt->source);
	pt->attached = false;
	pt->failed = true; /* not again */
}

/* The task runs here for the first time. */
static void attach_task(struct backend *b, struct task *task)
{
	struct pmu_task *pt = task->backend;
	struct pmu *p = b->pmu;
	struct bt_error err;
	char text[PMU_TEXT_MAX + sizeof err.text];

	p->observer = b->observer;
	p->clock = b->clock;
	if (!p->source || pt->attached || pt->failed)
		return;
	pt->attached = !p->source->attach(p, task, &pt->source, &err);
	if (pt->attached)
		return;
	pt->failed = true;
	pmu_gap(task, BT_GAP_OFF);
	snprintf(text, sizeof text, "no branches of thread %d: %s", (int)task->host_tid, err.text);
	backend_note(b, task, text);
}

static void capture_branches(const struct backend *b, struct task *task, enum capture_why why,
			     const siginfo_t *info)
{
	const struct pmu_task *pt = task->backend;

	if (pt->attached)
		b->pmu->source->capture(b->pmu, task, pt->source, why, info);
}

static int pmu_task_init(struct backend *b, struct task *task)
{
	struct pmu_task *pt = calloc(1, sizeof *pt);

	if (!pt)
		return -BT_E_NO_MEMORY;
	if (b->pmu->runner->task_init(b, task)) {
		free(pt);
		return -BT_E_NO_MEMORY;
	}
	task->backend = pt;
	return 0;
}

static void pmu_task_release(struct backend *b, struct task *task)
{
	struct pmu_task *pt = task->backend;

	if (!pt)
		return;
	detach_pmu_task(b->pmu, task);
	b->pmu->runner->task_release(b, task);
	free(pt);
	task->backend = NULL;
}

static int pmu_resume(struct backend *b, struct task *task, int signo, enum bt_signal_action action)
{
	attach_task(b, task);
	return b->pmu->runner->resume(b, task, signo, action);
}

static int pmu_proceed(struct backend *b, struct task *task)
{
	return b->pmu->runner->proceed(b, task);
}

static void pmu_stop_soon(struct backend *b, struct task *task)
{
	b->pmu->runner->stop_soon(b, task);
}

static void pmu_leave(struct backend *b, struct task *task)
{
	detach_pmu_task(b->pmu, task);
	b->pmu->runner->leave(b, task);
}

static void pmu_rest(struct backend *b, struct task *task)
{
	if (b->pmu->runner->rest)
		b->pmu->runner->rest(b, task);
}

static void pmu_execed(struct backend *b, struct task *task)
{
	struct pmu_task *pt = task->backend;

	b->pmu->runner->execed(b, task);
	if (pt->attached && b->pmu->source->execed)
		b->pmu->source->execed(b->pmu, task, pt->source);
}

static void pmu_exiting(struct backend *b, struct task *task, const struct bt_regs *regs)
{
	b->pmu->runner->exiting(b, task, regs);
	capture_branches(b, task, CAPTURE_EXIT, NULL);
}

static void pmu_settle(struct backend *b, struct task *task)
{
	capture_branches(b, task, CAPTURE_SNAPSHOT, NULL);
}

static enum backend_stop pmu_stopped(struct backend *b, struct task *task,
				     const struct wait_event *ev, siginfo_t *info)
{
	enum backend_stop stop = b->pmu->runner->stopped(b, task, ev, info);

	/* Branches that the runner knows of are entered at stops before which no code of the
	 * program's ran since the last one: nothing is out of order. */
	if (stop != BACKEND_RUNS && stop != BACKEND_GONE)
		capture_branches(b, task, stop == BACKEND_SIGNAL ? CAPTURE_SIGNAL : CAPTURE_STOP,
				 stop == BACKEND_SIGNAL ? info : NULL);
	return stop;
}

static void pmu_backend_close(struct backend *b) { pmu_close(b->pmu); }

const struct backend_ops pmu_ops = {
	.name = "pmu",
	.source = "none", /* btrec_run names the one that was opened */
	.native = true,
	.task_init = pmu_task_init,
	.task_release = pmu_task_release,
	.resume = pmu_resume,
	.proceed = pmu_proceed,
	.stop_soon = pmu_stop_soon,
	.leave = pmu_leave,
	.rest = pmu_rest,
	.execed = pmu_execed,
	.exiting = pmu_exiting,
	.settle = pmu_settle,
	.close = pmu_backend_close,
	.stopped = pmu_stopped,
};

int pmu_open(struct pmu *p, const struct perf_kernel *kernel,
	     const struct branch_source_ops *source, const struct backend_ops *runner,
	     struct bt_error *err)
{
	int rc = 0;

	*p = (struct pmu){.kernel = kernel, .source = source, .runner = runner};
	if (!source)
		snprintf(p->how, sizeof p->how, "native, events only");
	else
		rc = source->open ? source->open(p, err) : source->probe(p, err);
	if (rc)
		p->source = NULL;
	return rc;
}

void pmu_close(struct pmu *p)
{
	if (p->source && p->source->close)
		p->source->close(p);
	p->source = NULL;
}

const struct branch_source_ops *pmu_choose(const struct perf_kernel *kernel, struct bt_error *err)
{
	char why[sizeof err->text] = "";

	for (size_t i = 0; branch_sources[i]; i++) {
		struct pmu p = {.kernel = kernel};
		struct bt_error e;
		size_t len = strlen(why);

		if (!branch_sources[i]->probe(&p, &e))
			return branch_sources[i];
		snprintf(why + len, sizeof why - len, "%s%s: %.160s", len ? "; " : "",
			 branch_sources[i]->name, e.text);
	}
	bt_fail(err, BT_E_NO_HARDWARE, 0,
		"no branch record of the processor can be used here, use the engine: %.330s", why);
	return NULL;
}
