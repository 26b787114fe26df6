/* SPDX-License-Identifier: MIT */
/* Runs code as it is, stopped at system calls and signals. Branches are none of its business, but
 * for what only it knows: where a signal handler was entered, and system calls that do not go on
 * behind themselves. */
#include <errno.h>
#include <stdlib.h>
#include <sys/ptrace.h>

#include "collector/backend/pmu/pmu.h"
#include "collector/backend/step/stepper.h"
#include "collector/tracee/signal_frame.h"
#include "collector/tracee/tracee.h"
#include "lib/insn.h"

struct native_task {
	bool delivering;      /* a handler is being entered with PTRACE_SINGLESTEP: the kernel stops
				 before its first instruction */
	bool program_tf;      /* TF was the program's own then */
	bool interrupting;    /* a PTRACE_INTERRUPT is on its way, or was in this system call */
	uint64_t syscall_rip; /* of the system call instruction in progress, 0: none */
};

/* Enters a branch that only we know of, unless the source tells of it. */
static void enter_transfer(const struct backend *b, struct task *task,
			   const struct bt_branch *branch)
{
	if (b->pmu->source && b->pmu->source->whole)
		return;
	task_epoch(task);
	task_branch(task, branch, false);
}

static int native_task_init(struct backend *b, struct task *task)
{
	(void)b;
	task->runner = calloc(1, sizeof(struct native_task));
	return task->runner ? 0 : -BT_E_NO_MEMORY;
}

static void native_task_release(struct backend *b, struct task *task)
{
	(void)b;
	free(task->runner);
	task->runner = NULL;
}

static int native_resume(struct backend *b, struct task *task, int signo,
			 enum bt_signal_action action)
{
	struct native_task *nt = task->runner;

	(void)b;
	nt->delivering = signo && action == BT_ACTION_HANDLER;
	nt->program_tf = task->regs.eflags & EFLAGS_TF;
	if (signo && (action == BT_ACTION_TERMINATE || action == BT_ACTION_CORE))
		return tracee_resume(task->host_tid, PTRACE_CONT, signo);
	return tracee_resume(task->host_tid, nt->delivering ? PTRACE_SINGLESTEP : PTRACE_SYSCALL,
			     signo);
}

static int native_proceed(struct backend *b, struct task *task)
{
	(void)b;
	return tracee_resume(task->host_tid, PTRACE_SYSCALL, 0);
}

static void native_stop_soon(struct backend *b, struct task *task)
{
	struct native_task *nt = task->runner;

	(void)b;
	/* Even if an interrupt is on its way: the recorder itself may have met that one in a system
	 * call. Two at once are one. */
	nt->interrupting = !tracee_resume(task->host_tid, PTRACE_INTERRUPT, 0);
}

static void native_leave(struct backend *b, struct task *task)
{
	(void)b;
	(void)task;
}

static void native_execed(struct backend *b, struct task *task)
{
	struct native_task *nt = task->runner;
	struct bt_branch entry = {.kind = BT_BRANCH_SYSCALL,
				  .flags = BT_BRANCH_TAKEN,
				  .from = nt->syscall_rip,
				  .to = task->regs.rip};

	if (nt->syscall_rip)
		enter_transfer(b, task, &entry);
	nt->syscall_rip = 0;
}

static void native_exiting(struct backend *b, struct task *task, const struct bt_regs *regs)
{
	(void)b;
	task->regs = *regs;
}

/* A call that does not go on behind itself is a branch that no processor records as one:
 * rt_sigreturn. */
static void syscall_left(const struct backend *b, struct task *task, const struct native_task *nt)
{
	struct bt_branch branch = {.kind = BT_BRANCH_SYSCALL,
				   .flags = BT_BRANCH_TAKEN,
				   .from = nt->syscall_rip,
				   .to = task->regs.rip};

	if (nt->syscall_rip && branch.to != branch.from &&
	    branch.to != branch.from + BT_SYSCALL_LEN)
		enter_transfer(b, task, &branch);
}

static enum backend_stop native_syscall_stop(const struct backend *b, struct task *task,
					     struct native_task *nt)
{
	enum tracee_syscall_stop stop = tracee_syscall_stop(task->host_tid, &task->syscall);

	if (stop == TRACEE_SYSCALL_NONE || tracee_get_regs(task->host_tid, &task->regs))
		return BACKEND_GONE;
	if (stop == TRACEE_SYSCALL_EXIT) {
		syscall_left(b, task, nt);
		nt->syscall_rip = 0;
		nt->interrupting = false;
		return BACKEND_SYSCALL_EXIT;
	}
	nt->syscall_rip = task->regs.rip - BT_SYSCALL_LEN;
	task->interrupted |= nt->interrupting; /* the interruption will be found in the call */
	return BACKEND_SYSCALL_ENTER;
}

static enum backend_stop native_handler_entered(const struct backend *b, struct task *task,
						struct native_task *nt)
{
	struct bt_branch branch = {.kind = BT_BRANCH_ASYNC, .flags = BT_BRANCH_TAKEN};

	nt->delivering = false;
	if (tracee_get_regs(task->host_tid, &task->regs))
		return BACKEND_GONE;
	if (!nt->program_tf)
		signal_frame_clear_trap(task->host_tid, &task->regs);
	branch.from = signal_frame_rip(task->host_tid, &task->regs);
	branch.to = task->regs.rip;
	enter_transfer(b, task, &branch);
	task->syscall_restarts = false;
	return BACKEND_HANDLER;
}

static enum backend_stop native_stopped(struct backend *b, struct task *task,
					const struct wait_event *ev, siginfo_t *info)
{
	struct native_task *nt = task->runner;

	(void)b;
	if (ev->type == WAIT_SYSCALL)
		return native_syscall_stop(b, task, nt);
	if (ev->type == WAIT_INTERRUPT) {
		nt->interrupting = false;
		return tracee_get_regs(task->host_tid, &task->regs) ? BACKEND_GONE : BACKEND_SLICE;
	}
	if (tracee_get_siginfo(task->host_tid, info))
		return BACKEND_GONE;
	if (nt->delivering && ev->value == SIGTRAP && info->si_code == TRAP_NOTIFY)
		return native_handler_entered(b, task, nt);
	if (tracee_get_regs(task->host_tid, &task->regs))
		return BACKEND_GONE;
	if (nt->delivering && ev->value == SIGTRAP && tracee_may_have_stepped(info) &&
	    !nt->program_tf) {
		/* The signal came to nothing (its handler had just gone), and an instruction was
		 * stepped. */
		nt->delivering = false;
		return tracee_resume(task->host_tid, PTRACE_SYSCALL, 0) ? BACKEND_GONE
									: BACKEND_RUNS;
	}
	nt->delivering = false;
	return BACKEND_SIGNAL;
}

const struct backend_ops native_ops = {
	.name = "native",
	.source = "none",
	.native = true,
	.task_init = native_task_init,
	.task_release = native_task_release,
	.resume = native_resume,
	.proceed = native_proceed,
	.stop_soon = native_stop_soon,
	.leave = native_leave,
	.execed = native_execed,
	.exiting = native_exiting,
	.stopped = native_stopped,
};
