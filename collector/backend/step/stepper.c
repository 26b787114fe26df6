/* SPDX-License-Identifier: MIT */
/* The stepper: PTRACE_SINGLESTEP and a decoder. Every instruction is seen, so ticks and branches
 * are exact by construction.
 *
 * A task is resumed on an errand: most often a step, but to a breakpoint behind an instruction that
 * cannot be stepped over, to the next system call stop, into a handler, to a signal that waits. The
 * instruction is decoded before (next_insn.c), and that decides the errand. The stop that follows
 * is looked at with the errand in mind: a SIGTRAP is ours or the program's, a system call is
 * entered or left, a signal came before the instruction or was raised by it. Executed instructions
 * go into the task's history (step_history.c). The task is stepped on at once, without a word to
 * the supervisor, until its slice is over or something comes that the supervisor has to know.
 *
 * Traces of single-stepping that the program would see are repaired: TF in pushed flags and frames,
 * RF, a blocked or ignored SIGTRAP (hidden_signals.h, doc/QUIRKS.md). */
#include "collector/backend/step/stepper_private.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "collector/task/syscall_filter.h"
#include "collector/tracee/signal_frame.h"
#include "collector/tracee/tracee.h"
#include "lib/system_store.h"

enum {
	SLICE = 2000,       /* instructions a task runs before another of its unit gets its turn */
	SIGNAL_LOOKS = 200, /* for a signal that is there */
};

#define MASK_OF(signo) (1ull << ((signo)-1))

/* Sends the task on its errand. */
static int send_off(struct task *task, enum errand errand, int request, int signo)
{
	struct step_task *st = task->step;

	st->errand = errand;
	st->request = request;
	return tracee_resume(task->host_tid, request, signo);
}

static int step_task_init(struct backend *b, struct task *task)
{
	task->step = calloc(1, sizeof(struct step_task));
	if (!task->step)
		return -BT_E_NO_MEMORY;
	task->step->logged = b->logged;
	task->step->answered = b->answered;
	task->step->backend = b;
	b->several |= task->number > 1;
	return 0;
}

static void step_task_release(struct backend *b, struct task *task)
{
	(void)b;
	free(task->step);
	task->step = NULL;
}

int stepper_hide_trap(struct task *task)
{
	int rc = step_pace_begin(task);

	return rc ? rc : hidden_signals_hide(task, &task->step->hidden);
}

bool stepper_keep_trap(struct task *task, siginfo_t *info, bool sent)
{
	return hidden_signals_keep(task, &task->step->hidden, info, sent);
}

int stepper_go_on(struct task *task) { return hidden_signals_go_on(task, &task->step->hidden); }

void stepper_post_trap(struct task *task, const siginfo_t *info)
{
	hidden_signals_post(task, &task->step->hidden, info);
}

bool stepper_hides_fault(const struct task *task)
{
	return task->step->hidden.mask & MASK_OF(SIGSEGV);
}

bool stepper_blocks_faults(const struct task *task) { return task->step->hidden.faults_blocked; }

bool stepper_hides_signals(const struct task *task)
{
	return task->step->hidden.mask || task->step->hidden.paced || task->process->trap_ignored;
}

/* QUIRK(step-sigtrap-ignored): the kernel also resets an ignored SIGTRAP to its default at every
 * trap. It is ignored again whenever the program can ask. */
static int restore_trap_disposition(struct task *task)
{
	/* struct kernel_sigaction: handler, flags, restorer, mask */
	static const uint64_t ignore[4] = {(uint64_t)(uintptr_t)SIG_IGN};

	if (!task->process->trap_ignored ||
	    syscall_filter_may_refuse(task)) /* a filter of the program's may end it for that */
		return 0;
	return tracee_sigaction_at_entry(task->host_tid, &task->regs, SIGTRAP, ignore);
}

/* Whether the next instruction is a call of the vsyscall page that another task may have to answer:
 * a notification of the program's filter (seccomp_unotify(2)). The kernel tells of no entry to such
 * a call. */
static bool is_unseen_call(const struct task *task)
{
	const struct step_task *st = task->step;

	return st->back && !st->answered && syscall_filter_may_refuse(task);
}

