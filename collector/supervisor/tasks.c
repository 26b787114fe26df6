/* SPDX-License-Identifier: MIT */
/* Tasks coming, becoming other programs, stopping and going. */
#include "collector/supervisor/supervisor_private.h"

#include <sched.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "collector/record/record_observer.h"
#include "collector/record/snapshot.h"
#include "collector/record/start_place.h"
#include "collector/supervisor/program.h"
#include "collector/task/last_words.h"
#include "collector/task/syscall_filter.h"
#include "collector/tracee/tracee.h"

static void write_task(struct supervisor *sup, struct task *task)
{
	struct bt_record_task rec = {
		.task = task->number,
		.parent = task->parent,
		.unit = task->unit->number,
		.space = task->process->space->number,
		.pid = (uint32_t)task->process->pid,
		.tid = (uint32_t)task->tid,
		.how = (uint8_t)task->how,
		.native = task->native,
	};

	task->recorded = true;
	SUPERVISOR_EVENT(sup, task->unit->number, TASK, &rec);
}

static void write_exit(struct supervisor *sup, struct task *task, enum bt_exit_kind kind,
		       int status, bool core)
{
	struct bt_record_exit rec = {
		.task = task->number,
		.point = task_point(task),
		.kind = (uint8_t)kind,
		.status = (uint32_t)status,
		.core = core,
		.last = task->process->tasks == 1,
		.regs = task->regs,
		.stepped = task->stepped,
	};

	if (task->exit_recorded || !task->recorded)
		return;
	task->exit_recorded = true;
	record_write_syscalls(sup->writer, task);
	snapshot_write_suppressed(sup, task);
	if (rec.last && (kind != BT_EXIT_STATUS || status))
		snapshot_write_last_words(sup, task);
	SUPERVISOR_EVENT(sup, task->unit->number, EXIT, &rec);
}

static bool begin_ring(struct supervisor *sup, struct task *task)
{
	struct ring_state start = {.space = task->process->space->number,
				   .epoch = task->process->space->epoch};

	if (!sup->backend.ops->tick_classes)
		start.tick = BT_TICKS_UNKNOWN;
	task->history = sup->options.history;
	branch_ring_init(&task->ring, task->history, &start);
	stop_point_begin(task, sup->options.stop_points, sup->options.stop_point_count);
	return !sup->backend.ops->task_init(&sup->backend, task);
}

static void initial_stopped(struct supervisor *sup, pid_t by, int signo)
{
	if (sup->stopped_by)
		return;
	sup->stopped_by = by;
	if (!sup->notify)
		return;
	trace_writer_flush(sup->writer); /* the user may look at it now */
	sup->notify(sup->notify_arg, sup, signo);
}

/* The oldest of its process that has not ended: one for all, as another may still tell of a stop
 * that is over. */
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

/* Nobody traces it: its parent, which is us, is told as parents are. Its end comes as an event. */
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

void supervisor_forget(struct supervisor *sup, struct task *task)
{
	task_set_state(task, TASK_EXITING);
	if (task->unit)
		supervisor_give_up_turn(sup, task);
	if (task->tid == sup->stopped_by)
		initial_went_on(sup);
	sup->backend.ops->task_release(&sup->backend, task);
	supervisor_discount_history(sup, task);
	record_forget(task);
	task_remove(&sup->tasks, task);
}

/* The signal that it has stopped for, and that is still to be delivered; 0: none. */
static int held_signal(const struct supervisor *sup, const struct task *task)
{
	return task->pending_signal ? task->pending_signal
				    : supervisor_event_signal(sup, task->tid);
}

void supervisor_detach(struct supervisor *sup, struct task *task, const char *reason)
{
	struct bt_record_detach rec = {
		.task = task->number, .point = task_point(task), .reason = bt_str(reason)};
	int signo = held_signal(sup, task);

	SUPERVISOR_EVENT(sup, task->unit->number, DETACH, &rec);
	task->exit_recorded = true;
	sup->backend.ops->leave(&sup->backend, task);
	if (task->process->tasks == 1)
		limits_restore(&task->process->limits, task->process->pid);
	affinity_leave(&sup->affinity, task->tid);
	tracee_resume(task->tid, PTRACE_DETACH,
		      signo); /* behind calls that were made in it (ops->leave) its siginfo is lost,
				 not the signal */
	if (supervisor_event_signal(sup, task->tid))
		supervisor_drop_event(sup, task->tid);
	sup->initial_left |= task->process->initial;
	supervisor_forget(sup, task);
}

