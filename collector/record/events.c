/* SPDX-License-Identifier: MIT */
/* Writes the supervisor's facts as records, and keeps the moments that belong to them. */
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/record/first_message.h"
#include "collector/record/record_observer.h"
#include "collector/record/recording_private.h"
#include "collector/record/snapshot.h"
#include "collector/record/start_location.h"
#include "collector/supervisor/program.h"
#include "collector/tracee/call_memory.h"
#include "collector/tracee/signal_frame.h"
#include "collector/tracee/tracee.h"
#include "format/syscall_details.h"
#include "lib/abort_message.h"

enum {
	MESSAGE_MAX = 1024,
	SENDER_MAX = 80,
};

/* ---- Tasks ---- */

void recording_on_start(struct session *session, struct supervisor *sup, struct task *task)
{
	struct recording *r = recording_of(session);
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

	(void)sup;
	RECORDING_EVENT(r, task->unit->number, TASK, &rec);
	function_moments_rearm(r, task);
}

void recording_on_exec(struct session *session, struct supervisor *sup, struct task *task)
{
	struct recording *r = recording_of(session);
	struct bt_record_exec rec = {.task = task->number,
				     .space = task->process->space->number,
				     .tid = (uint32_t)task->tid};
	char path[4096];
	struct buf argv = {0};

	(void)sup;
	program_of(task->host_tid, path, sizeof path, &argv);
	rec.path = bt_str(path);
	rec.argv = slice_of(argv.data, argv.len);
	RECORDING_EVENT(r, task->unit->number, EXEC, &rec);
	buf_release(&argv);
}

/* The task was killed by a signal that was never delivered: SIGKILL, which ends all tasks of a
 * process, or a filter's. This is the last look at it. */
static void keep_killed(struct recording *r, struct supervisor *sup, struct task *task,
			const struct task_end *end)
{
	struct process *p = task->process;

	if (!end->last_look || end->kind != BT_EXIT_SIGNAL || p->record->fatal_kept ||
	    (p->pid != task->tid && end->status != SIGKILL))
		return;
	p->record->fatal_kept = true;
	snapshot_take(r, sup, task, BT_SNAPSHOT_FATAL, 0, NULL);
}

/* All others are at their ends, too: where one calls exit_group, none is gone when the last one is
 * seen. */
static bool is_last(const struct task *task)
{
	const struct task *other = task->process->members;

	while (other && (other == task || other->state == TASK_EXITING))
		other = other->member_next;
	return !other;
}

void recording_on_exit(struct session *session, struct supervisor *sup, struct task *task,
		       const struct task_end *end)
{
	struct recording *r = recording_of(session);
	struct bt_record_exit rec = {
		.task = task->number,
		.kind = (uint8_t)end->kind,
		.status = (uint32_t)end->status,
		.core = end->core,
		.last = is_last(task),
		.stepped = task->stepped,
	};

	keep_killed(r, sup, task, end);
	rec.point = task_point(task);
	rec.regs = task->regs;
	record_write_syscalls(r->writer, task);
	snapshot_write_suppressed(r, task);
	if (rec.last && (end->kind != BT_EXIT_STATUS || end->status))
		snapshot_write_last_words(r, task);
	RECORDING_EVENT(r, task->unit->number, EXIT, &rec);
	replay_log_exit(&r->log, task, end->kind, end->status, &rec.point, rec.seq);
}

void recording_on_detach(struct session *session, struct supervisor *sup, struct task *task,
			 const char *reason, bool in_memory)
{
	struct recording *r = recording_of(session);
	struct bt_record_detach rec = {
		.task = task->number, .point = task_point(task), .reason = bt_str(reason)};

	(void)sup;
	if (in_memory && task->native && task->process->space->from_addr)
		(void)start_location_disarm(task->process->space, task->host_tid);
	if (task->number == r->log.task)
		replay_log_end(&r->log, "the program was detached, and ran on unrecorded");
	replay_log_flush(&r->log);
	RECORDING_EVENT(r, task->unit->number, DETACH, &rec);
}

