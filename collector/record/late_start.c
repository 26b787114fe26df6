/* SPDX-License-Identifier: MIT */
/* --from: tasks that run natively until a place is reached. */
#include "collector/supervisor/supervisor_private.h"

#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "collector/record/start_place.h"
#include "collector/space/map_syscalls.h"
#include "collector/tracee/tracee.h"

/* QUIRK(interrupt-call): a task that is interrupted in a system call whose stops are watched stops
 * for the call instead, or for the child that it makes, and the kernel forgets the interruption. It
 * goes on to another, which comes before it is in user code again. */
void supervisor_interrupt_again(const struct task *task)
{
	tracee_resume(task->tid, PTRACE_INTERRUPT, 0);
	tracee_resume(task->tid, PTRACE_CONT, 0);
}

/* Whether a task that has stopped for a system call may go on without that being looked at: it is
 * no execve. */
static bool makes_no_program(pid_t tid)
{
	struct tracee_syscall call;
	enum tracee_syscall_stop stop = tracee_syscall_stop(tid, &call);

	return stop == TRACEE_SYSCALL_EXIT ||
	       (stop == TRACEE_SYSCALL_ENTRY && !syscall_is(&call, SYS_execve) &&
		!syscall_is(&call, SYS_execveat));
}

/* The others have stopped before this one goes on: they are recorded from here, even if it ends the
 * process at once. */
static void await_others(struct supervisor *sup, const struct task *task)
{
	supervisor_freeze(sup);
	for (struct task *t = sup->tasks.first; t; t = t->next) {
		if (t == task || !t->start_pending)
			continue;
		if (!supervisor_has_event(sup, t->tid))
			(void)supervisor_await_stop(sup, t->tid);
		if (supervisor_event_type(sup, t->tid) == WAIT_SYSCALL &&
		    makes_no_program(t->tid)) {
			supervisor_drop_event(sup, t->tid);
			supervisor_interrupt_again(t);
			(void)supervisor_await_stop(sup, t->tid);
		}
	}
	supervisor_thaw(sup);
}

/* --from has been reached in this task's address space: everything that runs in it is recorded from
 * here on. */
static void from_reached(struct supervisor *sup, struct task *task)
{
	struct address_space *space = task->process->space;

	(void)from_disarm(space, task->tid);
	task->regs.rip = space->from_addr;
	tracee_set_regs(task->tid, &task->regs);
	space->from_reached = space->from_addr;
	space->from_addr = 0;
	space->leaves_out |= mappings_leave_out(task->tid);
	for (struct task *t = sup->tasks.first; t; t = t->next) {
		if (!t->native || !t->process || t->process->space != space)
			continue;
		t->native = false;
		t->filters_unseen = true;
		t->start_pending = true;
		if (t != task)
			tracee_resume(t->tid, PTRACE_INTERRUPT, 0);
	}
	await_others(sup, task);
}

/* The first stop of a task that ran natively until now. Its registers have been read. */
void supervisor_write_start(struct supervisor *sup, struct task *task)
{
	struct bt_record_start rec = {.task = task->number};
	const struct bt_branch gap = {.kind = BT_BRANCH_GAP, .to = BT_GAP_START};

	if (!task->start_pending)
		return;
	task->start_pending = false;
	task->syscall_restarts = tracee_wants_restart(&task->regs);
	address_space_refresh(task->process->space, task->tid);
	task_branch(task, &gap, false);
	task_epoch(task);
	rec.point = task_point(task);
	SUPERVISOR_EVENT(sup, task->unit->number, START, &rec);
}

static void look_for_place(struct supervisor *sup, struct task *task)
{
	struct address_space *space = task->process->space;

	space->from_missing =
		!from_insert(space, task->tid, from_resolve(space, task->tid, sup->options.from));
	sup->from_found |= !space->from_missing;
}

void supervisor_from_arm(struct supervisor *sup, struct task *task)
{
	task->native = true;
	look_for_place(sup, task);
}

/* A system call of a task that runs natively while the place of --from is looked for: libraries
 * come by mmap. */
