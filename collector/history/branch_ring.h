/* SPDX-License-Identifier: MIT */
/* The newest branches of one task, numbered from its creation, until an observer has been told of
 * them: of each entry at most once. Grows up to its limit as it fills; when everything in it has
 * been told it is empty again. Backends fill it; the session has it told when it keeps a moment. No
 * number is used twice: entries that are lost leave a hole in the numbers. */
#ifndef BT_BRANCH_RING_H
#define BT_BRANCH_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/space/observer.h"
#include "lib/branch.h"
#include "lib/point.h"

/* Where the stream stood before some entry: enough to number and place what follows. */
struct ring_state {
	uint64_t tick, transfers; /* BT_TICKS_UNKNOWN */
	uint32_t space, epoch;
};

/* A run of consecutive entries, as an observer gets it. */
struct branch_run {
	uint32_t task;
	uint64_t first, count; /* the number of the first, and how many there are */
	struct ring_state before;
	const struct bt_branch *entries;
};

struct ring_range {
	uint64_t first, end;
};

struct branch_ring {
	struct bt_branch *entries;
	size_t cap, limit;        /* entries there is room for now, and at most; powers of two */
	uint64_t next;            /* number of the next entry */
	uint64_t oldest;          /* number of the oldest one still here */
	struct ring_state before; /* the state before the oldest entry */
	struct ring_state now;    /* the state behind the newest */
	bool limited; /* its limit was lowered: entries that gave way since are missing for that
			 reason */
	bool lost;    /* of a limited one: entries before the oldest are missing that nobody was
			 told of */
	struct bt_branch *run; /* the entries of a run, while an observer is told of runs */
	size_t run_cap;
	const struct observer *listener; /* is told of entries as they come. NULL: nobody is */
	uint32_t listener_task;
	uint8_t told_gap; /* of an empty one: the reason of the gap that was its last entry, + 1;
				else 0 */
	struct ring_range *told; /* sorted, disjoint ranges of entries in the ring of which somebody
				    was told */
	size_t told_count;
};

/* limit: entries kept; rounded up to a power of two. 0: none, only counts are. */
void branch_ring_init(struct branch_ring *r, size_t limit, const struct ring_state *start);
void branch_ring_release(struct branch_ring *r);

/* Appends one entry; conditional branches advance the tick, transfers the transfer count. tick:
 * this conditional counts. */
void branch_ring_push(struct branch_ring *r, const struct bt_branch *b, bool tick);

/* Appends a GAP entry of unknown length. Counts go on from what they were. */
void branch_ring_gap(struct branch_ring *r, enum bt_gap_reason reason);

/* Appends a GAP entry of unknown length, behind which the state is *state (transfers below 2^56).
 * Directly behind another such gap of the same reason, that one is made longer instead. */
void branch_ring_resume(struct branch_ring *r, enum bt_gap_reason reason,
			const struct ring_state *state);

/* The same behind so many more conditionals and, since the last of them (or, without one, since
 * before), transfers. */
void branch_ring_skip(struct branch_ring *r, enum bt_gap_reason reason, uint64_t ticks,
		      uint64_t transfers);

/* So many conditionals and, since the last of them (or, without one, since before), transfers:
 * counted in a ring that keeps no entries. */
void branch_ring_count(struct branch_ring *r, uint64_t ticks, uint64_t transfers);

/* Notes that later branches belong to another image (an EPOCH entry, when it is another). */
void branch_ring_epoch(struct branch_ring *r, uint32_t space, uint32_t epoch);

/* Lowers the limit; the oldest entries give way. A gap of BT_GAP_LIMIT stands for what is
 * never told then. */
void branch_ring_lower(struct branch_ring *r, size_t limit);

/* The newest entry that is still in memory, or NULL. */
const struct bt_branch *branch_ring_newest(const struct branch_ring *r);

/* How many entries it had had where its counts were these; UINT64_MAX: that has given way, was told
 * of, or has not come. */
uint64_t branch_ring_find(const struct branch_ring *r, uint64_t tick, uint64_t transfers);

/* Bytes of memory it uses. */
size_t branch_ring_memory(const struct branch_ring *r);

/* From now on the observer is told of entries whenever there are many, until the next
 * branch_ring_flush(): for very many that come at once. task: the ring's, by its number. */
void branch_ring_stream(struct branch_ring *r, const struct observer *o, uint32_t task);

/* Tells of what has not been told of the newest `newest` entries. The ring is empty afterwards when
 * that is all of it. */
void branch_ring_flush(struct branch_ring *r, const struct observer *o, uint32_t task,
		       size_t newest);

#endif
