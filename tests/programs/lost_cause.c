/* SPDX-License-Identifier: MIT */
/* Preloaded into btrec: of every few traps the kernel does not know why they came, as under hypervisors that lose DR6. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	EVERY = 7,
};

long ptrace(enum __ptrace_request request, ...)
{
	static unsigned traps;
	__builtin_va_list list;
	siginfo_t *info;
	pid_t pid;
	void *addr, *data;
	long rc, peeked;

	__builtin_va_start(list, request);
	pid = __builtin_va_arg(list, pid_t);
	addr = __builtin_va_arg(list, void *);
	data = __builtin_va_arg(list, void *);
	__builtin_va_end(list);
	if (request == PTRACE_PEEKTEXT || request == PTRACE_PEEKDATA || request == PTRACE_PEEKUSER) {
		rc = syscall(SYS_ptrace, request, pid, addr, &peeked);
		if (!rc)
			errno = 0;
		return rc ? rc : peeked;
	}
	rc = syscall(SYS_ptrace, request, pid, addr, data);
	info = data;
	if (request == PTRACE_GETSIGINFO && !rc && !strcmp(program_invocation_short_name, "btrec") && info->si_signo == SIGTRAP &&
	    (info->si_code == TRAP_TRACE || info->si_code == TRAP_HWBKPT) && ++traps % EVERY == 0)
		info->si_code = TRAP_BRKPT;
	return rc;
}
