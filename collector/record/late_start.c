/* SPDX-License-Identifier: MIT */
/* --from: tasks that are native until a place is reached. A breakpoint stands there
 * (start_place.h). When one task comes to it, all tasks of its address space are interrupted and
 * start there. */
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "collector/record/recording_private.h"
#include "collector/record/start_place.h"
#include "collector/space/map_syscalls.h"
#include "collector/supervisor/detach.h"
#include "collector/tracee/tracee.h"

/* Whether the system call for which the task has stopped needs no look: it is at its exit, or no
 * execve. */
static bool makes_no_program(pid_t tid)
{
	struct tracee_syscall call;
	enum tracee_syscall_stop stop = tracee_syscall_stop(tid, &call);

	return stop == TRACEE_SYSCALL_EXIT ||
	       (stop == TRACEE_SYSCALL_ENTRY && !syscall_is(&call, SYS_execve) &&
		!syscall_is(&call, SYS_execveat));
}

/* Waits until the others have stopped: they are recorded from here, even if this task ends the
 * process at once. */
static void await_others(struct supervisor *sup, const struct task *task)
{
	supervisor_freeze(sup);
	for (struct task *t = sup->tasks.first; t; t = t->next) {
		if (t == task || !t->supervised->start_pending)
			continue;
		if (!event_queue_has(&sup->events, t->host_tid))
			(void)supervisor_await_stop(sup, t->host_tid);
		if (event_queue_type(&sup->events, t->host_tid) == WAIT_SYSCALL &&
		    makes_no_program(t->host_tid)) {
			event_queue_drop(&sup->events, t->host_tid);
			supervisor_interrupt_again(t);
			(void)supervisor_await_stop(sup, t->host_tid);
		}
	}
	supervisor_thaw(sup);
}

/* --from has been reached in this task's address space: everything that runs in it is recorded from
 * here on. */
static void from_reached(struct supervisor *sup, struct task *task)
{
	struct address_space *space = task->process->space;

	(void)start_place_disarm(space, task->host_tid);
	task->regs.rip = space->from_addr;
	tracee_set_regs(task->host_tid, &task->regs);
	space->from_reached = space->from_addr;
	space->from_addr = 0;
	space->leaves_out |= mappings_leave_out(task->host_tid);
	for (struct task *t = sup->tasks.first; t; t = t->next) {
		if (!t->native || !t->process || t->process->space != space)
			continue;
		t->native = false;
		t->filters_unseen = true;
		t->supervised->start_pending = true;
		if (t != task)
			tracee_resume(t->host_tid, PTRACE_INTERRUPT, 0);
	}
	await_others(sup, task);
}

/* The first stop of a task that ran natively until now. Its registers have been read. */
static void write_start(struct recording *r, struct task *task)
{
	struct bt_record_start rec = {.task = task->number};
	const struct bt_branch gap = {.kind = BT_BRANCH_GAP, .to = BT_GAP_START};

	task->supervised->start_pending = false;
	task->syscall_restarts = tracee_wants_restart(&task->regs);
	address_space_refresh(task->process->space, task->host_tid);
	task_branch(task, &gap, false);
	task_epoch(task);
	rec.point = task_point(task);
	RECORDING_EVENT(r, task->unit->number, START, &rec);
}

static void look_for_place(struct recording *r, struct task *task)
{
	struct address_space *space = task->process->space;

	space->from_missing = !start_place_insert(
		space, task->host_tid, start_place_resolve(space, task->host_tid, r->options.from));
	r->from_found |= !space->from_missing;
}

void recording_on_program(struct session *session, struct supervisor *sup, struct task *task)
{
	struct recording *r = recording_of(session);

	replay_log_program(&r->log, task);
	if (r->options.replayable)
		sup->backend.outputs = r->log.outputs.files;
	if (!r->options.from || r->from_reached)
		return;
	task->native = true;
	look_for_place(r, task);
}

/* A system call of a task that runs natively while the place of --from is looked for: libraries
 * come by mmap. */
