/* SPDX-License-Identifier: MIT */
/* The events of a trace, of all units, in the order in which the recorder saw them. The decoder's
 * model reads them, and the trace index. They are sorted once, after all are added; then they do
 * not change. */
#ifndef BT_TRACE_EVENTS_H
#define BT_TRACE_EVENTS_H

#include "format/record.h"
#include "lib/arena.h"

/* Most kinds are smaller than the largest, and a trace may have a million of one: an event has room
 * for its own kind's member of rec.u alone. Do not copy it as a whole. */
struct trace_event {
	uint64_t seq;
	uint32_t unit;
	struct bt_record rec; /* its slices are copies in the arena */
};

enum {
	TRACE_EVENT_KINDS = 256, /* above all numbers of records.def */
};

struct trace_events {
	struct trace_event *
		*at; /* in the arena; sorted by seq, once trace_events_sort() was called */
	size_t count, cap;
	size_t counts[TRACE_EVENT_KINDS];
	bool unknown; /* a record was of a kind that this version does not know */
};

void trace_events_release(struct trace_events *ev);

/* Adds the record of a file, if it is an event: a record with a seq. Past the budget or without
 * memory it does nothing, and the arena says so. */
void trace_events_add(struct trace_events *ev, struct arena *a, uint32_t unit,
		      const struct bt_record *rec);

/* Sorts the events by seq; those with the same seq stay in their order. False without memory. */
bool trace_events_sort(struct trace_events *ev);

/* How many events are of a kind (enum bt_record_kind). */
size_t trace_events_count(const struct trace_events *ev, uint16_t kind);

#endif