/* Lets the task execute its next instruction. */
static int step_insn(struct task *task)
{
	struct step_task *st = task->step;
	uint64_t behind;
	int stored, called;

	do {
		if (next_insn_look(task))
			return -BT_E_GONE;
		stored = next_insn_store(task);
	} while (stored > 0);
	if (stored < 0 || (next_insn_saves_x87(st) &&
			   tracee_clear_x87_address(task->host_tid, task->step->logged)))
		return -BT_E_GONE;
	called = next_insn_vsyscall(task);
	if (called)
		return called < 0 ? called : 0;
	task_set_unseen_call(task, is_unseen_call(task));
	if (task->in_unseen_call) /* to run on it may need a turn again */
		st->budget = 1;
	if (next_insn_shorten(task))
		return -BT_E_GONE;
	behind = next_insn_end(task);
	if (next_insn_is_syscall(task))
		return step_pace_before_call(task)
			       ? -BT_E_GONE
			       : send_off(task, ERRAND_SYSCALL, PTRACE_SYSCALL, 0);
	if (behind && !tracee_set_breakpoint(task->host_tid, behind))
		return send_off(task, ERRAND_OVER, PTRACE_CONT, 0);
	return send_off(task, ERRAND_STEP, PTRACE_SINGLESTEP, 0);
}

static int deliver_signal(struct task *task, int signo, enum bt_signal_action action)
{
	struct step_task *st = task->step;
	int request = PTRACE_SINGLESTEP;
	bool deadly = action == BT_ACTION_TERMINATE || action == BT_ACTION_CORE;

	if (next_insn_look(task))
		return -BT_E_GONE;
	if (deadly)
		hidden_signals_let_kill(&st->hidden, signo);
	if (hidden_signals_restore(task, &st->hidden) ||
	    tracee_clear_x87_address(task->host_tid,
				     false)) /* the frame has it, or the core file */
		return -BT_E_GONE;
	if (deadly)
		request = PTRACE_CONT; /* without a step, so that nothing of ours is in the core
					  file */
	else if (action == BT_ACTION_STOP && next_insn_is_syscall(task))
		request = PTRACE_SYSCALL; /* an orphaned process group does not stop (POSIX): it
					     goes on at once */
	return send_off(task, ERRAND_DELIVER, request, signo);
}

void stepper_prepare(struct task *task)
{
	struct step_task *st = task->step;

	next_insn_look_ahead(task);
	st->budget = 1;
	st->request = PTRACE_SINGLESTEP;
}

int stepper_fault_again(struct task *task)
{
	struct step_task *st = task->step;

	st->budget = 1;
	return hidden_signals_restore(task, &st->hidden) ? -BT_E_GONE : step_insn(task);
}

/* Lets a signal come before the next instruction. Another thread may get it in the meantime: then
 * the task would run on unseen, so it is interrupted. */
static int take_signal(struct task *task)
{
	const struct timespec pause = {.tv_nsec = 20000};
	siginfo_t info;

	if (send_off(task, ERRAND_SIGNAL, PTRACE_SYSCALL, 0))
		return -BT_E_GONE;
	for (int i = 0; i < SIGNAL_LOOKS; i++) {
		info.si_pid = 0;
		if (waitid(P_PID, (id_t)task->host_tid, &info,
			   WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) ||
		    info.si_pid)
			return 0;
		nanosleep(&pause, NULL);
	}
	(void)!tracee_resume(task->host_tid, PTRACE_INTERRUPT, 0);
	return 0;
}

int stepper_take_signal(struct backend *b, struct task *task)
{
	(void)b;
	task->step->budget = 1;
	return take_signal(task);
}

/* The task was interrupted before the signal came. */
static enum backend_stop no_signal(struct task *task)
{
	const struct bt_branch gap = {.kind = BT_BRANCH_GAP, .to = BT_GAP_UNDECODED};
	const struct bt_regs before = task->regs;

	if (tracee_get_regs(task->host_tid, &task->regs))
		return BACKEND_GONE;
	if (memcmp(&task->regs, &before, sizeof before))
		step_history_branch(task, &gap, false);
	return BACKEND_SLICE;
}

