/* SPDX-License-Identifier: MIT */
/* The system call filters of a task (seccomp(2)), as it was seen to install them, and what they say
 * to a call that it does not make itself. */
#ifndef BT_SYSCALL_FILTER_H
#define BT_SYSCALL_FILTER_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct task;
struct task_table;

/* A filter and, behind it, those that were there before. Counted; never changed. NULL: none. */
struct syscall_filter;

/* Adds a filter (code is copied) in front of older, a reference that is taken over, also on
 * failure. NULL without memory. */
struct syscall_filter *syscall_filter_add(struct syscall_filter *older,
					  const struct sock_filter *code, size_t n);

struct syscall_filter *syscall_filter_share(struct syscall_filter *f);
void syscall_filter_put(struct syscall_filter *f);

/* Whether each of them lets the kernel make the call as if it were not there (SECCOMP_RET_ALLOW,
 * SECCOMP_RET_LOG). */
bool syscall_filter_allows(const struct syscall_filter *f, const struct seccomp_data *call);

/* Behind the task's system call: what that installed, for it or for its whole process, is its
 * filter. */
void syscall_filter_left(struct task_table *t, struct task *task);

/* Whether a system call of ours, made with the instruction that ends at ip, passes the task's
 * filters. No where the kernel has more of them than were seen; only those from before --from was
 * reached are not asked. */
bool syscall_filter_passes(const struct task *task, uint64_t ip, long nr, const uint64_t args[6]);

/* Whether the result of the task's call, behind whose instruction task->regs stand, may be that of
 * a filter, or of another program for it. */
bool syscall_filter_answers(const struct task *task);

#endif
