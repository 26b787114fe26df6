/* SPDX-License-Identifier: MIT */
/* How a task comes near its stop point (doc/engine/stop-points.md). Used by cache_entry.c before it
 * lets the task into the cache. */
#ifndef BT_NEAR_STOP_H
#define BT_NEAR_STOP_H

#include "collector/backend/engine/engine_private.h"

/* Fills in how far a task that is less than STOP_NEAR ticks before its stop point runs in fragments
 * that count (fragment.counting). It stops before the conditional that makes the stop point's tick;
 * at that tick before the last branch there, or before the conditional that ends it. Then it makes
 * that by a step. Behind it the task runs to the block of code (STOP_BLOCK) in which the stop point
 * lies, if that is not near. False: it is to make a step now. */
bool near_stop_count_down(const struct task *task, struct context *ctx);

#endif
