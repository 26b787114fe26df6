/* SPDX-License-Identifier: MIT */
/* The recorder and the program on one processor. Mostly one of them waits for the other: on one
 * processor each finds in the caches what the other has left there, and no processor is woken. If a
 * task has to wait for the processor because of that (two processes that compute, other programs),
 * all may run anywhere again, for a while.
 *
 * The program sees the affinity that it would have (sched_getaffinity(2)); once it sets one itself,
 * all is left as it is. It can see ours in /proc/PID/status (Cpus_allowed). Used by the supervisor.
 */
#ifndef BT_AFFINITY_H
#define BT_AFFINITY_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct task;
struct task_table;

/* Of a recording. All zero: nothing is done. */
struct affinity {
	bool begun; /* tasks may have been on one processor */
	bool on;
	bool together;      /* all are on one processor */
	cpu_set_t own, one; /* the processors that all may use without us; the one of `together` */
	uint64_t since, looked; /* nanoseconds: of `together`; time of the last affinity_look() */
	uint64_t wait;          /* ns that all run anywhere, the next time */
	uint64_t waited;        /* the recorder's: see struct supervised */
};

/* To be called by the recorder, before it has tasks: it is on one processor from now on. Does
 * nothing where there is one only, or the kernel does not tell who waits (CONFIG_SCHED_INFO). */
void affinity_begin(struct affinity *a);

/* A task has come, stopped: a child has what its parent (NULL: gone) had when it was made. */
void affinity_join(const struct affinity *a, pid_t tid, const struct task *parent);

/* A task is about to be detached. */
void affinity_leave(const struct affinity *a, pid_t tid);

/* At the entry of a system call (task->syscall), before it is made, and at its exit. */
void affinity_syscall_entered(struct affinity *a, struct task_table *t, struct task *task);
void affinity_syscall_left(struct task *task);

/* To be called every now and then: lets all go apart if tasks wait for the processor, and come
 * together again later. */
void affinity_look(struct affinity *a, struct task_table *t);

#endif
