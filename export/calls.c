/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "decoder/symbols/text.h"
#include "export/calls_private.h"

/* Up to where the task's history is shown; false: the task is not. */
static bool end_of(const struct task_calls *c, const struct focus *f,
		   const struct report_options *o, size_t *end)
{
	const struct bt_record_thread *thread =
		o->snapshot ? focus_thread(f->snap, c->task->task) : NULL;

	*end = c->h.count;
	if (o->has_thread && c->task != f->task)
		return false;
	if (thread)
		*end = history_index(&c->h, thread->position);
	else if (o->snapshot && f->snap->rec->task == c->task->task)
		*end = history_index(&c->h, f->snap->rec->position);
	else if (o->snapshot)
		return false;
	return true;
}

static int show_task(struct task_calls *c, const struct model *m, const struct focus *f,
		     const struct report_options *o, calls_show *show, void *arg,
		     struct bt_error *err)
{
	int rc = history_load(&c->h, m, c->task->task, err);

	if (!rc)
		rc = callstack_walk_init(&c->walk, err);
	if (!rc && end_of(c, f, o, &c->end))
		rc = show(arg, c, err);
	callstack_walk_release(&c->walk);
	history_release(&c->h);
	return rc;
}

int calls_of_tasks(const struct model *m, struct symbols *s, const struct report_options *o,
		   calls_show *show, void *arg, struct bt_error *err)
{
	struct focus f;
	int rc = focus_choose(&f, m, o) ? bt_fail(err, BT_E_UNSUPPORTED, 0,
						  "the trace has no such moment or thread")
					: 0;

	for (size_t i = 0; i < m->task_count && !rc; i++) {
		struct task_calls c = {.task = &m->tasks[i], .s = s};

		rc = show_task(&c, m, &f, o, show, arg, err);
	}
	return rc;
}

void calls_take(struct task_calls *c) { callstack_walk_take(&c->walk, &c->h, c->s, c->at++); }

const char *calls_tame(char *name)
{
	for (char *p = name; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f || *p == ';')
			*p = *p == ';' ? ':' : '?';
	return name;
}

const char *calls_name(struct symbols *s, uint32_t space, uint32_t epoch, uint64_t addr,
		       char name[FUNCTION_NAME_MAX])
{
	struct location loc;

	symbols_lookup(s, space, epoch, addr, false, &loc);
	function_name_plain(name, loc.function);
	if (!*name)
		snprintf(name, FUNCTION_NAME_MAX, "[%s]",
			 *loc.module ? text_basename(loc.module) : "unknown");
	return calls_tame(name);
}
