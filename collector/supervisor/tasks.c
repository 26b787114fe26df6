/* SPDX-License-Identifier: MIT */
/* Tasks coming, becoming other programs, and going.
 *
 * A new task is known from two events, its own first stop and its parent's, in either order. At the
 * parent's, place_task() gives it process, space and unit; when both have come,
 * supervisor_start_new() lets it run. If the parent was killed before its event, the task is
 * adopted after some ticks (supervisor_adopt_orphans()).
 *
 * At an execve the kernel ends the other threads and gives the caller the leader's id: the leader's
 * task is forgotten and the caller takes its tid. It then moves to a new process, unit and space.
 *
 * A task's end comes twice: at its exit event registers and memory can still be read
 * (supervisor_on_exiting()); at its last status it is freed (supervisor_on_gone()). A killed task
 * may skip the first. The session is told once. */
#include "collector/supervisor/supervisor_private.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "collector/task/syscall_filter.h"
#include "collector/tracee/tracee.h"

/* Tells the session of a task's end, once, and only if it knows of its start. */
static void tell_task_end(struct supervisor *sup, struct task *task, const struct task_end *end)
{
	if (task->supervised->ended || !task->supervised->started)
		return;
	task->supervised->ended = true;
	sup->session->ops->on_exit(sup->session, sup, task, end);
}

static void tell_start(struct supervisor *sup, struct task *task)
{
	task->supervised->started = true;
	sup->session->ops->on_start(sup->session, sup, task);
}

/* Prepares session and backend for the task. False without memory. */
static bool begin_task(struct supervisor *sup, struct task *task)
{
	return sup->session->ops->on_new(sup->session, sup, task) &&
	       !sup->backend.ops->task_init(&sup->backend, task);
}

/* Makes a process, and prepares the session for it. before: as in on_new_process(). NULL without
 * memory. */
static struct process *begin_process(struct supervisor *sup, pid_t pid, struct address_space *space,
				     const struct process *before)
{
	struct process *process = space ? process_new(pid, space) : NULL;

	if (!process || sup->session->ops->on_new_process(sup->session, sup, process, before))
		return process;
	free(process);
	return NULL;
}

/* Makes a process with a unit of its own and an empty space. before: as in on_new_process(). NULL
 * without memory: then an empty unit may stay in the table. */
static struct process *make_process(struct supervisor *sup, pid_t pid, const struct process *before,
				    struct unit **unit)
{
	struct address_space *space;

	*unit = supervised_unit(&sup->tasks);
	if (!*unit)
		return NULL;
	space = address_space_new(sup->observer, ++sup->tasks.next_space, (*unit)->number, NULL);
	if (space && !sup->backend.ops->native)
		space->finder = sup->session->finder;
	return begin_process(sup, pid, space, before);
}

void supervisor_leave_unit(struct task *task)
{
	if (task->unit && task->unit->turns->dumps == task)
		task->unit->turns->dumps = NULL;
	task_leave_unit(task);
}

/* Takes the task out of its process, if it is in one. */
static void leave_process(struct supervisor *sup, struct task *task)
{
	struct process *process = task->process;

	if (process && process->tasks == 1)
		sup->session->ops->on_forget_process(sup->session, sup, process);
	task_leave_process(task);
}

void supervisor_forget(struct supervisor *sup, struct task *task)
{
	task_set_state(task, TASK_EXITING);
	if (task->unit)
		supervisor_give_up_turn(sup, task);
	supervisor_stop_is_over(sup, task);
	sup->backend.ops->task_release(&sup->backend, task);
	sup->session->ops->on_forget(sup->session, sup, task);
	supervisor_leave_unit(task);
	leave_process(sup, task);
	task_remove(&sup->tasks, task);
}