void recording_on_switch(struct session *session, struct supervisor *sup, const struct unit *unit,
			 uint32_t from, uint32_t to, const struct bt_point *point)
{
	struct recording *r = recording_of(session);
	struct bt_record_switch_ rec = {
		.unit = unit->number, .from = from, .to = to, .point = *point};

	(void)sup;
	RECORDING_EVENT(r, unit->number, SWITCH, &rec);
}

/* ---- System calls ---- */

/* Before a system call that ends the process: the last moment at which its threads and memory are
 * whole. */
static void keep_before_exit(struct recording *r, struct supervisor *sup, struct task *task)
{
	const struct tracee_syscall *call = &task->syscall;
	struct process *p = task->process;
	bool thread = syscall_is(call, SYS_exit);
	bool ends = syscall_is(call, SYS_exit_group) || (thread && p->tasks == 1);
	bool failure = (call->args[0] & 0xff) != 0;

	/* A thread ends before its process: keeps its history as the process's snapshot would have.
	 */
	if (!ends && thread && r->options.snap_exit == SNAP_EXIT_ALWAYS)
		task_tell_history(task, &r->observer);
	if (ends && (r->options.snap_exit == SNAP_EXIT_ALWAYS ||
		     (r->options.snap_exit == SNAP_EXIT_FAILURE && p->initial && failure)))
		snapshot_take(r, sup, task, BT_SNAPSHOT_EXIT, 0, NULL);
	else if (ends && r->options.snap_exit == SNAP_EXIT_FAILURE && failure)
		snapshot_take(r, sup, task, BT_SNAPSHOT_FAILURE, 0, NULL);
	else if (ends && first_message_is_due(task))
		snapshot_take_first_message(r, sup, task);
}

void recording_on_syscall_enter(struct session *session, struct supervisor *sup, struct task *task)
{
	struct recording *r = recording_of(session);
	const struct tracee_syscall *c = &task->syscall;
	struct bt_record_syscall_enter rec = {
		.task = task->number,
		.point = task_point(task),
		.nr = c->nr,
		.arg0 = c->args[0],
		.arg1 = c->args[1],
		.arg2 = c->args[2],
		.arg3 = c->args[3],
		.arg4 = c->args[4],
		.arg5 = c->args[5],
		.compat = c->compat,
	};
	struct call_memory memory;
	struct buf pointed = {0};

	call_memory_read(&memory, task->host_tid, c);
	bt_pointed_encode(&pointed, memory.pointed, memory.count);
	rec.pointed = slice_of(pointed.data, pointed.failed ? 0 : pointed.len);
	RECORDING_EVENT(r, task->unit->number, SYSCALL_ENTER, &rec);
	replay_log_syscall_enter(&r->log, task);
	buf_release(&pointed);
	recording_serve_request(r, sup, task);
	first_message_hold(r, task, rec.seq);
	keep_before_exit(r, sup, task);
}

void recording_on_syscall_exit(struct session *session, struct supervisor *sup, struct task *task,
			       const struct bt_point *at, uint64_t result)
{
	struct recording *r = recording_of(session);
	struct bt_record_syscall_exit rec = {
		.task = task->number, .point = *at, .nr = task->syscall.nr, .result = result};

	(void)sup;
	RECORDING_EVENT(r, task->unit->number, SYSCALL_EXIT, &rec);
	replay_log_syscall_exit(&r->log, task, at, result, rec.seq);
}

/* ---- Signals ---- */

static size_t read_of_task(void *arg, uint64_t addr, void *to, size_t n)
{
	const struct task *task = arg;

	return tracee_read(task->host_tid, addr, to, n);
}