int supervisor_adopt(struct supervisor *sup, pid_t pid, bool trap_ignored, struct bt_error *err)
{
	struct task *task = task_add(&sup->tasks, pid);
	struct unit *unit = unit_new(&sup->tasks);
	struct address_space *space =
		unit ? address_space_new(&sup->observer, ++sup->tasks.next_space, unit->number,
					 NULL)
		     : NULL;
	struct process *process = space ? process_new(pid, space) : NULL;

	if (!task || !process)
		return bt_no_memory(err, NULL);
	task_join_unit(task, unit);
	task_join_process(task, process);
	process->initial = true;
	process->trap_ignored = trap_ignored;
	process->trap_known = true;
	task->how = BT_TASK_INITIAL;
	task->first_stop_seen = true;
	task_set_state(task, TASK_NEW);
	sup->initial_pid = pid;
	if (!begin_ring(sup, task))
		return bt_no_memory(err, NULL);
	affinity_join(&sup->affinity, pid, NULL);
	return 0;
}

/* The flags with which the task makes another. False when it has none. Its call may not have been
 * seen, as it runs natively. */
static bool clone_flags(const struct task *parent, uint64_t *flags)
{
	const struct tracee_syscall call = {.nr = parent->regs.orig_rax,
					    .compat = parent->syscall.compat ||
						      !tracee_is_in_64_bit(&parent->regs)};

	*flags = call.compat ? (uint32_t)parent->regs.rbx : parent->regs.rdi;
	if (syscall_is(&call, SYS_clone3) &&
	    tracee_read(parent->tid, *flags, flags, sizeof *flags) != sizeof *flags)
		*flags = 0;
	return syscall_is(&call, SYS_clone) || syscall_is(&call, SYS_clone3);
}

static enum bt_task_how how_of(const struct task *parent, int trace_event)
{
	uint64_t flags;

	if (!clone_flags(parent, &flags))
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
static bool settle(struct supervisor *sup, struct task *parent, struct task *child)
{
	bool shares = child->how != BT_TASK_FORK;
	uint64_t flags;
	struct unit *unit = shares ? parent->unit : unit_new(&sup->tasks);
	struct address_space *space;

	if (!unit)
		return false;
	child->parent = parent->number;
	child->parent_tid = parent->tid;
	child->native = parent->native;
	child->filter = syscall_filter_share(parent->filter);
	child->filters_unseen = parent->filters_unseen;
	if (child->how == BT_TASK_THREAD) {
		task_join_process(child, parent->process);
	} else {
		struct process *process;

		space = shares ? address_space_get(parent->process->space)
			       : address_space_new(&sup->observer, ++sup->tasks.next_space,
						   unit->number, parent->process->space);
		process = space ? process_new(child->tid, space) : NULL;
		if (!process)
			return false;
		/* The parent's other threads may be changing mappings, of which we have not heard.
		 */
		space->stale |= !shares && parent->unit->tasks > 1;
		process->trap_ignored = parent->process->trap_ignored;
		process->trap_known = parent->process->trap_known;
		process->limits = parent->process->limits;
		if (clone_flags(parent, &flags)) {
			if (!shares && flags & CLONE_FILES)
				process->files_shared = parent->process->files_shared = true;
			if (flags & CLONE_SIGHAND) /* what one sets holds for the other */
				process->trap_known = parent->process->trap_known = false;
		}
		task_join_process(child, process);
	}
	task_join_unit(child, unit);
	return begin_ring(sup, child);
}

static const struct task *parent_of(const struct supervisor *sup, const struct task *child)
{
	const struct task *task = task_find(&sup->tasks, child->parent_tid);

	return task && task->number == child->parent ? task : NULL;
}

static void start_new(struct supervisor *sup, struct task *child)
{
	struct address_space *space = child->process->space;

	write_task(sup, child);
	affinity_join(&sup->affinity, child->tid, parent_of(sup, child));
	if (tracee_get_regs(child->tid, &child->regs))
		return;
	if (space->leaves_out && child->how == BT_TASK_FORK)
		address_space_forget(space, 0, UINT64_MAX);
	if (space->stale)
		address_space_refresh(space, child->tid);
	space->stale = false;
	supervisor_write_start(sup, child); /* --from was reached before its first stop was seen */
	supervisor_make_ready(sup, child);
}

void supervisor_on_new_task(struct supervisor *sup, struct task *task, const struct wait_event *ev)
{
	unsigned long tid;
	struct task *child;

	if (tracee_event_message(task->tid, &tid) || !wait_event_holds(ev))
		return;
	tracee_get_regs(task->tid, &task->regs);
	child = task_find(&sup->tasks, (pid_t)tid);
	if (!child && tracee_thread_group((pid_t)tid) > 0) /* else it is dead and gone already */
		child = task_add(&sup->tasks, (pid_t)tid);
	if (child && !child->process) {
		child->how = how_of(task, ev->trace_event);
		if (!settle(sup, task, child))
			supervisor_note(sup, task, "out of memory: process %lu is not recorded",
					tid);
		else if (child->first_stop_seen)
			start_new(sup, child);
	}
	if (task->start_pending) {
		supervisor_interrupt_again(task);
		return;
	}
	if (task->in_syscall && sup->backend.ops->forked)
		sup->backend.ops->forked(task);
	supervisor_make_ready(sup, task);
	if (task->in_syscall) /* others may have waited for that */
		supervisor_give_up_turn(sup, task);
}

/* Who has called the execve that the event tells of: the kernel says it as long as the task is
 * there. Killed since, another thread of the process that was in one, if any was. */
static struct task *caller_of(const struct supervisor *sup, struct task *leader,
			      const struct wait_event *ev)
{
	unsigned long former;

	if (!tracee_event_message(leader->tid, &former) && wait_event_holds(ev))
		return task_find(&sup->tasks, (pid_t)former);
	for (struct task *task = leader->process->members; task; task = task->member_next)
		if (task != leader && task->state == TASK_IN_SYSCALL &&
		    (syscall_is(&task->syscall, SYS_execve) ||
		     syscall_is(&task->syscall, SYS_execveat)))
			return task;
	return leader;
}

/* execve by a thread that is not the leader: the others are gone, and it goes on under the leader's
 * id. */
static struct task *take_over_leader(struct supervisor *sup, struct task *leader,
				     struct task *caller)
{
	pid_t pid = leader->tid;

