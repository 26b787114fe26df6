/* SPDX-License-Identifier: MIT */
#include "collector/recorder.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collector/from.h"
#include "collector/program.h"
#include "collector/snapshot.h"
#include "collector/tracee.h"
#include "collector/world.h"
#include "include/btrec.h"

#define FLUSH_INTERVAL_NS 1000000000u
#define STOP_PATIENCE_NS 500000000u

/* Results with which a system call asks the kernel to be restarted (include/linux/errno.h); programs never see them. */
enum {
	ERESTART_FIRST = 512, /* ERESTARTSYS */
	ERESTART_LAST = 516,  /* ERESTART_RESTARTBLOCK */
};

/* ---- Events queue ---- */

static void queue_event(struct recorder *r, pid_t tid, int status)
{
	if (r->queue_len == r->queue_cap) {
		size_t cap = r->queue_cap ? r->queue_cap * 2 : 64;
		struct queued_event *queue = realloc(r->queue, cap * sizeof *queue);

		if (!queue)
			return;
		r->queue = queue;
		r->queue_cap = cap;
	}
	r->queue[r->queue_len++] = (struct queued_event){tid, status};
}

bool recorder_has_event(const struct recorder *r, pid_t tid)
{
	for (size_t i = 0; i < r->queue_len; i++)
		if (r->queue[i].tid == tid)
			return true;
	return false;
}

/* Takes the oldest queued event of tid out of the queue if it is a stop of this type and signal. */
static bool take_event(struct recorder *r, pid_t tid, enum wait_type type, int signo, struct wait_event *ev)
{
	for (size_t i = 0; i < r->queue_len; i++) {
		if (r->queue[i].tid != tid)
			continue;
		*ev = wait_event_of(tid, r->queue[i].status);
		if (ev->type != type || ev->value != signo)
			return false;
		memmove(&r->queue[i], &r->queue[i + 1], (--r->queue_len - i) * sizeof *r->queue);
		return true;
	}
	return false;
}

bool recorder_await_stop(struct recorder *r, pid_t tid)
{
	static const struct timespec pause = {.tv_nsec = 100000};
	uint64_t start = trace_writer_time(r->writer);
	int status;
	pid_t got;

	/* Bounded: what sleeps uninterruptibly (the parent of a vfork, a hung file system) does not stop for us. */
	while (!(got = waitpid(tid, &status, __WALL | WNOHANG)) && trace_writer_time(r->writer) - start < STOP_PATIENCE_NS)
		nanosleep(&pause, NULL);
	if (got != tid)
		return false;
	queue_event(r, tid, status);
	return WIFSTOPPED(status);
}

static void serve_tick(struct recorder *r)
{
	if (!*r->tick)
		return;
	*r->tick = 0;
	r->on_tick(r->on_tick_arg, r);
}

/* Takes every status that is ready, so that no task is served twice before another is served once (waitpid prefers the
 * first of its list), then the oldest. False when no traced task is left. */
static bool next_event(struct recorder *r, struct wait_event *ev)
{
	int status;
	pid_t tid;

	while (!r->queue_len || r->tasks.count > 1) {
		tid = waitpid(-1, &status, __WALL | (r->queue_len ? WNOHANG : 0));
		if (tid > 0)
			queue_event(r, tid, status);
		else if (tid < 0 && errno == EINTR)
			serve_tick(r);
		else
			break;
	}
	if (!r->queue_len)
		return false;
	*ev = wait_event_of(r->queue[0].tid, r->queue[0].status);
	memmove(r->queue, r->queue + 1, --r->queue_len * sizeof *r->queue);
	return true;
}

/* ---- Scheduling: one task of a unit runs user code at a time ---- */

static void resume_task(struct recorder *r, struct task *task)
{
	int signo = task->pending_signal;

	task->pending_signal = 0;
	if (task->native) {
		/* Until the place is found, system calls are watched for libraries that are loaded. */
		bool watch = task->process && task->process->space->from_missing;

		task->state = TASK_NATIVE;
		tracee_resume(task->tid, watch ? PTRACE_SYSCALL : PTRACE_CONT, signo);
		return;
	}
	task->state = task->in_syscall ? TASK_IN_SYSCALL : TASK_RUNNING;
	/* Gone: its last wait status follows. */
	(void)!r->backend.ops->resume(&r->backend, task, signo, task->pending_action);
}

static void ready_remove(struct unit *u, struct task *task)
{
	struct task **at = &u->ready_first, *before = NULL;

	if (!task->queued)
		return;
	while (*at != task) {
		before = *at;
		at = &(*at)->ready_next;
	}
	*at = task->ready_next;
	if (u->ready_last == task)
		u->ready_last = before;
	task->ready_next = NULL;
	task->queued = false;
}

