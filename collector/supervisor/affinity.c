/* SPDX-License-Identifier: MIT */
#include "collector/supervisor/affinity.h"

#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collector/supervisor/supervised.h"
#include "collector/task/task.h"
#include "collector/tracee/tracee.h"
#include "lib/array_size.h"

enum {
	TASKS_MOST = 32, /* of more tasks some can always run */
	MUCH = 4,        /* tasks that waited for 1/MUCH of the time go apart */
};

enum affinity_syscall {
	SYSCALL_OTHER,
	SYSCALL_ASKS,   /* for an affinity */
	SYSCALL_SETS,   /* an affinity, or a policy that wants all processors or keeps others from
			   them: nothing is bound from then on */
	SYSCALL_CLONES, /* may make a child that we do not see: CLONE_UNTRACED */
};

static const struct {
	uint64_t nr, compat;
	enum affinity_syscall call;
} calls[] = {
	{SYS_sched_getaffinity, 242, SYSCALL_ASKS},  {SYS_sched_setaffinity, 241, SYSCALL_SETS},
	{SYS_sched_setscheduler, 156, SYSCALL_SETS}, {SYS_sched_setparam, 154, SYSCALL_SETS},
	{SYS_sched_setattr, 351, SYSCALL_SETS},      {SYS_clone, 120, SYSCALL_CLONES},
	{SYS_clone3, 435, SYSCALL_CLONES},
};

#define MILLISECOND 1000000ull
#define LOOK_EACH   (50 * MILLISECOND)
#define APART_FIRST (100 * MILLISECOND)
#define APART_MOST  (6400 * MILLISECOND)
#define PROVEN      (1000 * MILLISECOND) /* after so long together the next time apart is short */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 * MILLISECOND + (uint64_t)t.tv_nsec;
}

/* How many nanoseconds a task (0: the caller) has waited for a processor since it was made: the
 * second number of /proc/PID/schedstat (Linux, Documentation/scheduler/sched-stats.rst). False when
 * that is not known. */
static bool read_waited(pid_t tid, uint64_t *waited)
{
	unsigned long long ran, delay;
	FILE *f = tracee_open_file(tid ? tid : getpid(), "schedstat");
	bool known;

	if (!f)
		return false;
	known = fscanf(f, "%llu %llu", &ran, &delay) == 2;
	fclose(f);
	*waited = delay;
	return known;
}

static uint64_t waited_since(pid_t tid, uint64_t *before)
{
	uint64_t at = 0, since;

	if (!read_waited(tid, &at))
		return 0;
	since = at > *before ? at - *before : 0;
	*before = at;
	return since;
}

/* The time that recorder and tasks have waited since the last call, in sum. */
static uint64_t all_waited(struct affinity *a, struct task_table *t)
{
	uint64_t sum = waited_since(0, &a->waited);

	for (struct task *task = t->first; task; task = task->next)
		sum += waited_since(task->host_tid, &task->supervised->waited);
	return sum;
}

static bool may_use(pid_t tid, const cpu_set_t *set)
{
	cpu_set_t is;

	return !sched_getaffinity(tid, sizeof is, &is) && CPU_EQUAL(&is, set);
}

/* Changes an affinity of ours. One that somebody else has set stays. */
static bool move_affinity(pid_t tid, const cpu_set_t *from, const cpu_set_t *to)
{
	return may_use(tid, from) && !sched_setaffinity(tid, sizeof *to, to);
}

static void go_apart(struct affinity *a, struct task_table *t)
{
	if (!a->together)
		return;
	a->together = false;
	a->looked = now_ns();
	(void)move_affinity(0, &a->one, &a->own);
	for (struct task *task = t->first; task; task = task->next)
		(void)move_affinity(task->host_tid, &a->one, &a->own);
}

/* Chooses the processor that the recorder is on. */
static bool choose_processor(struct affinity *a)
{
	int cpu = sched_getcpu();

	if (cpu < 0 || cpu >= CPU_SETSIZE || !CPU_ISSET(cpu, &a->own))
		return false;
	CPU_ZERO(&a->one);
	CPU_SET(cpu, &a->one);
	return move_affinity(0, &a->own, &a->one);
}

static void come_together(struct affinity *a, struct task_table *t)
{
	for (struct task *task = t->first; task; task = task->next)
		if (task->supervised->affinity_syscall)
			return;
	a->since = a->looked = now_ns();
	a->together = a->on = choose_processor(a);
	for (struct task *task = t->first; task && a->on; task = task->next)
		(void)move_affinity(task->host_tid, &a->own, &a->one);
	(void)all_waited(a, t);
}

void affinity_begin(struct affinity *a)
{
	if (sched_getaffinity(0, sizeof a->own, &a->own) || CPU_COUNT(&a->own) < 2 ||
	    !read_waited(0, &a->waited))
		return;
	a->begun = true;
	a->wait = APART_FIRST;
	a->since = a->looked = now_ns();
	a->together = a->on = choose_processor(a);
}

void affinity_join(const struct affinity *a, pid_t tid, const struct task *parent)
{
	if (a->on && a->together)
		(void)move_affinity(tid, &a->own, &a->one);
	else if (a->begun &&
		 !(parent &&
		   may_use(parent->host_tid, &a->one))) /* else it is what the program has set */
		(void)move_affinity(tid, &a->one, &a->own);
}

void affinity_leave(const struct affinity *a, pid_t tid)
{
	if (a->on && a->together)
		(void)move_affinity(tid, &a->one, &a->own);
}

static bool is_untraced(const struct task *task)
{
	uint64_t flags = task->syscall.args[0];

	if (task->syscall.nr == SYS_clone3 && tracee_read(task->host_tid, task->syscall.args[0],
							  &flags, sizeof flags) != sizeof flags)
		return false;
	return flags & CLONE_UNTRACED;
}

static enum affinity_syscall call_of(const struct task *task)
{
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (task->syscall.nr == (task->syscall.compat ? calls[i].compat : calls[i].nr))
			return calls[i].call == SYSCALL_CLONES && !is_untraced(task)
				       ? SYSCALL_OTHER
				       : calls[i].call;
	return SYSCALL_OTHER;
}

void affinity_syscall_entered(struct affinity *a, struct task_table *t, struct task *task)
{
	enum affinity_syscall call = a->on ? call_of(task) : SYSCALL_OTHER;

	if (call == SYSCALL_OTHER)
		return;
	go_apart(a, t);
	task->supervised->affinity_syscall = true;
	a->on = call != SYSCALL_SETS;
}

void affinity_syscall_left(struct task *task) { task->supervised->affinity_syscall = false; }

void affinity_look(struct affinity *a, struct task_table *t)
{
	uint64_t at = now_ns(), past = at - a->looked;

	if (!a->on || past < (a->together ? LOOK_EACH : a->wait))
		return;
	if (!a->together && t->count <= TASKS_MOST) {
		come_together(a, t);
	} else if (a->together && (t->count > TASKS_MOST || all_waited(a, t) * MUCH > past)) {
		a->wait = at - a->since > PROVEN ? APART_FIRST
			  : a->wait < APART_MOST ? 2 * a->wait
						 : a->wait;
		go_apart(a, t);
	} else {
		a->looked = at;
	}
}
