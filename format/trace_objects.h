/* SPDX-License-Identifier: MIT */
/* The objects of a trace: bytes that other records name by number. The trace index fills it. All
 * are added, then sorted, then looked up. */
#ifndef BT_TRACE_OBJECTS_H
#define BT_TRACE_OBJECTS_H

#include "format/record.h"
#include "lib/arena.h"

struct trace_object {
	uint64_t number;
	struct slice bytes; /* a copy in the arena */
};

struct trace_objects {
	struct trace_object *at; /* sorted by number, once trace_objects_sort() was called */
	size_t count, cap;
	uint64_t newest;
	bool unsorted;
};

void trace_objects_release(struct trace_objects *o);

/* Adds an object. Past the budget or without memory it does nothing, and the arena says so. */
void trace_objects_add(struct trace_objects *o, struct arena *a, const struct bt_record_object *r);

/* Sorts the objects. Called before the first look-up. */
void trace_objects_sort(struct trace_objects *o);

/* The object of a number, or NULL. */
const struct trace_object *trace_objects_find(const struct trace_objects *o, uint64_t number);

#endif
