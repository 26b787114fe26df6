/* SPDX-License-Identifier: MIT */
/* The system calls of a task, sorted by their points, so that an entry of a history finds its call.
 * Used by the report, one for the range of ticks that it shows. Uncertain calls are not told. */
#ifndef BT_CALLS_MADE_H
#define BT_CALLS_MADE_H

#include "decoder/model/history.h"

/* At a stop: the point before it is known. */
struct call_at_stop {
	uint64_t tick, transfers, nr;
	bool compat;
	size_t event;
};

/* Without a stop: only its tick is. */
struct call_at_tick {
	uint64_t tick, nr;
};

struct calls_made {
	struct call_at_stop *stops;
	size_t stop_count, stop_cap;
	struct call_at_tick *others;
	size_t other_count, other_cap;
};

/* Finds the calls that a task made from tick `first` to tick `last`, in one pass over the events.
 * Errors: BT_E_NO_MEMORY. Release it in any case. */
int calls_made_find(struct calls_made *c, const struct model *m, uint32_t task, uint64_t first,
		    uint64_t last, struct bt_error *err) BT_MUST_USE;
void calls_made_release(struct calls_made *c);

/* The number of the call that an entry of kind syscall made; its tick must be in that range.
 * compat: a number of the table for 32-bit code. False when it is not known: several calls without
 * a stop at one tick cannot be told apart. */
bool calls_made_at(const struct calls_made *c, const struct history_entry *e, uint64_t *nr,
		   bool *compat);

#endif
