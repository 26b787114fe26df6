/* SPDX-License-Identifier: MIT */
/* A call that Linux does not make again itself (QUIRK(interrupt-eintr)) is made again with its
 * whole timeout. So that signals which come again and again do not keep it for ever, the time since
 * it was begun first is counted. */
#ifndef BT_SYSCALL_TIMEOUT_H
#define BT_SYSCALL_TIMEOUT_H

#include <stdbool.h>
#include <stdint.h>

struct task;

struct syscall_timeout {
	bool again;     /* the call at rip is made once more */
	uint64_t rip;   /* behind the instruction of the call that was begun last, */
	uint64_t tick;  /* its tick */
	uint64_t began; /* and when, in nanoseconds; of one that was made without a stop: when it
			   was cut */
};

/* task->regs stand behind the instruction of a call that is about to be made. */
void syscall_timeout_begin(struct task *task, uint64_t now);

/* task->regs stand behind a call that gave -EINTR and is to be made again; unseen: it was made
 * without a stop. Returns whether it is not, as its time is over: then *result is what it gives for
 * that. */
bool syscall_timeout_is_over(struct task *task, uint64_t now, bool unseen, int64_t *result);

#endif
