/* SPDX-License-Identifier: MIT */
#include "decoder/model/model_private.h"

#include <stdlib.h>

static bool has_failed(const struct model_process *process)
{
	return process->end && model_is_failure(process->end);
}

/* Whether the snapshot tells more of how its process failed than its last one, which is older. */
static bool tells_more(const struct model_snapshot *s, const struct model_process *process)
{
	const struct model_snapshot *last = process->last;

	if (s->rec->kind == BT_SNAPSHOT_EXIT || s->rec->kind == BT_SNAPSHOT_FAILURE)
		return !last ||
		       !(snapshots_is_sign(last, process->end) || snapshots_is_message_of(last, s));
	if (s->rec->kind == BT_SNAPSHOT_MESSAGE)
		return !last;
	return s->rec->kind == BT_SNAPSHOT_FATAL || snapshots_is_sign(s, process->end);
}

static int compare_failures(const void *a, const void *b)
{
	const struct model_failure *x = a, *y = b;

	return x->exit->seq < y->exit->seq ? -1 : x->exit->seq > y->exit->seq;
}

void failures_find(struct loader *l)
{
	struct model *m = l->m;
	size_t count = 0;

	for (size_t i = 0; i < m->snapshot_count; i++) {
		struct model_process *process = tasks_process(l, m->snapshots[i].rec->task);

		if (process && tells_more(&m->snapshots[i], process))
			process->last = &m->snapshots[i];
	}
	for (size_t i = 0; i < l->process_count; i++)
		count += has_failed(&l->processes[i]);
	m->failures = loader_array(l, count, sizeof *m->failures);
	for (size_t i = 0; m->failures && i < l->process_count; i++) {
		const struct model_process *process = &l->processes[i];

		if (has_failed(process))
			m->failures[m->failure_count++] =
				(struct model_failure){.task = process->first,
						       .exit = process->end,
						       .snap = process->last,
						       .argv = process->argv,
						       .program = process->program};
	}
	if (m->failures)
		qsort(m->failures, m->failure_count, sizeof *m->failures, compare_failures);
}
