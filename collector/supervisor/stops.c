/* SPDX-License-Identifier: MIT */
/* Stops that are neither a system call's nor a signal's: group stops, and interruptions of our own.
 * The front is told of those of the initial process. */
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "collector/supervisor/supervisor_private.h"
#include "collector/tracee/tracee.h"

static void initial_stopped(struct supervisor *sup, pid_t by, int signo)
{
	if (sup->stopped_by)
		return;
	sup->stopped_by = by;
	if (!sup->notify)
		return;
	sup->notify(sup->notify_arg, sup, signo);
}

/* Whether the task is the oldest of its process that has not ended. It speaks for all: another may
 * still report a stop that is over. */
static bool tells_of_stops(const struct task *task)
{
	for (const struct task *other = task->process->members; other; other = other->member_next)
		if (other->number < task->number && other->state != TASK_EXITING)
			return false;
	return true;
}

static void initial_went_on(struct supervisor *sup)
{
	sup->stopped_by = 0;
	if (sup->notify)
		sup->notify(sup->notify_arg, sup, SIGCONT);
}

void supervisor_stop_is_over(struct supervisor *sup, const struct task *task)
{
	if (task->host_tid == sup->stopped_by)
		initial_went_on(sup);
}

/* The initial process is not traced any more. We are its parent, and the kernel tells us of its
 * stops as it tells any parent. Its end comes as an event. */
void supervisor_watch_left(struct supervisor *sup)
{
	siginfo_t info = {0};

	while (sup->initial_left && sup->initial_pid &&
	       !waitid(P_PID, (id_t)sup->initial_pid, &info, WSTOPPED | WCONTINUED | WNOHANG) &&
	       info.si_pid) {
		if (info.si_code == CLD_STOPPED)
			initial_stopped(sup, sup->initial_pid, info.si_status);
		else if (info.si_code == CLD_CONTINUED && sup->stopped_by)
			initial_went_on(sup);
		info.si_pid = 0;
	}
}

/* The initial task, traced from its fork on, is still our own code, on its way to its execve: it
 * has no registers or memory of the program's, and is resumed as on_early_stop() does. */
static bool is_before_execve(const struct task *task)
{
	return task->process && task->how == BT_TASK_INITIAL && !task->supervised->started;
}

void supervisor_on_group_stop(struct supervisor *sup, struct task *task,
			      const struct wait_event *ev)
{
	if (is_before_execve(task)) {
		tracee_resume(task->host_tid, PTRACE_LISTEN, 0);
		initial_stopped(sup, task->host_tid, ev->value);
		return;
	}
	if (task->state == TASK_RUNNING && !sup->backend.ops->native)
		task->mid_run = true;
	task_set_state(task, TASK_GROUP_STOPPED);
	task->supervised->stopped_in_syscall |= task->in_syscall;
	if (task->mid_run && sup->backend.ops->rest)
		sup->backend.ops->rest(&sup->backend, task);
	if (tracee_resume(task->host_tid, PTRACE_LISTEN, 0))
		supervisor_look_after(sup, task);
	if (task->unit)
		supervisor_give_up_turn(sup, task);
	if (task->process && task->process->initial && tells_of_stops(task))
		initial_stopped(sup, task->host_tid, ev->value);
}

bool supervisor_start_late(struct supervisor *sup, struct task *task)
{
	return !task->supervised->start_pending ||
	       sup->session->ops->on_late_start(sup->session, sup, task);
}

/* QUIRK(interrupt-call): a task that is interrupted in a system call whose stops are watched stops
 * for the call instead, or for the child that it makes, and the kernel forgets the interruption. So
 * it is interrupted once more: that stop comes before it is in user code again. */
void supervisor_interrupt_again(const struct task *task)
{
	tracee_resume(task->host_tid, PTRACE_INTERRUPT, 0);
	tracee_resume(task->host_tid, PTRACE_CONT, 0);
}

void supervisor_on_interrupt(struct supervisor *sup, struct task *task, const struct wait_event *ev)
{
	if (!task->supervised->first_stop_seen) {
		task->supervised->first_stop_seen = true;
		if (task->process)
			supervisor_start_new(sup, task);
		return;
	}
	if (!task->process)
		return;
	supervisor_stop_is_over(sup, task);
	if (is_before_execve(task)) { /* SIGCONT: nobody can block it */
		tracee_resume(task->host_tid, PTRACE_CONT, 0);
		return;
	}
	if (task->state == TASK_RUNNING) {
		supervisor_on_backend_stop(sup, task, ev);
		return;
	}
	if (!task->mid_run) {
		tracee_get_regs(task->host_tid, &task->regs);
		if (!supervisor_start_late(sup, task))
			return;
	}
	supervisor_make_ready(sup, task);
}
