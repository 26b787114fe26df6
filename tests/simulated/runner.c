/* SPDX-License-Identifier: MIT */
/* The processor: the stepper, whose branches go to the devices and not into the task's history.
 * What the stepper itself does about the program is the same as ever, so programs behave as they do
 * under `--backend step`. */
#include <stdlib.h>

#include "collector/backend/pmu/pmu.h"
#include "tests/simulated/simulated.h"

enum {
	RING = 1024, /* entries; read after every step */
	SYSCALL_LEN = 2,
};

struct run_task {
	bool stop_wanted;
	struct sim_task *sim;
};

static struct sim *machine(const struct backend *b) { return b->pmu->kernel->arg; }

/* A branch that only a tracer knows of goes into the history, as native_ops does it. */
static void tell_recorder(const struct backend *backend, struct task *task,
			  const struct bt_branch *b)
{
	bool elsewhere =
		b->kind == BT_BRANCH_SYSCALL && b->to != b->from && b->to != b->from + SYSCALL_LEN;

	if ((b->kind != BT_BRANCH_ASYNC && !elsewhere) ||
	    (backend->pmu->source && backend->pmu->source->whole))
		return;
	task_epoch(task);
	task_branch(task, b, false);
}

static void tell_devices(const struct backend *backend, struct task *task, struct sim_task *t)
{
	struct sim *s = machine(backend);

	for (; t->seen < t->ring.next; t->seen++) {
		const struct bt_branch *b = &t->ring.entries[t->seen & (t->ring.cap - 1)];

		if (!bt_branch_is_branch(b))
			continue;
		sim_branch(s, t, b);
		tell_recorder(backend, task, b);
	}
	t->time++;
}

/* The stepper works on another ring. */
#define WITH_STEPPER(b, task, rt, call)                     \
	do {                                                \
		struct branch_ring own_ring = (task)->ring; \
		(task)->ring = (rt)->sim->ring;             \
		call;                                       \
		(rt)->sim->ring = (task)->ring;             \
		(task)->ring = own_ring;                    \
		tell_devices(b, task, (rt)->sim);           \
	} while (0)

static int sim_task_init(struct backend *b, struct task *task)
{
	struct ring_state start = {.space = task->ring.now.space, .epoch = task->ring.now.epoch};
	struct run_task *rt = calloc(1, sizeof *rt);

	if (!rt || stepper_ops.task_init(b, task)) {
		free(rt);
		return -BT_E_NO_MEMORY;
	}
	rt->sim = sim_task(machine(b), task->host_tid);
	branch_ring_init(&rt->sim->ring, RING, &start);
	task->runner = rt;
	return 0;
}

static void sim_task_release(struct backend *b, struct task *task)
{
	struct run_task *rt = task->runner;

	stepper_ops.task_release(b, task);
	sim_task_gone(machine(b), rt->sim->tid);
	free(rt);
	task->runner = NULL;
}

static int sim_resume(struct backend *b, struct task *task, int signo, enum bt_signal_action action)
{
	struct run_task *rt = task->runner;
	int rc;

	rt->sim->rip = task->regs.rip;
	sim_switch_in(machine(b), rt->sim);
	WITH_STEPPER(b, task, rt, rc = stepper_ops.resume(b, task, signo, action));
	return rc;
}

static int sim_proceed(struct backend *b, struct task *task)
{
	struct run_task *rt = task->runner;
	int rc;

	sim_switch_in(machine(b), rt->sim);
	WITH_STEPPER(b, task, rt, rc = stepper_ops.proceed(b, task));
	return rc;
}

static void sim_stop_soon(struct backend *b, struct task *task)
{
	struct run_task *rt = task->runner;

	rt->stop_wanted = true;
	WITH_STEPPER(b, task, rt, stepper_ops.stop_soon(b, task));
}

static void sim_leave(struct backend *b, struct task *task)
{
	struct run_task *rt = task->runner;

	WITH_STEPPER(b, task, rt, stepper_ops.leave(b, task));
}

static void sim_execed(struct backend *b, struct task *task)
{
	struct run_task *rt = task->runner;

	rt->sim->calls = false;
	sim_switch_out(machine(b), rt->sim);
	WITH_STEPPER(b, task, rt, stepper_ops.execed(b, task));
	sim_task_renamed(machine(b), rt->sim, task->host_tid);
}

static void sim_exiting(struct backend *b, struct task *task, const struct bt_regs *regs)
{
	struct run_task *rt = task->runner;

	rt->sim->calls = false;
	sim_switch_out(machine(b), rt->sim);
	WITH_STEPPER(b, task, rt, stepper_ops.exiting(b, task, regs));
}

static bool is_raised(const siginfo_t *info)
{
	return info->si_code > 0 &&
	       (info->si_signo == SIGSEGV || info->si_signo == SIGBUS || info->si_signo == SIGILL ||
		info->si_signo == SIGFPE || info->si_signo == SIGTRAP || info->si_signo == SIGSYS);
}

static enum backend_stop sim_stopped(struct backend *b, struct task *task,
				     const struct wait_event *ev, siginfo_t *info)
{
	struct run_task *rt = task->runner;
	struct sim *s = machine(b);
	enum backend_stop stop;

	WITH_STEPPER(b, task, rt, stop = stepper_ops.stopped(b, task, ev, info));
	if (stop == BACKEND_RUNS || stop == BACKEND_GONE)
		return stop;
	if (stop == BACKEND_SLICE &&
	    !rt->stop_wanted) { /* the stepper's own budget: no processor stops there */
		int rc;

		WITH_STEPPER(b, task, rt, rc = stepper_ops.resume(b, task, 0, BT_ACTION_IGNORE));
		return rc ? BACKEND_GONE : BACKEND_RUNS;
	}
	if (stop == BACKEND_SLICE)
		rt->stop_wanted = false;
	rt->sim->rip = task->regs.rip;
	rt->sim->calls = stop == BACKEND_SYSCALL_ENTER;
	if (stop == BACKEND_SIGNAL && is_raised(info))
		sim_signal(s, rt->sim, info);
	sim_switch_out(s, rt->sim);
	return stop;
}

const struct backend_ops sim_runner_ops = {
	.name = "simulated",
	.source = "none",
	.task_init = sim_task_init,
	.task_release = sim_task_release,
	.resume = sim_resume,
	.proceed = sim_proceed,
	.stop_soon = sim_stop_soon,
	.leave = sim_leave,
	.execed = sim_execed,
	.exiting = sim_exiting,
	.stopped = sim_stopped,
};
