/* SPDX-License-Identifier: MIT */
/* The report by CPU: for each, the tasks' stretches in the order of their times, each with its branches. */
#include <inttypes.h>
#include <stdlib.h>

#include "decoder/report.h"
#include "decoder/report_private.h"
#include "decoder/system.h"

enum {
	TIME_WIDTH = 20,
};

/* All histories that are shown, by index of their task in the model. */
struct by_cpu {
	struct report r;
	struct system_view view;
	struct history *histories;
	bool *loaded;
	size_t shown; /* stretches */
};

static const char *const endings[SYSTEM_ENDS] = {
	[SYSTEM_BLOCKED] = "departs: it waits",
	[SYSTEM_PREEMPTED] = "departs: it was preempted",
	[SYSTEM_EXITED] = "ends",
	[SYSTEM_SAMPLED] = "is sampled",
	[SYSTEM_LOST] = "departs: when is not in the trace",
};

/* The history of a task, loaded when it is needed first. NULL without memory. */
static const struct history *history_of(struct by_cpu *b, uint32_t task, struct bt_error *err)
{
	size_t i = (size_t)(model_task(b->r.m, task) - b->r.m->tasks);

	if (!b->loaded[i] && history_load(&b->histories[i], b->r.m, task, err))
		return NULL;
	b->loaded[i] = true;
	return &b->histories[i];
}

static void put_time(struct by_cpu *b, uint64_t ns)
{
	char text[32] = "?";

	if (ns != SYSTEM_UNKNOWN)
		snprintf(text, sizeof text, "%" PRIu64 ".%09" PRIu64, ns / 1000000000u, ns % 1000000000u);
	text_printf(&b->r.t, "  %*s  ", TIME_WIDTH, text);
}

static void put_task(struct by_cpu *b, uint32_t number)
{
	const struct model_task *task = model_task(b->r.m, number);

	text_printf(&b->r.t, "task %u (", number);
	if (*task->command) {
		text_outside(&b->r.t, task->command);
		text_printf(&b->r.t, ", ");
	}
	text_printf(&b->r.t, "thread %u)", task->tid);
}

static bool is_asked_for(const struct by_cpu *b, const struct system_stretch *s)
{
	return !b->r.o->has_thread || s->task == b->r.focus.task->task;
}

/* How many entries of a stretch pass the filter. */
static size_t count_shown(struct by_cpu *b, const struct history *h, const struct system_stretch *s)
{
	size_t count = 0;

	for (size_t i = history_index(h, s->first), end = history_index(h, s->last); i < end; i++)
		count += focus_shows(&h->entries[i], b->r.s, b->r.o->function);
	return count;
}

static bool is_shown(const struct by_cpu *b, const struct system_stretch *s, size_t branches)
{
	return is_asked_for(b, s) && (branches || !b->r.o->function);
}

static void put_end(struct by_cpu *b, const struct system_stretch *s, size_t branches)
{
	put_time(b, s->end);
	put_task(b, s->task);
	text_printf(&b->r.t, " %s", endings[s->how]);
	if (s->start != SYSTEM_UNKNOWN && s->end != SYSTEM_UNKNOWN && s->end >= s->start)
		text_printf(&b->r.t, "; it ran %" PRIu64 ".%06" PRIu64 " ms", (s->end - s->start) / 1000000, (s->end - s->start) % 1000000);
	if (s->samples && s->how != SYSTEM_SAMPLED)
		text_printf(&b->r.t, ", %zu sample%s", s->samples, s->samples == 1 ? "" : "s");
	text_printf(&b->r.t, branches == 1 ? ", %zu entry\n" : ", %zu entries\n", branches);
}

static int put_stretch(struct by_cpu *b, const struct system_stretch *s, size_t limit, struct bt_error *err)
{
	const struct history *h = history_of(b, s->task, err);
	size_t branches;
	int rc = 0;

	if (!h)
		return -BT_E_NO_MEMORY;
	branches = count_shown(b, h, s);
	if (s->start != SYSTEM_UNKNOWN || s->how != SYSTEM_SAMPLED) {
		put_time(b, s->start);
		put_task(b, s->task);
		text_printf(&b->r.t, " arrives%s\n", s->start == SYSTEM_UNKNOWN ? ": when is not in the trace" : "");
	}
	if (branches) {
		b->r.focus.history = *h; /* borrowed */
		rc = report_branch_rows(&b->r, history_index(h, s->first), history_index(h, s->last), limit, err);
	}
	put_end(b, s, branches);
	b->shown++;
	return rc;
}

