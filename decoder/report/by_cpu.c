/* SPDX-License-Identifier: MIT */
#include "decoder/report/by_cpu.h"

#include <stdlib.h>

int by_cpu_open(struct by_cpu *b, const struct model *m, struct symbols *s,
		const struct report_options *o, struct bt_error *err)
{
	struct focus f;
	int rc;

	*b = (struct by_cpu){.m = m, .s = s, .o = o};
	rc = o->has_thread ? focus_choose(&f, m, o) : 0;
	if (rc)
		return rc;
	b->task = o->has_thread ? f.task : NULL;
	b->histories = calloc(m->task_count + 1, sizeof *b->histories);
	b->loaded = calloc(m->task_count + 1, sizeof *b->loaded);
	if (!b->histories || !b->loaded)
		return bt_no_memory(err, "the report");
	return system_build(&b->view, m, err);
}

void by_cpu_close(struct by_cpu *b)
{
	for (size_t i = 0; b->loaded && i < b->m->task_count; i++)
		if (b->loaded[i])
			history_release(&b->histories[i]);
	free(b->histories);
	free(b->loaded);
	system_release(&b->view);
}

const struct history *by_cpu_history(struct by_cpu *b, uint32_t task, struct bt_error *err)
{
	size_t i = (size_t)(model_task(b->m, task) - b->m->tasks);

	if (!b->loaded[i] && history_load(&b->histories[i], b->m, task, err))
		return NULL;
	b->loaded[i] = true;
	return &b->histories[i];
}

int by_cpu_shows(struct by_cpu *b, const struct system_stretch *s, size_t *entries,
		 struct bt_error *err)
{
	const struct history *h;

	*entries = 0;
	if (b->task && s->task != b->task->task)
		return 0;
	h = by_cpu_history(b, s->task, err);
	if (!h)
		return -BT_E_NO_MEMORY;
	for (size_t i = history_index(h, s->first), end = history_index(h, s->last); i < end; i++)
		*entries += focus_shows(h, &h->entries[i], b->s, b->o->function);
	return *entries || !b->o->function;
}

int by_cpu_first(struct by_cpu *b, size_t begin, size_t end, size_t *first, size_t *limit,
		 struct bt_error *err)
{
	size_t count = b->o->count, entries = 0, stretches = 0, own;

	*first = end;
	*limit = 0;
	for (size_t i = end; i-- > begin && (!count || (entries < count && stretches < count));) {
		int rc = by_cpu_shows(b, &b->view.at[i], &own, err);

		if (rc < 0)
			return rc;
		if (!rc)
			continue;
		*first = i;
		*limit = count && entries + own > count ? count - entries : 0;
		entries += own;
		stretches++;
	}
	return 0;
}

size_t *by_cpu_rest(struct by_cpu *b, struct bt_error *err)
{
	size_t *rest = calloc(b->m->task_count + 1, sizeof *rest);

	for (size_t i = 0; rest && i < b->m->task_count; i++) {
		const struct history *h = by_cpu_history(b, b->m->tasks[i].task, err);

		if (!h)
			goto fail;
		rest[i] = h->count;
	}
	for (size_t i = 0; rest && i < b->view.count; i++) {
		const struct system_stretch *s = &b->view.at[i];
		const struct history *h = by_cpu_history(b, s->task, err);

		if (!h)
			goto fail;
		rest[model_task(b->m, s->task) - b->m->tasks] -=
			history_index(h, s->last) - history_index(h, s->first);
	}
	return rest;
fail:
	free(rest);
	return NULL;
}
