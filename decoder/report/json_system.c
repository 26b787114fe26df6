/* SPDX-License-Identifier: MIT */
/* The JSON by CPU, schema btrec-cpus/1: the same stretches as the text's, with their branches. */
#include <inttypes.h>
#include <stdlib.h>

#include "decoder/report/by_cpu.h"
#include "decoder/report/json_private.h"

struct cpu_json {
	struct json_report r;
	struct by_cpu b;
	size_t shown; /* stretches */
};

/* A time is ns as a decimal string: more than a double holds. */
static json_t *json_time(uint64_t ns)
{
	return ns == SYSTEM_UNKNOWN ? json_null() : json_sprintf("%" PRIu64, ns);
}

static json_t *json_stretch(const struct system_stretch *s)
{
	static const char *const endings[SYSTEM_ENDS] = {
		[SYSTEM_BLOCKED] = "blocked", [SYSTEM_PREEMPTED] = "preempted",
		[SYSTEM_EXITED] = "exited",   [SYSTEM_SAMPLED] = "sampled",
		[SYSTEM_LOST] = "lost",
	};

	return json_pack("{s:I, s:o, s:o, s:s, s:I}", "task", (json_int_t)s->task, "start",
			 json_time(s->start), "end", json_time(s->end), "ending", endings[s->how],
			 "samples", (json_int_t)s->samples);
}

static json_t *json_gap(size_t before, const struct history_entry *e)
{
	return json_pack("{s:I, s:s}", "before", (json_int_t)before, "reason",
			 e->to < BT_GAP_REASONS ? bt_gap_info[e->to].name : "unknown");
}

/* The beginning of the newest `limit` entries of [from, end) that pass the filter. */
static size_t newest_shown(const struct cpu_json *c, const struct history *h, size_t from,
			   size_t end, size_t limit)
{
	size_t found = 0, i = end;

	while (limit && i > from && found < limit)
		found += focus_shows(h, &h->entries[--i], c->b.s, c->b.o->function);
	return limit ? i : from;
}

static void put_branches(struct cpu_json *c, const struct history *h,
			 const struct system_stretch *s, size_t limit)
{
	size_t end = history_index(h, s->last),
	       first = newest_shown(c, h, history_index(h, s->first), end, limit), branches = 0;
	json_t *gaps = json_array();

	fputs(",\n\"branches\": [", c->r.to);
	for (size_t i = first; i < end; i++) {
		const struct history_entry *e = &h->entries[i];

		if (e->kind == BT_BRANCH_GAP)
			json_array_append_new(gaps, json_gap(branches, e));
		if (e->kind == BT_BRANCH_GAP || !focus_shows(h, e, c->b.s, c->b.o->function))
			continue;
		fputs(branches++ ? ",\n" : "\n", c->r.to);
		json_put_branch(&c->r, h, e);
	}
	fputs("]", c->r.to);
	json_put_member(&c->r, "gaps", gaps);
}

static int put_stretch(struct cpu_json *c, const struct system_stretch *s, bool is_first,
		       size_t limit, struct bt_error *err)
{
	const struct history *h = by_cpu_history(&c->b, s->task, err);
	json_t *stretch = h ? json_stretch(s) : NULL;

	if (!h)
		return -BT_E_NO_MEMORY;
	fputs(is_first ? "\n{\"stretch\": " : ",\n{\"stretch\": ", c->r.to);
	json_dumpf(stretch, c->r.to, JSON_FLAGS);
	c->r.failed |= !stretch;
	json_decref(stretch);
	put_branches(c, h, s, limit);
	fputs("}", c->r.to);
	c->shown++;
	return 0;
}

static int put_cpu(struct cpu_json *c, size_t begin, size_t end, struct bt_error *err)
{
	size_t first, limit, entries;
	int rc = by_cpu_first(&c->b, begin, end, &first, &limit, err);

	if (rc || first == end)
		return rc;
	fputs(c->shown ? ",\n{\"cpu\": " : "\n{\"cpu\": ", c->r.to);
	if (c->b.view.at[begin].cpu == SYSTEM_UNKNOWN_CPU)
		fputs("null", c->r.to);
	else
		fprintf(c->r.to, "%" PRIu32, c->b.view.at[begin].cpu);
	fputs(", \"stretches\": [", c->r.to);
	for (size_t i = first; rc >= 0 && i < end; i++) {
		rc = by_cpu_shows(&c->b, &c->b.view.at[i], &entries, err);
		if (rc == 1)
			rc = put_stretch(c, &c->b.view.at[i], i == first, i == first ? limit : 0,
					 err);
	}
	fputs("]}", c->r.to);
	return rc < 0 ? rc : 0;
}

static int put_unplaced(struct cpu_json *c, struct bt_error *err)
{
	size_t *rest = by_cpu_rest(&c->b, err);
	json_t *all = json_array();

	for (size_t i = 0; rest && i < c->b.m->task_count; i++)
		if (rest[i] && (!c->b.task || c->b.task == &c->b.m->tasks[i]))
			json_array_append_new(all, json_pack("{s:I, s:I}", "task",
							     (json_int_t)c->b.m->tasks[i].task,
							     "entries", (json_int_t)rest[i]));
	json_put_member(&c->r, "rest", all);
	free(rest);
	return rest ? 0 : -BT_E_NO_MEMORY;
}

static json_t *json_tasks(const struct cpu_json *c)
{
	json_t *all = json_array();

	for (size_t i = 0; i < c->b.m->task_count; i++) {
		const struct model_task *t = &c->b.m->tasks[i];

		json_array_append_new(all, json_pack("{s:I, s:I, s:I, s:o}", "task",
						     (json_int_t)t->task, "pid", (json_int_t)t->pid,
						     "tid", (json_int_t)t->tid, "command",
						     json_text(t->command)));
	}
	return all;
}

static int put_cpus(struct cpu_json *c, struct bt_error *err)
{
	int rc = 0;

	fputs("{\"schema\": \"btrec-cpus/1\"", c->r.to);
	json_put_member(&c->r, "trace", json_trace(&c->r));
	json_put_member(&c->r, "tasks", json_tasks(c));
	fputs(",\n\"cpus\": [", c->r.to);
	for (size_t i = 0, end; !rc && i < c->b.view.count; i = end) {
		end = system_cpu_end(&c->b.view, i);
		rc = put_cpu(c, i, end, err);
	}
	fputs("]", c->r.to);
	rc = rc ? rc : put_unplaced(c, err);
	json_put_member(&c->r, "missing", json_missing(&c->r));
	fputs("}\n", c->r.to);
	return rc ? rc : !c->shown;
}

int json_print_by_cpu(FILE *to, const struct model *m, struct symbols *s,
		      const struct report_options *o, struct bt_error *err)
{
	struct cpu_json c = {.shown = 0};
	bool ready = json_report_init(&c.r, to, m, s, o);
	int rc = by_cpu_open(&c.b, m, s, o, err);

	if (!rc && !c.b.view.count)
		rc = 1;
	else if (!rc && ready)
		rc = put_cpus(&c, err);
	if (!ready || c.r.failed || rc == -BT_E_NO_MEMORY)
		rc = bt_no_memory(err, "the report");
	by_cpu_close(&c.b);
	json_report_release(&c.r);
	return rc;
}
