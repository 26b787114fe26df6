/* SPDX-License-Identifier: MIT */
/* Files that code is mapped from, and that somebody writes to meanwhile: who installs a library
 * over the one in use, say. */
#include <inttypes.h>

#include "collector/recorder_private.h"

enum { LOOK_EACH = 10 * RECORDER_SLICES }; /* slices: a second */

struct telling {
	struct recorder *r;
	const struct task *task;
};

static void tell(void *arg, const struct mapping *m)
{
	const struct telling *t = arg;

	recorder_note(t->r, t->task,
		      "%.400s, whose code is mapped at 0x%" PRIx64 ", has been written to", m->path,
		      m->start);
}

void recorder_look_at_files_of(struct recorder *r, struct task *task)
{
	struct address_space *s = task->process->space;

	address_space_look_at_files(s, task->tid, tell, &(struct telling){r, task});
	if (s->files.written && task->state == TASK_RUNNING)
		r->backend.ops->stop_soon(&r->backend, task);
}

void recorder_look_at_files(struct recorder *r)
{
	if (r->slices - r->files_looked < LOOK_EACH)
		return;
	r->files_looked = r->slices;
	for (struct task *task = r->tasks.first; task; task = task->next) {
		struct address_space *s = task->process ? task->process->space : NULL;

		if (!s || !task->recorded || task->native || s->files_looked == r->slices)
			continue;
		s->files_looked = r->slices;
		recorder_look_at_files_of(r, task);
	}
}

void recorder_reread_files(struct recorder *r, const struct task *task)
{
	struct address_space *s = task->process->space;

	/* Others may be in what would go. */
	bool alone = !r->backend.parallel || task->unit->running == (task->state == TASK_RUNNING);

	if (s->files.written && alone)
		address_space_reread(s, task->tid);
}