static void schedule(struct recorder *r, struct unit *u)
{
	struct task *task = u->ready_first;
	struct bt_record_switch_ rec = {.unit = u->number, .from = u->last};

	if (u->current || !task || r->frozen)
		return;
	ready_remove(u, task);
	u->current = task;
	if (u->last != task->number) {
		rec.to = task->number;
		rec.point = task_point(task);
		if (u->last)
			RECORDER_EVENT(r, u->number, SWITCH, &rec);
		u->last = task->number;
	}
	resume_task(r, task);
}

static void give_up_turn(struct recorder *r, struct task *task)
{
	struct unit *u = task->unit;

	ready_remove(u, task);
	if (u->current == task) {
		u->current = NULL;
		schedule(r, u);
	}
}

/* The task is stopped and can go on when it is its turn. */
static void make_ready(struct recorder *r, struct task *task)
{
	struct unit *u = task->unit;

	if (task->in_syscall || task->native) { /* the kernel's work is nobody's turn, nor is what is not recorded */
		resume_task(r, task);
		return;
	}
	if (u->current == task && !u->ready_first && !r->frozen) {
		resume_task(r, task);
		return;
	}
	if (u->current == task)
		u->current = NULL;
	task->state = TASK_READY;
	if (!task->queued) {
		task->queued = true;
		if (u->ready_last)
			u->ready_last->ready_next = task;
		else
			u->ready_first = task;
		u->ready_last = task;
	}
	schedule(r, u);
}

/* ---- Records ---- */

void recorder_note(struct recorder *r, const struct task *task, const char *fmt, ...)
{
	struct bt_record_note rec = {.task = task ? task->number : 0};
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	rec.text = bt_str(text);
	RECORDER_EVENT(r, task && task->unit ? task->unit->number : 0, NOTE, &rec);
}

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

static void write_exit(struct recorder *r, struct task *task, enum bt_exit_kind kind, int status, bool core)
{
	struct bt_record_exit rec = {
		.task = task->number,
		.point = task_point(task),
		.kind = (uint8_t)kind,
		.status = (uint32_t)status,
		.core = core,
		.last = task->process->tasks == 1,
		.regs = task->regs,
	};

	if (task->exit_recorded || !task->recorded)
		return;
	task->exit_recorded = true;
	snapshot_write_suppressed(r, task);
	RECORDER_EVENT(r, task->unit->number, EXIT, &rec);
}

/* ---- Tasks coming and going ---- */

static bool begin_ring(struct recorder *r, struct task *task)
{
	struct ring_state start = {.space = task->process->space->number, .epoch = task->process->space->epoch};

	branch_ring_init(&task->ring, r->options.history, &start);
	return !r->backend.ops->task_init(&r->backend, task);
}

/* Frees a task of which nothing more will be heard. */
static void forget(struct recorder *r, struct task *task)
{
	if (task->unit)
		give_up_turn(r, task);
	r->backend.ops->task_release(&r->backend, task);
	task_remove(&r->tasks, task);
}

/* Lets a task run on unrecorded for good. The reason is in the trace. */
static void let_go(struct recorder *r, struct task *task, const char *reason)
{
	struct bt_record_detach rec = {.task = task->number, .point = task_point(task), .reason = bt_str(reason)};

	RECORDER_EVENT(r, task->unit->number, DETACH, &rec);
	task->exit_recorded = true;
	tracee_resume(task->tid, PTRACE_DETACH, 0);
	forget(r, task);
}

int recorder_adopt(struct recorder *r, pid_t pid, struct bt_error *err)
{
	struct task *task = task_add(&r->tasks, pid);
	struct unit *unit = unit_new(&r->tasks);
	struct address_space *space = unit ? address_space_new(r->writer, ++r->tasks.next_space, unit->number, NULL) : NULL;
	struct process *process = space ? process_new(pid, space) : NULL;

	if (!task || !process)
		return bt_fail(err, BT_E_NO_MEMORY, 0, "out of memory");
	task_join_unit(task, unit);
	task_join_process(task, process);
	process->initial = true;
	task->how = BT_TASK_INITIAL;
	task->first_stop_seen = true;
	task->state = TASK_NEW;
	r->initial_pid = pid;
	if (!begin_ring(r, task))
		return bt_fail(err, BT_E_NO_MEMORY, 0, "out of memory");
	return 0;
}

static enum bt_task_how how_of(const struct task *parent, int trace_event)
{
	uint64_t flags = parent->regs.rdi;

