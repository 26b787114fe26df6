/* SPDX-License-Identifier: MIT */
/* The effect of system calls on watched pages: which memory the kernel may write, which mappings
 * change, and after which calls nothing can be watched. Used by watch.c and cache_syscalls.c. No
 * state. It may name too much memory, never too little. */
#ifndef BT_WATCH_SYSCALLS_H
#define BT_WATCH_SYSCALLS_H

#include "collector/backend/engine/written_code/watched_pages.h"
#include "collector/task/task.h"

/* An argument below this is a number rather than an address; nothing is watched there. */
enum { WATCH_LOWEST = 65536 };

enum watch_syscall {
	WATCH_SYSCALL_PLAIN,
	/* After it nothing can be watched any more: calls of ours may be filtered, the kernel may
	 * write at any moment, or protected pages cannot be given back. */
	WATCH_SYSCALL_ENDS,
	WATCH_SYSCALL_FORKS, /* copies the address space */
};

/* The kind of the call that the task is at (task->syscall). */
enum watch_syscall watch_syscall_kind(const struct task *task);

/* Whether the call makes the process ignore the signal. */
bool watch_syscall_ignores(const struct task *task, int signo);

/* Whether the call names memory that must not be watched from here on: an alternate signal stack;
 * code that a fork's child does not get; the word of a task's id, which the kernel clears at its
 * end. */
bool watch_syscall_spared(const struct task *task, struct watch_range *range);

/* Calls back for the memory that the call may write, or change as a mapping; for more if that is
 * not known exactly. */
void watch_syscall_ranges(const struct task *task,
			  void (*range)(void *arg, uint64_t start, uint64_t end), void *arg);

/* The task is at the exit of the call: calls back for memory that may have other contents now,
 * though its mapping looks the same. */
void watch_syscall_replaced(const struct task *task,
			    void (*range)(void *arg, uint64_t start, uint64_t end), void *arg);

/* The task is at the exit of the call: the descriptor that it has written to. False: to none. */
bool watch_syscall_output(const struct task *task, uint32_t *fd);

/* Whether a descriptor of the task is a /proc/PID/mem: through that even protected code can be
 * written. */
bool watch_syscall_is_memory(const struct task *task, uint32_t fd);

#endif
