/* SPDX-License-Identifier: MIT */
/* A signal may come where it cannot be reported as it is. It is then
 * - held (et->holds): the application's state is not known there. The next trap of the cache's own
 *   reports it. If another stop comes first, it is sent again (posted); when it comes, it gets
 * its first siginfo again.
 * - raised again (et->raises): the instruction may have raised it. The stepper executes the
 *   instruction at its application address. If it raises nothing, the signal was sent.
 * - kept waiting (et->waits): it came in the midst of an instruction, which ends first.
 *
 * During the last two all signals are blocked that no instruction raises. */
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/backend/engine/engine_private.h"
#include "collector/backend/engine/x86/x86.h"
#include "collector/tracee/tracee.h"
#include "lib/array_size.h"

/* ---- Held and posted ---- */

enum backend_stop engine_signals_deliver(struct task *task, siginfo_t *info,
					 const siginfo_t *signal)
{
	task->signal_sent = true;
	*info = *signal;
	return tracee_set_siginfo(task->host_tid, info) ? BACKEND_GONE : BACKEND_SIGNAL;
}

void engine_signals_hold(struct engine_task *et, const siginfo_t *info)
{
	et->holds = true;
	et->held = *info;
}

void engine_signals_keep_held(struct task *task)
{
	struct engine_task *et = task->backend;

	if (et->holds && stepper_keep_trap(task, &et->held, true))
		et->holds = false;
}

void engine_signals_post_held(struct task *task)
{
	struct engine_task *et = task->backend;

	engine_signals_keep_held(task);
	if (et->holds && !tgkill(task->process->host_pid, task->host_tid, et->held.si_signo)) {
		et->holds = false;
		et->posted = true;
	}
}

static bool is_posted(const struct task *task, const siginfo_t *info)
{
	const struct engine_task *et = task->backend;

	return et->posted && info->si_signo == et->held.si_signo && info->si_code == SI_TKILL &&
	       info->si_pid == getpid();
}

int engine_signals_recognize_posted(struct task *task, siginfo_t *info)
{
	struct engine_task *et = task->backend;

	if (!is_posted(task, info))
		return 0;
	et->posted = false;
	task->signal_sent = true;
	*info = et->held;
	return tracee_set_siginfo(task->host_tid, info);
}

void engine_signals_tell_waited(struct task *task)
{
	struct engine_task *et = task->backend;
	uint64_t at = task->syscall.args[1];
	siginfo_t info;

	if (!syscall_is(&task->syscall, SYS_rt_sigtimedwait) || (int64_t)task->regs.rax <= 0 ||
	    !at || tracee_read(task->host_tid, at, &info, sizeof info) != sizeof info ||
	    !is_posted(task, &info))
		return;
	et->posted = false;
	tracee_write(task->host_tid, at, &et->held, sizeof et->held);
}

bool engine_signals_comes_first(const struct task *task)
{
	struct tracee_signals s;

	return syscall_is(&task->syscall, SYS_rt_sigreturn) &&
	       tracee_has_own_signal(task->host_tid) && !tracee_signals(task->host_tid, &s) &&
	       s.pending & ~s.blocked & 1ull << (SIGSEGV - 1);
}

/* ---- Blocked meanwhile ---- */

/* Blocks all signals that no instruction raises, until unblock_others(). */
static int block_others(struct task *task)
{
	/* A blocked signal that an instruction raises would end the program. */
	const int raised_by_instructions[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};
	uint64_t mask, others = UINT64_MAX;
	struct engine_task *et = task->backend;

	for (size_t i = 0; i < ARRAY_SIZE(raised_by_instructions); i++)
		others &= ~(1ull << (raised_by_instructions[i] - 1));
	if (tracee_get_mask(task->host_tid, &mask) ||
	    tracee_set_mask(task->host_tid, mask | others))
		return -BT_E_GONE;
	et->blocks = others & ~mask;
	return 0;
}

static int unblock_others(struct task *task)
{
	const struct engine_task *et = task->backend;
	uint64_t mask;

	return tracee_get_mask(task->host_tid, &mask) ||
			       tracee_set_mask(task->host_tid, mask & ~et->blocks)
		       ? -BT_E_GONE
		       : 0;
}

/* ---- Raised again ---- */

/* The class of the instruction there, plain where it cannot be read. */
static enum bt_insn_class class_at(const struct task *task, uint64_t pc)
{
	uint8_t bytes[BT_INSN_MAX] = {0};
	size_t n = tracee_read(task->host_tid, pc, bytes, sizeof bytes);
	struct x86_insn insn;