static int resume_step(struct task *task)
{
	int hidden;

	if (task->in_syscall || task->syscall_restarts) {
		hidden_signals_give_back(task, &task->step->hidden);
		return send_off(task, ERRAND_SYSCALL, PTRACE_SYSCALL, 0);
	}
	hidden = stepper_hide_trap(task);
	if (hidden == HIDE_SIGNAL_FIRST)
		return take_signal(task);
	return hidden < 0 ? hidden : step_insn(task);
}

static int step_resume(struct backend *b, struct task *task, int signo,
		       enum bt_signal_action action)
{
	struct step_task *st = task->step;

	(void)b;
	st->budget = SLICE;
	if (signo)
		return deliver_signal(task, signo, action);
	return resume_step(task);
}

/* Whether the instruction of the step may have raised the SIGTRAP that has come. */
static bool may_trap(const struct step_task *st)
{
	return (st->errand != ERRAND_STEP && st->errand != ERRAND_OVER) || !st->readable ||
	       st->program_tf || (st->insn.traits | st->second.traits) & BT_TRAIT_BREAKPOINT;
}

/* A trap of the program's own waits to be delivered. Raised by an instruction while the program
 * blocks SIGTRAP it ends the program. The kernel, from whose mask that is hidden, would have it
 * wait, or enter a handler: so it raises the trap once more, with the program's mask. Where that
 * cannot be done the program dies an instruction later. Returns 0 or -BT_E_GONE. */
static int force_trap(struct task *task, const siginfo_t *info)
{
	struct step_task *st = task->step;

	if (info->si_signo != SIGTRAP || info->si_code <= 0 || task->signal_sent ||
	    !(st->hidden.mask & MASK_OF(SIGTRAP)))
		return 0;
	return hidden_signals_restore(task, &st->hidden) ||
			       tracee_raise_trap(task->host_tid, &task->regs, st->addr) ||
			       tracee_set_siginfo(task->host_tid, info)
		       ? -BT_E_GONE
		       : 0;
}

/* Its registers are those before it, but rip. */
static void note_saved_parts(const struct backend *b, struct task *task)
{
	const struct step_task *st = task->step;
	struct bt_regs before = task->regs;

	task->has_saved_parts = false;
	if (!b->logged || !(st->insn.traits & BT_TRAIT_SAVES_PARTS) || st->code_32)
		return;
	before.rip = st->addr;
	task->has_saved_parts =
		bt_saved_parts_address(st->bytes, st->insn.len, &before, &task->saved_parts);
}

/* Whether the instruction that was stepped has a result that a log must have. */
static bool has_logged_result(const struct backend *b, struct task *task)
{
	const struct step_task *st = task->step;

	task->left_vsyscall = st->back;
	note_saved_parts(b, task);
	return b->logged &&
	       (st->insn.traits & BT_TRAIT_OWN_RESULT || st->back || task->has_saved_parts);
}

/* Of an instruction of which stopped() does not tell. */
static void tell_logged_result(const struct backend *b, struct task *task)
{
	const struct observer *observer = task->process->space->observer;

	if (has_logged_result(b, task) && observer->ops->instruction)
		observer->ops->instruction(observer->arg, task);
}

static enum backend_stop insn_stepped(const struct backend *b, struct task *task,
				      const siginfo_t *info)
{
	struct step_task *st = task->step;

	step_history_step(task, true);
	if (task->told.rip == st->addr && task->regs.rip != st->addr) /* REP stays there */
		task->told.rip = 0;
	if (st->program_tf && info->si_code != TRAP_HWBKPT) {
		tell_logged_result(b, task); /* stopped() tells of the program's own trap */
		return force_trap(task, info) ? BACKEND_GONE : BACKEND_SIGNAL;
	}
	if (has_logged_result(b, task))
		return BACKEND_INSTRUCTION;
	if (--st->budget == 0 || stop_point_side(task) != STOP_POINT_AHEAD ||
	    task_function_stop(task))
		return BACKEND_SLICE;
	if (stepper_end_pace(task, false))
		return BACKEND_GONE;
	return step_insn(task) ? BACKEND_GONE : BACKEND_RUNS;
}

static enum backend_stop handler_entered(struct task *task)
{
	if (tracee_get_regs(task->host_tid, &task->regs))
		return BACKEND_GONE;
	step_history_handler(task);
	return BACKEND_HANDLER;
}

