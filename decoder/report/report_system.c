/* SPDX-License-Identifier: MIT */
/* The report by CPU: for each, the tasks' stretches in the order of their times, each with its
 * branches. */
#include <inttypes.h>
#include <stdlib.h>

#include "decoder/report/by_cpu.h"
#include "decoder/report/report.h"
#include "decoder/report/report_private.h"
#include "lib/output.h"

enum {
	TIME_WIDTH = 20,
};

struct cpu_report {
	struct report r;
	struct by_cpu b;
	size_t shown; /* stretches */
};

static const char *const endings[SYSTEM_ENDS] = {
	[SYSTEM_BLOCKED] = "departs: it waits",
	[SYSTEM_PREEMPTED] = "departs: it was preempted",
	[SYSTEM_EXITED] = "ends",
	[SYSTEM_SAMPLED] = "is sampled",
	[SYSTEM_LOST] = "departs: when is not in the trace",
};

static void put_time(struct cpu_report *c, uint64_t ns)
{
	char text[48] = "?";

	if (ns != SYSTEM_UNKNOWN)
		snprintf(text, sizeof text, "%" PRIu64 ".%09" PRIu64, ns / 1000000000u,
			 ns % 1000000000u);
	text_printf(&c->r.t, "  %*s  ", TIME_WIDTH, text);
}

static void put_task(struct cpu_report *c, uint32_t number)
{
	const struct model_task *task = model_task(c->b.m, number);

	text_printf(&c->r.t, "task %u (", number);
	if (*task->command) {
		text_outside(&c->r.t, task->command);
		text_printf(&c->r.t, ", ");
	}
	text_printf(&c->r.t, "thread %u)", task->tid);
}

static void put_arrival(struct cpu_report *c, const struct system_stretch *s)
{
	if (s->start == SYSTEM_UNKNOWN && s->how == SYSTEM_SAMPLED)
		return;
	put_time(c, s->start);
	put_task(c, s->task);
	text_printf(&c->r.t, " arrives%s\n",
		    s->start == SYSTEM_UNKNOWN ? ": when is not in the trace" : "");
}

static void put_stretch_end(struct cpu_report *c, const struct system_stretch *s, size_t entries)
{
	put_time(c, s->end);
	put_task(c, s->task);
	text_printf(&c->r.t, " %s", endings[s->how]);
	if (s->start != SYSTEM_UNKNOWN && s->end != SYSTEM_UNKNOWN && s->end >= s->start)
		text_printf(&c->r.t, "; it ran %" PRIu64 ".%06" PRIu64 " ms",
			    (s->end - s->start) / 1000000, (s->end - s->start) % 1000000);
	if (s->samples && s->how != SYSTEM_SAMPLED)
		text_printf(&c->r.t, ", %zu sample%s", s->samples, s->samples == 1 ? "" : "s");
	text_printf(&c->r.t, ", %zu entr%s\n", entries, entries == 1 ? "y" : "ies");
}

static int put_stretch(struct cpu_report *c, const struct system_stretch *s, size_t entries,
		       size_t limit, struct bt_error *err)
{
	const struct history *h = by_cpu_history(&c->b, s->task, err);
	int rc = 0;

	if (!h)
		return -BT_E_NO_MEMORY;
	put_arrival(c, s);
	if (entries) {
		c->r.focus.history = *h; /* borrowed */
		rc = report_branch_rows(&c->r, history_index(h, s->first),
					history_index(h, s->last), limit, err);
	}
	put_stretch_end(c, s, entries);
	c->shown++;
	return rc;
}

static void put_cpu_title(struct cpu_report *c, uint32_t cpu, size_t before)
{
	if (cpu == SYSTEM_UNKNOWN_CPU)
		text_printf(&c->r.t, "\nCPU unknown\n");
	else
		text_printf(&c->r.t, "\nCPU %" PRIu32 "\n", cpu);
	if (before)
		text_printf(&c->r.t, "  %*s  %zu stretch%s before\n", TIME_WIDTH, "...", before,
			    before == 1 ? "" : "es");
}

static int put_cpu(struct cpu_report *c, size_t begin, size_t end, struct bt_error *err)
{
	size_t first, limit, before = 0, entries;
	int rc = by_cpu_first(&c->b, begin, end, &first, &limit, err);

	if (rc || first == end)
		return rc;
	for (size_t i = begin; i < first; i++)
		before += !c->b.task || c->b.view.at[i].task == c->b.task->task;
	put_cpu_title(c, c->b.view.at[begin].cpu, before);
	for (size_t i = first; rc >= 0 && i < end; i++) {
		rc = by_cpu_shows(&c->b, &c->b.view.at[i], &entries, err);
		if (rc == 1)
			rc = put_stretch(c, &c->b.view.at[i], entries, i == first ? limit : 0, err);
	}
	return rc < 0 ? rc : 0;
}

/* Writes how many entries of each task belong to no known CPU and time. */
static int put_unplaced(struct cpu_report *c, struct bt_error *err)
{
	size_t *rest = by_cpu_rest(&c->b, err);
	bool any = false;

	if (!rest)
		return -BT_E_NO_MEMORY;
	for (size_t i = 0; i < c->b.m->task_count; i++) {
		const struct model_task *task = &c->b.m->tasks[i];

		if (!rest[i] || (c->b.task && task != c->b.task))
			continue;
		text_printf(&c->r.t, "%s  ", any ? "" : "\nWithout a CPU and a time\n");
		put_task(c, task->task);
		text_printf(&c->r.t, ": %zu of %zu entries\n", rest[i], c->b.histories[i].count);
		any = true;
	}
	free(rest);
	return 0;
}

static int put_cpus(struct cpu_report *c, struct bt_error *err)
{
	int rc = 0;

	report_header(&c->r);
	for (size_t i = 0, end; !rc && i < c->b.view.count; i = end) {
		end = system_cpu_end(&c->b.view, i);
		rc = put_cpu(c, i, end, err);
	}
	if (rc)
		return rc;
	return c->shown ? put_unplaced(c, err) : 1;
}

int report_print_by_cpu(FILE *to, const struct model *m, struct symbols *s,
			const struct report_options *o, struct bt_error *err)
{
	struct cpu_report c = {.r = {.t.utf8 = o->utf8,
				     .t.marks = o->marks,
				     .t.width = o->width,
				     .m = m,
				     .s = s,
				     .o = o}};
	int rc = by_cpu_open(&c.b, m, s, o, err);

	if (!rc)
		rc = put_cpus(&c, err);
	if (c.r.t.buf.failed || rc == -BT_E_NO_MEMORY)
		rc = bt_no_memory(err, "the report");
	if (!rc && c.r.t.buf.len)
		rc = bt_output(to, c.r.t.buf.data, c.r.t.buf.len, err);
	by_cpu_close(&c.b);
	buf_release(&c.r.t.buf);
	return rc;
}
