/* SPDX-License-Identifier: MIT */
/* Which snapshots are taken of those that may come too fast: of handled events, of entries of
 * functions that are kept brief, and of exits with failure. All others always are. Used by the
 * recording alone. */
#ifndef BT_SNAPSHOT_LIMIT_H
#define BT_SNAPSHOT_LIMIT_H

#include "collector/record/recording.h"

/* Whether a snapshot of that kind is taken of the task now. True counts it as taken. */
bool snapshot_is_admitted(struct recording *r, struct task *task, enum bt_snapshot_kind kind);

#endif
