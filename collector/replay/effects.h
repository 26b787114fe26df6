/* SPDX-License-Identifier: MIT */
/* Applies the effects of an event of the log (LOG_SHAPE, LOG_DATA and LOG_STATE in doc/FORMAT.md)
 * to the host's process and to its task. Used by the session that replays. */
#ifndef BT_EFFECTS_H
#define BT_EFFECTS_H

#include "collector/replay/host.h"
#include "collector/replay/replaying.h"

/* Applies the effect to a stopped task. Its registers are set in task->regs alone. HOST_REFUSES:
 * the effect makes no sense here; HOST_FULL: there is no room for its pages. */
enum host_result effect_apply(struct replaying *r, struct task *task, const struct log_effect *e);

/* The task has made the effect on mappings by itself (bt_logged_change). It is stopped. */
void effect_shape_made(struct task *task, const struct bt_record_log_shape *shape);

/* Whether the running task can be given the call's effects: it wrote only to memory that may be the
 * program's, and its shape (NULL: it has none) changes no code. */
bool effects_are_the_programs(const struct task *task, const struct bt_logged_call *call,
			      const struct bt_record_log_shape *shape);

/* The task is where it is to be given the present event's signal. Makes in task->regs the changes
 * that the instruction there made in the recording, before the signal came. */
void effects_begin_signal(const struct replaying *r, struct task *task);

#endif
