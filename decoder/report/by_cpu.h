/* SPDX-License-Identifier: MIT */
/* The stretches of a trace, CPU by CPU, that pass the filters, with their branches. The text
 * (report_system.c) and the JSON (json_system.c) are views of it. Histories are loaded when a
 * stretch first needs them. One thread. */
#ifndef BT_BY_CPU_H
#define BT_BY_CPU_H

#include "decoder/cause/focus.h"
#include "decoder/model/system.h"

struct by_cpu {
	const struct model *m;
	struct symbols *s;
	const struct report_options *o;
	const struct model_task *task; /* the only one to show; NULL: all */
	struct system_view view;
	/* By index of the task in the model; loaded when they are needed first. */
	struct history *histories;
	bool *loaded;
};

/* Returns 0; 1 when there is no such thread; -BT_E_NO_MEMORY. Close it in any case. */
int by_cpu_open(struct by_cpu *b, const struct model *m, struct symbols *s,
		const struct report_options *o, struct bt_error *err) BT_MUST_USE;
void by_cpu_close(struct by_cpu *b);

/* The history of a task, NULL without memory. */
const struct history *by_cpu_history(struct by_cpu *b, uint32_t task, struct bt_error *err);

/* Returns 1 if a stretch is shown, with the number of its entries that pass the filter; 0;
 * -BT_E_NO_MEMORY. */
int by_cpu_shows(struct by_cpu *b, const struct system_stretch *s, size_t *entries,
		 struct bt_error *err) BT_MUST_USE;

/* Finds the first stretch to show of a CPU's stretches [begin, end), so that the newest o->count
 * entries are shown, and no more stretches than that. *limit: the entries to show of that first one
 * (0: all). *first is end when none is shown. Returns 0 or -BT_E_NO_MEMORY. */
int by_cpu_first(struct by_cpu *b, size_t begin, size_t end, size_t *first, size_t *limit,
		 struct bt_error *err) BT_MUST_USE;

/* The number of entries outside all stretches, for each task by its index in the model: an array
 * (free() it), NULL without memory. */
size_t *by_cpu_rest(struct by_cpu *b, struct bt_error *err);

#endif
