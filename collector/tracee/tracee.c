/* SPDX-License-Identifier: MIT */
/* A stopped thread as ptrace(2) has it: registers, memory, signals, stops.
 *
 * The result of each ptrace call is one of three: it was done, the thread is gone (ESRCH), the
 * kernel refuses.
 * Memory is read by process_vm_readv(2), which is fast, but respects the protection of pages. Other
 * reads, and all writes, go through /proc/TID/mem, which does not respect it.
 * A thread that was killed may be at another stop than the one that is being served, or its id may
 * be another program's (QUIRK(stop-left)): calls that would change that program ask first.
 *
 * tracee_status.c reads what /proc says of a thread; tracee_inject.c has it make system calls. */
#include "collector/tracee/tracee_private.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/canonical.h"
#include "lib/page.h"

/* struct bt_regs has the layout of the kernel's user_regs_struct: the list in regs.def says so,
 * this proves it. */
_Static_assert(sizeof(struct bt_regs) == sizeof(struct user_regs_struct), "register layout");
_Static_assert(offsetof(struct bt_regs, rip) == offsetof(struct user_regs_struct, rip),
	       "register layout");
_Static_assert(offsetof(struct bt_regs, gs) == offsetof(struct user_regs_struct, gs),
	       "register layout");

enum {
	/* Results with which a system call asks the kernel to be restarted (include/linux/errno.h).
	 */
	ERESTART_FIRST = 512,      /* ERESTARTSYS */
	ERESTART_NO_HANDLER = 514, /* ERESTARTNOHAND: to a handler it is EINTR */
	ERESTART_LAST = 516,       /* ERESTART_RESTARTBLOCK */
};

static int ptrace_result(long rc)
{
	if (rc >= 0)
		return 0;
	return errno == ESRCH ? -BT_E_GONE : -BT_E_UNSUPPORTED;
}

int tracee_get_regs(pid_t tid, struct bt_regs *regs)
{
	return ptrace_result(ptrace(PTRACE_GETREGS, tid, NULL, regs));
}

int tracee_clear_x87_address(pid_t tid, bool others)
{
	struct user_fpregs_struct f;
	int rc = ptrace_result(ptrace(PTRACE_GETFPREGS, tid, NULL, &f));

	if (rc || (!f.rip && !(others && (f.rdp || f.fop))))
		return rc;
	f.rip = 0;
	if (others)
		f.rdp = f.fop = 0;
	return ptrace_result(ptrace(PTRACE_SETFPREGS, tid, NULL, &f));
}

size_t tracee_get_extended(pid_t tid, uint8_t out[TRACEE_EXTENDED])
{
	struct iovec all = {out, TRACEE_EXTENDED};

	return ptrace(PTRACE_GETREGSET, tid, (void *)NT_X86_XSTATE, &all) < 0 ? 0 : all.iov_len;
}

int tracee_set_extended(pid_t tid, const void *bytes, size_t n)
{
	struct iovec all = {(void *)(uintptr_t)bytes, n};

	return ptrace_result(ptrace(PTRACE_SETREGSET, tid, (void *)NT_X86_XSTATE, &all));
}

/* Sets the registers that differ, one by one: their values are the application's or ours. */
static int set_regs_that_differ(pid_t tid, const struct bt_regs *regs)
{
	struct bt_regs now;
	long rc = ptrace(PTRACE_GETREGS, tid, NULL, &now);

	for (unsigned i = 0; rc >= 0 && i < BT_REG_COUNT; i++)
		if (bt_regs_get(&now, i) != bt_regs_get(regs, i))
			rc = ptrace(PTRACE_POKEUSER, tid, i * sizeof(uint64_t),
				    bt_regs_get(regs, i));
	return ptrace_result(rc);
}

/* QUIRK(setregs-refused) */
int tracee_set_regs(pid_t tid, const struct bt_regs *regs)
{
	int rc = ptrace_result(ptrace(PTRACE_SETREGS, tid, NULL, regs));

	return rc == -BT_E_UNSUPPORTED ? set_regs_that_differ(tid, regs) : rc;
}

bool tracee_can_set_base(uint64_t base)
{
	return base < BT_USER_END - BT_PAGE; /* TASK_SIZE_MAX of four-level page tables */
}

int tracee_set_rip(pid_t tid, uint64_t rip)
{
	return ptrace_result(
		ptrace(PTRACE_POKEUSER, tid, offsetof(struct user_regs_struct, rip), rip));
}

