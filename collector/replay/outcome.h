/* SPDX-License-Identifier: MIT */
/* How a replay ends: at the last thing that was to come, because it cannot go on, or at the first
 * difference from the recording. Used by the session that replays. */
#ifndef BT_OUTCOME_H
#define BT_OUTCOME_H

#include "collector/replay/replaying.h"

/* Nothing more is to come: ends the host. */
void outcome_finish(struct replaying *r, const struct task *task);

/* The replay cannot go on (r->failure). Ends the host. */
void outcome_fail(struct replaying *r, const struct task *task, enum bt_error_code code,
		  const char *what);

/* `came` came instead of the present event, or with another state (r->divergence). Ends the host.
 * Nothing is changed behind another divergence, or a failure. */
void outcome_diverge(struct replaying *r, struct task *task, enum divergence_kind kind,
		     const char *came);

/* The present event, a call or instruction that was answered without a stop, came at another tick.
 * The task has gone on since: of where it was then the tick alone is known. */
void outcome_diverge_in_tick(struct replaying *r, struct task *task, uint64_t tick);

/* Compares where the task is, and its registers, with the present event. False: it has diverged. */
bool outcome_compare(struct replaying *r, struct task *task, const char *came);

#endif
