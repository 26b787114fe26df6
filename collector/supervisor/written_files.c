/* SPDX-License-Identifier: MIT */
/* Files that code is mapped from, and that somebody writes to meanwhile: by installing a library
 * over the one in use, say. */
#include <inttypes.h>

#include "collector/supervisor/supervisor_private.h"

enum { LOOK_EACH = 10 * SUPERVISOR_SLICES }; /* slices: a second */

struct telling {
	struct supervisor *sup;
	const struct task *task;
};

static void tell_mapping(void *arg, const struct mapping *m)
{
	const struct telling *t = arg;

	supervisor_note(t->sup, t->task,
			"%.400s, whose code is mapped at 0x%" PRIx64 ", has been written to",
			m->path, m->start);
}

void supervisor_look_at_files_of(struct supervisor *sup, struct task *task)
{
	struct address_space *s = task->process->space;

	address_space_look_at_files(s, task->host_tid, tell_mapping, &(struct telling){sup, task});
	if (s->files.written && task_runs_code(task))
		sup->backend.ops->stop_soon(&sup->backend, task);
}

void supervisor_look_at_files(struct supervisor *sup)
{
	if (sup->slices - sup->files_looked < LOOK_EACH)
		return;
	sup->files_looked = sup->slices;
	for (struct task *task = sup->tasks.first; task; task = task->next) {
		struct address_space *s = task->process ? task->process->space : NULL;

		if (!s || !task->supervised->started || task->native ||
		    s->files_looked == sup->slices)
			continue;
		s->files_looked = sup->slices;
		supervisor_look_at_files_of(sup, task);
	}
}

void supervisor_reread_files(struct supervisor *sup, const struct task *task)
{
	struct address_space *s = task->process->space;

	/* Others may be running code that would go. */
	bool alone = !sup->backend.parallel || task->unit->running == task_runs_code(task);

	if (s->files.written && alone)
		address_space_reread(s, task->host_tid);
}
