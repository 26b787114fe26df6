/* SPDX-License-Identifier: MIT */
/* System calls that a stopped thread makes for us. There are four ways, by where it stands.
 *
 * - Outside of any system call (tracee_syscall): the syscall instruction is written over the code
 * at rip, or one is used that lies right before it; the thread runs to the call's entry and to its
 *   exit. For several calls the instruction is lent (tracee_lend_syscall).
 * - At the exit of a call (tracee_syscall_again): rip goes back to that call's own instruction.
 * - At a signal or a step (tracee_inject): the code has a "syscall; int3" somewhere; the thread
 * runs from there to the int3's trap, and makes no system call stop.
 * - At the entry of a call (tracee_inject_at_entry): the kernel is told another number and other
 *   arguments, and at the exit the thread is led back to its own call. A call by int 0x80 has other
 *   numbers; it is skipped, and its instruction is a syscall for that time.
 *
 * A thread in 32-bit code makes it in 64-bit code: syscall has other arguments there, or faults,
 * and rip only its lower half. The registers are put back each time. A stop that was not asked for
 * ends the wait and stays to be waited for, but for those that come of SIGSTOP and SIGCONT, which
 * nobody can block. */
#include "collector/tracee/tracee_private.h"

#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

/* Resumes tid to its next system call stop. False when another event comes instead: that one is
 * left to be waited for. SIGSTOP, which nobody can block, does not end the wait: the process is
 * stopped, as its parent is told, and so is the task, once it has made the call. The same holds
 * where another thread has stopped the process, and for SIGCONT, of which a task is told at once.
 */
static bool await_syscall_stop(pid_t tid)
{
	bool told = false;
	int stop, signo = 0;

	while ((stop = tracee_resume_to_stop(tid, PTRACE_SYSCALL, signo)) == SIGSTOP ||
	       (stop > 0 && stop >> 8 == PTRACE_EVENT_STOP)) {
		signo = stop == SIGSTOP ? SIGSTOP : 0;
		told |= !signo;
		if (!tracee_take_status(tid))
			return false;
	}
	if (stop != (SIGTRAP | 0x80) || !tracee_take_status(tid))
		return false;
	return !told || !tracee_resume(tid, PTRACE_INTERRUPT, 0);
}

static void set_arguments(struct bt_regs *regs, const uint64_t args[6])
{
	regs->rdi = args[0];
	regs->rsi = args[1];
	regs->rdx = args[2];
	regs->r10 = args[3];
	regs->r8 = args[4];
	regs->r9 = args[5];
}

static struct bt_regs syscall_regs(const struct bt_regs *from, long nr, const uint64_t args[6])
{
	struct bt_regs regs = *from;

	regs.rax = (uint64_t)nr;
	regs.orig_rax = UINT64_MAX; /* not in a system call: nothing to restart */
	regs.cs = tracee_code_selector();
	set_arguments(&regs, args);
	return regs;
}

static const uint8_t syscall_insn[2] = {0x0f, 0x05}, int80_insn[2] = {0xcd, 0x80};

static bool is_behind_syscall(pid_t tid, uint64_t rip)
{
	uint8_t code[sizeof syscall_insn];

	return tracee_read(tid, rip - sizeof code, code, sizeof code) == sizeof code &&
	       !memcmp(code, syscall_insn, sizeof code);
}

static bool write_syscall(pid_t tid, struct tracee_lent *l)
{
	l->written = tracee_read(tid, l->regs.rip, l->code, sizeof l->code) == sizeof l->code &&
		     tracee_write(tid, l->regs.rip, syscall_insn, sizeof syscall_insn);
	return l->written;
}

void tracee_lend_syscall(pid_t tid, uint64_t elsewhere, struct tracee_lent *l)
{
	struct bt_regs regs;

	*l = (struct tracee_lent){0};
	if (tracee_is_lost(tid) || tracee_get_regs(tid, &l->regs))
		return;
	regs = l->regs;
	if (elsewhere)
		regs.rip = elsewhere + sizeof syscall_insn;
	else if (!is_behind_syscall(tid, regs.rip) && write_syscall(tid, l))
		regs.rip += sizeof syscall_insn;
	l->lent = true;
	regs.orig_rax = UINT64_MAX; /* not in a system call: nothing to restart */
	regs.cs = tracee_code_selector();
	(void)!tracee_set_regs(tid, &regs);
}

