/* SPDX-License-Identifier: MIT */
/* Preloaded into btrec: from the request number REFUSED_FROM on the kernel sets no registers any more. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

long ptrace(enum __ptrace_request request, ...)
{
	static int requests;
	__builtin_va_list list;
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
	if ((request == PTRACE_SETREGS || request == PTRACE_POKEUSER) && !strcmp(program_invocation_short_name, "btrec") &&
	    ++requests >= atoi(getenv("REFUSED_FROM"))) {
		errno = EIO;
		return -1;
	}
	return syscall(SYS_ptrace, request, pid, addr, data);
}