	if (!caller || caller == leader)
		return leader;
	write_exit(sup, leader, BT_EXIT_UNKNOWN, 0, false);
	supervisor_forget(sup, leader);
	task_rename(&sup->tasks, caller, pid);
	return caller;
}

void supervisor_on_exec(struct supervisor *sup, struct task *task, const struct wait_event *ev)
{
	struct unit *unit;
	struct address_space *space;
	struct process *process;
	struct bt_record_exec rec = {0};
	bool initial = task->process->initial;
	char path[4096];
	struct buf argv = {0};

	task = take_over_leader(sup, task, caller_of(sup, task, ev));
	if (tracee_get_regs(task->tid, &task->regs))
		return;
	if (task->state != TASK_NEW) {
		if (!task->native)
			sup->backend.ops->execed(&sup->backend, task);
		task->native = false;
		supervisor_give_up_turn(sup, task);
		unit = unit_new(&sup->tasks);
		space = unit ? address_space_new(&sup->observer, ++sup->tasks.next_space,
						 unit->number, NULL)
			     : NULL;
		process = space ? process_new(task->tid, space) : NULL;
		if (!process) {
			affinity_leave(&sup->affinity, task->tid);
			tracee_resume(task->tid, PTRACE_DETACH, 0);
			return;
		}
		process->initial = initial;
		process->limits = task->process->limits;
		process->snapshot_wanted = task->process->snapshot_wanted;
		process->request_mark = task->process->request_mark;
		process->last_words = task->process->last_words;
		task->process->last_words = NULL;
		task_leave_unit(task);
		task_leave_process(task);
		task_join_unit(task, unit);
		task_join_process(task, process);
	} else {
		sup->started = true;
		write_task(sup, task);
	}
	task->depth = 0;
	address_space_refresh(task->process->space, task->tid);
	task_epoch(task);
	program_of(task->tid, path, sizeof path, &argv);
	rec.task = task->number;
	rec.space = task->process->space->number;
	rec.path = bt_str(path);
	rec.argv = slice_of(argv.data, argv.len);
	rec.tid = (uint32_t)task->tid;
	SUPERVISOR_EVENT(sup, task->unit->number, EXEC, &rec);
	buf_release(&argv);
	/* Out of the execve: for the first one nobody saw the entry, but its exit stop comes all
	 * the same. */
	task->in_syscall = true;
	task->syscall = (struct tracee_syscall){.nr = SYS_execve};
	supervisor_resume_task(sup, task);
}

void supervisor_on_exiting(struct supervisor *sup, struct task *task, const struct wait_event *ev)
{
	struct bt_regs regs;
	unsigned long status;
	bool by_signal;

	/* What was read is of this stop if the task is still there. */
	if (!tracee_event_message(task->tid, &status) && !tracee_get_regs(task->tid, &regs) &&
	    wait_event_holds(ev) && task->recorded) {
		if (task->native)
			task->regs = regs;
		else
			sup->backend.ops->exiting(&sup->backend, task, &regs);
		record_write_syscalls(sup->writer, task);
		supervisor_follow_mappings(sup, task);
		by_signal = WIFSIGNALED((int)status);
		/* Killed by a signal that was never delivered (SIGKILL, which ends all of them, or
		 * a filter's): this is the last look. */
		if (by_signal && !task->process->fatal_kept &&
		    (task->process->pid == task->tid || WTERMSIG((int)status) == SIGKILL)) {
			task->process->fatal_kept = true;
			snapshot_take(sup, task, BT_SNAPSHOT_FATAL, 0, NULL);
		}
		write_exit(sup, task, by_signal ? BT_EXIT_SIGNAL : BT_EXIT_STATUS,
			   by_signal ? WTERMSIG((int)status) : WEXITSTATUS((int)status),
			   by_signal && WCOREDUMP((int)status));
	}
	task_set_state(task, TASK_EXITING);
	if (wait_event_holds(ev)) /* else its tid may be another program's, whose stop is still to
				     be served */
		tracee_resume(task->tid, PTRACE_CONT, 0);
	if (task->unit)
		supervisor_give_up_turn(sup, task);
}

void supervisor_note_outcome(struct supervisor *sup, const struct wait_event *ev)
{
	bool by_signal = ev->type == WAIT_KILLED;

	sup->outcome =
		(struct supervisor_outcome){.ended = true,
					    .kind = by_signal ? BT_EXIT_SIGNAL : BT_EXIT_STATUS,
					    .status = ev->value,
					    .core = by_signal && WCOREDUMP(ev->status)};
	sup->initial_pid = 0;
}

void supervisor_on_gone(struct supervisor *sup, struct task *task, const struct wait_event *ev)
{
	bool by_signal = ev->type == WAIT_KILLED;

	if (task->process)
		write_exit(sup, task, by_signal ? BT_EXIT_SIGNAL : BT_EXIT_STATUS, ev->value,
			   by_signal && WCOREDUMP(ev->status));
	supervisor_forget(sup, task);
}

void supervisor_release_front(struct supervisor *sup)
{
	if (sup->outcome.ended && sup->notify && sup->tasks.first) {
		sup->notify(sup->notify_arg, sup, 0);
		sup->notify = NULL;
	}
}

void supervisor_on_group_stop(struct supervisor *sup, struct task *task,
			      const struct wait_event *ev)
{
	if (task->state == TASK_RUNNING && !sup->backend.ops->native)
		task->mid_run = true;
	task_set_state(task, TASK_GROUP_STOPPED);
	task->stopped_in_syscall |= task->in_syscall;
	if (task->mid_run && sup->backend.ops->rest)
		sup->backend.ops->rest(&sup->backend, task);
	if (tracee_resume(task->tid, PTRACE_LISTEN, 0))
		supervisor_look_after(sup, task);
	if (task->unit)
		supervisor_give_up_turn(sup, task);
	if (task->process && task->process->initial && tells_of_stops(task))
		initial_stopped(sup, task->tid, ev->value);
}

void supervisor_on_interrupt(struct supervisor *sup, struct task *task, const struct wait_event *ev)
{
	if (!task->first_stop_seen) {
		task->first_stop_seen = true;
		if (task->process)
			start_new(sup, task);
		return;
	}
	if (!task->process)
		return;
	if (task->tid == sup->stopped_by)
		initial_went_on(sup);
	if (task->state == TASK_RUNNING) {
		supervisor_on_backend_stop(sup, task, ev);
		return;
	}
	if (!task->mid_run) {
		tracee_get_regs(task->tid, &task->regs);
		if (supervisor_from_trap_waits(task)) {
			tracee_resume(task->tid, PTRACE_CONT, 0);
			return;
		}
		supervisor_write_start(sup, task);
	}
	supervisor_make_ready(sup, task);
}

/* An orphan's parent may have been running natively, with the breakpoint of --from in the memory it
 * left. */
static void inherit_from(const struct supervisor *sup, struct task *task,
			 struct address_space *space)
{
	if (!sup->options.from)
		return;
	for (const struct task *other = sup->tasks.first; other; other = other->next)
		if (other->native && other->process && other->process->space->from_addr) {
			space->from_addr = other->process->space->from_addr;
			space->from_byte = other->process->space->from_byte;
			task->native = true;
			return;
		}
}

/* Whether the task could be brought to a stop at which nothing of ours is on its way to it. */
static bool can_leave(struct supervisor *sup, struct task *task)
{
	if (!task->recorded || task->state == TASK_EXITING)
		return false;
	if (task->native)
		return !supervisor_has_event(sup, task->tid) &&
		       !tracee_resume(task->tid, PTRACE_INTERRUPT, 0) &&
		       supervisor_await_stop(sup, task->tid) &&
		       supervisor_event_type(sup, task->tid) == WAIT_INTERRUPT;
	return supervisor_halt(sup, task) && !task->mid_run && task->state != TASK_RUNNING;
}

/* Those that can be left: all, or (reason NULL) only those of processes that are leaving. */
static void detach_where(struct supervisor *sup, const char *reason)
{
	struct task *next;

	supervisor_freeze(sup);
	/* Those with signals come last: calls that are to be made in the process are made in
	 * others. */
	for (int signals = 0; signals < 2; signals++)
		for (struct task *task = sup->tasks.first; task; task = next) {
			next = task->next;
			if ((!reason && !(task->process && task->process->leaving)) ||
			    !can_leave(sup, task) || (held_signal(sup, task) && !signals))
				continue;
			if (task->native && task->process->space->from_addr)
				(void)from_disarm(task->process->space, task->tid);
			supervisor_detach(sup, task, reason ? reason : task->process->leaving);
		}
	supervisor_thaw(sup);
}

void supervisor_detach_all(struct supervisor *sup, const char *reason)
{
	detach_where(sup, reason);
}

static bool any_leaves(const struct supervisor *sup)
{
	for (const struct task *task = sup->tasks.first; task; task = task->next)
		if (task->process && task->process->leaving)
			return true;
	return false;
}

void supervisor_detach_doomed(struct supervisor *sup)
{
	enum {
		PAUSE = 16, /* who waits uninterruptibly (a vfork's parent) is not to hold up the
			       others for more than a part of the time */
	};
	uint64_t began = bt_clock_now(sup->clock);

	if (began < sup->doomed_next || !any_leaves(sup))
		return;
	detach_where(sup, NULL);
	sup->doomed_next = bt_clock_now(sup->clock) + PAUSE * (bt_clock_now(sup->clock) - began);
}

/* A task whose parent was killed before it could report it. Its thread group may still be known. */
static void adopt_orphan(struct supervisor *sup, struct task *task)
{
	pid_t group = tracee_thread_group(task->tid);
	struct task *sibling = sup->tasks.first;
	struct unit *unit;
	struct address_space *space;
	struct process *process;

	while (sibling && (!sibling->process || sibling->process->pid != group))
		sibling = sibling->next;
	if (sibling) {
		task->how = BT_TASK_THREAD;
		if (settle(sup, sibling, task))
			start_new(sup, task);
		return;
	}
	task->how = BT_TASK_FORK;
	unit = unit_new(&sup->tasks);
	space = unit ? address_space_new(&sup->observer, ++sup->tasks.next_space, unit->number,
					 NULL)
		     : NULL;
	process = space ? process_new(group, space) : NULL;
	if (!process)
		return;
	task_join_unit(task, unit);
	task_join_process(task, process);
	inherit_from(sup, task, space);
	address_space_refresh(space, task->tid);
	if (begin_ring(sup, task))
		start_new(sup, task);
}

void supervisor_adopt_orphans(struct supervisor *sup)
{
	enum {
		PATIENCE =
			3, /* ticks; the parent's event comes with the child's stop or not at all */
	};

	for (struct task *task = sup->tasks.first; task; task = task->next)
		if (task->first_stop_seen && !task->process && ++task->orphan_ticks == PATIENCE)
			adopt_orphan(sup, task);
}
