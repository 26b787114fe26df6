/* SPDX-License-Identifier: MIT */
/* The memory that a backend maps in the program's address spaces counts against the program's own
 * limits, RLIMIT_AS and RLIMIT_DATA. While a process is recorded the kernel's limits are raised by
 * that share, and the program sees and sets its own: own + share is enforced, for the recorder by
 * the kernel itself. Limits belong to a process; they go on over fork (copied) and execve (kept).
 *
 * Without CAP_SYS_RESOURCE nobody can raise a hard limit: the program then lacks the part of the
 * share that could not be added.
 *
 * The supervisor calls it at each system call's entry and exit, the engine before it maps a region;
 * launch and btrec run raise the recorder's own limits. The program only ever sees `own`: its
 * memory and registers differ from that for the time of a call at most. */
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

/* A backend's memory in an address space: its start, and its bytes by resource, in whole pages. */
struct limits_share {
	uint64_t start;
	uint64_t bytes[LIMITED];
};

struct limit {
	struct rlimit own;    /* as the program knows it */
	struct rlimit kernel; /* as the kernel has it */
};

/* Of a process. All zero: nothing has been added. */
struct limits {
	const struct limits_share *share; /* our addition to each limit; NULL: none */
	bool set_aside;                   /* for the time of an execve */
	struct limit of[LIMITED];
};

/* A system call in progress that gets or sets a limit of a process with a share. */
struct limits_syscall {
	pid_t target; /* the process; 0: there is no such call */
	enum limited which;
	struct limit before;
	bool sets; /* the program asked for `asked`; the call reads `passed` at scratch, where
		    * `saved` was */
	struct rlimit asked, passed, saved;
	uint64_t scratch;
};

struct task;
struct task_table;

/* Raises the calling process's limits as far as it may, for resources that a long recording needs
 * more of. were gets the old limits, for the program. */
void limits_lift_own(struct rlimit were[RLIM_NLIMITS]);
void limits_put_back(const struct rlimit were[RLIM_NLIMITS]);

/* How many bytes one growing table of the calling process may have: a quarter of the lowest of its
 * memory limits. UINT64_MAX: there is no limit. */
uint64_t limits_room_of_own(void);

/* Whether fd lies in the first so many quarters of the descriptors that the caller may have. A user
 * that can do without a descriptor asks this and gives way: /proc files, memory and the trace need
 * theirs. */
bool limits_has_spare(int fd, unsigned quarters);

/* The share is about to be mapped, or is there already, in the process's address space: adds it to
 * the limits, in place of what has been added before. */
void limits_raise(struct limits *l, pid_t pid, const struct limits_share *share);

/* Whether not all of the share could be added: a hard limit cannot be raised. */
bool limits_fall_short(const struct limits *l);

/* Takes the share away again. The kernel refuses that for a process that has changed its user,
 * without CAP_SYS_RESOURCE. */
void limits_restore(struct limits *l, pid_t pid);

/* A limit of a process as the kernel has it. RLIMIT_AS, RLIMIT_DATA, RLIMIT_MEMLOCK and
 * RLIMIT_STACK can be read of any process, others of processes with our user. False when the
 * process is gone. */
bool limits_get(pid_t pid, int resource, struct rlimit *now);

/* To be called at the entry of each system call (task->syscall, task->regs) and at its exit. They
 * change the program's memory and registers for the time of the call at most. */
void limits_syscall_entered(const struct task_table *t, struct task *task);
void limits_syscall_left(const struct task_table *t, struct task *task);

#endif