/* The address of the instruction that has made the system call: of the one that was to be executed,
 * with its prefixes; or, where the kernel makes a call again, of the two bytes of syscall, sysenter
 * or int 0x80 alone. */
static uint64_t system_call_address(const struct task *task)
{
	const struct step_task *st = task->step;
	const struct bt_insn *insn = st->second.len ? &st->second : &st->insn;
	uint64_t addr = st->second.len ? st->second_addr : st->addr;
	bool is_it = !task->syscall_restarts && insn->class == BT_INSN_SYSCALL &&
		     addr + insn->len == task->regs.rip;

	return is_it ? addr : task->regs.rip - 2;
}

static enum backend_stop syscall_stop(struct task *task)
{
	struct step_task *st = task->step;

	switch (tracee_syscall_stop(task->host_tid, &task->syscall)) {
	case TRACEE_SYSCALL_ENTRY:
		if (task->regs.rip == st->addr) /* it was the second */
			step_history_vsyscall(task);
		step_pace_called(st);
		if (hidden_signals_unhide(task, &st->hidden) ||
		    tracee_get_regs(task->host_tid, &task->regs) || restore_trap_disposition(task))
			return BACKEND_GONE;
		st->syscall_rip = system_call_address(task);
		return BACKEND_SYSCALL_ENTER;
	case TRACEE_SYSCALL_EXIT:
		if (tracee_get_regs(task->host_tid, &task->regs))
			return BACKEND_GONE;
		step_history_syscall(task);
		return BACKEND_SYSCALL_EXIT;
	default:
		return BACKEND_GONE;
	}
}

static int step_proceed(struct backend *b, struct task *task)
{
	const struct step_task *st = task->step;

	if (st->errand ==
	    ERRAND_DELIVER) /* a stop signal, delivered: nothing of the program's has run */
		return step_resume(b, task, 0, BT_ACTION_STOP);
	/* QUIRK(event-stop-first): a group stop or PTRACE_INTERRUPT is reported before the trap of
	 * a step that is done already. */
	return stepper_go_on(task) || tracee_resume(task->host_tid, st->request, 0) ? -BT_E_GONE
										    : 0;
}

void stepper_stop_behind(struct task *task) { task->step->budget = 1; }

void stepper_interrupt_call(const struct task *task)
{
	if (task->in_unseen_call)
		(void)!tracee_resume(task->host_tid, PTRACE_INTERRUPT, 0);
}

static void step_stop_soon(struct backend *b, struct task *task)
{
	(void)b;
	stepper_stop_behind(task);
	stepper_interrupt_call(task);
}

static void step_leave(struct backend *b, struct task *task)
{
	(void)b;
	/* Gone: nothing is left to put back. */
	(void)!hidden_signals_restore(task, &task->step->hidden);
}

static void step_rest(struct backend *b, struct task *task)
{
	(void)b;
	(void)!hidden_signals_rest(task, &task->step->hidden);
}

static void step_execed(struct backend *b, struct task *task)
{
	struct step_task *st = task->step;
	struct bt_branch entry = {.kind = BT_BRANCH_SYSCALL,
				  .flags = BT_BRANCH_TAKEN,
				  .from = st->syscall_rip,
				  .to = task->regs.rip};

	(void)b;
	st->pace = (struct timer_pace){0}; /* no handler is left */
	st->pace_called = false;
	if (st->syscall_rip)
		step_history_branch(task, &entry, false);
	st->syscall_rip = 0;
}

/* Whether a signal was delivered to a handler when the registers were `before`: its frame says
 * where it goes back to, which may be a system call that is made again, of two bytes. */
static bool is_in_handler(const struct task *task, const struct bt_regs *before)
{
	uint64_t back =
		task->regs.rsp != before->rsp ? signal_frame_rip(task->host_tid, &task->regs) : 0;

	return back && (back == before->rip || back == before->rip - 2);
}

