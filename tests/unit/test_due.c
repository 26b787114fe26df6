/* SPDX-License-Identifier: MIT */
/* A task's time (task->due) of which the supervisor tells the backend. */
#include "tests/unit/unit.h"

#include <signal.h>
#include <unistd.h>

#include "collector/replay/silent_observer.h"
#include "collector/supervisor/supervised.h"
#include "collector/supervisor/supervisor_private.h"

#define HOUR_NS ((uint64_t)3600 * 1000000000)

static int go_on(struct backend *b, struct task *task)
{
	(void)b;
	(void)task;
	return 0;
}

static void told(struct backend *b, struct task *task)
{
	unsigned *times = b->shared;

	++*times;
	task->due = 0;
}

/* While a task stands still the time of another is over: its own, which comes later, is not
 * forgotten. */
static void a_task_that_goes_on_has_its_time_still(void **state)
{
	static const struct backend_ops backend = {.name = "made", .proceed = go_on, .due = told};
	static const struct session_ops nothing;
	static volatile sig_atomic_t never;
	const struct supervisor_options options = {.unbound = true};
	struct observer observer = {.ops = &silent_observer_ops};
	struct session session = {.ops = &nothing};
	struct bt_clock clock = bt_clock_start();
	struct task *task, *other;
	struct supervisor sup;
	unsigned times = 0;
	uint64_t later;

	(void)state;
	supervisor_init(&sup, &session, &observer, &clock, &backend, &options);
	sup.tick = &never;
	sup.backend.shared = &times;
	task = supervised_task(&sup.tasks, getpid());
	other = supervised_task(&sup.tasks, getppid());
	task_join_unit(task, supervised_unit(&sup.tasks));
	task_join_unit(other, supervised_unit(&sup.tasks));
	task_set_state(task, TASK_GROUP_STOPPED);
	task_set_state(other, TASK_RUNNING);
	task->mid_run = true;
	later = bt_clock_now(&clock) + HOUR_NS;
	task->due = later;
	other->due = sup.backend.due = 1;

	sup.events.on_wake(sup.events.arg);
	assert_int_equal(times, 1);
	assert_int_equal(sup.backend.due, 0);
	supervisor_resume_task(&sup, task);
	assert_int_equal(task->state, TASK_RUNNING);
	assert_int_equal(sup.backend.due, later);
	sup.events.on_wake(sup.events.arg);
	assert_int_equal(times, 1);
	assert_int_equal(sup.backend.due, later);

	while (sup.tasks.first)
		task_remove(&sup.tasks, sup.tasks.first);
	supervisor_release(&sup);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_task_that_goes_on_has_its_time_still),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
