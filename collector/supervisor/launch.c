/* SPDX-License-Identifier: MIT */
#include "collector/supervisor/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/task/limits.h"
#include "lib/array_size.h"

enum {
	OPTIONS = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
		  PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL,
	FIRST_OF_LIBC = 32, /* real-time signals that the C library keeps to itself: it refuses to
			       touch them */
};

/* Calls execve(2) without libc, as the child shares our errno. Returns -errno. */
static int exec_program(const struct launch *l)
{
	long rc = SYS_execve;

	__asm__ volatile("syscall"
			 : "+a"(rc)
			 : "D"(l->path), "S"(l->argv), "d"(l->envp)
			 : "rcx", "r11", "memory");
	return (int)rc;
}

/* The child ends by returning its status: before a call that does not return AddressSanitizer
 * clears the stack, and needs more of it than there is. */
static int run_child(void *arg)
{
	const struct launch *l = arg;
	char byte;
	int error;

	close(l->child.go[1]);
	close(l->child.failure[0]);
	if (read(l->child.go[0], &byte, 1) != 1) /* not seized: the recorder says why */
		return 125;
	for (int signo = 1; signo < NSIG; signo++)
		if (signo != SIGKILL && signo != SIGSTOP &&
		    (signo < FIRST_OF_LIBC || signo >= SIGRTMIN))
			sigaction(signo, &l->actions[signo], NULL);
	sigprocmask(SIG_SETMASK, &l->mask, NULL);
	if (l->fixed_addresses)
		personality((unsigned long)personality(0xffffffff) | ADDR_NO_RANDOMIZE);
	if (l->limits)
		limits_put_back(l->limits);
	error = -exec_program(l);
	(void)!write(l->child.failure[1], &error, sizeof error);
	return 127;
}

/* The number in the line of a file that begins with key. -1: none. */
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
	long long yama = number_in_file(scope_file, "", 10),
		  capabilities = number_in_file(status_file, "CapEff:", 16);
	long long tracer = number_in_file(status_file, "TracerPid:", 10);
	bool capable = capabilities >= 0 && capabilities >> CAP_SYS_PTRACE & 1;

	if (cause != EPERM && cause != EACCES && cause != ENOSYS)
		return bt_fail(err, BT_E_IO, cause, "cannot trace the program");
	if (yama == 3)
		return bt_fail(err, BT_E_PERMISSION, 0,
			       "ptrace is switched off on this machine (kernel.yama.ptrace_scope "
			       "is 3): only a reboot with another value allows it");
	if (yama == 2 && !capable)
		return bt_fail(err, BT_E_PERMISSION, 0,
			       "ptrace is for root only here (kernel.yama.ptrace_scope is 2): run "
			       "as root (in a container with --cap-add=SYS_PTRACE), or "
			       "`sysctl kernel.yama.ptrace_scope=1` as root of the machine");
	if (tracer > 0)
		return bt_fail(err, BT_E_PERMISSION, 0,
			       "process %lld (btrec, strace, a debugger) traces this btrec and all "
			       "that it starts: a program has one tracer",
			       tracer);
	if (number_in_file(status_file, "Seccomp:", 10) > 0)
		return bt_fail(err, BT_E_PERMISSION, 0,
			       "ptrace is forbidden by a seccomp filter, as containers set one: "
			       "start the container with --cap-add=SYS_PTRACE "
			       "or --security-opt seccomp=unconfined");
	return bt_fail(err, BT_E_PERMISSION, cause,
		       "may not trace the program (a security module?)");
}

pid_t launch_seized(struct launch *l, int *failure, struct bt_error *err)
{
	int *go = l->child.go, *failed = l->child.failure, cause;
	pid_t pid = -1;

	go[0] = go[1] = failed[0] = failed[1] = -1;
	if (!pipe2(go, O_CLOEXEC) && !pipe2(failed, O_CLOEXEC))
		pid = clone(run_child, l->child.stack + ARRAY_SIZE(l->child.stack),
			    CLONE_VM | SIGCHLD, l);
	cause = errno;
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
		return launch_refused(err, cause, "/proc/sys/kernel/yama/ptrace_scope",
				      "/proc/self/status");
	}
	(void)!write(go[1], "", 1);
	close(go[1]);
	*failure = failed[0];
	return pid;
}