static size_t memory_io(pid_t tid, uint64_t addr, void *bytes, size_t n, bool write)
{
	char path[32];
	size_t done = 0;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/mem", (int)tid);
	fd = open(path, (write ? O_RDWR : O_RDONLY) | O_CLOEXEC);
	if (fd < 0)
		return 0;
	while (done < n) {
		ssize_t k = write ? pwrite(fd, (char *)bytes + done, n - done, (off_t)(addr + done))
				  : pread(fd, (char *)bytes + done, n - done, (off_t)(addr + done));

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			break;
		done += (size_t)k;
	}
	close(fd);
	return done;
}

bool tracee_may_look(pid_t tid)
{
	char path[32];
	int fd;

	snprintf(path, sizeof path, "/proc/%d/mem", (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

size_t tracee_read(pid_t tid, uint64_t addr, void *out, size_t n)
{
	struct iovec local = {.iov_base = out, .iov_len = n},
		     remote = {.iov_base = (void *)(uintptr_t)addr, .iov_len = n};
	ssize_t k = process_vm_readv(tid, &local, 1, &remote, 1, 0);
	size_t done = k > 0 ? (size_t)k : 0;

	/* The fast way respects page protections and gives up a whole page early; the slow one
	 * reads execute-only pages too. */
	return done == n ? n
			 : done + memory_io(tid, addr + done, (char *)out + done, n - done, false);
}

size_t tracee_read_pages(pid_t tid, const uint64_t *addrs, size_t n, uint8_t *out)
{
	struct iovec local = {.iov_base = out, .iov_len = n * BT_PAGE}, remote[TRACEE_PAGES];
	ssize_t got;

	for (size_t i = 0; i < n; i++)
		remote[i] =
			(struct iovec){.iov_base = (void *)(uintptr_t)addrs[i], .iov_len = BT_PAGE};
	got = n ? process_vm_readv(tid, &local, 1, remote, n, 0) : 0;
	return got > 0 ? (size_t)got / BT_PAGE : 0;
}

bool tracee_write(pid_t tid, uint64_t addr, const void *bytes, size_t n)
{
	return memory_io(tid, addr, (void *)(uintptr_t)bytes, n, true) == n;
}

/* QUIRK(stop-left): killed since its stop was reported, it may be at the next one already: its end,
 * or another thread's execve, which say nothing of the stop that is looked at. */
int tracee_get_siginfo(pid_t tid, siginfo_t *info)
{
	int rc = ptrace_result(ptrace(PTRACE_GETSIGINFO, tid, NULL, info));

	if (rc || info->si_signo != SIGTRAP)
		return rc;
	return info->si_code == (SIGTRAP | PTRACE_EVENT_EXIT << 8) ||
			       info->si_code == (SIGTRAP | PTRACE_EVENT_EXEC << 8)
		       ? -BT_E_GONE
		       : 0;
}

bool tracee_is_fault(const siginfo_t *info)
{
	switch (info->si_signo) {
	case SIGSEGV:
	case SIGBUS:
	case SIGILL:
	case SIGFPE:
	case SIGTRAP:
		return info->si_code > 0;
	default:
		return false;
	}
}

bool tracee_is_synchronous(const siginfo_t *info)
{
	return tracee_is_fault(info) || (info->si_signo == SIGSYS && info->si_code > 0);
}

bool tracee_may_be_dispatched(const siginfo_t *info)
{
	enum { USER_DISPATCH = 2 }; /* SYS_USER_DISPATCH */

	return info->si_signo == SIGSYS && info->si_code == USER_DISPATCH;
}

int tracee_set_siginfo(pid_t tid, const siginfo_t *info)
{
	return ptrace_result(ptrace(PTRACE_SETSIGINFO, tid, NULL, info));
}

bool tracee_is_another_program(pid_t tid)
{
	siginfo_t info;

	return !ptrace(PTRACE_GETSIGINFO, tid, NULL, &info) &&
	       info.si_code == (SIGTRAP | PTRACE_EVENT_EXEC << 8);
}

int tracee_get_mask(pid_t tid, uint64_t *mask)
{
	return ptrace_result(ptrace(PTRACE_GETSIGMASK, tid, (void *)KERNEL_SIGSET_SIZE, mask));
}

int tracee_set_mask(pid_t tid, uint64_t mask)
{
	return tracee_is_another_program(tid)
		       ? -BT_E_GONE
		       : ptrace_result(
				 ptrace(PTRACE_SETSIGMASK, tid, (void *)KERNEL_SIGSET_SIZE, &mask));
}

int tracee_resume(pid_t tid, int request, int signo)
{
	return ptrace_result(
		ptrace((enum __ptrace_request)request, tid, NULL, (void *)(long)signo));
}

int tracee_event_message(pid_t tid, unsigned long *message)
{
	*message = 0;
	return ptrace_result(ptrace(PTRACE_GETEVENTMSG, tid, NULL, message));
}

int tracee_set_breakpoint(pid_t tid, uint64_t addr)
{
	/* DR7: L0 enables breakpoint 0 for this task; R/W0 = 0 (execution) needs LEN0 = 0 (Intel
	 * SDM volume 3, 18.2.4). */
	size_t dr0 = offsetof(struct user, u_debugreg[0]),
	       dr7 = offsetof(struct user, u_debugreg[7]);

	if (ptrace(PTRACE_POKEUSER, tid, (void *)dr7, NULL) < 0)
		return -BT_E_GONE;
	if (!addr)
		return 0;
	if (ptrace(PTRACE_POKEUSER, tid, (void *)dr0, (void *)addr) < 0 ||
	    ptrace(PTRACE_POKEUSER, tid, (void *)dr7, (void *)1L) < 0)
		return errno == ESRCH ? -BT_E_GONE : -BT_E_NO_HARDWARE;
	return 0;
}

enum tracee_syscall_stop tracee_syscall_stop(pid_t tid, struct tracee_syscall *call)
{
	struct __ptrace_syscall_info info;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, tid, (void *)sizeof info, &info) <= 0)
		return TRACEE_SYSCALL_NONE;
	if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
		if (call) {
			*call = (struct tracee_syscall){.nr = info.entry.nr,
							.compat = info.arch != AUDIT_ARCH_X86_64};
			for (int i = 0; i < 6; i++)
				call->args[i] = call->compat ? (uint32_t)info.entry.args[i]
							     : info.entry.args[i];
		}
		return TRACEE_SYSCALL_ENTRY;
	}
	return info.op == PTRACE_SYSCALL_INFO_EXIT ? TRACEE_SYSCALL_EXIT : TRACEE_SYSCALL_NONE;
}