int tracee_take_back_syscall(pid_t tid, const struct tracee_lent *l)
{
	if (!l->lent)
		return 0;
	if (tracee_is_another_program(tid))
		return -BT_E_GONE;
	if (l->written)
		tracee_write(tid, l->regs.rip, l->code, sizeof l->code);
	return tracee_set_regs(tid, &l->regs);
}

long tracee_syscall(pid_t tid, long nr, const uint64_t args[6])
{
	struct bt_regs saved, regs;
	uint8_t code[2];
	long rc = -ESRCH;

	if (tracee_is_lost(tid) || tracee_get_regs(tid, &saved))
		return rc;
	if (is_behind_syscall(tid, saved.rip))
		return tracee_syscall_again(tid, &saved, nr, args);
	if (tracee_read(tid, saved.rip, code, sizeof code) != sizeof code ||
	    !tracee_write(tid, saved.rip, syscall_insn, sizeof syscall_insn))
		return rc;
	regs = syscall_regs(&saved, nr, args);
	if (!tracee_set_regs(tid, &regs) && await_syscall_stop(tid) && await_syscall_stop(tid) &&
	    !tracee_get_regs(tid, &regs))
		rc = (long)regs.rax;
	if (tracee_is_another_program(tid))
		return -ESRCH;
	tracee_write(tid, saved.rip, code, sizeof code);
	if (tracee_set_regs(tid, &saved))
		return -ESRCH;
	return rc;
}

long tracee_syscall_again(pid_t tid, const struct bt_regs *regs, long nr, const uint64_t args[6])
{
	struct bt_regs other = syscall_regs(regs, nr, args);
	long rc = -ESRCH;

	other.rip -= 2; /* to the syscall instruction */
	if (!tracee_is_lost(tid) && !tracee_set_regs(tid, &other) && await_syscall_stop(tid) &&
	    await_syscall_stop(tid) && !tracee_get_regs(tid, &other))
		rc = (long)other.rax;
	return tracee_is_another_program(tid) || tracee_set_regs(tid, regs) ? -ESRCH : rc;
}

int tracee_inject(pid_t tid, const struct bt_regs *regs, uint64_t at, long nr,
		  const uint64_t args[6], long *result)
{
	enum {
		BEHIND = 3, /* syscall; int3 */
		INTERRUPTED = SIGTRAP | PTRACE_EVENT_STOP << 8,
	};
	struct bt_regs call = syscall_regs(regs, nr, args);
	int stop;

	call.rip = at;
	call.eflags &= ~(uint64_t)EFLAGS_TF;
	if (tracee_is_lost(tid) || tracee_set_regs(tid, &call))
		return -BT_E_GONE;
	/* QUIRK(event-stop-first): between the int3 and its trap there may be an interruption.
	 * Nobody needs to know of it. */
	while ((stop = tracee_run_to_stop(tid, PTRACE_CONT)) == INTERRUPTED &&
	       !tracee_get_regs(tid, &call) && call.rip == at + BEHIND)
		if (!tracee_take_status(tid))
			return -BT_E_GONE;
	if (tracee_is_another_program(tid) || tracee_get_regs(tid, &call))
		return -BT_E_GONE;
	*result = (long)call.rax;
	if (tracee_set_regs(tid, regs))
		return -BT_E_GONE;
	if (stop == SIGTRAP && call.rip == at + BEHIND)
		return tracee_take_status(tid) ? TRACEE_INJECT_MADE : -BT_E_GONE;
	/* A signal that came during the call is reported behind it, before the int3. */
	return call.rip == at ? TRACEE_INJECT_NOT_MADE : TRACEE_INJECT_MADE_STOPPED;
}

/* The task, with all signals blocked, is at the entry of a system call by the syscall instruction.
 * It is at the exit of the other then. */
static int replace_syscall(pid_t tid, const struct bt_regs *regs, long nr, const uint64_t args[6],
			   long *result)
{
	struct bt_regs other = *regs;

	other.orig_rax = (uint64_t)nr;
	set_arguments(&other, args);
	if (tracee_set_regs(tid, &other) || !await_syscall_stop(tid) ||
	    tracee_get_regs(tid, &other))
		return -BT_E_GONE;
	*result = (long)other.rax;
	return 0;
}

/* The same at an entry by int 0x80. Its calls have other numbers and only the lower halves of
 * arguments, so that call is left out. For the other one its instruction is a syscall meanwhile,
 * which is as long. */