/* The task may have been killed when its errand was done, before a stop told so. */
static void step_exiting(struct backend *b, struct task *task, const struct bt_regs *regs)
{
	const struct step_task *st = task->step;
	const struct bt_regs before = task->regs;

	task->regs = *regs;
	(void)!next_insn_lengthen(task->step, &task->regs);
	if (st->errand == ERRAND_DELIVER && is_in_handler(task, &before))
		step_history_handler(task);
	else if (task->in_syscall && syscall_is(&task->syscall, SYS_rt_sigreturn) &&
		 regs->rip != before.rip)
		step_history_syscall(task);
	else if (st->errand != ERRAND_SYSCALL && st->errand != ERRAND_SIGNAL &&
		 before.rip == st->addr && regs->rip != before.rip) {
		step_history_step(task, false);
		tell_logged_result(b, task);
	}
}

/* Whether a SIGTRAP stop is the end of our own errand, and no trap of the program's.
 * QUIRK(step-dr6-lost) */
static bool own_trap(const struct step_task *st, const siginfo_t *info)
{
	if (st->errand == ERRAND_OVER)
		return info->si_code == TRAP_HWBKPT || info->si_code == TRAP_BRKPT ||
		       (st->program_tf && info->si_code == TRAP_TRACE);
	if (st->errand == ERRAND_DELIVER) /* the signal came to nothing, and the step went on */
		return tracee_may_have_stepped(info);
	return st->errand == ERRAND_STEP && tracee_may_have_stepped(info) &&
	       !(st->readable && st->insn.traits & BT_TRAIT_BREAKPOINT);
}

/* Whether a trap of unknown cause came before the instruction.
 * QUIRK(step-new-task): the first step of a new task traps on its way out of clone, before any
 * instruction. */
static bool nothing_ran(const struct step_task *st, const struct bt_regs *now)
{
	return st->errand != ERRAND_OVER && now->rip == st->addr &&
	       bt_insn_branch_kind(st->insn.class) < 0;
}

/* QUIRK(step-popf): popf and iret are stepped where nobody can tell where they lead. One that has
 * not been executed, as it faults or a signal came first, leaves our TF in the flags: the kernel
 * clears it only where it takes it for ours. task->regs are the registers now. */
static int take_back_trap_flag(struct task *task)
{
	const struct step_task *st = task->step;

	if (st->request != PTRACE_SINGLESTEP || st->program_tf || task->regs.rip != st->addr ||
	    !(task->regs.eflags & EFLAGS_TF))
		return 0;
	task->regs.eflags &= ~(uint64_t)EFLAGS_TF;
	return tracee_set_regs(task->host_tid, &task->regs);
}

/* QUIRK(step-breakpoint-rf): the kernel has set RF, with which the program would go on. */
static int take_back_resume_flag(struct task *task)
{
	if (!(task->regs.eflags & EFLAGS_RF))
		return 0;
	task->regs.eflags &= ~(uint64_t)EFLAGS_RF;
	return tracee_set_regs(task->host_tid, &task->regs);
}

/* The task has stopped that was to go to its stop point in a repeated instruction. */
static int lengthen_repeat(struct task *task)
{
	struct bt_regs regs;

	return tracee_get_regs(task->host_tid, &regs) || (next_insn_lengthen(task->step, &regs) &&
							  tracee_set_regs(task->host_tid, &regs))
		       ? -BT_E_GONE
		       : 0;
}

/* The address of the instruction in the place of whose system call a signal has come (prctl(2),
 * PR_SET_SYSCALL_USER_DISPATCH): it has been executed, and there was no stop at an entry. 0: there
 * is none. The registers were `before` when the task was resumed. */
static uint64_t dispatched_call_address(const struct task *task, const struct bt_regs *before)
{
	const struct step_task *st = task->step;
	bool moved = st->errand == ERRAND_SYSCALL && before->rip == st->addr &&
		     task->regs.rip != before->rip;

	return moved || task->syscall_restarts ? system_call_address(task) : 0;
}

/* The task was interrupted in a call that no stop tells of. Where it was still waiting there, it
 * stands before the call again, and makes it once more.
 * QUIRK(vsyscall-interrupted): the kernel gives the program the number by which it knows that a
 * call is to be made again, and makes none. */
static enum backend_stop unseen_call_interrupted(struct task *task)
{
	const struct step_task *st = task->step;
	struct bt_regs now;
	bool made;

