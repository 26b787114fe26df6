/* SPDX-License-Identifier: MIT */
/* How a task comes near its stop point (doc/engine/stop-points.md). Used by cache_entry.c before it
 * lets the task into the cache. */
#ifndef BT_NEAR_STOP_H
#define BT_NEAR_STOP_H

#include "collector/backend/engine/engine_private.h"

/* The task's stop point is so many ticks ahead. Once a task has come near its own, fragments come
 * nearer (es->near). Where history is kept they cost more, and go when it has none, or one far
 * away. es: NULL: it has no cache yet. */
void near_stop_note(const struct backend *b, struct engine_space *es, const struct task *task,
		    uint64_t ahead);

/* Whether fragments count down to it (fragment_kind.counts). */
bool near_stop_counts(const struct backend *b, const struct engine_space *es);

/* A task that is to stop nearer than at so many ticks is stepped, where fragments do not count. */
uint64_t near_stop_ticks(const struct backend *b, const struct engine_space *es);

/* The transfers that a task at its stop point's tick may make in the cache, where only ticks are
 * counted: some less than are still to come there. 0: it is to be stepped. */
uint64_t near_stop_transfers(const struct backend *b, const struct engine_space *es,
			     const struct task *task);

/* Where fragments count: fills in how many branches the task makes. It stops before the conditional
 * that makes its stop point's tick; at that tick before the last branch there. Then it makes that
 * by a step. False: it is to make a step now. */
bool near_stop_count_down(const struct task *task, struct context *ctx);

/* Whether the task, which is near its stop point and about to make a step, has made so many without
 * a tick that it may make any number of them. */
bool near_stop_is_far_in_time(struct engine_task *et, uint64_t tick);

#endif
