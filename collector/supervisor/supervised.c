/* SPDX-License-Identifier: MIT */
#include "collector/supervisor/supervised.h"

#include <stdlib.h>

struct task *supervised_task(struct task_table *t, pid_t tid)
{
	struct supervised *supervised = calloc(1, sizeof *supervised);
	struct task *task = supervised ? task_add(t, tid) : NULL;

	if (task)
		task->supervised = supervised;
	else
		free(supervised);
	return task;
}

struct unit *supervised_unit(struct task_table *t)
{
	struct unit_turns *turns = calloc(1, sizeof *turns);
	struct unit *unit = turns ? unit_new(t) : NULL;

	if (unit)
		unit->turns = turns;
	else
		free(turns);
	return unit;
}
