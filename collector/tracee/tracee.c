/* SPDX-License-Identifier: MIT */
#include "collector/tracee/tracee.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/array_size.h"
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
	KERNEL_SIGSET_SIZE = 8,
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

int tracee_clear_x87_address(pid_t tid)
{
	struct user_fpregs_struct f;
	int rc = ptrace_result(ptrace(PTRACE_GETFPREGS, tid, NULL, &f));

	if (rc || !f.rip)
		return rc;
	f.rip = 0;
	return ptrace_result(ptrace(PTRACE_SETFPREGS, tid, NULL, &f));
}

/* One by one those that are not there already, which are the application's or ours. */
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

int tracee_set_siginfo(pid_t tid, const siginfo_t *info)
{
	return ptrace_result(ptrace(PTRACE_SETSIGINFO, tid, NULL, info));
}

/* QUIRK(stop-left): whether the tid is that of a program that another thread has just called. */
static bool is_another_program(pid_t tid)
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
	return is_another_program(tid) ? -BT_E_GONE
				       : ptrace_result(ptrace(PTRACE_SETSIGMASK, tid,
							      (void *)KERNEL_SIGSET_SIZE, &mask));
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

struct filtering {
	int filters; /* -1: unknown (before Linux 5.9) */
	bool strict; /* SECCOMP_MODE_STRICT */
};

static void parse_signals(const char *line, struct tracee_signals *out)
{
	static const struct {
		const char *key;
		size_t offset;
	} lines[] = {
		{"SigPnd:", offsetof(struct tracee_signals, pending)},
		{"ShdPnd:", offsetof(struct tracee_signals, shared_pending)},
		{"SigBlk:", offsetof(struct tracee_signals, blocked)},
		{"SigIgn:", offsetof(struct tracee_signals, ignored)},
		{"SigCgt:", offsetof(struct tracee_signals, caught)},
	};
	unsigned long long v;

	if (*line != 'S') /* as are most */
		return;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		if (!strncmp(line, lines[i].key, strlen(lines[i].key)) &&
		    sscanf(line + strlen(lines[i].key), "%llx", &v) == 1)
			*(uint64_t *)((char *)out + lines[i].offset) = v;
}

static void parse_filtering(const char *line, struct filtering *out)
{
	int n;

	if (strncmp(line, "Seccomp", sizeof "Seccomp" - 1))
		return;
	if (sscanf(line, "Seccomp: %d", &n) == 1)
		out->strict = n == SECCOMP_MODE_STRICT;
	if (sscanf(line, "Seccomp_filters: %d", &n) == 1)
		out->filters = n;
}

/* Reads a status file (proc_pid_status(5)) once. False when it is not there. */
static bool read_status(const char *path, struct tracee_signals *signals,
			struct filtering *filtering)
{
	FILE *f = fopen(path, "re");
	char line[256];

	*signals = (struct tracee_signals){0};
	*filtering = (struct filtering){.filters = -1};
	if (!f)
		return false;
	while (fgets(line, sizeof line, f)) {
		parse_signals(line, signals);
		parse_filtering(line, filtering);
	}
	fclose(f);
	return true;
}

static bool read_status_of(pid_t tid, struct tracee_signals *signals, struct filtering *filtering)
{
	char path[32];

	snprintf(path, sizeof path, "/proc/%d/status", (int)tid);
	return read_status(path, signals, filtering);
}

int tracee_signals(pid_t tid, struct tracee_signals *out)
{
	struct filtering filtering;

	return read_status_of(tid, out, &filtering) ? 0 : -BT_E_GONE;
}

static int own_filters(void)
{
	struct tracee_signals signals;
	struct filtering own;

	read_status("/proc/self/status", &signals, &own);
	return own.filters;
}

/* Where they have none, what we have need not be asked for. */
static bool is_filtered(const struct filtering *theirs)
{
	return theirs->strict || theirs->filters < 0 ||
	       (theirs->filters && theirs->filters > own_filters());
}

int tracee_signals_filtered(pid_t tid, struct tracee_signals *out, bool *filtered)
{
	struct filtering theirs;

	if (!read_status_of(tid, out, &theirs))
		return -BT_E_GONE;
	*filtered = is_filtered(&theirs);
	return 0;
}

int tracee_filters(pid_t tid)
{
	struct tracee_signals signals;
	struct filtering theirs;

	read_status_of(tid, &signals, &theirs);
	return theirs.filters < 0 ? theirs.filters : theirs.filters - own_filters();
}