static void on_native_syscall(struct recording *r, struct supervisor *sup, struct task *task)
{
	struct address_space *space = task->process->space;
	enum tracee_syscall_stop stop = tracee_syscall_stop(task->host_tid, &task->syscall);
	struct tracee_syscall left;

	if (stop == TRACEE_SYSCALL_NONE || tracee_get_regs(task->host_tid, &task->regs))
		return;
	left = (struct tracee_syscall){.nr = task->regs.orig_rax,
				       .compat = !tracee_is_in_64_bit(&task->regs)};
	if (stop == TRACEE_SYSCALL_ENTRY && detach_before_exec(sup, task))
		return;
	/* Without CAP_SYS_PTRACE the memory may be out of reach behind such a call, and the
	 * breakpoint would stay. All calls are watched then. */
	if (space->from_addr && stop == TRACEE_SYSCALL_ENTRY &&
	    map_syscall_changes_rights(&task->syscall))
		space->from_lifted = start_place_disarm(space, task->host_tid) ? task->host_tid : 0;
	if (space->from_lifted == task->host_tid && stop == TRACEE_SYSCALL_EXIT) {
		space->from_lifted = 0;
		if (!start_place_arm_again(space, task->host_tid)) {
			supervisor_note(sup, task,
					"its memory may not be looked at any more without "
					"CAP_SYS_PTRACE: the place of --from is not watched for");
			space->from_addr = 0;
		}
	}
	if (stop == TRACEE_SYSCALL_EXIT && space->from_missing && syscall_is(&left, SYS_mmap) &&
	    (left.compat || task->regs.rdx & PROT_EXEC)) {
		address_space_refresh(space, task->host_tid);
		look_for_place(r, task);
	}
	supervisor_resume_native(sup, task);
}

/* Whether the signal is the trap of a breakpoint at addr. The task's registers have been read. */
static bool is_trap_at(const struct task *task, const siginfo_t *info, uint64_t addr)
{
	return info->si_signo == SIGTRAP && info->si_code == SI_KERNEL && addr &&
	       task->regs.rip == addr + 1;
}

static void on_native_signal(struct recording *r, struct supervisor *sup, struct task *task)
{
	siginfo_t info;

	if (tracee_get_siginfo(task->host_tid, &info) ||
	    tracee_get_regs(task->host_tid, &task->regs))
		return;
	if (!is_trap_at(task, &info, task->process->space->from_addr)) {
		supervisor_signal_arrived(sup, task, &info);
		return;
	}
	from_reached(sup, task);
	r->from_reached = true;
	write_start(r, task);
	supervisor_make_ready(sup, task);
}

/* QUIRK(breakpoint-interrupt): a task that has executed the breakpoint is told of an interruption
 * before its SIGTRAP (the kernel looks for stops before signals, kernel/signal.c get_signal()), and
 * stands in the middle of the instruction that is there again. */
static bool trap_waits(const struct task *task)
{
	struct tracee_signals s;

	return task->supervised->start_pending && task->process->space->from_reached &&
	       task->regs.rip == task->process->space->from_reached + 1 &&
	       !tracee_signals(task->host_tid, &s) && s.pending >> (SIGTRAP - 1) & 1;
}

static void on_first_syscall(struct supervisor *sup, struct task *task)
{
	enum tracee_syscall_stop stop = tracee_syscall_stop(task->host_tid, &task->syscall);

	if (tracee_get_regs(task->host_tid, &task->regs))
		return;
	if (stop != TRACEE_SYSCALL_ENTRY || !detach_before_exec(sup, task))
		supervisor_interrupt_again(task);
}

/* A signal reaches a task after --from was reached by another, before it was interrupted. */
static void on_first_signal(struct recording *r, struct supervisor *sup, struct task *task)
{
	uint64_t place = task->process->space->from_reached;
	siginfo_t info;

	if (tracee_get_siginfo(task->host_tid, &info) ||
	    tracee_get_regs(task->host_tid, &task->regs))
		return;
	if (is_trap_at(task, &info, place)) {
		/* It came to the breakpoint at the same time as the other. */
		task->regs.rip = place;
		tracee_set_regs(task->host_tid, &task->regs);
		write_start(r, task);
		supervisor_make_ready(sup, task);
		return;
	}
	write_start(r, task);
	supervisor_signal_arrived(sup, task, &info);
}

void recording_on_native_stop(struct session *session, struct supervisor *sup, struct task *task,
			      const struct wait_event *ev)
{
	struct recording *r = recording_of(session);

	if (task->native && ev->type == WAIT_SIGNAL)
		on_native_signal(r, sup, task);
	else if (task->native)
		on_native_syscall(r, sup, task);
	else if (ev->type == WAIT_SIGNAL)
		on_first_signal(r, sup, task);
	else
		on_first_syscall(sup, task);
}

bool recording_on_late_start(struct session *session, struct supervisor *sup, struct task *task)
{
	(void)sup;
	if (trap_waits(task)) {
		tracee_resume(task->host_tid, PTRACE_CONT, 0);
		return false;
	}
	write_start(recording_of(session), task);
	return true;
}

/* An orphan's parent may have been native, with the breakpoint in the memory it left. */
void recording_on_orphan(struct session *session, struct supervisor *sup, struct task *task)
{
	struct address_space *space = task->process->space;

	if (!recording_of(session)->options.from)
		return;
	for (const struct task *other = sup->tasks.first; other; other = other->next)
		if (other->native && other->process && other->process->space->from_addr) {
			space->from_addr = other->process->space->from_addr;
			space->from_byte = other->process->space->from_byte;
			task->native = true;
			return;
		}
}
