/* SPDX-License-Identifier: MIT */
/* A point at which a task is to be stopped, exactly (GLOSSARY.md; btrec run --snap-at). Each task
 * has one at most. Its session sets it, by the backend's operation stop_at (backend.h), and sets
 * the next one when the task is there. Backends ask on which side of it the task is; btrec run
 * parses them. No state but the task's. */
#ifndef BT_STOP_POINT_H
#define BT_STOP_POINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/point.h"

struct task;

struct stop_point {
	uint32_t task;      /* its number in the trace */
	struct bt_point at; /* rip: its first visit at that tick and transfer; 0: any instruction */
	bool iteration;     /* at.rcx is set: an iteration of a REP instruction */
};

/* Room for stop_point_print(), with the NUL. */
enum { STOP_POINT_TEXT = 112 };

enum stop_point_side {
	STOP_POINT_AHEAD, /* or there is none */
	STOP_POINT_HERE,
	STOP_POINT_PASSED, /* the task was never at that instruction at that tick */
};

/* [TASK:]TICK[+TRANSFERS][@ADDRESS[,RCX]], as btrec dump prints points; ADDRESS and RCX are
 * hexadecimal; TASK is 1 by default. False for other text: *point is untouched then. */
bool stop_point_parse(const char *text, struct stop_point *point);
void stop_point_print(const struct stop_point *point, char *out, size_t size);

/* By task, then in the order in which the task comes to them; for qsort(3). */
int stop_point_compare(const void *a, const void *b);

/* On which side of a point of its own the task is. It is stopped between two instructions, with its
 * registers read. Cheap while the tick is another. */
enum stop_point_side stop_point_side_of(const struct stop_point *point, const struct task *task);

/* The same of its stop point. */
enum stop_point_side stop_point_side(const struct task *task);

/* Ticks until that of the task's stop point; UINT64_MAX: it has none. */
uint64_t stop_point_ticks_ahead(const struct task *task);

#endif
