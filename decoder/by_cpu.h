/* SPDX-License-Identifier: MIT */
/* What is shown of a trace CPU by CPU: the stretches that filters let pass, with their branches.
 * The text (report_system.c) and the JSON (json_system.c) are views of it. Histories are loaded
 * when a stretch first needs them. One thread. */
#ifndef BT_BY_CPU_H
#define BT_BY_CPU_H

#include "decoder/focus.h"
#include "decoder/system.h"

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

/* Returns 0; 1 when there is no such thread; -BT_E_NO_MEMORY. To be closed in any case. */
int by_cpu_open(struct by_cpu *b, const struct model *m, struct symbols *s,
		const struct report_options *o, struct bt_error *err) BT_MUST_USE;
void by_cpu_close(struct by_cpu *b);

/* The history of a task, NULL without memory. */
const struct history *by_cpu_history(struct by_cpu *b, uint32_t task, struct bt_error *err);

/* Whether a stretch is shown: 1, and how many of its entries the filter lets pass; 0;
 * -BT_E_NO_MEMORY. */
int by_cpu_shows(struct by_cpu *b, const struct system_stretch *s, size_t *entries,
		 struct bt_error *err) BT_MUST_USE;

/* Of the stretches of a CPU, [begin, end): with which to begin so that the newest o->count entries
 * are shown, and no more stretches than that; and how many entries of that first one (0: all).
 * first is end when none is shown. Returns 0 or -BT_E_NO_MEMORY. */
int by_cpu_first(struct by_cpu *b, size_t begin, size_t end, size_t *first, size_t *limit,
		 struct bt_error *err) BT_MUST_USE;

/* How many entries of each task, by its index in the model, are in no stretch: an array (free()
 * it), NULL without memory. */
size_t *by_cpu_rest(struct by_cpu *b, struct bt_error *err);

#endif
