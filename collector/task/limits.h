/* SPDX-License-Identifier: MIT */
/* What a backend keeps in the program's address spaces counts against the program's own limits,
 * RLIMIT_AS and RLIMIT_DATA. While a process is recorded the kernel has them raised by that share,
 * and the program sees and sets its own: own + share is enforced, for the recorder by the kernel
 * itself. Limits belong to a process; they go on over fork (copied) and execve (kept).
 *
 * Without CAP_SYS_RESOURCE nobody can raise a hard limit: what cannot be added is room that the
 * program does not have. */
#ifndef BT_LIMITS_H
#define BT_LIMITS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

enum limited {
	LIMITED_AS,
	LIMITED_DATA,
	LIMITED,
};

/* A backend's memory in an address space: where it begins, and to how many bytes it amounts, in
 * whole pages. */
struct limits_share {
	uint64_t start;
	uint64_t bytes[LIMITED];
};

struct limit {
	struct rlimit own;    /* as the program knows it */
	struct rlimit kernel; /* as it is */
};

/* Of a process. All zero: nothing has been added. */
struct limits {
	const struct limits_share *share; /* what is added; NULL: nothing */
	bool set_aside;                   /* for the time of an execve */
	struct limit of[LIMITED];
};

/* A system call in progress that gets or sets a limit of a process with a share. */
struct limits_syscall {
	pid_t target; /* the process; 0: there is no such call */
	enum limited which;
	struct limit before;
	bool sets; /* it sets asked; passed was put in its place, at scratch, over saved */
	struct rlimit asked, passed, saved;
	uint64_t scratch;
};

struct task;
struct task_table;

/* The calling process goes on with as much as it may have of what a recorder needs more of the more
 * it records; were gets the limits that it had, which are the program's to be. */
void limits_lift_own(struct rlimit were[RLIM_NLIMITS]);
void limits_put_back(const struct rlimit were[RLIM_NLIMITS]);

/* How many bytes the calling process may have for one thing that grows: a quarter of the least of
 * its limits of memory, for what remains is for all others. UINT64_MAX: there is no limit. */
uint64_t limits_room_of_own(void);

/* Whether a descriptor of the caller's is one of the first so many quarters of those that it may
 * have: what can be done without one in the end keeps no other, for statuses, memory and the trace
 * are read and written by such. */
bool limits_has_spare(int fd, unsigned quarters);

/* The share is about to be mapped, or is there already, in the process's address space: adds it to
 * the limits, in place of what has been added before. */
void limits_raise(struct limits *l, pid_t pid, const struct limits_share *share);

/* Whether not all of the share could be added: a hard limit cannot be raised. */
bool limits_fall_short(const struct limits *l);

/* Takes back what was added, where that is permitted: not from a process that has changed its user,
 * without CAP_SYS_RESOURCE. */
void limits_restore(struct limits *l, pid_t pid);

/* A limit of a process as the kernel has it: RLIMIT_AS, RLIMIT_DATA or RLIMIT_MEMLOCK of any,
 * others of those with our user. False when it is gone. */
bool limits_get(pid_t pid, int resource, struct rlimit *now);

/* At the entry of a system call (task->syscall, task->regs), before it is made, and at its exit.
 * The program's memory and registers are changed for the time of the call at most. */
void limits_syscall_entered(const struct task_table *t, struct task *task);
void limits_syscall_left(const struct task_table *t, struct task *task);

#endif