bool tracee_is_filtered(pid_t tid)
{
	struct tracee_signals signals;
	struct filtering theirs;

	read_status_of(tid, &signals, &theirs);
	return is_filtered(&theirs);
}

/* The line of /proc/TID/status that begins with the key. False, and an empty line, when there is
 * none. */
static bool status_line(pid_t tid, const char *key, char line[256])
{
	char path[32];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/status", (int)tid);
	f = fopen(path, "re");
	while (f && !found && fgets(line, 256, f))
		found = !strncmp(line, key, strlen(key));
	if (f)
		fclose(f);
	if (!found)
		*line = 0;
	return found;
}

/* The beginning of a file of /proc/TID, as text; empty where it is not there. */
static void read_beginning(pid_t tid, const char *name, char *text, size_t size)
{
	char path[40];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/%s", (int)tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, size - 1);
		close(fd);
	}
	text[n > 0 ? n : 0] = '\0';
}

char tracee_state(pid_t tid)
{
	char text[512]; /* its name has 15 bytes, 64 of a worker of the kernel's */
	const char *name_end;

	read_beginning(tid, "stat", text, sizeof text);
	name_end = strrchr(text, ')');
	return name_end && name_end[1] ? name_end[2] : '\0';
}

unsigned long tracee_personality(pid_t tid)
{
	char text[17];

	read_beginning(tid, "personality", text, sizeof text);
	return strtoul(text, NULL, 16);
}

bool tracee_is_awake(pid_t tid) { return tracee_state(tid) == 'R'; }

pid_t tracee_thread_group(pid_t tid)
{
	char line[256];
	int group = 0;

	return status_line(tid, "Tgid:", line) && sscanf(line, "Tgid: %d", &group) == 1 ? group : 0;
}

bool tracee_is_init(pid_t pid)
{
	char line[256], *last;

	if (!status_line(pid, "NSpid:", line))
		return false;
	last = strrchr(line, '\t'); /* one number for each namespace, ours first */
	return last && last != strchr(line, '\t') && !strcmp(last, "\t1\n");
}

void tracee_sender_name(pid_t tid, pid_t sender, char name[TRACEE_NAME])
{
	char line[256];

	*name = '\0';
	if (!status_line(tid, "NSpid:", line) || strchr(line, '\t') != strrchr(line, '\t'))
		return;
	read_beginning(sender, "comm", name, TRACEE_NAME);
	name[strcspn(name, "\n")] = '\0';
}

static bool is_lost(pid_t tid)
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
static int run_to_stop(pid_t tid, int request, int signo)
{
	siginfo_t info;
	int rc, status;

	if (is_lost(tid) || tracee_resume(tid, request, signo))
		return -1;
	do {
		info.si_pid = 0;
		rc = waitid(P_PID, (id_t)tid, &info, WEXITED | WSTOPPED | WNOWAIT | __WALL);
		status = rc || info.si_code != CLD_TRAPPED ? 0 : info.si_status << 8 | 0x7f;
	} while ((rc && errno == EINTR && !tracee_is_dead(tid)) ||
		 (status && tracee_put_back(tid, status)));
	return status ? info.si_status : -1;
}

int tracee_run_to_stop(pid_t tid, int request) { return run_to_stop(tid, request, 0); }

