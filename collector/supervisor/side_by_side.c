/* SPDX-License-Identifier: MIT */
/* Side by side: all tasks run. They wait for one another only while the backend changes what others
 * are running in (backend_company). Such a run cannot be replayed. */
#include "collector/supervisor/scheduler.h"
#include "collector/supervisor/supervisor_private.h"

static enum backend_company company_of(struct supervisor *sup, const struct task *task)
{
	return sup->backend.ops->company ? sup->backend.ops->company(&sup->backend, task)
					 : COMPANY_ANY;
}

static bool is_running(const struct task *task, const struct unit *u)
{
	return task->unit == u && task_runs_code(task);
}

static void preempt_all(struct supervisor *sup, struct unit *u)
{
	unsigned left = u->running;

	for (struct task *task = sup->tasks.first; task && left; task = task->next)
		if (is_running(task, u)) {
			left--;
			sup->backend.ops->stop_soon(&sup->backend, task);
		}
}

/* Whether the unit has running tasks. now: asks them to stop; those that do not stop are asked
 * again at each tick. */
static bool look_at_running(struct supervisor *sup, struct unit *u, bool now)
{
	if (u->running && now && !u->turns->asked) {
		u->turns->asked = true;
		preempt_all(sup, u);
	}
	return u->running;
}

/* The first waiting task that may run now. NULL: none. */
static struct task *first_to_run(struct supervisor *sup, const struct unit *u,
				 enum backend_company *company)
{
	struct task *task = u->turns->ready_first;

	*company = COMPANY_ANY;
	while (task &&
	       (scheduler_stays(task) || (*company = company_of(sup, task)) == COMPANY_LATER))
		task = task->supervised->ready_next;
	return task;
}

/* A waiting task that was stopped in the midst of backend code (SIGSTOP); else the task itself. It
 * must run on before another task can be alone. */
static struct task *in_the_midst(const struct unit *u, struct task *task)
{
	struct task *other = u->turns->ready_first;

	while (other && !other->mid_run)
		other = other->supervised->ready_next;
	return other ? other : task;
}

static void schedule_all(struct supervisor *sup, struct unit *u)
{
	struct unit_turns *turns = u->turns;
	enum backend_company company;
	struct task *task;

	/* The core file shows the other tasks: they stay where they stopped. */
	if (turns->dumps && is_running(turns->dumps, u))
		return;
	turns->dumps = NULL;
	while ((task = first_to_run(sup, u, &company)) && !sup->frozen) {
		if (company != COMPANY_ANY && look_at_running(sup, u, company == COMPANY_NONE))
			return;
		if (company == COMPANY_NONE)
			task = in_the_midst(u, task);
		if (task->pending_signal && task->pending_action == BT_ACTION_CORE)
			turns->dumps = task;
		scheduler_dequeue(task);
		supervisor_resume_task(sup, task);
		if (turns->dumps)
			return;
	}
}

static bool always_waits(struct supervisor *sup, struct task *task)
{
	(void)sup;
	(void)task;
	return false;
}

static void tell_nobody(struct supervisor *sup, struct task *task)
{
	(void)sup;
	(void)task;
}

/* Another task may have waited for this one to stop running user code. */
static bool others_may_run(struct supervisor *sup, struct task *task)
{
	(void)task;
	return sup->backend.parallel;
}

static bool may_call_in_company(struct supervisor *sup, const struct task *task)
{
	return company_of(sup, task) == COMPANY_ANY;
}

/* With native code no task waits for a slice. */
static void preempt_others(struct supervisor *sup, struct unit *u)
{
	if (sup->backend.parallel)
		preempt_all(sup, u);
}

const struct scheduler_ops side_by_side_scheduler = {
	.schedule = schedule_all,
	.goes_on = always_waits,
	.waits = tell_nobody,
	.leaves = others_may_run,
	.may_call = may_call_in_company,
	.called = tell_nobody,
	.preempt = preempt_others,
};
