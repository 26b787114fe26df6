/* SPDX-License-Identifier: MIT */
#include "collector/supervisor/detach.h"

#include <errno.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "collector/supervisor/program.h"
#include "collector/supervisor/supervisor_private.h"
#include "collector/tracee/tracee.h"

/* The signal for which the task has stopped, and which is still to be delivered. 0: none. */
static int held_signal(const struct supervisor *sup, const struct task *task)
{
	return task->pending_signal ? task->pending_signal
				    : event_queue_signal(&sup->events, task->host_tid);
}

void detach_task(struct supervisor *sup, struct task *task, const char *reason, bool in_memory)
{
	int signo = held_signal(sup, task);

	sup->session->ops->on_detach(sup->session, sup, task, reason, in_memory);
	task->supervised->ended = true;
	sup->backend.ops->leave(&sup->backend, task);
	if (task->process->tasks == 1)
		limits_restore(&task->process->limits, task->process->host_pid);
	affinity_leave(&sup->affinity, task->host_tid);
	/* After injected calls (ops->leave) the signal's siginfo is lost, not the signal. */
	tracee_resume(task->host_tid, PTRACE_DETACH, signo);
	if (event_queue_signal(&sup->events, task->host_tid))
		event_queue_drop(&sup->events, task->host_tid);
	sup->initial_left |= task->process->initial;
	supervisor_forget(sup, task);
}

/* Stops the task. True: no stop of ours is pending for it, so it can be detached. */
static bool can_leave(struct supervisor *sup, struct task *task)
{
	if (!task->supervised->started || task->state == TASK_EXITING)
		return false;
	if (task->native)
		return !event_queue_has(&sup->events, task->host_tid) &&
		       !tracee_resume(task->host_tid, PTRACE_INTERRUPT, 0) &&
		       supervisor_await_stop(sup, task->host_tid) &&
		       event_queue_type(&sup->events, task->host_tid) == WAIT_INTERRUPT;
	return supervisor_halt(sup, task) && !task->mid_run && task->state != TASK_RUNNING;
}

/* Detaches the tasks that can be detached: of all processes, or (reason NULL) of those with a
 * reason of their own. */
static void detach_where(struct supervisor *sup, const char *reason)
{
	struct task *next;

	supervisor_freeze(sup);
	/* Tasks with signals come last, so that calls are injected into others of the process. */
	for (int signals = 0; signals < 2; signals++)
		for (struct task *task = sup->tasks.first; task; task = next) {
			next = task->next;
			if ((!reason && !(task->process && task->process->leaving)) ||
			    !can_leave(sup, task) || (held_signal(sup, task) && !signals))
				continue;
			detach_task(sup, task, reason ? reason : task->process->leaving, true);
		}
	supervisor_thaw(sup);
}

void detach_all(struct supervisor *sup, const char *reason) { detach_where(sup, reason); }

static bool any_leaves(const struct supervisor *sup)
{
	for (const struct task *task = sup->tasks.first; task; task = task->next)
		if (task->process && task->process->leaving)
			return true;
	return false;
}

void detach_leaving(struct supervisor *sup)
{
	enum {
		PAUSE = 16, /* a task that cannot be stopped (a vfork's parent) holds up the others
			       for one part of the time in so many */
	};
	uint64_t began = bt_clock_now(sup->clock);

	if (began < sup->doomed_next || !any_leaves(sup))
		return;
	detach_where(sup, NULL);
	sup->doomed_next = bt_clock_now(sup->clock) + PAUSE * (bt_clock_now(sup->clock) - began);
}

void detach_unread(const struct supervisor *sup, const struct address_space *s)
{
	const char *why = s->unread == EACCES || s->unread == EPERM
				  ? "its memory may not be looked at any more (another user's, "
				    "made undumpable, or a program that may not be read) without "
				    "CAP_SYS_PTRACE: detached there"
				  : "its mappings cannot be read (no memory or descriptors left): "
				    "detached there";

	for (const struct task *task = sup->tasks.first; task; task = task->next)
		if (task->process && task->process->space == s && !task->process->leaving)
			task->process->leaving = why;
}

void detach_init(struct process *process)
{
	process->leaving = "the first process of a PID namespace, which a fault ends only when "
			   "nobody traces it: detached there";
}

bool detach_before_exec(struct supervisor *sup, struct task *task)
{
	const struct tracee_syscall *call = &task->syscall;
	bool at = syscall_is(call, SYS_execveat);
	char reason[600];
	pid_t pid = task->process->host_pid;
	struct task *next;

	if (!at && !syscall_is(call, SYS_execve))
		return false;
	if (!program_gains_privileges(task->host_tid, at, call->args, reason, sizeof reason))
		return false;
	limits_restore(&task->process->limits, pid);
	/* The execve ends the other threads, and they must not be traced then. Those that run in
	 * user code die in it, as natively, and unrecorded. */
	for (struct task *other = sup->tasks.first; other; other = next) {
		next = other->next;
		if (other != task && other->process && other->process->host_pid == pid &&
		    other->state == TASK_READY)
			detach_task(sup, other, reason, false);
	}
	detach_task(sup, task, reason, false);
	return true;
}
