/* SPDX-License-Identifier: MIT */
/* Events of many tasks: all come, also those of which no SIGCHLD told, and few of them cost a look
 * at all tasks. */
#include "collector/supervisor/event_queue.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/supervisor/supervised.h"
#include "tests/unit/unit.h"

enum {
	TASKS = 200,
	STOPS = 2000,
};

static unsigned looks; /* at all children, by the kernel */
static unsigned flood; /* so many SIGCHLDs more come from somebody who has nothing to tell, one
			  after the other */

/* In the place of libc's. */
pid_t waitpid(pid_t pid, int *status, int options)
{
	looks += pid == -1;
	return wait4(pid, status, options, NULL);
}

int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
	if (!flood)
		return (int)syscall(SYS_rt_sigtimedwait, set, info, timeout, _NSIG / 8);
	flood--;
	*info = (siginfo_t){.si_signo = SIGCHLD, .si_pid = getpid()};
	return SIGCHLD;
}

struct herd {
	struct task_table tasks;
	struct event_queue events;
	pid_t tids[TASKS];
	sigset_t mask;
};

/* The first signals itself again and again, which stops it each time. */
static pid_t start(bool signals)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	while (signals)
		raise(SIGWINCH);
	for (;;)
		pause();
}

static void seize(struct herd *h, int i)
{
	h->tids[i] = start(!i);
	assert_true(h->tids[i] > 0);
	assert_int_equal(ptrace(PTRACE_SEIZE, h->tids[i], NULL, PTRACE_O_EXITKILL), 0);
	assert_non_null(supervised_task(&h->tasks, h->tids[i]));
}

static void go_on(void *arg) { (void)arg; }

static void quiesce(struct herd *h)
{
	sigset_t told;

	*h = (struct herd){0};
	h->events = (struct event_queue){.tasks = &h->tasks, .on_wake = go_on};
	sigemptyset(&told);
	sigaddset(&told, SIGCHLD);
	sigprocmask(SIG_BLOCK, &told, &h->mask);
	for (int i = 0; i < TASKS; i++)
		seize(h, i);
}

static void disperse(struct herd *h)
{
	while (h->tasks.first)
		task_remove(&h->tasks, h->tasks.first);
	event_queue_release(&h->events);
	sigprocmask(SIG_SETMASK, &h->mask, NULL);
}

/* Takes events until all but the first have told of this once. */
static void expect_of_others(struct herd *h, enum wait_type type)
{
	bool told[TASKS] = {false};
	struct wait_event ev;

	for (int left = TASKS - 1; left;) {
		assert_true(event_queue_next(&h->events, &ev));
		for (int i = 1; i < TASKS; i++) {
			if (h->tids[i] != ev.tid)
				continue;
			assert_int_equal(ev.type, type);
			assert_false(told[i]);
			told[i] = true;
			left--;
		}
		if (ev.tid == h->tids[0])
			ptrace(PTRACE_CONT, ev.tid, NULL, 0);
	}
}

static void all_events_come_once(void **state)
{
	struct herd h;
	struct wait_event ev;

	(void)state;
	quiesce(&h);
	/* Of all these stops one SIGCHLD may tell. */
	for (int i = 1; i < TASKS; i++)
		assert_int_equal(ptrace(PTRACE_INTERRUPT, h.tids[i], NULL, NULL), 0);
	expect_of_others(&h, WAIT_INTERRUPT);
	for (int i = 1; i < TASKS; i++)
		kill(h.tids[i], SIGKILL);
	expect_of_others(&h, WAIT_KILLED);
	kill(h.tids[0], SIGKILL);
	do
		assert_true(event_queue_next(&h.events, &ev));
	while (ev.type != WAIT_KILLED);
	assert_false(
		event_queue_next(&h.events, &ev)); /* nobody is left, whatever the table says */
	disperse(&h);
}

static void stops_of_one_do_not_cost_a_look_at_all(void **state)
{
	struct herd h;
	struct wait_event ev;
	unsigned before;

	(void)state;
	quiesce(&h);
	before = looks;
	for (int i = 0; i < STOPS; i++) {
		assert_true(event_queue_next(&h.events, &ev));
		assert_int_equal(ev.tid, h.tids[0]);
		assert_int_equal(ev.type, WAIT_SIGNAL);
		ptrace(PTRACE_CONT, ev.tid, NULL, 0);
	}
	assert_in_range(looks - before, 0, STOPS / 2); /* it was two for each */
	for (int i = 0; i < TASKS; i++)
		kill(h.tids[i], SIGKILL);
	while (event_queue_next(&h.events, &ev))
		;
	disperse(&h);
}

static void whoever_sends_sigchld_hides_no_stop(void **state)
{
	enum {
		ENDLESS = 1000000,
	};
	struct herd h;

	(void)state;
	quiesce(&h);
	for (int i = 1; i < TASKS; i++)
		assert_int_equal(ptrace(PTRACE_INTERRUPT, h.tids[i], NULL, NULL), 0);
	flood = ENDLESS;
	expect_of_others(&h, WAIT_INTERRUPT);
	assert_true(flood);
	flood = 0;
	for (int i = 0; i < TASKS; i++)
		kill(h.tids[i], SIGKILL);
	for (struct wait_event ev; event_queue_next(&h.events, &ev);)
		;
	disperse(&h);
}

/* A child that tells of nothing, until it is interrupted when the time is over. */
struct patient {
	struct herd herd;
	struct bt_clock clock;
	uint64_t until;
	bool over;
};

static void interrupt_when_over(void *arg)
{
	struct patient *p = arg;

	if (p->over || bt_clock_now(&p->clock) < p->until)
		return;
	p->over = true;
	p->until = 0;
	assert_int_equal(ptrace(PTRACE_INTERRUPT, p->herd.tids[1], NULL, NULL), 0);
}

static void a_look_ends_at_its_time(void **state)
{
	struct patient p = {.clock = bt_clock_start(), .until = 1};
	struct herd *h = &p.herd;
	struct wait_event ev;
	sigset_t told;

	(void)state;
	h->events = (struct event_queue){.tasks = &h->tasks,
					 .clock = &p.clock,
					 .until = &p.until,
					 .on_wake = interrupt_when_over,
					 .arg = &p};
	sigemptyset(&told);
	sigaddset(&told, SIGCHLD);
	sigprocmask(SIG_BLOCK, &told, &h->mask);
	seize(h, 1);
	assert_true(event_queue_next(&h->events, &ev));
	assert_true(p.over);
	assert_int_equal(ev.type, WAIT_INTERRUPT);
	kill(h->tids[1], SIGKILL);
	/* The time to come is none that a stop waits for. */
	p.until = UINT64_MAX;
	assert_true(event_queue_next(&h->events, &ev));
	assert_int_equal(ev.type, WAIT_KILLED);
	assert_false(event_queue_next(&h->events, &ev));
	disperse(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_events_come_once),
		cmocka_unit_test(stops_of_one_do_not_cost_a_look_at_all),
		cmocka_unit_test(whoever_sends_sigchld_hides_no_stop),
		cmocka_unit_test(a_look_ends_at_its_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