bool tracee_has_own_signal(pid_t tid)
{
	struct __ptrace_peeksiginfo_args args = {.nr = 1};
	siginfo_t info;

	return ptrace(PTRACE_PEEKSIGINFO, tid, &args, &info) != 0;
}

size_t tracee_queued_signals(pid_t tid, siginfo_t *out, size_t max)
{
	struct __ptrace_peeksiginfo_args own = {.nr = (int)max}, shared = {0};
	long n = ptrace(PTRACE_PEEKSIGINFO, tid, &own, out), more;

	n = n < 0 ? 0 : n;
	shared.flags = PTRACE_PEEKSIGINFO_SHARED;
	shared.nr = (int)max - (int)n;
	more = shared.nr ? ptrace(PTRACE_PEEKSIGINFO, tid, &shared, out + n) : 0;
	return (size_t)(more < 0 ? n : n + more);
}

bool tracee_is_lost(pid_t tid)
{
	siginfo_t info;

	return tracee_get_siginfo(tid, &info);
}

static bool tracee_is_dead(pid_t tid)
{
	char state = tracee_state(tid);

	return !state || state == 'Z' || state == 'X';
}

/* Whether a signal like a fault is queued that would come next and is not blocked: our own trap, or
 * a fault. */
static bool has_synchronous(pid_t tid, uint64_t blocked)
{
	enum {
		AT_ONCE = 16,
	};
	struct __ptrace_peeksiginfo_args args = {.nr = AT_ONCE};
	siginfo_t infos[AT_ONCE];
	long n;

	do {
		n = ptrace(PTRACE_PEEKSIGINFO, tid, &args, infos);
		for (long i = 0; i < n; i++)
			if (tracee_is_synchronous(&infos[i]) &&
			    !(blocked >> (infos[i].si_signo - 1) & 1))
				return true;
		args.off += AT_ONCE;
	} while (n == AT_ONCE);
	return false;
}