void supervisor_on_native_syscall(struct supervisor *sup, struct task *task)
{
	struct address_space *space = task->process->space;
	enum tracee_syscall_stop stop = tracee_syscall_stop(task->tid, &task->syscall);
	struct tracee_syscall left;

	if (stop == TRACEE_SYSCALL_NONE || tracee_get_regs(task->tid, &task->regs))
		return;
	left = (struct tracee_syscall){.nr = task->regs.orig_rax,
				       .compat = !tracee_is_in_64_bit(&task->regs)};
	if (stop == TRACEE_SYSCALL_ENTRY && supervisor_detach_before_exec(sup, task))
		return;
	/* Behind such a call it might be out of reach, and the breakpoint stay: without
	 * CAP_SYS_PTRACE, where all calls are watched. */
	if (space->from_addr && stop == TRACEE_SYSCALL_ENTRY &&
	    map_syscall_changes_rights(&task->syscall))
		space->from_lifted = from_disarm(space, task->tid) ? task->tid : 0;
	if (space->from_lifted == task->tid && stop == TRACEE_SYSCALL_EXIT) {
		space->from_lifted = 0;
		if (!from_arm_again(space, task->tid)) {
			supervisor_note(sup, task,
					"its memory may not be looked at any more without "
					"CAP_SYS_PTRACE: the place of --from is not watched for");
			space->from_addr = 0;
		}
	}
	if (stop == TRACEE_SYSCALL_EXIT && space->from_missing && syscall_is(&left, SYS_mmap) &&
	    (left.compat || task->regs.rdx & PROT_EXEC)) {
		address_space_refresh(space, task->tid);
		look_for_place(sup, task);
	}
	supervisor_resume_task(sup, task);
}

void supervisor_on_native_signal(struct supervisor *sup, struct task *task,
				 const struct wait_event *ev)
{
	struct address_space *space = task->process->space;
	siginfo_t info;

	if (tracee_get_siginfo(task->tid, &info) || tracee_get_regs(task->tid, &task->regs))
		return;
	if (ev->value != SIGTRAP || info.si_code != SI_KERNEL || !space->from_addr ||
	    task->regs.rip != space->from_addr + 1) {
		supervisor_signal_arrived(sup, task, &info);
		return;
	}
	from_reached(sup, task);
	sup->from_reached = true;
	supervisor_write_start(sup, task);
	supervisor_make_ready(sup, task);
}

/* QUIRK(breakpoint-interrupt): a task that has executed the breakpoint is told of an interruption
 * before its SIGTRAP (the kernel looks for stops before signals, kernel/signal.c get_signal()), and
 * stands in the middle of the instruction that is there again. */
bool supervisor_from_trap_waits(const struct task *task)
{
	struct tracee_signals s;

	return task->start_pending && task->process->space->from_reached &&
	       task->regs.rip == task->process->space->from_reached + 1 &&
	       !tracee_signals(task->tid, &s) && s.pending >> (SIGTRAP - 1) & 1;
}

void supervisor_on_first_syscall(struct supervisor *sup, struct task *task)
{
	enum tracee_syscall_stop stop = tracee_syscall_stop(task->tid, &task->syscall);

	if (tracee_get_regs(task->tid, &task->regs))
		return;
	if (stop != TRACEE_SYSCALL_ENTRY || !supervisor_detach_before_exec(sup, task))
		supervisor_interrupt_again(task);
}

/* A signal reaches a task after --from was reached by another, before it was interrupted. */
void supervisor_on_first_signal(struct supervisor *sup, struct task *task,
				const struct wait_event *ev)
{
	uint64_t place = task->process->space->from_reached;
	siginfo_t info;

	if (tracee_get_siginfo(task->tid, &info) || tracee_get_regs(task->tid, &task->regs))
		return;
	if (ev->value == SIGTRAP && info.si_code == SI_KERNEL && task->regs.rip == place + 1) {
		/* It came to the breakpoint at the same time as the other. */
		task->regs.rip = place;
		tracee_set_regs(task->tid, &task->regs);
		supervisor_write_start(sup, task);
		supervisor_make_ready(sup, task);
		return;
	}
	supervisor_write_start(sup, task);
	supervisor_signal_arrived(sup, task, &info);
}
