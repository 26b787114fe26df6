/* SPDX-License-Identifier: MIT */
/* Points at which a task is to be stopped, exactly (design, "point"; btrec run --snap-at). A
 * backend lets no task run past its stop_point; the recorder keeps the moment there. */
#ifndef BT_STOP_POINT_H
#define BT_STOP_POINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct task;

struct stop_point {
	uint32_t task; /* its number in the trace */
	uint64_t tick, transfers;
	uint64_t rip; /* the first visit of it then; 0: wherever the task is then first */
};

/* Room for stop_point_print(), with the NUL. */
enum { STOP_POINT_TEXT = 96 };

enum stop_point_side {
	STOP_POINT_AHEAD, /* or there is none */
	STOP_POINT_HERE,
	STOP_POINT_PASSED, /* it was not at that instruction then */
};

/* [TASK:]TICK[+TRANSFERS][@ADDRESS], as btrec dump prints points; TASK 1 unless told. False where
 * that is none, *g is untouched then. */
bool stop_point_parse(const char *text, struct stop_point *g);
void stop_point_print(const struct stop_point *g, char *out, size_t size);

/* By task, then in the order in which the task comes to them; for qsort(3). */
int stop_point_compare(const void *a, const void *b);

/* The next stop point of a task is the first of these, sorted, that are its. They must stay as long
 * as it. */
void stop_point_begin(struct task *task, const struct stop_point *stop_points, size_t count);

/* Where the task, stopped between two instructions with its registers read, is seen from its next
 * stop point. Cheap while the tick is another. */
enum stop_point_side stop_point_side(const struct task *task);

/* Ticks until that of the task's next stop_point; UINT64_MAX: it has none. */
uint64_t stop_point_ticks_ahead(const struct task *task);

#endif
