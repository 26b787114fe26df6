/* SPDX-License-Identifier: MIT */
/* Signals: their actions, their delivery, the entry of handlers. */
#include "collector/supervisor/detach.h"
#include "collector/supervisor/supervisor_private.h"

#include "collector/task/cut_transfer.h"
#include "collector/tracee/signal_frame.h"
#include "collector/tracee/tracee.h"

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

	if (!sync && is_deadly(by_default) && tracee_is_init(task->process->host_pid))
		by_default = BT_ACTION_IGNORE; /* pid_namespaces(7) */
	if (signo == SIGTRAP && task->process->trap_ignored && !sync)
		return BT_ACTION_IGNORE; /* a step may have changed the kernel's disposition */
	if (tracee_signals(task->host_tid, &s))
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

/* Whether a signal waits that the program will notice; *any: a signal waits, of whatever kind. */
bool supervisor_signal_waits(const struct task *task, bool *any)
{
	struct tracee_signals s;
	uint64_t waiting;

	*any = false;
	if (tracee_signals(task->host_tid, &s))
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

void supervisor_signal_arrived(struct supervisor *sup, struct task *task, const siginfo_t *info)
{
	bool sync = tracee_is_synchronous(info);
	enum bt_signal_action action = action_of(task, info->si_signo, sync);
	const struct arrived_signal signal = {.info = info,
					      .action = action,
					      .sync = sync,
					      .sent = task->signal_sent,
					      .fatal = is_deadly(action)};

	if (sup->session->ops->answers_signal &&
	    sup->session->ops->answers_signal(sup->session, sup, task, &signal)) {
		task->pending_signal = 0;
		task->syscall_cut = false;
		supervisor_make_ready(sup, task);
		return;
	}
	task_prune_frames(task);
	if (task->native) /* its system calls were not seen */
		address_space_refresh(task->process->space, task->host_tid);
	sup->session->ops->on_signal(sup->session, sup, task, &signal);
	/* A signal that the program would never notice is dropped here. */
	task->pending_signal =
		action == BT_ACTION_IGNORE || action == BT_ACTION_CONTINUE ? 0 : info->si_signo;
	task->pending_action = action;
	if (!task->pending_signal) {
		supervisor_syscall_again(sup, task);
	} else if (task->transfer.moved &&
		   (task->pending_action != BT_ACTION_STOP || !task->transfer.rewound)) {
		/* The bytes moved are the result: natively this signal would have cut the call
		 * short, too. Behind a stop a rewound call can go on: a log has no effects of such
		 * a signal. */
		cut_transfer_end(task);
		task->syscall_restarts = false;
	}
	task->syscall_cut = false;
	if (signal.fatal && sync && !task->native && tracee_is_init(task->process->host_pid)) {
		task->pending_signal = 0;
		detach_init(task->process);
	}
	supervisor_make_ready(sup, task);
}

void supervisor_handler_entered(struct supervisor *sup, struct task *task)
{
	if (task->depth < HANDLER_DEPTH_MAX) {
		struct handler_frame *f = &task->frames[task->depth++];
		uint64_t start, size;

		*f = (struct handler_frame){.sp = task->regs.rsp};
		if (signal_frame_stack(task->host_tid, &task->regs, &start, &size) &&
		    f->sp >= start && f->sp < start + size) {
			f->alt_start = start;
			f->alt_end = start + size;
			f->interrupted_sp = signal_frame_sp(task->host_tid, &task->regs);
		}
	}
	sup->session->ops->on_handler(sup->session, sup, task);
	supervisor_make_ready(sup, task);
}