	if (trace_event == PTRACE_EVENT_FORK)
		return BT_TASK_FORK;
	if (trace_event == PTRACE_EVENT_VFORK)
		return BT_TASK_VFORK;
	if (parent->regs.orig_rax == SYS_clone3 && tracee_read(parent->tid, parent->regs.rdi, &flags, sizeof flags) != sizeof flags)
		flags = 0;
	if (flags & CLONE_THREAD)
		return BT_TASK_THREAD;
	return flags & CLONE_VM ? BT_TASK_CLONE : BT_TASK_FORK;
}

/* Gives a new task its process, space and unit. False without memory. */
static bool settle(struct recorder *r, struct task *parent, struct task *child)
{
	bool shares = child->how != BT_TASK_FORK;
	struct unit *unit = shares ? parent->unit : unit_new(&r->tasks);
	struct address_space *space;

	if (!unit)
		return false;
	child->parent = parent->number;
	child->native = parent->native;
	if (child->how == BT_TASK_THREAD) {
		task_join_process(child, parent->process);
	} else {
		struct process *process;

		space = shares ? address_space_get(parent->process->space)
			       : address_space_new(r->writer, ++r->tasks.next_space, unit->number, parent->process->space);
		process = space ? process_new(child->tid, space) : NULL;
		if (!process)
			return false;
		process->trap_ignored = parent->process->trap_ignored;
		task_join_process(child, process);
	}
	task_join_unit(child, unit);
	return begin_ring(r, child);
}

static void start_new(struct recorder *r, struct task *child)
{
	write_task(r, child);
	if (!tracee_get_regs(child->tid, &child->regs))
		make_ready(r, child);
}

/* ---- What the backend says ---- */

static bool is_call(const struct task *task, long nr)
{
	return task->call.nr == (uint64_t)nr && !task->call.compat;
}

static bool changes_maps(const struct tracee_syscall *call)
{
	static const uint16_t calls[] = {SYS_mmap, SYS_mprotect, SYS_munmap, SYS_brk, SYS_mremap, SYS_shmat, SYS_shmdt,
					 SYS_remap_file_pages, SYS_pkey_mprotect, SYS_prctl};

	for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
		if (calls[i] == call->nr)
			return true;
	return call->compat; /* of another table: look each time */
}

/* Before a system call that ends the process: the last moment at which its threads and memory are whole. */
static void snapshot_before_exit(struct recorder *r, struct task *task)
{
	struct process *p = task->process;
	bool ends = is_call(task, SYS_exit_group) || (is_call(task, SYS_exit) && p->tasks == 1);
	bool failure = (task->call.args[0] & 0xff) != 0;

	if (ends && (r->options.snap_exit == SNAP_EXIT_ALWAYS || (r->options.snap_exit == SNAP_EXIT_FAILURE && p->initial && failure)))
		snapshot_take(r, task, BT_SNAPSHOT_EXIT, 0, NULL);
}

/* The prctl of btrec.h: harmless in the kernel (EINVAL), a request here. */
static void snapshot_on_request(struct recorder *r, struct task *task)
{
	char label[128] = "";

	task->snapshot_call = is_call(task, SYS_prctl) && task->call.args[0] == BTREC_PRCTL;
	if (!task->snapshot_call)
		return;
	if (task->call.args[1])
		tracee_read(task->tid, task->call.args[1], label, sizeof label - 1);
	snapshot_take(r, task, BT_SNAPSHOT_REQUEST, 0, label);
}

/* A program that gains privileges at its execve would lose them under a tracer: it is let go before. True when it was. */
static bool let_go_before_exec(struct recorder *r, struct task *task)
{
	char reason[600];
	pid_t pid = task->process->pid;
	struct task *next;

	if (!is_call(task, SYS_execve) && !is_call(task, SYS_execveat))
		return false;
	if (!program_gains_privileges(task->tid, &task->regs, reason, sizeof reason))
		return false;
	/* The execve ends the other threads; they must not be traced when it happens. Those that run in user code die in
	 * it unrecorded, which is what they do natively. */
	for (struct task *other = r->tasks.first; other; other = next) {
		next = other->next;
		if (other != task && other->process && other->process->pid == pid && other->state == TASK_READY)
			let_go(r, other, reason);
	}
	let_go(r, task, reason);
	return true;
}

static void syscall_entered(struct recorder *r, struct task *task)
{
	const struct tracee_syscall *c = &task->call;
	struct bt_record_syscall_enter rec = {
		.task = task->number, .point = task_point(task), .nr = c->nr, .arg0 = c->args[0], .arg1 = c->args[1], .arg2 = c->args[2],
		.arg3 = c->args[3], .arg4 = c->args[4], .arg5 = c->args[5], .compat = c->compat,
	};

	task->in_syscall = true;
	task->syscall_restarts = false;
	RECORDER_EVENT(r, task->unit->number, SYSCALL_ENTER, &rec);
	snapshot_before_exit(r, task);
	snapshot_on_request(r, task);
	if (let_go_before_exec(r, task))
		return;
	resume_task(r, task);
	give_up_turn(r, task);
}

