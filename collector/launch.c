/* SPDX-License-Identifier: MIT */
#include "collector/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/limits.h"

enum {
	OPTIONS = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC |
		  PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL,
};

static void child(const struct launch *l, int go, int failure)
{
	char byte;
	int error;

	if (read(go, &byte, 1) != 1) /* not seized: the recorder says why */
		_exit(125);
	for (int signo = 1; signo < NSIG; signo++)
		if (signo != SIGKILL && signo != SIGSTOP)
			sigaction(signo, &l->actions[signo], NULL);
	sigprocmask(SIG_SETMASK, &l->mask, NULL);
	if (l->fixed_addresses)
		personality(ADDR_NO_RANDOMIZE);
	if (l->limits)
		limits_put_back(l->limits);
	execve(l->path, l->argv, l->envp);
	error = errno;
	(void)!write(failure, &error, sizeof error);
	_exit(127);
}

/* The number that the line of a file that begins with key has, -1: none. */
static long long number_in_file(const char *path, const char *key, int base)
{
	char line[128];
	long long value = -1;
	FILE *f = fopen(path, "re");

	while (f && value < 0 && fgets(line, sizeof line, f))
		if (!strncmp(line, key, strlen(key)))
			value = strtoll(line + strlen(key), NULL, base);
	if (f)
		fclose(f);
	return value;
}

int launch_refused(struct bt_error *err, int cause, const char *scope_file, const char *status_file)
{
	long long yama = number_in_file(scope_file, "", 10), capabilities = number_in_file(status_file, "CapEff:", 16);
	long long tracer = number_in_file(status_file, "TracerPid:", 10);
	bool capable = capabilities >= 0 && capabilities >> CAP_SYS_PTRACE & 1;

	if (cause != EPERM && cause != EACCES && cause != ENOSYS)
		return bt_fail(err, BT_E_IO, cause, "cannot trace the program");
	if (yama == 3)
		return bt_fail(err, BT_E_PERMISSION, 0,
			       "ptrace is switched off on this machine (kernel.yama.ptrace_scope is 3): only a reboot with another value allows it");
	if (yama == 2 && !capable)
		return bt_fail(err, BT_E_PERMISSION, 0,
			       "ptrace is for root only here (kernel.yama.ptrace_scope is 2): run as root (in a container with --cap-add=SYS_PTRACE), or "
			       "`sysctl kernel.yama.ptrace_scope=1` as root of the machine");
	if (tracer > 0)
		return bt_fail(err, BT_E_PERMISSION, 0,
			       "process %lld (btrec, strace, a debugger) traces this btrec and all that it starts: a program has one tracer", tracer);
	if (number_in_file(status_file, "Seccomp:", 10) > 0)
		return bt_fail(err, BT_E_PERMISSION, 0,
			       "ptrace is forbidden by a seccomp filter, as containers set one: start the container with --cap-add=SYS_PTRACE "
			       "or --security-opt seccomp=unconfined");
	return bt_fail(err, BT_E_PERMISSION, cause, "may not trace the program (a security module?)");
}

pid_t launch_seized(const struct launch *l, int *failure, struct bt_error *err)
{
	int go[2] = {-1, -1}, failed[2] = {-1, -1}, cause;
	pid_t pid = -1;

	if (!pipe2(go, O_CLOEXEC) && !pipe2(failed, O_CLOEXEC))
		pid = fork();
	cause = errno;
	if (pid == 0) {
		close(go[1]);
		close(failed[0]);
		child(l, go[0], failed[1]);
	}
	close(go[0]);
	close(failed[1]);
	if (pid < 0) {
		close(go[1]);
		close(failed[0]);
		return bt_fail(err, BT_E_IO, cause, "cannot start a process");
	}
	if (ptrace(PTRACE_SEIZE, pid, NULL, (void *)(long)OPTIONS) < 0) {
		cause = errno;
		close(go[1]);
		close(failed[0]);
		waitpid(pid, NULL, 0);
		return launch_refused(err, cause, "/proc/sys/kernel/yama/ptrace_scope", "/proc/self/status");
	}
	(void)!write(go[1], "", 1);
	close(go[1]);
	*failure = failed[0];
	return pid;
}