bool tracee_put_back(pid_t tid, int status)
{
	siginfo_t info = {.si_signo = WIFSTOPPED(status) ? status >> 8 : 0, .si_code = 1};
	uint64_t blocked;

	if (info.si_signo == SIGTRAP || !tracee_is_synchronous(&info) ||
	    tracee_get_mask(tid, &blocked) || !(blocked >> (info.si_signo - 1) & 1))
		return false;
	if (ptrace(PTRACE_GETSIGINFO, tid, NULL, &info) || !tracee_is_synchronous(&info) ||
	    !has_synchronous(tid, blocked))
		return false;
	return !tracee_resume(tid, PTRACE_CONT, info.si_signo);
}

/* Dead, the first thread of a process has a status only when those of all others have been taken;
 * the caller's timer ends the wait then. */
int tracee_resume_to_stop(pid_t tid, int request, int signo)
{
	siginfo_t info;
	int rc, status;

	if (tracee_is_lost(tid) || tracee_resume(tid, request, signo))
		return -1;
	do {
		info.si_pid = 0;
		rc = waitid(P_PID, (id_t)tid, &info, WEXITED | WSTOPPED | WNOWAIT | __WALL);
		status = rc || info.si_code != CLD_TRAPPED ? 0 : info.si_status << 8 | 0x7f;
	} while ((rc && errno == EINTR && !tracee_is_dead(tid)) ||
		 (status && tracee_put_back(tid, status)));
	return status ? info.si_status : -1;
}

int tracee_run_to_stop(pid_t tid, int request) { return tracee_resume_to_stop(tid, request, 0); }

bool tracee_take_status(pid_t tid)
{
	int status;

	return waitpid(tid, &status, __WALL | WNOHANG) == tid;
}

bool tracee_step_to_stop(pid_t tid)
{
	enum { INTERRUPTED = SIGTRAP | PTRACE_EVENT_STOP << 8 };
	struct bt_regs before, now;
	int stop;

	if (tracee_get_regs(tid, &before))
		return false;
	do
		stop = tracee_run_to_stop(tid, PTRACE_SINGLESTEP);
	while (stop == INTERRUPTED && !tracee_get_regs(tid, &now) && now.rip == before.rip &&
	       tracee_take_status(tid));
	return stop >= 0;
}

bool tracee_is_left_stopped(pid_t tid)
{
	struct bt_regs regs;
	siginfo_t info = {0};

	/* In this order: a task that is killed in between has a status to be waited for. */
	return !tracee_get_regs(tid, &regs) &&
	       !waitid(P_PID, (id_t)tid, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) &&
	       !info.si_pid;
}

uint16_t tracee_code_selector(void)
{
	uint16_t ours;

	__asm__("mov %%cs, %0" : "=r"(ours));
	return ours;
}

bool tracee_is_in_64_bit(const struct bt_regs *regs) { return regs->cs == tracee_code_selector(); }

bool tracee_is_in_vsyscall(const struct bt_regs *regs)
{
	const uint64_t page = 0xffffffffff600000;

	return regs->rip - page < BT_PAGE;
}

uint64_t *tracee_arg(struct bt_regs *regs, unsigned i)
{
	uint64_t *const at[] = {&regs->rdi, &regs->rsi, &regs->rdx,
				&regs->r10, &regs->r8,  &regs->r9};

	return at[i];
}

bool tracee_wants_restart(const struct bt_regs *regs)
{
	int64_t result = (int64_t)regs->rax;

	return (int64_t)regs->orig_rax >= 0 && result <= -ERESTART_FIRST &&
	       result >= -ERESTART_LAST;
}

bool tracee_was_interrupted(const struct bt_regs *regs)
{
	return (int64_t)regs->rax == -ERESTART_FIRST;
}

uint64_t tracee_restarted_call(const struct bt_regs *regs, uint64_t result)
{
	return result == (uint64_t)-ERESTART_LAST ? SYS_restart_syscall : regs->orig_rax;
}

int tracee_copy_descriptor(pid_t pid, int there)
{
	int process = (int)syscall(SYS_pidfd_open, pid, 0),
	    here = (int)syscall(SYS_pidfd_getfd, process, there, 0);

	if (process >= 0)
		close(process);
	return here;
}

bool tracee_socket_option(pid_t pid, int there, int option, void *value, size_t size)
{
	int here = tracee_copy_descriptor(pid, there);
	socklen_t len = (socklen_t)size;
	bool known = !getsockopt(here, SOL_SOCKET, option, value, &len);

	if (here >= 0)
		close(here);
	return known;
}

void tracee_restart(struct bt_regs *regs) { regs->rax = (uint64_t)-ERESTART_NO_HANDLER; }