/* QUIRK(interrupt-eintr): some calls (epoll_wait, semop) return EINTR after a stop that no handler saw (signal(7)). When the stop was
 * ours, they are made again. */
static void redo_interrupted(struct task *task)
{
	if (!task->interrupted)
		return;
	task->interrupted = false;
	if ((int64_t)task->regs.rax != -EINTR)
		return;
	task->regs.rax = task->call.nr;
	task->regs.rip -= 2;
	tracee_set_regs(task->tid, &task->regs);
}

/* Whether the kernel will enter the system call again that it has just left. */
static bool wants_restart(const struct bt_regs *regs)
{
	int64_t result = (int64_t)regs->rax;

	return (int64_t)regs->orig_rax >= 0 && result <= -ERESTART_FIRST && result >= -ERESTART_LAST;
}

static void note_trap_disposition(struct task *task)
{
	struct tracee_signals s;

	if (!tracee_signals(task->tid, &s))
		task->process->trap_ignored = s.ignored >> (SIGTRAP - 1) & 1;
}

static void from_arm(struct recorder *r, struct task *task);

static void syscall_left(struct recorder *r, struct task *task)
{
	struct bt_record_syscall_exit rec = {.task = task->number, .point = task_point(task), .nr = task->call.nr};

	task->syscall_restarts = wants_restart(&task->regs);
	if (!task->in_syscall) { /* its entry was not recorded: the clone of a new task, a call from before --from */
		make_ready(r, task);
		return;
	}
	task->in_syscall = false;
	if (task->snapshot_call) {
		task->snapshot_call = false;
		task->regs.rax = 0;
		tracee_set_regs(task->tid, &task->regs);
	}
	rec.result = task->regs.rax;
	RECORDER_EVENT(r, task->unit->number, SYSCALL_EXIT, &rec);
	if (!task->syscall_restarts)
		redo_interrupted(task);
	if (is_call(task, SYS_rt_sigreturn) && task->depth)
		task->depth--;
	if (is_call(task, SYS_execve) && r->options.deterministic && (int64_t)task->regs.rax == 0) {
		world_make_deterministic(task->tid);
		address_space_refresh(task->process->space, r->writer, task->tid);
	}
	if (is_call(task, SYS_execve) && r->options.from && !r->from_reached && (int64_t)task->regs.rax == 0)
		from_arm(r, task);
	if (is_call(task, SYS_execve) || (is_call(task, SYS_rt_sigaction) && task->regs.rdi == SIGTRAP))
		note_trap_disposition(task);
	if (changes_maps(&task->call))
		address_space_refresh(task->process->space, r->writer, task->tid);
	make_ready(r, task);
}

static enum bt_signal_action default_action(int signo)
{
	switch (signo) {
	case SIGCHLD:
	case SIGURG:
	case SIGWINCH:
		return BT_ACTION_IGNORE;
	case SIGCONT:
		return BT_ACTION_CONTINUE;
	case SIGSTOP:
	case SIGTSTP:
	case SIGTTIN:
	case SIGTTOU:
		return BT_ACTION_STOP;
	case SIGQUIT:
	case SIGILL:
	case SIGTRAP:
	case SIGABRT:
	case SIGBUS:
	case SIGFPE:
	case SIGSEGV:
	case SIGXCPU:
	case SIGXFSZ:
	case SIGSYS:
		return BT_ACTION_CORE;
	default:
		return BT_ACTION_TERMINATE;
	}
}

static enum bt_signal_action action_of(pid_t tid, int signo)
{
	struct tracee_signals s;
	uint64_t bit = 1ull << (signo - 1);

	if (tracee_signals(tid, &s))
		return default_action(signo);
	if (s.caught & bit)
		return BT_ACTION_HANDLER;
	return s.ignored & bit ? BT_ACTION_IGNORE : default_action(signo);
}

/* Raised by the instruction at rip, not sent (rr's rule too: si_code of these signals is positive only then). */
static bool is_synchronous(const siginfo_t *info)
{
	switch (info->si_signo) {
	case SIGSEGV:
	case SIGBUS:
	case SIGILL:
	case SIGFPE:
	case SIGTRAP:
	case SIGSYS:
		return info->si_code > 0;
	default:
		return false;
	}
}

