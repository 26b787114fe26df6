/* SPDX-License-Identifier: MIT */
/* The system call filters of a task (seccomp(2)), as it was seen to install them, and what they say
 * to a call that it does not make itself. The supervisor reports each system call's exit; the
 * engine asks before it injects a call. A filter never changes; tasks share it, and it is counted.
 * The filters' code is the program's: any code can be evaluated, and ends. */
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

/* Adds a filter in front of older, and copies its code. Takes over the reference to older, also on
 * failure. NULL without memory. */
struct syscall_filter *syscall_filter_add(struct syscall_filter *older,
					  const struct sock_filter *code, size_t n);

struct syscall_filter *syscall_filter_share(struct syscall_filter *f);
void syscall_filter_put(struct syscall_filter *f);

/* Whether each of them lets the kernel make the call as if it were not there (SECCOMP_RET_ALLOW,
 * SECCOMP_RET_LOG). */
bool syscall_filter_allows(const struct syscall_filter *f, const struct seccomp_data *call);

/* To be called at the exit of the task's system call: adds the filter that it has installed, for
 * the task or all tasks of its process. */
void syscall_filter_left(struct task_table *t, struct task *task);

/* Whether calls that we inject may be refused, or end the task: it has a filter that neither we nor
 * the session (process.filter_is_ours) have given it, or that is unknown. */
bool syscall_filter_may_refuse(const struct task *task);

/* Whether a system call of ours, made with the instruction that ends at ip, passes the task's
 * filters. False where the kernel has more filters than were seen. Filters from before --from was
 * reached are unknown and not counted. */
bool syscall_filter_passes(const struct task *task, uint64_t ip, long nr, const uint64_t args[6]);

/* Whether a filter, or another program on its behalf, may have given the result of the task's call.
 * task->regs stand behind the call's instruction. */
bool syscall_filter_answers(const struct task *task);

#endif
