/* SPDX-License-Identifier: MIT */
/* Points at which a task is to be stopped, exactly (design, "point"; btrec run --snap-at). A backend lets no task run past its goal; the recorder
 * keeps the moment there. */
#ifndef BT_GOAL_H
#define BT_GOAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct task;

struct goal {
	uint32_t task; /* its number in the trace */
	uint64_t tick, transfers;
	uint64_t rip; /* the first visit of it then; 0: wherever the task is then first */
};

/* Room for goal_print(), with the NUL. */
enum { GOAL_TEXT = 96 };

enum goal_place {
	GOAL_AHEAD, /* or there is none */
	GOAL_HERE,
	GOAL_PASSED, /* it was not at that instruction then */
};

/* [TASK:]TICK[+TRANSFERS][@ADDRESS], as btrec dump prints points; TASK 1 unless told. False where that is none, *g is untouched then. */
bool goal_parse(const char *text, struct goal *g);
void goal_print(const struct goal *g, char *out, size_t size);

/* By task, then in the order in which the task comes to them; for qsort(3). */
int goal_compare(const void *a, const void *b);

/* The next goal of a task is the first of these, sorted, that are its. They must stay as long as it. */
void goal_begin(struct task *task, const struct goal *goals, size_t count);

/* Where the task, stopped between two instructions with its registers read, is seen from its next goal. Cheap while the tick is another. */
enum goal_place goal_place(const struct task *task);

/* Ticks until that of the task's next goal; UINT64_MAX: it has none. */
uint64_t goal_ticks_ahead(const struct task *task);

#endif
