/* SPDX-License-Identifier: MIT */
/* A call that Linux does not restart itself (QUIRK(interrupt-eintr)) is made again with its whole
 * timeout. The time since its first begin is counted, so that a stream of signals cannot keep it
 * waiting for ever. The supervisor uses it at entries and exits. The state is task->timeout. */
#ifndef BT_SYSCALL_TIMEOUT_H
#define BT_SYSCALL_TIMEOUT_H

#include <stdbool.h>
#include <stdint.h>

struct task;

struct syscall_timeout {
	bool again;     /* the call at rip is made once more */
	uint64_t rip;   /* behind the instruction of the call that was begun last */
	uint64_t tick;  /* its tick */
	uint64_t began; /* its beginning, in nanoseconds; of a call without a stop: the time of its
			   interruption */
};

/* task->regs stand behind the instruction of a call that is about to be made. */
void syscall_timeout_begin(struct task *task, uint64_t now);

/* task->regs stand behind a call that gave -EINTR and is to be made again; unseen: it was made
 * without a stop. Returns whether its time is over: then it is not made again, and *result is what
 * it returns for a timeout. */
bool syscall_timeout_is_over(struct task *task, uint64_t now, bool unseen, int64_t *result);

#endif