static void signal_arrived(struct recorder *r, struct task *task, const siginfo_t *info)
{
	enum bt_signal_action action = action_of(task->tid, info->si_signo);
	bool sync = is_synchronous(info), fatal = action == BT_ACTION_TERMINATE || action == BT_ACTION_CORE;
	bool sent = info->si_code <= 0 || info->si_signo == SIGCHLD;
	struct bt_record_signal rec = {
		.task = task->number,
		.point = task_point(task),
		.signo = (uint32_t)info->si_signo,
		.code = (uint32_t)info->si_code,
		.addr = sync && info->si_signo != SIGSYS ? (uint64_t)(uintptr_t)info->si_addr : 0,
		.sender = sent ? (uint32_t)info->si_pid : 0,
		.uid = sent ? (uint32_t)info->si_uid : 0,
		.sync = sync,
		.action = (uint8_t)action,
	};

	task_prune_frames(task);
	if (task->native) /* its system calls were not seen */
		address_space_refresh(task->process->space, r->writer, task->tid);
	RECORDER_EVENT(r, task->unit->number, SIGNAL, &rec);
	if (fatal) {
		if (!task->process->fatal_kept)
			snapshot_take(r, task, BT_SNAPSHOT_FATAL, rec.seq, NULL);
		task->process->fatal_kept = true;
	} else if (action == BT_ACTION_HANDLER && !task->native) {
		snapshot_take(r, task, sync ? BT_SNAPSHOT_FAULT : BT_SNAPSHOT_SIGNAL, rec.seq, NULL);
	}
	/* What the program would never notice is dropped here: nothing is left to be delivered. */
	task->pending_signal = action == BT_ACTION_IGNORE || action == BT_ACTION_CONTINUE ? 0 : info->si_signo;
	task->pending_action = action;
	make_ready(r, task);
}

static void handler_entered(struct recorder *r, struct task *task)
{
	struct bt_record_handler rec = {.task = task->number, .point = task_point(task), .signo = (uint32_t)task->regs.rdi};

	if (task->depth < HANDLER_DEPTH_MAX) {
		struct handler_frame *f = &task->frames[task->depth++];
		uint64_t stack[3] = {0}; /* uc_stack of the frame: ss_sp, ss_flags, ss_size */

		*f = (struct handler_frame){.sp = task->regs.rsp};
		tracee_read(task->tid, task->regs.rsp + 24, stack, sizeof stack);
		if (stack[2] && f->sp >= stack[0] && f->sp < stack[0] + stack[2]) {
			f->alt_start = stack[0];
			f->alt_end = stack[0] + stack[2];
		}
	}
	rec.depth = task->depth;
	RECORDER_EVENT(r, task->unit->number, HANDLER, &rec);
	make_ready(r, task);
}

static void slice_over(struct recorder *r, struct task *task)
{
	if (task->snapshot_wanted && !r->frozen) {
		task->snapshot_wanted = false;
		snapshot_take(r, task, BT_SNAPSHOT_REQUEST, 0, "btrec snap");
	}
	make_ready(r, task);
}

static void on_backend_stop(struct recorder *r, struct task *task, const struct wait_event *ev)
{
	siginfo_t info;

	switch (r->backend.ops->stopped(&r->backend, task, ev, &info)) {
	case BACKEND_RUNS:
	case BACKEND_GONE:
		return;
	case BACKEND_SLICE:
		slice_over(r, task);
		return;
	case BACKEND_SYSCALL_ENTER:
		syscall_entered(r, task);
		return;
	case BACKEND_SYSCALL_EXIT:
		syscall_left(r, task);
		return;
	case BACKEND_SIGNAL:
		signal_arrived(r, task, &info);
		return;
	case BACKEND_HANDLER:
		handler_entered(r, task);
		return;
	}
}

/* ---- Halting, for snapshots of a whole process ---- */

bool recorder_halt(struct recorder *r, struct task *task)
{
	if (!task->recorded || task->native || task->state == TASK_NEW || task->state == TASK_EXITING)
		return false;
	if (task->state == TASK_RUNNING) {
		struct wait_event ev;

		/* Its step ends by itself. Take that in, so that registers and history agree. */
		r->backend.ops->stop_soon(&r->backend, task);
		if (!recorder_has_event(r, task->tid) && !recorder_await_stop(r, task->tid))
			return false;
		if (take_event(r, task->tid, WAIT_SIGNAL, SIGTRAP, &ev))
			on_backend_stop(r, task, &ev);
	} else if ((task->state == TASK_IN_SYSCALL || task->state == TASK_GROUP_STOPPED) && !recorder_has_event(r, task->tid)) {
		task->interrupted = task->in_syscall;
		if (tracee_resume(task->tid, PTRACE_INTERRUPT, 0) || !recorder_await_stop(r, task->tid))
			return false;
	}
	return task->state == TASK_READY || !tracee_get_regs(task->tid, &task->regs);
}

void recorder_freeze(struct recorder *r)
{
	r->frozen = true;
}