int supervisor_adopt(struct supervisor *sup, pid_t pid, bool trap_ignored, struct bt_error *err)
{
	struct task *task = supervised_task(&sup->tasks, pid);
	struct unit *unit;
	struct process *process = make_process(sup, pid, NULL, &unit);

	if (!task || !process)
		return bt_no_memory(err, NULL);
	task_join_unit(task, unit);
	task_join_process(task, process);
	process->initial = true;
	process->trap_ignored = trap_ignored;
	process->trap_known = true;
	task->how = BT_TASK_INITIAL;
	task->supervised->first_stop_seen = true;
	task_set_state(task, TASK_NEW);
	sup->initial_pid = pid;
	if (!begin_task(sup, task))
		return bt_no_memory(err, NULL);
	affinity_join(&sup->affinity, pid, NULL);
	return 0;
}

/* The flags of the clone by which the task makes another. False for fork and vfork. They are read
 * from its registers: a native task's call was not seen. */
static bool parent_clone_flags(const struct task *parent, uint64_t *flags)
{
	const struct tracee_syscall call = {.nr = parent->regs.orig_rax,
					    .compat = parent->syscall.compat ||
						      !tracee_is_in_64_bit(&parent->regs)};

	*flags = call.compat ? (uint32_t)parent->regs.rbx : parent->regs.rdi;
	if (syscall_is(&call, SYS_clone3) &&
	    tracee_read(parent->host_tid, *flags, flags, sizeof *flags) != sizeof *flags)
		*flags = 0;
	return syscall_is(&call, SYS_clone) || syscall_is(&call, SYS_clone3);
}

static enum bt_task_how how_of(const struct task *parent, int trace_event)
{
	uint64_t flags;

	if (!parent_clone_flags(parent, &flags))
		return trace_event == PTRACE_EVENT_FORK    ? BT_TASK_FORK
		       : trace_event == PTRACE_EVENT_VFORK ? BT_TASK_VFORK
							   : BT_TASK_THREAD;
	if (flags & CLONE_THREAD)
		return BT_TASK_THREAD;
	if (!(flags & CLONE_VM))
		return BT_TASK_FORK;
	return flags & CLONE_VFORK ? BT_TASK_VFORK : BT_TASK_CLONE;
}

/* Gives a new task its process, space and unit. False without memory. */
static bool place_task(struct supervisor *sup, struct task *parent, struct task *child)
{
	bool shares = child->how != BT_TASK_FORK;
	uint64_t flags;
	struct unit *unit = shares ? parent->unit : supervised_unit(&sup->tasks);
	struct address_space *space;

	if (!unit)
		return false;
	child->parent = parent->number;
	child->supervised->parent_tid = parent->host_tid;
	child->native = parent->native;
	child->filter = syscall_filter_share(parent->filter);
	child->filters_unseen = parent->filters_unseen;
	if (child->how == BT_TASK_THREAD) {
		task_join_process(child, parent->process);
	} else {
		struct process *process;

		space = shares ? address_space_get(parent->process->space)
			       : address_space_new(sup->observer, ++sup->tasks.next_space,
						   unit->number, parent->process->space);
		process = begin_process(sup, child->host_tid, space, NULL);
		if (!process)
			return false;
		/* The parent's other threads may be changing mappings just now. */
		space->stale |= !shares && parent->unit->tasks > 1;
		process->trap_ignored = parent->process->trap_ignored;
		process->trap_known = parent->process->trap_known;
		process->limits = parent->process->limits;
		if (parent_clone_flags(parent, &flags)) {
			if (!shares && flags & CLONE_FILES)
				process->files_shared = parent->process->files_shared = true;
			if (flags & CLONE_SIGHAND) /* both have one table of dispositions */
				process->trap_known = parent->process->trap_known = false;
		}
		task_join_process(child, process);
	}
	task_join_unit(child, unit);
	return begin_task(sup, child);
}

static const struct task *parent_of(const struct supervisor *sup, const struct task *child)
{
	const struct task *task = task_find(&sup->tasks, child->supervised->parent_tid);

	return task && task->number == child->parent ? task : NULL;
}

void supervisor_start_new(struct supervisor *sup, struct task *child)
{
	struct address_space *space = child->process->space;

	tell_start(sup, child);
	affinity_join(&sup->affinity, child->host_tid, parent_of(sup, child));
	if (tracee_get_regs(child->host_tid, &child->regs))
		return;
	if (space->leaves_out && child->how == BT_TASK_FORK)
		address_space_forget(space, 0, UINT64_MAX);
	if (space->stale)
		address_space_refresh(space, child->host_tid);
	space->stale = false;
	if (supervisor_start_late(sup, child))
		supervisor_make_ready(sup, child);
}

