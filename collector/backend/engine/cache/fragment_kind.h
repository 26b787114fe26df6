/* SPDX-License-Identifier: MIT */
/* The kind of a cache's fragments: whether they keep history or count ticks, how near to a stop
 * point they come, whether they pass conditionals and run side by side. Used by the cache and by
 * what is kept between recordings. All fragments of a cache are of one kind: code of one kind does
 * nothing useful in a cache of another. */
#ifndef BT_FRAGMENT_KIND_H
#define BT_FRAGMENT_KIND_H

#include <stdbool.h>

struct fragment_kind {
	bool ticks;   /* it counts ticks and keeps no history (fragment_ticks.c) */
	bool near;    /* of those that count ticks: it has one conditional at most, and looks more
			 often whether to stop, so that a task stops nearer to its stop point */
	bool counts;  /* of those that keep history: before each branch it counts down to the task's
			 stop point (fragment_count_down()), and stops there */
	bool careful; /* conditionals are not for it, but for the stepper: the point at which the
			 task is to stop may be the next one */
	bool logged;  /* instructions with a result of their own are not for it: each is told
			 (backend.h) */
	bool apart;   /* tasks run in it side by side: each has a context of its own, where gs says;
			 else there is one, at the region's beginning */
};

static inline bool fragment_kind_is(struct fragment_kind a, struct fragment_kind b)
{
	return a.ticks == b.ticks && a.near == b.near && a.counts == b.counts &&
	       a.careful == b.careful && a.logged == b.logged && a.apart == b.apart;
}

#endif
