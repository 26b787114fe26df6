/* SPDX-License-Identifier: MIT */
#include "decoder/model/model_private.h"

#include <stdlib.h>

#include "format/branch_entries.h"

struct entry_range {
	uint64_t first, end;
};

static int compare_runs(const void *a, const void *b)
{
	const struct entry_range *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

static uint64_t count_entries(struct entry_range *runs, size_t n, uint64_t *end)
{
	uint64_t total = 0, at = 0;

	qsort(runs, n, sizeof *runs, compare_runs);
	for (size_t i = 0; i < n; i++) {
		if (runs[i].first > at)
			total++;
		if (runs[i].first > at)
			at = runs[i].first;
		if (runs[i].end > at) {
			total += runs[i].end - at;
			at = runs[i].end;
		}
	}
	*end = at;
	return total;
}

void branches_scan(struct loader *l, const struct trace_file *file)
{
	struct model_task *task = tasks_find(l->m, file->number);
	struct trace_cursor c;
	struct bt_record rec;
	struct bt_error err;
	struct entry_range *runs = NULL;
	size_t count = 0, cap = 0;
	int rc;

	trace_cursor_init(&c, l->m->trace, file);
	while ((rc = trace_cursor_next(&c, &rec, &err)) != 0) {
		const struct bt_record_branches *r;
		struct entry_range *grown;
		uint64_t n;

		if (rc < 0) {
			loader_damage(l, file->name, err.offset, err.code, err.text);
			continue;
		}
		r = branch_entries_record(&rec);
		if (!r || r->task != file->number)
			continue;
		n = branch_entries_most(&rec);
		grown = array_grow(runs, count, &cap, sizeof *runs);
		if (!grown) {
			l->p->arena.failed = true;
			break;
		}
		runs = grown;
		if (n && r->first <= UINT64_MAX - n)
			runs[count++] = (struct entry_range){r->first, r->first + n};
	}
	if (task && count)
		task->branch_count = count_entries(runs, count, &task->branch_end);
	free(runs);
	trace_cursor_release(&c);
}