	return x86_decode(bytes, n, &insn) ? BT_INSN_PLAIN : insn.class;
}

bool engine_signals_may_be_raised(const struct task *task, const siginfo_t *info)
{
	return tracee_is_fault(info) && info->si_signo != SIGTRAP &&
	       class_at(task, task->regs.rip) != BT_INSN_SYSCALL;
}

int engine_signals_raise_again(struct backend *b, struct task *task, const siginfo_t *info)
{
	struct engine_task *et = task->backend;

	if (block_others(task))
		return -BT_E_GONE;
	et->raises = true;
	et->raise_at = task->regs.rip;
	et->raised = *info;
	return engine_step(b, task, 0, BT_ACTION_IGNORE);
}

/* A jump that a fragment follows has no code: a signal at its place was raised by its target. */
static bool jumped_there(const struct task *task)
{
	const struct engine_task *et = task->backend;

	return class_at(task, et->raise_at) == BT_INSN_JMP &&
	       engine_signals_may_be_raised(task, &et->raised);
}

/* The instruction has run, and has raised nothing. It was sent, unless another thread or process
 * has meanwhile made valid what was not. */
static bool was_sent(const struct task *task, const siginfo_t *info)
{
	const struct engine_space *es = engine_space_made(task);
	bool in_file = info->si_signo == SIGBUS &&
		       info->si_code == BUS_ADRERR; /* a real fault, if the file has grown since */
	bool paged = info->si_signo == SIGSEGV &&
		     (info->si_code == SEGV_MAPERR || info->si_code == SEGV_ACCERR);

	return !in_file && !(paged && (task->unit->tasks > 1 || (es && es->parallel)));
}

/* The step of engine_signals_raise_again() is over, with any result. */
static int end_raise(struct task *task)
{
	struct engine_task *et = task->backend;

	et->raises = false;
	return unblock_others(task);
}

bool engine_signals_raise_stopped(struct backend *b, struct task *task, siginfo_t *info,
				  enum backend_stop *stop)
{
	struct engine_task *et = task->backend;

	if (!et->raises || *stop == BACKEND_RUNS || *stop == BACKEND_MID_RUN)
		return false;
	if (*stop == BACKEND_SLICE && jumped_there(task)) {
		const siginfo_t raised = et->raised;

		*stop = end_raise(task) || engine_signals_raise_again(b, task, &raised)
				? BACKEND_GONE
				: BACKEND_RUNS;
		return true;
	}
	if (end_raise(task)) {
		*stop = BACKEND_GONE;
		return true;
	}
	if (*stop != BACKEND_SLICE || !was_sent(task, &et->raised) ||
	    stepper_keep_trap(task, &et->raised, true))
		return false;
	*stop = engine_signals_deliver(task, info, &et->raised);
	return true;
}

/* ---- Kept waiting ---- */

/* Whether it has come in the midst of an instruction, between two iterations of a REP or two
 * elements of a gather: a replay would reach that iteration by as many steps, and that element not
 * at all. */
static bool comes_inside(const struct task *task, const siginfo_t *info)
{
	uint8_t bytes[BT_INSN_MAX] = {0};
	struct x86_insn insn;
	size_t n;

	if (tracee_is_fault(info))
		return false;
	n = tracee_read(task->host_tid, task->regs.rip, bytes, sizeof bytes);
	return !x86_decode(bytes, n, &insn) && insn.traits & (X86_REPEATED | X86_GATHERED);
}

bool engine_signals_is_to_wait(const struct backend *b, const struct task *task,
			       const siginfo_t *info)
{
	const struct engine_task *et = task->backend;

	return !et->holds && !task->syscall_restarts && !task->syscall_cut && !task->in_syscall &&
	       b->logged && comes_inside(task, info);
}

enum backend_stop engine_signals_let_wait(struct backend *b, struct task *task,
					  const siginfo_t *info)
{
	struct engine_task *et = task->backend;

	engine_signals_hold(et, info);
	et->waits = true;
	return block_others(task) || engine_step(b, task, 0, BT_ACTION_IGNORE) ? BACKEND_GONE
									       : BACKEND_RUNS;
}

int engine_signals_end_wait(struct task *task)
{
	struct engine_task *et = task->backend;
	bool waited = et->waits;

	et->waits = false;
	return waited ? unblock_others(task) : 0;
}

enum backend_stop engine_signals_waiting_stopped(struct task *task, enum backend_stop stop)
{
	if (stop == BACKEND_RUNS || stop == BACKEND_MID_RUN)
		return stop;
	return engine_signals_end_wait(task) ? BACKEND_GONE : stop;
}
