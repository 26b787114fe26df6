// SPDX-License-Identifier: MIT
/* For LD_PRELOAD: the process that is seized (PTRACE_SEIZE) gets the signals of EARLY_SIGNALS, numbers, at once: before its execve. tests/e2e/replay_signals.py */
#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/types.h>

long ptrace(enum __ptrace_request request, ...)
{
	long (*real)(enum __ptrace_request, pid_t, void *, void *) = (long (*)(enum __ptrace_request, pid_t, void *, void *))dlsym(RTLD_NEXT, "ptrace");
	const char *signals = getenv("EARLY_SIGNALS");
	void *addr, *data;
	va_list args;
	pid_t pid;
	long rc;

	va_start(args, request);
	pid = va_arg(args, pid_t);
	addr = va_arg(args, void *);
	data = va_arg(args, void *);
	va_end(args);
	rc = real(request, pid, addr, data);
	for (char *end; request == PTRACE_SEIZE && !rc && signals && *signals; signals = end) {
		long signo = strtol(signals, &end, 10);

		if (end == signals)
			break;
		kill(pid, (int)signo);
	}
	return rc;
}