static bool take_status(pid_t tid)
{
	int status;

	return waitpid(tid, &status, __WALL | WNOHANG) == tid;
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

static uint16_t our_code_selector(void)
{
	uint16_t ours;

	__asm__("mov %%cs, %0" : "=r"(ours));
	return ours;
}

bool tracee_is_in_64_bit(const struct bt_regs *regs) { return regs->cs == our_code_selector(); }

bool tracee_is_in_vsyscall(const struct bt_regs *regs)
{
	const uint64_t page = 0xffffffffff600000;

	return regs->rip - page < BT_PAGE;
}

bool tracee_wants_restart(const struct bt_regs *regs)
{
	int64_t result = (int64_t)regs->rax;

	return (int64_t)regs->orig_rax >= 0 && result <= -ERESTART_FIRST &&
	       result >= -ERESTART_LAST;
}

bool tracee_socket_option(pid_t pid, int there, int option, void *value, size_t size)
{
	int process = (int)syscall(SYS_pidfd_open, pid, 0),
	    here = (int)syscall(SYS_pidfd_getfd, process, there, 0);
	socklen_t len = (socklen_t)size;
	bool known = !getsockopt(here, SOL_SOCKET, option, value, &len);

	if (here >= 0)
		close(here);
	if (process >= 0)
		close(process);
	return known;
}

void tracee_restart(struct bt_regs *regs) { regs->rax = (uint64_t)-ERESTART_NO_HANDLER; }

/* Resumes tid to its next system call stop. False when another event comes instead: that one is
 * left to be waited for. Nobody can block SIGSTOP: its process is stopped, as its parent is told,
 * and so is the task, once it has done what we want; likewise where another thread has stopped the
 * process, or SIGCONT, which a task is told of at once, comes meanwhile. */
static bool await_syscall_stop(pid_t tid)
{
	bool told = false;
	int stop, signo = 0;

	while ((stop = run_to_stop(tid, PTRACE_SYSCALL, signo)) == SIGSTOP ||
	       (stop > 0 && stop >> 8 == PTRACE_EVENT_STOP)) {
		signo = stop == SIGSTOP ? SIGSTOP : 0;
		told |= !signo;
		if (!take_status(tid))
			return false;
	}
	if (stop != (SIGTRAP | 0x80) || !take_status(tid))
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
	if (is_lost(tid) || tracee_get_regs(tid, &l->regs))
		return;
	regs = l->regs;
	if (elsewhere)
		regs.rip = elsewhere + sizeof syscall_insn;
	else if (!is_behind_syscall(tid, regs.rip) && write_syscall(tid, l))
		regs.rip += sizeof syscall_insn;
	l->lent = true;
	regs.orig_rax = UINT64_MAX; /* not in a system call: nothing to restart */
	(void)!tracee_set_regs(tid, &regs);
}

int tracee_take_back_syscall(pid_t tid, const struct tracee_lent *l)
{
	if (!l->lent)
		return 0;
	if (is_another_program(tid))
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

	if (is_lost(tid) || tracee_get_regs(tid, &saved))
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
	if (is_another_program(tid))
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
	if (!is_lost(tid) && !tracee_set_regs(tid, &other) && await_syscall_stop(tid) &&
	    await_syscall_stop(tid) && !tracee_get_regs(tid, &other))
		rc = (long)other.rax;
	return is_another_program(tid) || tracee_set_regs(tid, regs) ? -ESRCH : rc;
}

int tracee_inject(pid_t tid, const struct bt_regs *regs, uint64_t at, long nr,
		  const uint64_t args[6], long *result)
{
	enum {
		EFLAGS_TF = 0x100,
		BEHIND = 3, /* syscall; int3 */
		INTERRUPTED = SIGTRAP | PTRACE_EVENT_STOP << 8,
	};
	struct bt_regs call = syscall_regs(regs, nr, args);
	int stop;

	call.rip = at;
	call.eflags &= ~(uint64_t)EFLAGS_TF;
	if (is_lost(tid) || tracee_set_regs(tid, &call))
		return -BT_E_GONE;
	/* QUIRK(event-stop-first): between the int3 and its trap there may be an interruption.
	 * Nobody needs to know of it. */
	while ((stop = tracee_run_to_stop(tid, PTRACE_CONT)) == INTERRUPTED &&
	       !tracee_get_regs(tid, &call) && call.rip == at + BEHIND)
		if (!take_status(tid))
			return -BT_E_GONE;
	if (is_another_program(tid) || tracee_get_regs(tid, &call))
		return -BT_E_GONE;
	*result = (long)call.rax;
	if (tracee_set_regs(tid, regs))
		return -BT_E_GONE;
	if (stop == SIGTRAP && call.rip == at + BEHIND)
		return take_status(tid) ? TRACEE_INJECT_MADE : -BT_E_GONE;
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

/* The same at an entry by int 0x80, whose calls have numbers of their own and only the lower halves
 * of arguments: that call is left out, and for the other the instruction is one of syscall
 * meanwhile, which is as long. */
static int replace_compat_syscall(pid_t tid, const struct bt_regs *regs, long nr,
				  const uint64_t args[6], long *result)
{
	uint64_t at = regs->rip - sizeof syscall_insn;
	struct bt_regs none = *regs, other = syscall_regs(regs, nr, args);
	bool made;

	none.orig_rax = UINT64_MAX;
	other.rip = at;
	other.cs = our_code_selector();
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
	if (is_lost(tid) || tracee_get_mask(tid, &mask) || tracee_set_mask(tid, UINT64_MAX))
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
