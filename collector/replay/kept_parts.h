/* SPDX-License-Identifier: MIT */
/* The parts that another session, replaying_options.keeper, has of processes and tasks: operations
 * of the session that replays, which hand on to that one's. Without it a task has a history of its
 * own. No state. */
#ifndef BT_KEPT_PARTS_H
#define BT_KEPT_PARTS_H

#include "collector/supervisor/session.h"

/* As session_ops.on_new_process, on_forget_process, on_new and on_forget. session: a struct
 * replaying. */
bool kept_parts_new_process(struct session *session, struct supervisor *sup,
			    struct process *process, const struct process *before);
void kept_parts_forget_process(struct session *session, struct supervisor *sup,
			       struct process *process);
bool kept_parts_new(struct session *session, struct supervisor *sup, struct task *task);
void kept_parts_forget(struct session *session, struct supervisor *sup, struct task *task);

#endif
