/* SPDX-License-Identifier: MIT */
#include "collector/tracee/wait_event.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

static enum wait_type type_of_stop(int signo, int event)
{
	switch (event) {
	case 0:
		return signo == (SIGTRAP | 0x80) ? WAIT_SYSCALL : WAIT_SIGNAL;
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
	case PTRACE_EVENT_CLONE:
		return WAIT_NEW_TASK;
	case PTRACE_EVENT_EXEC:
		return WAIT_EXEC;
	case PTRACE_EVENT_EXIT:
		return WAIT_EXITING;
	case PTRACE_EVENT_STOP:
		return signo == SIGTRAP ? WAIT_INTERRUPT : WAIT_GROUP_STOP;
	default:
		return WAIT_INTERRUPT;
	}
}

struct wait_event wait_event_of(pid_t tid, int status)
{
	struct wait_event e = {.tid = tid, .status = status};

	if (WIFEXITED(status)) {
		e.type = WAIT_EXITED;
		e.value = WEXITSTATUS(status);
	} else if (WIFSIGNALED(status)) {
		e.type = WAIT_KILLED;
		e.value = WTERMSIG(status);
	} else {
		e.trace_event = status >> 16;
		e.value = WSTOPSIG(status);
		e.type = type_of_stop(e.value, e.trace_event);
	}
	return e;
}

bool wait_event_holds(const struct wait_event *ev)
{
	siginfo_t info;

	return !ptrace(PTRACE_GETSIGINFO, ev->tid, NULL, &info) && info.si_code == ev->status >> 8;
}