/* Reads the message that the task's libc has left about its end. */
static void find_message(struct task *task, char text[MESSAGE_MAX])
{
	const struct mapping_list *all = &task->process->space->mappings;

	*text = '\0';
	for (size_t i = 0; i < all->count && !*text; i++)
		if (!all->maps[i].offset && bt_is_libc(all->maps[i].path))
			bt_abort_message(read_of_task, task, all->maps[i].start, text, MESSAGE_MAX);
}

/* Names the signal's sender. If the front has passed the signal on, also names who had sent it to
 * the front. */
static void name_sender(const struct recording *r, const struct task *task, const siginfo_t *info,
			char text[SENDER_MAX])
{
	pid_t from = info->si_pid == getpid() ? r->passed_on[info->si_signo] : 0;
	char name[TRACEE_NAME];

	tracee_sender_name(task->host_tid, info->si_pid, name);
	snprintf(text, SENDER_MAX, "%s", name);
	if (!from)
		return;
	tracee_sender_name(task->host_tid, from, name);
	snprintf(text, SENDER_MAX, "btrec, passed on from process %d%s%s%s", (int)from,
		 *name ? " (" : "", name, *name ? ")" : "");
}

/* Keeps the moment of a signal that ends the process, or that a handler will see. */
static void keep_signal(struct recording *r, struct supervisor *sup, struct task *task,
			const struct arrived_signal *signal, uint64_t seq)
{
	if (signal->fatal) {
		supervisor_look_at_files_of(sup, task);
		if (!task->process->record->fatal_kept)
			snapshot_take(r, sup, task, BT_SNAPSHOT_FATAL, seq, NULL);
		r->crashes += signal->action == BT_ACTION_CORE;
		task->process->record->fatal_kept = true;
	} else if (signal->action == BT_ACTION_HANDLER && !task->native) {
		snapshot_take(r, sup, task, signal->sync ? BT_SNAPSHOT_FAULT : BT_SNAPSHOT_SIGNAL,
			      seq, NULL);
	}
}

void recording_on_signal(struct session *session, struct supervisor *sup, struct task *task,
			 const struct arrived_signal *signal)
{
	struct recording *r = recording_of(session);
	const siginfo_t *info = signal->info;
	/* A timer's signal has the timer's number where si_pid is. */
	bool sent = (info->si_code <= 0 && info->si_code != SI_TIMER) || info->si_signo == SIGCHLD;
	bool at_address = signal->sync && info->si_signo != SIGSYS;
	struct bt_record_signal rec = {
		.task = task->number,
		.point = task_point(task),
		.signo = (uint32_t)info->si_signo,
		.code = (uint32_t)info->si_code,
		.addr = at_address ? (uint64_t)(uintptr_t)info->si_addr : 0,
		.sender = sent ? (uint32_t)info->si_pid : 0,
		.uid = sent ? (uint32_t)info->si_uid : 0,
		.sync = signal->sync,
		.action = (uint8_t)signal->action,
	};
	char message[MESSAGE_MAX], sender[SENDER_MAX];

	recording_serve_request(r, sup, task);
	if (info->si_signo == SIGABRT) {
		find_message(task, message);
		rec.message = bt_str(message);
	}
	if (signal->fatal && rec.sender && info->si_pid != task->process->pid) {
		name_sender(r, task, info, sender);
		rec.sender_name = bt_str(sender);
	}
	RECORDING_EVENT(r, task->unit->number, SIGNAL, &rec);
	replay_log_signal(&r->log, task, signal, rec.seq);
	keep_signal(r, sup, task, signal, rec.seq);
}

void recording_on_handler(struct session *session, struct supervisor *sup, struct task *task)
{
	struct recording *r = recording_of(session);
	struct bt_record_handler rec = {.task = task->number,
					.point = task_point(task),
					.signo = signal_frame_signo(&task->regs),
					.depth = task->depth};

	(void)sup;
	RECORDING_EVENT(r, task->unit->number, HANDLER, &rec);
	replay_log_handler(&r->log, task, rec.seq);
}