	if (tracee_get_regs(task->host_tid, &now))
		return BACKEND_GONE;
	made = now.rip != st->addr;
	if (made && (now.rip != st->back || now.rsp != task->regs.rsp + sizeof st->back ||
		     !tracee_was_interrupted(&now)))
		return BACKEND_MID_RUN;
	if ((st->errand == ERRAND_OVER && tracee_set_breakpoint(task->host_tid, 0)) ||
	    (made && tracee_set_regs(task->host_tid, &task->regs)))
		return BACKEND_GONE;
	return BACKEND_SLICE;
}

static enum backend_stop meaning_of(struct backend *b, struct task *task,
				    const struct wait_event *ev, siginfo_t *info)
{
	struct step_task *st = task->step;
	struct bt_regs before;
	siginfo_t came;
	bool ours = false, was_unseen = task->in_unseen_call;

	task_set_unseen_call(task, false);
	if (ev->type == WAIT_INTERRUPT)
		return st->errand == ERRAND_SIGNAL ? no_signal(task)
		       : was_unseen                ? unseen_call_interrupted(task)
						   : BACKEND_MID_RUN;
	if (ev->type == WAIT_SYSCALL)
		return syscall_stop(task);
	if (tracee_get_siginfo(task->host_tid, info))
		return BACKEND_GONE;
	if (ev->value == SIGTRAP && st->errand == ERRAND_DELIVER && info->si_code == TRAP_NOTIFY)
		return handler_entered(task);
	if (ev->value == SIGTRAP)
		ours = own_trap(st, info);
	if (st->errand == ERRAND_OVER && tracee_set_breakpoint(task->host_tid, 0))
		return BACKEND_GONE;
	if (st->left_out && lengthen_repeat(task))
		return BACKEND_GONE;
	if (ours) {
		if (tracee_get_regs(task->host_tid, &task->regs) ||
		    (st->errand == ERRAND_OVER && take_back_resume_flag(task)))
			return BACKEND_GONE;
		if (info->si_code == TRAP_BRKPT && nothing_ran(st, &task->regs))
			return step_insn(task) ? BACKEND_GONE : BACKEND_RUNS;
		return insn_stepped(b, task, info);
	}
	before = task->regs;
	if (tracee_get_regs(task->host_tid, &task->regs) || take_back_trap_flag(task))
		return BACKEND_GONE;
	if (before.rip == st->addr && task->regs.rip == st->back &&
	    task->regs.rsp == before.rsp + 8) /* it comes before the second */
		step_history_vsyscall(task);
	came = *info;
	task->signal_sent = ev->value == SIGTRAP && !may_trap(st);
	if (stepper_keep_trap(task, info, task->signal_sent))
		return resume_step(task) ? BACKEND_GONE : BACKEND_RUNS;
	if (memcmp(&came, info, sizeof came) && tracee_set_siginfo(task->host_tid, info))
		return BACKEND_GONE;
	if (force_trap(task, info))
		return BACKEND_GONE;
	task->signal_from = dispatched_call_address(task, &before);
	/* int3 and its kin have been executed when their trap comes, but are no branches: nothing
	 * to add. */
	return BACKEND_SIGNAL;
}

static enum backend_stop step_stopped(struct backend *b, struct task *task,
				      const struct wait_event *ev, siginfo_t *info)
{
	enum backend_stop stop = meaning_of(b, task, ev, info);

	stepper_note_stop(task, stop, info);
	return stop;
}

enum backend_reach stepper_stop_at(struct backend *b, struct task *task,
				   const struct stop_point *point)
{
	(void)b;
	task->stop_point = point;
	return REACH_EXACT;
}

const struct backend_ops stepper_ops = {
	.name = "step",
	.source = "bits",
	.tick_classes = BT_TICK_JCC | BT_TICK_JRCXZ | BT_TICK_LOOP,
	.task_init = step_task_init,
	.task_release = step_task_release,
	.resume = step_resume,
	.proceed = step_proceed,
	.stop_at = stepper_stop_at,
	.stop_soon = step_stop_soon,
	.leave = step_leave,
	.rest = step_rest,
	.execed = step_execed,
	.exiting = step_exiting,
	.stopped = step_stopped,
};