void supervisor_on_new_task(struct supervisor *sup, struct task *task, const struct wait_event *ev)
{
	unsigned long tid;
	struct task *child;

	if (tracee_event_message(task->host_tid, &tid) || !wait_event_holds(ev))
		return;
	tracee_get_regs(task->host_tid, &task->regs);
	child = task_find(&sup->tasks, (pid_t)tid);
	if (!child && tracee_thread_group((pid_t)tid) > 0) /* else it is dead and gone already */
		child = supervised_task(&sup->tasks, (pid_t)tid);
	if (child && !child->process) {
		child->how = how_of(task, ev->trace_event);
		if (!place_task(sup, task, child))
			supervisor_note(sup, task, "out of memory: process %lu is not recorded",
					tid);
		else if (child->supervised->first_stop_seen)
			supervisor_start_new(sup, child);
	}
	if (task->supervised->start_pending) {
		supervisor_interrupt_again(task);
		return;
	}
	if (task->in_syscall && sup->backend.ops->forked)
		sup->backend.ops->forked(task);
	supervisor_make_ready(sup, task);
	if (task->in_syscall) /* others may have waited for that */
		supervisor_give_up_turn(sup, task);
}

/* The task that called the execve of this event. The kernel says it as long as the task is there.
 * If it was killed since, it is taken to be another thread of the process that was in an execve. */
static struct task *caller_of(const struct supervisor *sup, struct task *leader,
			      const struct wait_event *ev)
{
	unsigned long former;

	if (!tracee_event_message(leader->host_tid, &former) && wait_event_holds(ev))
		return task_find(&sup->tasks, (pid_t)former);
	for (struct task *task = leader->process->members; task; task = task->member_next)
		if (task != leader && task->state == TASK_IN_SYSCALL &&
		    (syscall_is(&task->syscall, SYS_execve) ||
		     syscall_is(&task->syscall, SYS_execveat)))
			return task;
	return leader;
}

/* After an execve by a thread that is not the leader the others are gone, and it goes on under the
 * leader's id. */
static struct task *take_over_leader(struct supervisor *sup, struct task *leader,
				     struct task *caller)
{
	pid_t pid = leader->host_tid;

	if (!caller || caller == leader)
		return leader;
	tell_task_end(sup, leader, &(struct task_end){.kind = BT_EXIT_UNKNOWN});
	supervisor_forget(sup, leader);
	task_rename(&sup->tasks, caller, pid);
	return caller;
}

/* Moves the task, which runs another program now, to a new process and unit. False without memory:
 * nothing has changed. */
static bool move_to_new_process(struct supervisor *sup, struct task *task)
{
	struct process *old = task->process;
	struct unit *unit;
	struct process *process = make_process(sup, task->host_tid, old, &unit);

	if (!process)
		return false;
	process->initial = old->initial;
	process->limits = old->limits;
	process->stop_wanted = old->stop_wanted;
	process->last_words = old->last_words;
	old->last_words = NULL;
	supervisor_leave_unit(task);
	leave_process(sup, task);
	task_join_unit(task, unit);
	task_join_process(task, process);
	return true;
}

void supervisor_on_exec(struct supervisor *sup, struct task *task, const struct wait_event *ev)
{
	task = take_over_leader(sup, task, caller_of(sup, task, ev));
	if (tracee_get_regs(task->host_tid, &task->regs))
		return;
	if (task->state != TASK_NEW) {
		if (!task->native)
			sup->backend.ops->execed(&sup->backend, task);
		task->native = false;
		supervisor_give_up_turn(sup, task);
		if (!move_to_new_process(sup, task)) {
			affinity_leave(&sup->affinity, task->host_tid);
			tracee_resume(task->host_tid, PTRACE_DETACH, 0);
			return;
		}
	} else {
		sup->started = true;
		tell_start(sup, task);
	}
	task->depth = 0;
	address_space_refresh(task->process->space, task->host_tid);
	task_epoch(task);
	sup->session->ops->on_exec(sup->session, sup, task);
	/* The exit of the execve comes next, also for the first one, whose entry was not seen. */
	task->in_syscall = true;
	task->syscall = (struct tracee_syscall){.nr = SYS_execve};
	supervisor_resume_task(sup, task);
}