static int replace_compat_syscall(pid_t tid, const struct bt_regs *regs, long nr,
				  const uint64_t args[6], long *result)
{
	uint64_t at = regs->rip - sizeof syscall_insn;
	struct bt_regs none = *regs, other = syscall_regs(regs, nr, args);
	bool made;

	none.orig_rax = UINT64_MAX;
	other.rip = at;
	if (tracee_set_regs(tid, &none) || !await_syscall_stop(tid))
		return -BT_E_GONE;
	made = tracee_write(tid, at, syscall_insn, sizeof syscall_insn) &&
	       !tracee_set_regs(tid, &other) && await_syscall_stop(tid) &&
	       await_syscall_stop(tid) && !tracee_get_regs(tid, &other);
	*result = made ? (long)other.rax : -ENOSYS;
	tracee_write(tid, at, int80_insn, sizeof int80_insn);
	return 0;
}

/* The task is at the entry of a system call, with all signals blocked. */
static int inject_at_entry(pid_t tid, const struct bt_regs *regs, long nr, const uint64_t args[6],
			   long *result)
{
	struct bt_regs again = *regs;
	uint8_t code[2];
	int rc;

	again.rip -= sizeof code; /* to the instruction */
	again.rax = regs->orig_rax;
	if (tracee_read(tid, again.rip, code, sizeof code) != sizeof code)
		return TRACEE_INJECT_NOT_MADE;
	if (!memcmp(code, syscall_insn, sizeof code))
		rc = replace_syscall(tid, regs, nr, args, result);
	else if (!memcmp(code, int80_insn, sizeof code))
		rc = replace_compat_syscall(tid, regs, nr, args, result);
	else /* sysenter leads elsewhere */
		return TRACEE_INJECT_NOT_MADE;
	return rc || tracee_set_regs(tid, &again) || !await_syscall_stop(tid) ? -BT_E_GONE : 0;
}

int tracee_inject_at_entry(pid_t tid, const struct bt_regs *regs, long nr, const uint64_t args[6],
			   long *result)
{
	uint64_t mask;
	int rc;

	/* No signal may come between the two calls. */
	if (tracee_is_lost(tid) || tracee_get_mask(tid, &mask) || tracee_set_mask(tid, UINT64_MAX))
		return -BT_E_GONE;
	rc = inject_at_entry(tid, regs, nr, args, result);
	return tracee_set_mask(tid, mask) ? -BT_E_GONE : rc;
}

int tracee_sigaction_at_entry(pid_t tid, const struct bt_regs *regs, int signo,
			      const uint64_t action[4])
{
	enum {
		BELOW_STACK = 1024, /* behind the red zone; put back afterwards */
	};
	uint64_t scratch = (regs->rsp - BELOW_STACK) & ~15ull, saved[4];
	const uint64_t args[6] = {(uint64_t)signo, scratch, 0, KERNEL_SIGSET_SIZE};
	long result;
	int rc;

	/* Without room for the argument the call is left out: the program runs on a stack that it
	 * cannot use either. */
	if (tracee_read(tid, scratch, saved, sizeof saved) != sizeof saved ||
	    !tracee_write(tid, scratch, action, 4 * sizeof action[0]))
		return 0;
	rc = tracee_inject_at_entry(tid, regs, SYS_rt_sigaction, args, &result);
	tracee_write(tid, scratch, saved, sizeof saved);
	return rc < 0 ? rc : 0;
}

int tracee_raise_trap(pid_t tid, const struct bt_regs *regs, uint64_t at)
{
	static const uint8_t int3 = 0xcc;
	struct bt_regs trap = *regs;
	uint64_t mask;
	uint8_t code;
	int stop;

	if (tracee_is_lost(tid) || tracee_get_mask(tid, &mask))
		return -BT_E_GONE;
	if (tracee_read(tid, at, &code, sizeof code) != sizeof code ||
	    !tracee_write(tid, at, &int3, sizeof int3))
		return 0;
	trap.rip = at;
	trap.eflags &= ~(uint64_t)EFLAGS_TF;
	/* No other signal may come before it. */
	if (tracee_set_mask(tid, UINT64_MAX) || tracee_set_regs(tid, &trap))
		return -BT_E_GONE;
	/* QUIRK(event-stop-first) */
	while ((stop = tracee_run_to_stop(tid, PTRACE_CONT)) > 0 && stop >> 8 == PTRACE_EVENT_STOP)
		if (!tracee_take_status(tid))
			return -BT_E_GONE;
	tracee_write(tid, at, &code, sizeof code);
	if (stop != SIGTRAP || !tracee_take_status(tid))
		return -BT_E_GONE;
	return tracee_set_mask(tid, mask & ~(1ull << (SIGTRAP - 1))) || tracee_set_regs(tid, regs)
		       ? -BT_E_GONE
		       : 0;
}
