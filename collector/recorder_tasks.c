/* SPDX-License-Identifier: MIT */
/* Tasks coming, becoming other programs, stopping and going. */
#include "collector/recorder_private.h"

#include <sched.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "collector/from.h"
#include "collector/program.h"
#include "collector/record_observer.h"
#include "collector/snapshot.h"
#include "collector/task/last_words.h"
#include "collector/task/syscall_filter.h"
#include "collector/tracee/tracee.h"

static void write_task(struct recorder *r, struct task *task)
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
	RECORDER_EVENT(r, task->unit->number, TASK, &rec);
}

static void write_exit(struct recorder *r, struct task *task, enum bt_exit_kind kind, int status,
		       bool core)
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
	record_write_syscalls(r->writer, task);
	snapshot_write_suppressed(r, task);
	if (rec.last && (kind != BT_EXIT_STATUS || status))
		snapshot_write_last_words(r, task);
	RECORDER_EVENT(r, task->unit->number, EXIT, &rec);
}

static bool begin_ring(struct recorder *r, struct task *task)
{
	struct ring_state start = {.space = task->process->space->number,
				   .epoch = task->process->space->epoch};

	if (!r->backend.ops->tick_classes)
		start.tick = BT_TICKS_UNKNOWN;
	task->history = r->options.history;
	branch_ring_init(&task->ring, task->history, &start);
	stop_point_begin(task, r->options.stop_points, r->options.stop_point_count);
	return !r->backend.ops->task_init(&r->backend, task);
}

