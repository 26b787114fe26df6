/* SPDX-License-Identifier: MIT */
/* Applies the effects of an event of the log (LOG_SHAPE, LOG_DATA, LOG_STATE and
 * LOG_OUTPUT in doc/FORMAT.md) to the host's process, to its task, and to what the user sees. Used
 * by the session that replays. */
#ifndef BT_EFFECTS_H
#define BT_EFFECTS_H

#include "collector/replay/host.h"
#include "collector/replay/replaying.h"

/* Applies all effects of the present event to a stopped task: then task->regs are those behind the
 * event, and the task has them. False: the replay has failed, or diverged. */
bool effects_apply(struct replaying *r, struct task *task);

/* Gives the stopped task the registers in task->regs. False: it does not have them: it is gone, or
 * they are none that a task can have, which is a divergence. */
bool effects_set_regs(struct replaying *r, struct task *task);

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
