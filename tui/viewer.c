/* SPDX-License-Identifier: MIT */
#include "tui/viewer.h"

#include <stdarg.h>
#include <stdio.h>

void viewer_message(struct viewer *v, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(v->message, sizeof v->message, fmt, ap);
	va_end(ap);
}

const struct bt_record_thread *viewer_thread(const struct viewer *v, uint32_t task)
{
	for (size_t i = 0; v->snap && i < v->snap->thread_count; i++)
		if (v->snap->threads[i]->task == task)
			return v->snap->threads[i];
	return NULL;
}

static void find_stop(struct viewer *v)
{
	const struct bt_record_thread *t = viewer_thread(v, v->task);

	v->stopped = t || (v->snap && v->snap->rec->task == v->task);
	v->stop_index = v->history.count;
	if (!v->stopped)
		return;
	v->stop_index = history_index(&v->history, t ? t->position : v->snap->rec->position);
	v->stop_rip = t ? t->regs.rip : v->snap->rec->point.rip;
}

int viewer_show(struct viewer *v, const struct model_snapshot *snap, uint32_t task, struct bt_error *err)
{
	int rc = 0;

	if (!v->history.entries || v->task != task) {
		history_release(&v->history);
		calls_release(&v->calls);
		v->history = (struct history){0};
		rc = history_load(&v->history, v->m, task, err);
		if (!rc)
			rc = calls_init(&v->calls, &v->history, err);
	}
	v->snap = snap;
	v->task = task;
	find_stop(v);
	for (size_t i = 0; !rc && i < VIEW_COUNT; i++)
		rc = v->views[i].ops->load(v, &v->views[i], err);
	v->code_stale = true;
	return rc;
}

void viewer_reload(struct viewer *v, enum view_id id)
{
	struct bt_error err;

	if (v->views[id].ops->load(v, &v->views[id], &err))
		v->quit = true;
}

void viewer_open(struct viewer *v, enum view_id id)
{
	size_t kept = 0;

	for (size_t i = 0; i < v->open_count; i++)
		if (v->open[i] != id)
			v->open[kept++] = v->open[i];
	v->open[kept++] = id;
	v->open_count = kept;
	v->focus = id;
	if (id == VIEW_SUMMARY)
		viewer_reload(v, id);
}

void viewer_follow(struct viewer *v, const struct target *t)
{
	struct target to; /* a copy: showing something else makes the lines anew */
	struct bt_error err;

	if (!t || !t->history)
		return;
	to = *t;
	if (viewer_show(v, to.snapshot ? to.snapshot : v->snap, to.task, &err)) {
		/* Half a history would be read as a whole one. */
		v->quit = true;
		return;
	}
	branch_view_go(v, to.position);
	viewer_open(v, VIEW_BRANCHES);
}