static void initial_stopped(struct recorder *r, pid_t by, int signo)
{
	if (r->stopped_by)
		return;
	r->stopped_by = by;
	if (!r->notify)
		return;
	trace_writer_flush(r->writer); /* the user may look at it now */
	r->notify(r->notify_arg, r, signo);
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

static void initial_went_on(struct recorder *r)
{
	r->stopped_by = 0;
	if (r->notify)
		r->notify(r->notify_arg, r, SIGCONT);
}

/* Nobody traces it: its parent, which is us, is told as parents are. Its end comes as an event. */
void recorder_watch_left(struct recorder *r)
{
	siginfo_t info = {0};

	while (r->initial_left && r->initial_pid &&
	       !waitid(P_PID, (id_t)r->initial_pid, &info, WSTOPPED | WCONTINUED | WNOHANG) &&
	       info.si_pid) {
		if (info.si_code == CLD_STOPPED)
			initial_stopped(r, r->initial_pid, info.si_status);
		else if (info.si_code == CLD_CONTINUED && r->stopped_by)
			initial_went_on(r);
		info.si_pid = 0;
	}
}

void recorder_forget(struct recorder *r, struct task *task)
{
	task_set_state(task, TASK_EXITING);
	if (task->unit)
		recorder_give_up_turn(r, task);
	if (task->tid == r->stopped_by)
		initial_went_on(r);
	r->backend.ops->task_release(&r->backend, task);
	recorder_discount_history(r, task);
	record_forget(task);
	task_remove(&r->tasks, task);
}

/* The signal that it has stopped for, and that is still to be delivered; 0: none. */
static int held_signal(const struct recorder *r, const struct task *task)
{
	return task->pending_signal ? task->pending_signal : recorder_event_signal(r, task->tid);
}

void recorder_detach(struct recorder *r, struct task *task, const char *reason)
{
	struct bt_record_detach rec = {
		.task = task->number, .point = task_point(task), .reason = bt_str(reason)};
	int signo = held_signal(r, task);

	RECORDER_EVENT(r, task->unit->number, DETACH, &rec);
	task->exit_recorded = true;
	r->backend.ops->leave(&r->backend, task);
	if (task->process->tasks == 1)
		limits_restore(&task->process->limits, task->process->pid);
	affinity_leave(&r->affinity, task->tid);
	tracee_resume(task->tid, PTRACE_DETACH,
		      signo); /* behind calls that were made in it (ops->leave) its siginfo is lost,
				 not the signal */
	if (recorder_event_signal(r, task->tid))
		recorder_drop_event(r, task->tid);
	r->initial_left |= task->process->initial;
	recorder_forget(r, task);
}

int recorder_adopt(struct recorder *r, pid_t pid, bool trap_ignored, struct bt_error *err)
{
	struct task *task = task_add(&r->tasks, pid);
	struct unit *unit = unit_new(&r->tasks);
	struct address_space *space =
		unit ? address_space_new(&r->observer, ++r->tasks.next_space, unit->number, NULL)
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
	r->initial_pid = pid;
	if (!begin_ring(r, task))
		return bt_no_memory(err, NULL);
	affinity_join(&r->affinity, pid, NULL);
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
static bool settle(struct recorder *r, struct task *parent, struct task *child)
{
	bool shares = child->how != BT_TASK_FORK;
	uint64_t flags;
	struct unit *unit = shares ? parent->unit : unit_new(&r->tasks);
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
			       : address_space_new(&r->observer, ++r->tasks.next_space,
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
	return begin_ring(r, child);
}

static const struct task *parent_of(const struct recorder *r, const struct task *child)
{
	const struct task *task = task_find(&r->tasks, child->parent_tid);

	return task && task->number == child->parent ? task : NULL;
}

static void start_new(struct recorder *r, struct task *child)
{
	struct address_space *space = child->process->space;

	write_task(r, child);
	affinity_join(&r->affinity, child->tid, parent_of(r, child));
	if (tracee_get_regs(child->tid, &child->regs))
		return;
	if (space->leaves_out && child->how == BT_TASK_FORK)
		address_space_forget(space, 0, UINT64_MAX);
	if (space->stale)
		address_space_refresh(space, child->tid);
	space->stale = false;
	recorder_write_start(r, child); /* --from was reached before its first stop was seen */
	recorder_make_ready(r, child);
}

void recorder_on_new_task(struct recorder *r, struct task *task, const struct wait_event *ev)
{
	unsigned long tid;
	struct task *child;

	if (tracee_event_message(task->tid, &tid) || !wait_event_holds(ev))
		return;
	tracee_get_regs(task->tid, &task->regs);
	child = task_find(&r->tasks, (pid_t)tid);
	if (!child && tracee_thread_group((pid_t)tid) > 0) /* else it is dead and gone already */
		child = task_add(&r->tasks, (pid_t)tid);
	if (child && !child->process) {
		child->how = how_of(task, ev->trace_event);
		if (!settle(r, task, child))
			recorder_note(r, task, "out of memory: process %lu is not recorded", tid);
		else if (child->first_stop_seen)
			start_new(r, child);
	}
	if (task->start_pending) {
		recorder_interrupt_again(task);
		return;
	}
	if (task->in_syscall && r->backend.ops->forked)
		r->backend.ops->forked(task);
	recorder_make_ready(r, task);
	if (task->in_syscall) /* others may have waited for that */
		recorder_give_up_turn(r, task);
}

/* Who has called the execve that the event tells of: the kernel says it as long as the task is
 * there. Killed since, another thread of the process that was in one, if any was. */
static struct task *caller_of(const struct recorder *r, struct task *leader,
			      const struct wait_event *ev)
{
	unsigned long former;

	if (!tracee_event_message(leader->tid, &former) && wait_event_holds(ev))
		return task_find(&r->tasks, (pid_t)former);
	for (struct task *task = leader->process->members; task; task = task->member_next)
		if (task != leader && task->state == TASK_IN_SYSCALL &&
		    (syscall_is(&task->syscall, SYS_execve) ||
		     syscall_is(&task->syscall, SYS_execveat)))
			return task;
	return leader;
}

/* execve by a thread that is not the leader: the others are gone, and it goes on under the leader's
 * id. */
static struct task *take_over_leader(struct recorder *r, struct task *leader, struct task *caller)
{
	pid_t pid = leader->tid;

	if (!caller || caller == leader)
		return leader;
	write_exit(r, leader, BT_EXIT_UNKNOWN, 0, false);
	recorder_forget(r, leader);
	task_rename(&r->tasks, caller, pid);
	return caller;
}

void recorder_on_exec(struct recorder *r, struct task *task, const struct wait_event *ev)
{
	struct unit *unit;
	struct address_space *space;
	struct process *process;
	struct bt_record_exec rec = {0};
	bool initial = task->process->initial;
	char path[4096];
	struct buf argv = {0};

	task = take_over_leader(r, task, caller_of(r, task, ev));
	if (tracee_get_regs(task->tid, &task->regs))
		return;
	if (task->state != TASK_NEW) {
		if (!task->native)
			r->backend.ops->execed(&r->backend, task);
		task->native = false;
		recorder_give_up_turn(r, task);
		unit = unit_new(&r->tasks);
		space = unit ? address_space_new(&r->observer, ++r->tasks.next_space, unit->number,
						 NULL)
			     : NULL;
		process = space ? process_new(task->tid, space) : NULL;
		if (!process) {
			affinity_leave(&r->affinity, task->tid);
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
		r->started = true;
		write_task(r, task);
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
	RECORDER_EVENT(r, task->unit->number, EXEC, &rec);
	buf_release(&argv);
	/* Out of the execve: for the first one nobody saw the entry, but its exit stop comes all
	 * the same. */
	task->in_syscall = true;
	task->syscall = (struct tracee_syscall){.nr = SYS_execve};
	recorder_resume_task(r, task);
}

void recorder_on_exiting(struct recorder *r, struct task *task, const struct wait_event *ev)
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
			r->backend.ops->exiting(&r->backend, task, &regs);
		record_write_syscalls(r->writer, task);
		recorder_follow_mappings(r, task);
		by_signal = WIFSIGNALED((int)status);
		/* Killed by a signal that was never delivered (SIGKILL, which ends all of them, or
		 * a filter's): this is the last look. */
		if (by_signal && !task->process->fatal_kept &&
		    (task->process->pid == task->tid || WTERMSIG((int)status) == SIGKILL)) {
			task->process->fatal_kept = true;
			snapshot_take(r, task, BT_SNAPSHOT_FATAL, 0, NULL);
		}
		write_exit(r, task, by_signal ? BT_EXIT_SIGNAL : BT_EXIT_STATUS,
			   by_signal ? WTERMSIG((int)status) : WEXITSTATUS((int)status),
			   by_signal && WCOREDUMP((int)status));
	}
	task_set_state(task, TASK_EXITING);
	if (wait_event_holds(ev)) /* else its tid may be another program's, whose stop is still to
				     be served */
		tracee_resume(task->tid, PTRACE_CONT, 0);
	if (task->unit)
		recorder_give_up_turn(r, task);
}

void recorder_note_outcome(struct recorder *r, const struct wait_event *ev)
{
	bool by_signal = ev->type == WAIT_KILLED;

	r->outcome = (struct recorder_outcome){.ended = true,
					       .kind = by_signal ? BT_EXIT_SIGNAL : BT_EXIT_STATUS,
					       .status = ev->value,
					       .core = by_signal && WCOREDUMP(ev->status)};
	r->initial_pid = 0;
}

void recorder_on_gone(struct recorder *r, struct task *task, const struct wait_event *ev)
{
	bool by_signal = ev->type == WAIT_KILLED;

	if (task->process)
		write_exit(r, task, by_signal ? BT_EXIT_SIGNAL : BT_EXIT_STATUS, ev->value,
			   by_signal && WCOREDUMP(ev->status));
	recorder_forget(r, task);
}

void recorder_release_front(struct recorder *r)
{
	if (r->outcome.ended && r->notify && r->tasks.first) {
		r->notify(r->notify_arg, r, 0);
		r->notify = NULL;
	}
}

void recorder_on_group_stop(struct recorder *r, struct task *task, const struct wait_event *ev)
{
	if (task->state == TASK_RUNNING && !r->backend.ops->native)
		task->mid_run = true;
	task_set_state(task, TASK_GROUP_STOPPED);
	task->stopped_in_syscall |= task->in_syscall;
	if (task->mid_run && r->backend.ops->rest)
		r->backend.ops->rest(&r->backend, task);
	if (tracee_resume(task->tid, PTRACE_LISTEN, 0))
		recorder_look_after(r, task);
	if (task->unit)
		recorder_give_up_turn(r, task);
	if (task->process && task->process->initial && tells_of_stops(task))
		initial_stopped(r, task->tid, ev->value);
}

void recorder_on_interrupt(struct recorder *r, struct task *task, const struct wait_event *ev)
{
	if (!task->first_stop_seen) {
		task->first_stop_seen = true;
		if (task->process)
			start_new(r, task);
		return;
	}
	if (!task->process)
		return;
	if (task->tid == r->stopped_by)
		initial_went_on(r);
	if (task->state == TASK_RUNNING) {
		recorder_on_backend_stop(r, task, ev);
		return;
	}
	if (!task->mid_run) {
		tracee_get_regs(task->tid, &task->regs);
		if (recorder_from_trap_waits(task)) {
			tracee_resume(task->tid, PTRACE_CONT, 0);
			return;
		}
		recorder_write_start(r, task);
	}
	recorder_make_ready(r, task);
}

/* An orphan's parent may have been running natively, with the breakpoint of --from in the memory it
 * left. */
static void inherit_from(const struct recorder *r, struct task *task, struct address_space *space)
{
	if (!r->options.from)
		return;
	for (const struct task *other = r->tasks.first; other; other = other->next)
		if (other->native && other->process && other->process->space->from_addr) {
			space->from_addr = other->process->space->from_addr;
			space->from_byte = other->process->space->from_byte;
			task->native = true;
			return;
		}
}

/* Whether the task could be brought to a stop at which nothing of ours is on its way to it. */
static bool can_leave(struct recorder *r, struct task *task)
{
	if (!task->recorded || task->state == TASK_EXITING)
		return false;
	if (task->native)
		return !recorder_has_event(r, task->tid) &&
		       !tracee_resume(task->tid, PTRACE_INTERRUPT, 0) &&
		       recorder_await_stop(r, task->tid) &&
		       recorder_event_type(r, task->tid) == WAIT_INTERRUPT;
	return recorder_halt(r, task) && !task->mid_run && task->state != TASK_RUNNING;
}

/* Those that can be left: all, or (reason NULL) only those of processes that are leaving. */
static void detach_where(struct recorder *r, const char *reason)
{
	struct task *next;

	recorder_freeze(r);
	/* Those with signals come last: calls that are to be made in the process are made in
	 * others. */
	for (int signals = 0; signals < 2; signals++)
		for (struct task *task = r->tasks.first; task; task = next) {
			next = task->next;
			if ((!reason && !(task->process && task->process->leaving)) ||
			    !can_leave(r, task) || (held_signal(r, task) && !signals))
				continue;
			if (task->native && task->process->space->from_addr)
				(void)from_disarm(task->process->space, task->tid);
			recorder_detach(r, task, reason ? reason : task->process->leaving);
		}
	recorder_thaw(r);
}

void recorder_detach_all(struct recorder *r, const char *reason) { detach_where(r, reason); }

static bool any_leaves(const struct recorder *r)
{
	for (const struct task *task = r->tasks.first; task; task = task->next)
		if (task->process && task->process->leaving)
			return true;
	return false;
}

void recorder_detach_doomed(struct recorder *r)
{
	enum {
		PAUSE = 16, /* who waits uninterruptibly (a vfork's parent) is not to hold up the
			       others for more than a part of the time */
	};
	uint64_t began = bt_clock_now(r->clock);

	if (began < r->doomed_next || !any_leaves(r))
		return;
	detach_where(r, NULL);
	r->doomed_next = bt_clock_now(r->clock) + PAUSE * (bt_clock_now(r->clock) - began);
}

/* A task whose parent was killed before it could report it. Its thread group may still be known. */
static void adopt_orphan(struct recorder *r, struct task *task)
{
	pid_t group = tracee_thread_group(task->tid);
	struct task *sibling = r->tasks.first;
	struct unit *unit;
	struct address_space *space;
	struct process *process;

	while (sibling && (!sibling->process || sibling->process->pid != group))
		sibling = sibling->next;
	if (sibling) {
		task->how = BT_TASK_THREAD;
		if (settle(r, sibling, task))
			start_new(r, task);
		return;
	}
	task->how = BT_TASK_FORK;
	unit = unit_new(&r->tasks);
	space = unit ? address_space_new(&r->observer, ++r->tasks.next_space, unit->number, NULL)
		     : NULL;
	process = space ? process_new(group, space) : NULL;
	if (!process)
		return;
	task_join_unit(task, unit);
	task_join_process(task, process);
	inherit_from(r, task, space);
	address_space_refresh(space, task->tid);
	if (begin_ring(r, task))
		start_new(r, task);
}

void recorder_adopt_orphans(struct recorder *r)
{
	enum {
		PATIENCE =
			3, /* ticks; the parent's event comes with the child's stop or not at all */
	};

	for (struct task *task = r->tasks.first; task; task = task->next)
		if (task->first_stop_seen && !task->process && ++task->orphan_ticks == PATIENCE)
			adopt_orphan(r, task);
}