/* Where to begin, so that the newest `count` entries of a CPU are shown, and not more stretches than that; and how many entries of that first one. */
static int find_first(struct by_cpu *b, size_t begin, size_t end, size_t *first, size_t *limit, struct bt_error *err)
{
	size_t count = b->r.o->count, branches = 0, stretches = 0;

	*first = end;
	*limit = 0;
	for (size_t i = end; i-- > begin && (!count || (branches < count && stretches < count));) {
		const struct system_stretch *s = &b->view.at[i];
		const struct history *h = is_asked_for(b, s) ? history_of(b, s->task, err) : NULL;
		size_t own;

		if (!is_asked_for(b, s))
			continue;
		if (!h)
			return -BT_E_NO_MEMORY;
		own = count_shown(b, h, s);
		if (!is_shown(b, s, own))
			continue;
		*first = i;
		*limit = count && branches + own > count ? count - branches : 0;
		branches += own;
		stretches++;
	}
	return 0;
}

static int put_cpu(struct by_cpu *b, size_t begin, size_t end, struct bt_error *err)
{
	size_t first, limit, before = 0;
	int rc = find_first(b, begin, end, &first, &limit, err);

	if (rc || first == end)
		return rc;
	if (b->view.at[begin].cpu == SYSTEM_UNKNOWN_CPU)
		text_printf(&b->r.t, "\nCPU unknown\n");
	else
		text_printf(&b->r.t, "\nCPU %" PRIu32 "\n", b->view.at[begin].cpu);
	for (size_t i = begin; i < first; i++)
		before += is_asked_for(b, &b->view.at[i]);
	if (before)
		text_printf(&b->r.t, "  %*s  %zu stretches before\n", TIME_WIDTH, "...", before);
	for (size_t i = first; !rc && i < end; i++) {
		const struct system_stretch *s = &b->view.at[i];
		const struct history *h = is_asked_for(b, s) ? history_of(b, s->task, err) : NULL;

		if (h && is_shown(b, s, count_shown(b, h, s)))
			rc = put_stretch(b, s, i == first ? limit : 0, err);
	}
	return rc;
}

/* Adds up the entries of each task, by its index in the model, that stretches hold. */
static int count_held(struct by_cpu *b, size_t *held, struct bt_error *err)
{
	for (size_t i = 0; i < b->view.count; i++) {
		const struct system_stretch *s = &b->view.at[i];
		const struct history *h = history_of(b, s->task, err);

		if (!h)
			return -BT_E_NO_MEMORY;
		held[model_task(b->r.m, s->task) - b->r.m->tasks] += history_index(h, s->last) - history_index(h, s->first);
	}
	return 0;
}

/* What no CPU and time can be given to. */
static int put_rest(struct by_cpu *b, const size_t *held, struct bt_error *err)
{
	bool any = false;

	for (size_t i = 0; i < b->r.m->task_count; i++) {
		const struct model_task *task = &b->r.m->tasks[i];
		const struct history *h;

		if (b->r.o->has_thread && task != b->r.focus.task)
			continue;
		h = history_of(b, task->task, err);
		if (!h)
			return -BT_E_NO_MEMORY;
		if (h->count <= held[i])
			continue;
		text_printf(&b->r.t, "%s  ", any ? "" : "\nWithout a CPU and a time\n");
		put_task(b, task->task);
		text_printf(&b->r.t, ": %zu of %zu entries\n", h->count - held[i], h->count);
		any = true;
	}
	return 0;
}

static int put_all(struct by_cpu *b, struct bt_error *err)
{
	size_t *held = calloc(b->r.m->task_count + 1, sizeof *held);
	int rc = held ? count_held(b, held, err) : -BT_E_NO_MEMORY;

	report_header(&b->r);
	for (size_t i = 0, end; !rc && i < b->view.count; i = end) {
		end = system_cpu_end(&b->view, i);
		rc = put_cpu(b, i, end, err);
	}
	if (!rc)
		rc = b->shown ? put_rest(b, held, err) : 1;
	free(held);
	return rc;
}

int report_print_by_cpu(FILE *to, const struct model *m, struct symbols *s, const struct report_options *o, struct bt_error *err)
{
	struct by_cpu b = {.r = {.t.utf8 = o->utf8, .m = m, .s = s, .o = o}};
	int rc = focus_choose(&b.r.focus, m, o);

	if (!rc)
		rc = system_build(&b.view, m, err);
	if (!rc) {
		b.histories = calloc(m->task_count + 1, sizeof *b.histories);
		b.loaded = calloc(m->task_count + 1, sizeof *b.loaded);
		rc = b.histories && b.loaded ? put_all(&b, err) : -BT_E_NO_MEMORY;
	}
	if (b.r.t.buf.failed || rc == -BT_E_NO_MEMORY)
		rc = bt_fail(err, BT_E_NO_MEMORY, 0, "out of memory for the report");
	if (!rc && b.r.t.buf.len)
		fwrite(b.r.t.buf.data, 1, b.r.t.buf.len, to);
	for (size_t i = 0; b.loaded && i < m->task_count; i++)
		if (b.loaded[i])
			history_release(&b.histories[i]);
	free(b.histories);
	free(b.loaded);
	system_release(&b.view);
	buf_release(&b.r.t.buf);
	return rc;
}