/* A task's end by its wait status. */
static struct task_end status_end(int status)
{
	bool by_signal = WIFSIGNALED(status);

	return (struct task_end){.kind = by_signal ? BT_EXIT_SIGNAL : BT_EXIT_STATUS,
				 .status = by_signal ? WTERMSIG(status) : WEXITSTATUS(status),
				 .core = by_signal && WCOREDUMP(status)};
}

void supervisor_on_exiting(struct supervisor *sup, struct task *task, const struct wait_event *ev)
{
	struct bt_regs regs;
	struct task_end end;
	unsigned long status;

	/* Status and registers are of this stop only if the task is still at it. */
	if (!tracee_event_message(task->host_tid, &status) &&
	    !tracee_get_regs(task->host_tid, &regs) && wait_event_holds(ev) &&
	    task->supervised->started) {
		if (task->native)
			task->regs = regs;
		else
			sup->backend.ops->exiting(&sup->backend, task, &regs);
		sup->session->ops->on_stop(sup->session, sup, task, false);
		supervisor_follow_mappings(sup, task);
		end = status_end((int)status);
		end.last_look = true;
		tell_task_end(sup, task, &end);
	}
	task_set_state(task, TASK_EXITING);
	if (wait_event_holds(ev)) /* else the tid may be of another program, whose stop is still to
				     be served */
		tracee_resume(task->host_tid, PTRACE_CONT, 0);
	if (task->unit)
		supervisor_give_up_turn(sup, task);
}

void supervisor_note_outcome(struct supervisor *sup, const struct wait_event *ev)
{
	struct task_end end = status_end(ev->status);

	sup->outcome = (struct supervisor_outcome){
		.ended = true, .kind = end.kind, .status = end.status, .core = end.core};
	sup->initial_pid = 0;
}

void supervisor_on_gone(struct supervisor *sup, struct task *task, const struct wait_event *ev)
{
	struct task_end end = status_end(ev->status);

	if (task->process)
		tell_task_end(sup, task, &end);
	supervisor_forget(sup, task);
}

void supervisor_release_front(struct supervisor *sup)
{
	if (sup->outcome.ended && sup->notify && sup->tasks.first) {
		sup->notify(sup->notify_arg, sup, 0);
		sup->notify = NULL;
	}
}

/* Adopts a task whose parent was killed before its event came. Its thread group may be known. */
static void adopt_orphan(struct supervisor *sup, struct task *task)
{
	pid_t group = tracee_thread_group(task->host_tid);
	struct task *sibling = sup->tasks.first;
	struct unit *unit;
	struct process *process;

	while (sibling && (!sibling->process || sibling->process->host_pid != group))
		sibling = sibling->next;
	if (sibling) {
		task->how = BT_TASK_THREAD;
		if (place_task(sup, sibling, task))
			supervisor_start_new(sup, task);
		return;
	}
	task->how = BT_TASK_FORK;
	process = make_process(sup, group, NULL, &unit);
	if (!process)
		return;
	task_join_unit(task, unit);
	task_join_process(task, process);
	if (sup->session->ops->on_orphan)
		sup->session->ops->on_orphan(sup->session, sup, task);
	address_space_refresh(process->space, task->host_tid);
	if (begin_task(sup, task))
		supervisor_start_new(sup, task);
}

void supervisor_adopt_orphans(struct supervisor *sup)
{
	enum {
		PATIENCE =
			3, /* ticks; the parent's event comes with the child's stop or not at all */
	};

	for (struct task *task = sup->tasks.first; task; task = task->next)
		if (task->supervised->first_stop_seen && !task->process &&
		    ++task->supervised->orphan_ticks == PATIENCE)
			adopt_orphan(sup, task);
}
