/* SPDX-License-Identifier: MIT */
/* Wait statuses: taken from the kernel as soon as there are any, and served in the order in which
 * they came. Every status that is ready is taken before any is served, so that no task is served
 * twice before another is served once. Used by the supervisor. */
#ifndef BT_EVENT_QUEUE_H
#define BT_EVENT_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/task/task.h"
#include "collector/tracee/wait_event.h"
#include "lib/clock.h"

/* A status that waits to be served. */
struct queued_event {
	pid_t tid;
	int status;
};

/* All fields but these are zero at the start. */
struct event_queue {
	const struct task_table *tasks;
	const struct bt_clock *clock;
	const uint64_t *until; /* a look ends at this time of the clock; 0: at none */
	/* Called between two looks, and when a signal or that time has ended one. */
	void (*on_wake)(void *arg);
	void *arg;

	struct queued_event *events; /* those in [first, end) */
	size_t first, end, cap;
	uint32_t *queued_of; /* number of queued events by the low bits of their tids, which several
				may share: a sum, no lib/hash_table; NULL: not counted */
	/* Since all tasks were looked at for a status: */
	bool unseen;         /* a task may have stopped without a SIGCHLD that told of it */
	size_t told_of;      /* statuses taken because a SIGCHLD told of them */
	uint64_t look_after; /* ns without any until all are looked at again */
};

/* Waits for a status if none is queued, then gives the oldest. With many tasks it takes the
 * statuses that SIGCHLD tells of, which the caller blocks, and now and then looks at all. False
 * when no child is left. */
bool event_queue_next(struct event_queue *q, struct wait_event *ev);

/* Waits until tid stops or ends, until that time of the clock at most. Its event stays queued.
 * False when it is gone, or the time is over. */
bool event_queue_await(struct event_queue *q, pid_t tid, uint64_t until);

/* Whether an event of tid is queued: the task is stopped already. */
bool event_queue_has(const struct event_queue *q, pid_t tid);

/* The type of the oldest event of tid; WAIT_TYPES: there is none. */
enum wait_type event_queue_type(const struct event_queue *q, pid_t tid);

/* The signal of the oldest event of tid; 0: that event is no signal. */
int event_queue_signal(const struct event_queue *q, pid_t tid);

/* Whether the oldest event of tid is one of PTRACE_EVENT_*, and the task is still at it
 * (wait_event_holds). */
bool event_queue_holds(const struct event_queue *q, pid_t tid);

/* Takes the oldest event of tid out. */
void event_queue_drop(struct event_queue *q, pid_t tid);

/* Takes the oldest event of tid out if it is a stop of this type and signal. */
bool event_queue_take(struct event_queue *q, pid_t tid, enum wait_type type, int signo,
		      struct wait_event *ev);

/* Frees the queue. Queued events are lost. */
void event_queue_release(struct event_queue *q);

#endif