void recorder_thaw(struct recorder *r)
{
	r->frozen = false;
	for (struct task *task = r->tasks.first; task; task = task->next)
		if (task->unit)
			schedule(r, task->unit);
}

void recorder_request_snapshot(struct recorder *r, struct task *task)
{
	switch (task->state) {
	case TASK_RUNNING:
		task->snapshot_wanted = true;
		r->backend.ops->stop_soon(&r->backend, task);
		break;
	case TASK_READY:
	case TASK_IN_SYSCALL:
	case TASK_GROUP_STOPPED:
		recorder_freeze(r);
		if (recorder_halt(r, task))
			snapshot_take(r, task, BT_SNAPSHOT_REQUEST, 0, "btrec snap");
		recorder_thaw(r);
		break;
	default:
		break;
	}
}

/* ---- Dispatch: one row per wait type ---- */

static void on_new_task(struct recorder *r, struct task *task, const struct wait_event *ev)
{
	unsigned long tid;
	struct task *child;

	if (tracee_event_message(task->tid, &tid))
		return;
	tracee_get_regs(task->tid, &task->regs);
	child = task_find(&r->tasks, (pid_t)tid);
	if (!child)
		child = task_add(&r->tasks, (pid_t)tid);
	if (child) {
		child->how = how_of(task, ev->trace_event);
		if (!settle(r, task, child))
			recorder_note(r, task, "out of memory: process %lu is not recorded", tid);
		else if (child->first_stop_seen)
			start_new(r, child);
	}
	make_ready(r, task);
}

/* execve by a thread that is not the leader: the others are gone, and it goes on under the leader's id. */
static struct task *take_over_leader(struct recorder *r, struct task *leader, pid_t former)
{
	struct task *caller = task_find(&r->tasks, former);
	pid_t pid = leader->tid;

	if (!caller || caller == leader)
		return leader;
	write_exit(r, leader, BT_EXIT_UNKNOWN, 0, false);
	forget(r, leader);
	caller->tid = pid;
	return caller;
}

static void on_exec(struct recorder *r, struct task *task, const struct wait_event *ev)
{
	unsigned long former;
	struct unit *unit;
	struct address_space *space;
	struct process *process;
	struct bt_record_exec rec = {0};
	bool initial = task->process->initial;
	char path[4096];
	struct buf argv = {0};

	(void)ev;
	if (!tracee_event_message(task->tid, &former))
		task = take_over_leader(r, task, (pid_t)former);
	if (tracee_get_regs(task->tid, &task->regs))
		return;
	if (task->state != TASK_NEW) {
		if (!task->native)
			r->backend.ops->execed(&r->backend, task);
		task->native = false;
		give_up_turn(r, task);
		unit = unit_new(&r->tasks);
		space = unit ? address_space_new(r->writer, ++r->tasks.next_space, unit->number, NULL) : NULL;
		process = space ? process_new(task->tid, space) : NULL;
		if (!process) {
			tracee_resume(task->tid, PTRACE_DETACH, 0);
			return;
		}
		process->initial = initial;
		task_leave_unit(task);
		task_leave_process(task);
		task_join_unit(task, unit);
		task_join_process(task, process);
	} else {
		write_task(r, task);
	}
	task->depth = 0;
	address_space_refresh(task->process->space, r->writer, task->tid);
	branch_ring_epoch(&task->ring, task->process->space->number, task->process->space->epoch);
	program_of(task->tid, path, sizeof path, &argv);
	rec.task = task->number;
	rec.space = task->process->space->number;
	rec.path = bt_str(path);
	rec.argv = slice_of(argv.data, argv.len);
	rec.tid = (uint32_t)task->tid;
	RECORDER_EVENT(r, task->unit->number, EXEC, &rec);
	buf_release(&argv);
	/* Out of the execve: for the first one nobody saw the entry, but its exit stop comes all the same. */
	task->in_syscall = true;
	task->call = (struct tracee_syscall){.nr = SYS_execve};
	resume_task(r, task);
}

static void on_exiting(struct recorder *r, struct task *task, const struct wait_event *ev)
{
	unsigned long status;
	bool by_signal;

	(void)ev;
	if (!tracee_event_message(task->tid, &status) && !tracee_get_regs(task->tid, &task->regs) && task->recorded) {
		by_signal = WIFSIGNALED((int)status);
		/* Killed by a signal that was never delivered (SIGKILL, or a filter's): this is the last look. */
		if (by_signal && !task->process->fatal_kept && task->process->pid == task->tid) {
			task->process->fatal_kept = true;
			snapshot_take(r, task, BT_SNAPSHOT_FATAL, 0, NULL);
		}
		write_exit(r, task, by_signal ? BT_EXIT_SIGNAL : BT_EXIT_STATUS, by_signal ? WTERMSIG((int)status) : WEXITSTATUS((int)status),
			   by_signal && WCOREDUMP((int)status));
	}
	task->state = TASK_EXITING;
	tracee_resume(task->tid, PTRACE_CONT, 0);
	give_up_turn(r, task);
}

