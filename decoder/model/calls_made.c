/* SPDX-License-Identifier: MIT */
#include "decoder/model/calls_made.h"

#include <stdlib.h>

#include "format/syscall_codec.h"
#include "lib/bisect.h"
#include "lib/grow.h"

static bool add_stop(struct calls_made *c, size_t event, const struct bt_record_syscall_enter *r)
{
	struct call_at_stop *stops =
		array_grow(c->stops, c->stop_count, &c->stop_cap, sizeof *stops);

	if (!stops)
		return false;
	c->stops = stops;
	stops[c->stop_count++] = (struct call_at_stop){.tick = r->point.tick,
						       .transfers = r->point.transfers,
						       .nr = r->nr,
						       .compat = r->compat,
						       .event = event};
	return true;
}

/* Adds the record's calls from tick first to tick last. */
static bool add_other_calls(struct calls_made *c, const struct bt_record_calls *r, uint64_t first,
			    uint64_t last)
{
	struct bt_syscall_codec codec = {r->tick};
	struct slice in = r->calls;
	struct bt_syscall call;

	while (bt_syscall_decode(&codec, &in, &call) == 1 && call.tick <= last) {
		struct call_at_tick *others;

		if (call.tick < first)
			continue;
		others = array_grow(c->others, c->other_count, &c->other_cap, sizeof *others);
		if (!others)
			return false;
		c->others = others;
		others[c->other_count++] = (struct call_at_tick){.tick = call.tick, .nr = call.nr};
	}
	return true;
}

static int compare_stops(const void *a, const void *b)
{
	const struct call_at_stop *x = a, *y = b;

	if (x->tick != y->tick)
		return x->tick < y->tick ? -1 : 1;
	if (x->transfers != y->transfers)
		return x->transfers < y->transfers ? -1 : 1;
	return x->event < y->event ? -1 : x->event > y->event;
}

static int compare_others(const void *a, const void *b)
{
	const struct call_at_tick *x = a, *y = b;

	return x->tick < y->tick ? -1 : x->tick > y->tick;
}

int calls_made_find(struct calls_made *c, const struct model *m, uint32_t task, uint64_t first,
		    uint64_t last, struct bt_error *err)
{
	bool good = true;

	*c = (struct calls_made){0};
	for (size_t i = 0; good && i < m->events.count; i++) {
		const struct bt_record *rec = &m->events.at[i]->rec;
		const struct bt_record_syscall_enter *stop = &rec->u.syscall_enter;

		if (rec->kind == BT_RECORD_SYSCALL_ENTER && stop->task == task &&
		    stop->point.tick >= first && stop->point.tick <= last)
			good = add_stop(c, i, stop);
		else if (rec->kind == BT_RECORD_CALLS && rec->u.calls.task == task &&
			 rec->u.calls.tick <= last)
			good = add_other_calls(c, &rec->u.calls, first, last);
	}
	if (!good)
		return bt_fail(err, BT_E_NO_MEMORY, 0,
			       "out of memory for the system calls of task %u", task);
	if (c->stop_count)
		qsort(c->stops, c->stop_count, sizeof *c->stops, compare_stops);
	if (c->other_count)
		qsort(c->others, c->other_count, sizeof *c->others, compare_others);
	return 0;
}

void calls_made_release(struct calls_made *c)
{
	free(c->stops);
	free(c->others);
	*c = (struct calls_made){0};
}

/* The newest stop at a point; in a trace that is not damaged there is one. */
static const struct call_at_stop *stop_at(const struct calls_made *c, uint64_t tick,
					  uint64_t transfers)
{
	struct call_at_stop key = {.tick = tick, .transfers = transfers, .event = SIZE_MAX};
	size_t i;

	BISECT(i, c->stop_count, compare_stops(&c->stops[i], &key) <= 0);
	return i && c->stops[i - 1].tick == tick && c->stops[i - 1].transfers == transfers
		       ? &c->stops[i - 1]
		       : NULL;
}

/* The only one at a tick. */
static const struct call_at_tick *other_at(const struct calls_made *c, uint64_t tick)
{
	size_t i;

	BISECT(i, c->other_count, c->others[i].tick < tick);
	if (i == c->other_count || c->others[i].tick != tick ||
	    (i + 1 < c->other_count && c->others[i + 1].tick == tick))
		return NULL;
	return &c->others[i];
}

bool calls_made_at(const struct calls_made *c, const struct history_entry *e, uint64_t *nr,
		   bool *compat)
{
	const struct call_at_stop *stop =
		e->transfers ? stop_at(c, e->tick, e->transfers - 1) : NULL;
	const struct call_at_tick *other = stop ? NULL : other_at(c, e->tick);

	if (!stop && !other)
		return false;
	*nr = stop ? stop->nr : other->nr;
	*compat = stop && stop->compat;
	return true;
}
