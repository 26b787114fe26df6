/* SPDX-License-Identifier: MIT */
#include "collector/replay/kept_parts.h"

#include "collector/replay/replaying.h"

static struct session *keeper_of(const struct session *session)
{
	return ((const struct replaying *)session)->options.keeper;
}

bool kept_parts_new_process(struct session *session, struct supervisor *sup,
			    struct process *process, const struct process *before)
{
	struct session *keeper = keeper_of(session);

	return !keeper || keeper->ops->on_new_process(keeper, sup, process, before);
}

void kept_parts_forget_process(struct session *session, struct supervisor *sup,
			       struct process *process)
{
	struct session *keeper = keeper_of(session);

	if (keeper)
		keeper->ops->on_forget_process(keeper, sup, process);
}

bool kept_parts_new(struct session *session, struct supervisor *sup, struct task *task)
{
	struct session *keeper = keeper_of(session);
	struct ring_state start = {.space = task->process->space->number,
				   .epoch = task->process->space->epoch};

	if (keeper)
		return keeper->ops->on_new(keeper, sup, task);
	branch_ring_init(&task->ring, task->history, &start);
	return true;
}

void kept_parts_forget(struct session *session, struct supervisor *sup, struct task *task)
{
	struct session *keeper = keeper_of(session);

	if (keeper)
		keeper->ops->on_forget(keeper, sup, task);
}
