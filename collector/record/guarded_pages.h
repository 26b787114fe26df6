/* SPDX-License-Identifier: MIT */
/* Pages at which every access faults, whatever the protection of their mapping (madvise(2),
 * MADV_GUARD_INSTALL, Linux 6.13). They stay when the protection is changed and when pages are
 * emptied, and go along when they are moved. The log has no such pages: it says that they have no
 * protection, and says so again behind each change that leaves them. Used by the replay log. */
#ifndef BT_GUARDED_PAGES_H
#define BT_GUARDED_PAGES_H

#include "collector/record/log_shapes.h"

struct guarded_pages {
	struct guarded_range {
		uint64_t start, end;
	} * ranges; /* neither overlap nor have an order */
	size_t count, room;
};

/* Calls put() for the shape that a call of tid's has left, and for what has to follow so that the
 * pages of `g` that are still guarded are so in the log. A shape that makes guards is added to
 * `g`. False: out of memory. */
bool guarded_pages_put(struct guarded_pages *g, pid_t tid, const struct log_shape *shape,
		       void (*put)(void *arg, pid_t tid, const struct log_shape *shape), void *arg);

/* Returns the first part of [start, end) that is guarded, by address; an empty one at end: none. */
struct guarded_range guarded_pages_first(const struct guarded_pages *g, uint64_t start,
					 uint64_t end);

/* Whether the page at addr is guarded, or cannot be read for another reason (behind a file's end).
 */
bool guarded_pages_are_at(pid_t tid, uint64_t addr);

void guarded_pages_release(struct guarded_pages *g);

#endif