/* The initial process has ended, recorded to its end or let go before. */
static void note_outcome(struct recorder *r, const struct wait_event *ev)
{
	bool by_signal = ev->type == WAIT_KILLED;

	r->outcome = (struct recorder_outcome){.ended = true,
					       .kind = by_signal ? BT_EXIT_SIGNAL : BT_EXIT_STATUS,
					       .status = ev->value,
					       .core = by_signal && WCOREDUMP(ev->status)};
	r->initial_pid = 0;
}

static void on_gone(struct recorder *r, struct task *task, const struct wait_event *ev)
{
	bool by_signal = ev->type == WAIT_KILLED;

	if (task->process)
		write_exit(r, task, by_signal ? BT_EXIT_SIGNAL : BT_EXIT_STATUS, ev->value, by_signal && WCOREDUMP(ev->status));
	forget(r, task);
}

/* The front need not wait for those that the initial process leaves behind. */
static void release_front(struct recorder *r)
{
	if (r->outcome.ended && r->notify && r->tasks.first) {
		r->notify(r->notify_arg, r, 0);
		r->notify = NULL;
	}
}

static void on_group_stop(struct recorder *r, struct task *task, const struct wait_event *ev)
{
	bool again = task->state == TASK_GROUP_STOPPED; /* we looked at it meanwhile */

	task->state = TASK_GROUP_STOPPED;
	tracee_resume(task->tid, PTRACE_LISTEN, 0);
	if (task->unit)
		give_up_turn(r, task);
	if (task->tid == r->initial_pid && r->notify && !again) {
		trace_writer_flush(r->writer);
		r->notify(r->notify_arg, r, ev->value);
	}
}

static void write_start(struct recorder *r, struct task *task);

static void on_interrupt(struct recorder *r, struct task *task, const struct wait_event *ev)
{
	(void)ev;
	if (!task->first_stop_seen) {
		task->first_stop_seen = true;
		if (task->process)
			start_new(r, task);
		return;
	}
	if (!task->process)
		return;
	if (task->state == TASK_GROUP_STOPPED && task->tid == r->initial_pid && r->notify)
		r->notify(r->notify_arg, r, SIGCONT);
	tracee_get_regs(task->tid, &task->regs);
	write_start(r, task);
	make_ready(r, task);
}

static void on_early_stop(struct recorder *r, struct task *task, const struct wait_event *ev)
{
	/* Before its execve: nothing of the program's. A signal goes on. */
	(void)r;
	tracee_resume(task->tid, PTRACE_CONT, ev->type == WAIT_SIGNAL ? ev->value : 0);
}

/* --from has been reached in this task's address space: everything that runs in it is recorded from here on. */
static void from_reached(struct recorder *r, struct task *task)
{
	struct address_space *space = task->process->space;

	from_disarm(space, task->tid);
	task->regs.rip = space->from_addr;
	tracee_set_regs(task->tid, &task->regs);
	space->from_addr = 0;
	for (struct task *t = r->tasks.first; t; t = t->next) {
		if (!t->native || !t->process || t->process->space != space)
			continue;
		t->native = false;
		t->start_pending = true;
		if (t != task)
			tracee_resume(t->tid, PTRACE_INTERRUPT, 0);
	}
}

/* The first stop of a task that ran natively until now. Its registers have been read. */
static void write_start(struct recorder *r, struct task *task)
{
	struct bt_record_start rec = {.task = task->number};

	if (!task->start_pending)
		return;
	task->start_pending = false;
	task->syscall_restarts = wants_restart(&task->regs);
	address_space_refresh(task->process->space, r->writer, task->tid);
	branch_ring_gap(&task->ring, BT_GAP_START);
	branch_ring_epoch(&task->ring, task->process->space->number, task->process->space->epoch);
	rec.point = task_point(task);
	RECORDER_EVENT(r, task->unit->number, START, &rec);
}

/* Looks for the place of --from in the task's program and sets the breakpoint there. */
static void from_arm(struct recorder *r, struct task *task)
{
	struct address_space *space = task->process->space;

	task->native = true;
	space->from_missing = !from_insert(space, task->tid, from_resolve(space, task->tid, r->options.from));
}

