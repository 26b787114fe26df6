/* SPDX-License-Identifier: MIT */
/* The meaning of a traced task's wait status, as one value. This is the only place that knows the
 * status bits (ptrace(2), "The PTRACE_SEIZE ... stops"). Made by the event queue; backends,
 * supervisor and session read it. */
#ifndef BT_WAIT_EVENT_H
#define BT_WAIT_EVENT_H

#include <stdbool.h>
#include <sys/types.h>

enum wait_type {
	WAIT_EXITED,  /* gone, value is the exit status: forget the task */
	WAIT_KILLED,  /* gone, value is the signal: forget the task */
	WAIT_SYSCALL, /* at the entry or exit of a system call: record, resume */
	WAIT_SIGNAL, /* a signal (value) is about to be delivered, or a trap of ours: decide, resume
			with it or without */
	WAIT_NEW_TASK,   /* it made a child or thread: enter it into the table, resume both */
	WAIT_EXEC,       /* another program from here on: new address space, resume */
	WAIT_EXITING,    /* registers and memory are there for the last time: record, resume */
	WAIT_GROUP_STOP, /* stopped by a signal (value): leave it so (PTRACE_LISTEN) until SIGCONT
			  */
	WAIT_INTERRUPT,  /* our PTRACE_INTERRUPT, a new task's first stop, or the end of a group
			    stop: resume */
	WAIT_TYPES
};

struct wait_event {
	pid_t tid;
	enum wait_type type;
	int value;
	int trace_event; /* PTRACE_EVENT_* of WAIT_NEW_TASK */
	int status;      /* as waitpid gave it */
};

struct wait_event wait_event_of(pid_t tid, int status);

/* QUIRK(stop-left): whether the task is still at the stop that the event tells of, which is one of
 * PTRACE_EVENT_*. It leaves a stop unasked when it is killed: by SIGKILL, or for another thread's
 * execve, whose program then has the leader's tid. */
bool wait_event_holds(const struct wait_event *ev);

#endif
