/* SPDX-License-Identifier: MIT */
/* What system calls may do to watched pages: which memory the kernel may write, which mappings
 * change, and after which calls nothing can be watched. Used by watch.c and cache_syscalls.c. No
 * state. It may name too much memory, never too little. */
#ifndef BT_WATCH_SYSCALLS_H
#define BT_WATCH_SYSCALLS_H

#include "collector/backend/engine/changes/watched_pages.h"
#include "collector/task/task.h"

enum watch_syscall {
	WATCH_SYSCALL_PLAIN,
	/* Behind it nothing can be watched any more: calls of ours may be filtered, the kernel
	 * writes when it likes, or what is protected cannot be given back. */
	WATCH_SYSCALL_ENDS,
	WATCH_SYSCALL_FORKS, /* copies the address space */
};

/* What the call is that the task is at (task->syscall). */
enum watch_syscall watch_syscall_kind(const struct task *task);

/* Whether the call is to have the signal ignored. */
bool watch_syscall_ignores(const struct task *task, int signo);

/* Whether there is memory that is not to be watched from here on, and which: an alternate signal
 * stack; code that a fork's child does not get; a task's id, which the kernel clears at its end. */
bool watch_syscall_spared(const struct task *task, struct watch_range *range);

/* Shows what memory the call may write, or change as a mapping; more than that where it is not
 * known exactly. */
void watch_syscall_ranges(const struct task *task,
			  void (*range)(void *arg, uint64_t start, uint64_t end), void *arg);

/* The task is at the exit of the call: shows where memory may have other contents now though its
 * mapping looks the same. */
void watch_syscall_replaced(const struct task *task,
			    void (*range)(void *arg, uint64_t start, uint64_t end), void *arg);

/* Likewise: to which descriptor it has written. False when to none. */
bool watch_syscall_output(const struct task *task, uint32_t *fd);

/* Whether a descriptor of the task is a /proc/PID/mem, by which code can be written that is
 * protected, by us or by the program. */
bool watch_syscall_is_memory(const struct task *task, uint32_t fd);

#endif