/* A system call of a task that runs natively while the place of --from is looked for: libraries come by mmap. */
static void on_native_syscall(struct recorder *r, struct task *task)
{
	struct address_space *space = task->process->space;

	if (space->from_missing && tracee_syscall_stop(task->tid, NULL) == TRACEE_SYSCALL_EXIT && !tracee_get_regs(task->tid, &task->regs) &&
	    task->regs.orig_rax == SYS_mmap && task->regs.rdx & PROT_EXEC) {
		address_space_refresh(space, r->writer, task->tid);
		space->from_missing = !from_insert(space, task->tid, from_resolve(space, task->tid, r->options.from));
	}
	resume_task(r, task);
}

static void on_native_signal(struct recorder *r, struct task *task, const struct wait_event *ev)
{
	struct address_space *space = task->process->space;
	siginfo_t info;

	if (tracee_get_siginfo(task->tid, &info) || tracee_get_regs(task->tid, &task->regs))
		return;
	if (ev->value != SIGTRAP || info.si_code != SI_KERNEL || !space->from_addr || task->regs.rip != space->from_addr + 1) {
		signal_arrived(r, task, &info);
		return;
	}
	from_reached(r, task);
	r->from_reached = true;
	write_start(r, task);
	make_ready(r, task);
}

/* A signal reaches a task after --from was reached by another, before it was interrupted. */
static void on_first_signal(struct recorder *r, struct task *task, const struct wait_event *ev)
{
	siginfo_t info;

	(void)ev;
	if (tracee_get_siginfo(task->tid, &info) || tracee_get_regs(task->tid, &task->regs))
		return;
	write_start(r, task);
	signal_arrived(r, task, &info);
}

static void on_syscall_or_signal(struct recorder *r, struct task *task, const struct wait_event *ev)
{
	if (!task->recorded)
		on_early_stop(r, task, ev);
	else if (task->native && ev->type == WAIT_SIGNAL)
		on_native_signal(r, task, ev);
	else if (task->native)
		on_native_syscall(r, task);
	else if (task->start_pending && ev->type == WAIT_SIGNAL)
		on_first_signal(r, task, ev);
	else
		on_backend_stop(r, task, ev);
}

static void dispatch(struct recorder *r, const struct wait_event *ev)
{
	static void (*const rows[WAIT_TYPES])(struct recorder *, struct task *, const struct wait_event *) = {
		[WAIT_EXITED] = on_gone,
		[WAIT_KILLED] = on_gone,
		[WAIT_SYSCALL] = on_syscall_or_signal,
		[WAIT_SIGNAL] = on_syscall_or_signal,
		[WAIT_NEW_TASK] = on_new_task,
		[WAIT_EXEC] = on_exec,
		[WAIT_EXITING] = on_exiting,
		[WAIT_GROUP_STOP] = on_group_stop,
		[WAIT_INTERRUPT] = on_interrupt,
	};
	struct task *task = task_find(&r->tasks, ev->tid);

	if (ev->tid == r->initial_pid && (ev->type == WAIT_EXITED || ev->type == WAIT_KILLED))
		note_outcome(r, ev);
	if (!task) {
		/* A new task may stop before its parent reports it. Anything else is a task already forgotten. */
		if (ev->type != WAIT_INTERRUPT)
			return;
		task = task_add(&r->tasks, ev->tid);
		if (!task)
			return;
	}
	rows[ev->type](r, task, ev);
	release_front(r);
}

void recorder_flush_due(struct recorder *r)
{
	uint64_t now = trace_writer_time(r->writer);

	if (now - r->last_flush < FLUSH_INTERVAL_NS)
		return;
	r->last_flush = now;
	trace_writer_flush(r->writer);
}

void recorder_init(struct recorder *r, struct trace_writer *w, const struct backend_ops *ops, const struct recorder_options *options)
{
	*r = (struct recorder){.writer = w, .options = *options, .backend = {.ops = ops, .writer = w}};
}

void recorder_run(struct recorder *r)
{
	struct wait_event ev;

	while (next_event(r, &ev)) {
		dispatch(r, &ev);
		serve_tick(r);
	}
}

static void release_tasks(struct recorder *r)
{
	r->frozen = true; /* nobody gets a turn any more */
	while (r->tasks.first)
		forget(r, r->tasks.first);
	free(r->queue);
	r->queue = NULL;
}

void recorder_abandon(struct recorder *r, const char *dir)
{
	release_tasks(r);
	trace_writer_discard(r->writer, dir);
}

void recorder_release(struct recorder *r)
{
	struct bt_record_end rec = {.kind = (uint8_t)r->outcome.kind, .status = (uint32_t)r->outcome.status};

	if (!r->outcome.ended)
		rec.kind = BT_EXIT_UNKNOWN;
	release_tasks(r);
	RECORDER_EVENT(r, 0, END, &rec);
	trace_writer_close(r->writer);
}
