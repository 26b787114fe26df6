/* SPDX-License-Identifier: MIT */
/* Signals: what they will do, which moments are kept, handlers. */
#include "collector/supervisor/supervisor_private.h"

#include "collector/record/snapshot.h"
#include "collector/task/cut_transfer.h"
#include "collector/tracee/signal_frame.h"
#include "collector/tracee/tracee.h"
#include "lib/abort_message.h"

enum {
	MESSAGE_MAX = 1024,
	SENDER_MAX = 80,
};

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

static bool is_deadly(enum bt_signal_action action)
{
	return action == BT_ACTION_TERMINATE || action == BT_ACTION_CORE;
}

static enum bt_signal_action action_of(const struct task *task, int signo, bool sync)
{
	struct tracee_signals s;
	uint64_t bit = 1ull << (signo - 1);
	enum bt_signal_action by_default = default_action(signo);

	if (!sync && is_deadly(by_default) && tracee_is_init(task->process->pid))
		by_default = BT_ACTION_IGNORE; /* pid_namespaces(7) */
	if (signo == SIGTRAP && task->process->trap_ignored && !sync)
		return BT_ACTION_IGNORE; /* whatever the kernel's table says after a step */
	if (tracee_signals(task->tid, &s))
		return by_default;
	if (s.caught & bit)
		return BT_ACTION_HANDLER;
	return s.ignored & bit ? BT_ACTION_IGNORE : by_default;
}

void supervisor_note_signal(struct task *task, int signo)
{
	bool may_be_ours = signo == SIGTRAP || signo == SIGSEGV;

	if (task->process->tasks > 1 && !may_be_ours &&
	    action_of(task, signo, false) == BT_ACTION_IGNORE)
		task->process->signals_ignored++;
}

bool supervisor_is_ignored(const struct task *task, const siginfo_t *info)
{
	return action_of(task, info->si_signo, tracee_is_synchronous(info)) == BT_ACTION_IGNORE;
}

/* Whether a signal waits that the program will notice; *any: whether one waits at all. */
bool supervisor_signal_waits(const struct task *task, bool *any)
{
	struct tracee_signals s;
	uint64_t waiting;

	*any = false;
	if (tracee_signals(task->tid, &s))
		return true;
	waiting = (s.pending | s.shared_pending) & ~s.blocked;
	*any = waiting;
	for (int signo = 1; signo <= 64; signo++)
		if (waiting >> (signo - 1) & 1 &&
		    action_of(task, signo, false) != BT_ACTION_IGNORE &&
		    action_of(task, signo, false) != BT_ACTION_CONTINUE)
			return true;
	return false;
}

static size_t read_of_task(void *arg, uint64_t addr, void *to, size_t n)
{
	const struct task *task = arg;

	return tracee_read(task->tid, addr, to, n);
}

/* What the task's libc has left to be said of its end. */
static void find_message(struct task *task, char text[MESSAGE_MAX])
{
	const struct mapping_list *all = &task->process->space->mappings;

	*text = '\0';
	for (size_t i = 0; i < all->count && !*text; i++)
		if (!all->maps[i].offset && bt_is_libc(all->maps[i].path))
			bt_abort_message(read_of_task, task, all->maps[i].start, text, MESSAGE_MAX);
}

/* What its sender is called; of a signal that was meant for the front, which passes it on, whose it
 * was. */
static void name_sender(const struct supervisor *sup, const struct task *task,
			const siginfo_t *info, char text[SENDER_MAX])
{
	pid_t from = info->si_pid == getpid() ? sup->passed_on[info->si_signo] : 0;
	char name[TRACEE_NAME];

	tracee_sender_name(task->tid, info->si_pid, name);
	snprintf(text, SENDER_MAX, "%s", name);
	if (!from)
		return;
	tracee_sender_name(task->tid, from, name);
	snprintf(text, SENDER_MAX, "btrec, passed on from process %d%s%s%s", (int)from,
		 *name ? " (" : "", name, *name ? ")" : "");
}

void supervisor_signal_arrived(struct supervisor *sup, struct task *task, const siginfo_t *info)
{
	bool sync = tracee_is_synchronous(info), fatal;
	enum bt_signal_action action = action_of(task, info->si_signo, sync);
	/* Of a timer's, its number stands where si_pid is. */
	bool sent = (info->si_code <= 0 && info->si_code != SI_TIMER) || info->si_signo == SIGCHLD;
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
	char message[MESSAGE_MAX], sender[SENDER_MAX];

	fatal = is_deadly(action);
	task_prune_frames(task);
	supervisor_serve_snapshot(sup, task);
	if (task->native) /* its system calls were not seen */
		address_space_refresh(task->process->space, task->tid);
	if (info->si_signo == SIGABRT) {
		find_message(task, message);
		rec.message = bt_str(message);
	}
	if (fatal && rec.sender && info->si_pid != task->process->pid) {
		name_sender(sup, task, info, sender);
		rec.sender_name = bt_str(sender);
	}
	SUPERVISOR_EVENT(sup, task->unit->number, SIGNAL, &rec);
	if (fatal) {
		supervisor_look_at_files_of(sup, task);
		if (!task->process->fatal_kept)
			snapshot_take(sup, task, BT_SNAPSHOT_FATAL, rec.seq, NULL);
		task->process->fatal_kept = true;
	} else if (action == BT_ACTION_HANDLER && !task->native) {
		snapshot_take(sup, task, sync ? BT_SNAPSHOT_FAULT : BT_SNAPSHOT_SIGNAL, rec.seq,
			      NULL);
	}
	/* What the program would never notice is dropped here: nothing is left to be delivered. */
	task->pending_signal =
		action == BT_ACTION_IGNORE || action == BT_ACTION_CONTINUE ? 0 : info->si_signo;
	task->pending_action = action;
	if (!task->pending_signal) {
		supervisor_syscall_again(sup, task);
	} else if (task->transfer.moved) { /* what has been moved is the result: this signal would
					      have cut it short natively, too */
		cut_transfer_end(task);
		task->syscall_restarts = false;
	}
	task->syscall_cut = false;
	/* QUIRK(init-fault): delivered to such a process, the signal would be dropped and the
	 * instruction fault again, for ever; detached, it dies of it. */
	if (fatal && sync && !task->native && tracee_is_init(task->process->pid)) {
		task->pending_signal = 0;
		task->process->leaving = "the first process of a PID namespace, which a fault ends "
					 "only when nobody traces it: detached there";
	}
	supervisor_make_ready(sup, task);
}

void supervisor_handler_entered(struct supervisor *sup, struct task *task)
{
	struct bt_record_handler rec = {.task = task->number,
					.point = task_point(task),
					.signo = signal_frame_signo(&task->regs)};

	if (task->depth < HANDLER_DEPTH_MAX) {
		struct handler_frame *f = &task->frames[task->depth++];
		uint64_t start, size;

		*f = (struct handler_frame){.sp = task->regs.rsp};
		if (signal_frame_stack(task->tid, &task->regs, &start, &size) && f->sp >= start &&
		    f->sp < start + size) {
			f->alt_start = start;
			f->alt_end = start + size;
			f->interrupted_sp = signal_frame_sp(task->tid, &task->regs);
		}
	}
	rec.depth = task->depth;
	SUPERVISOR_EVENT(sup, task->unit->number, HANDLER, &rec);
	supervisor_make_ready(sup, task);
}
