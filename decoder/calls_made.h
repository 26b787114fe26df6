/* SPDX-License-Identifier: MIT */
/* Which system call an entry of a history was: the calls of a task, sorted by where they were made.
 * Used by the report, one for the range of ticks that it shows. A call that is not certain is not
 * told. */
#ifndef BT_CALLS_MADE_H
#define BT_CALLS_MADE_H

#include "decoder/history.h"

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
 * Errors: BT_E_NO_MEMORY. To be released in any case. */
int calls_made_find(struct calls_made *c, const struct model *m, uint32_t task, uint64_t first,
		    uint64_t last, struct bt_error *err) BT_MUST_USE;
void calls_made_release(struct calls_made *c);

/* The number of the call that an entry of kind syscall made, whose tick is in that range; compat:
 * of the table for 32-bit code. False when that is not known: of several calls made without a stop
 * at one tick nobody knows which is which. */
bool calls_made_at(const struct calls_made *c, const struct history_entry *e, uint64_t *nr,
		   bool *compat);

#endif
