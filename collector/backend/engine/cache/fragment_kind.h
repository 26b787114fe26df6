/* SPDX-License-Identifier: MIT */
/* The kind of a cache's fragments: whether they keep history or count ticks, and whether they run
 * side by side. Used by the cache and by what is kept between recordings. All fragments of a cache
 * are of one kind: code of one kind does nothing useful in a cache of another. Beside them a cache
 * has the same that count down to a stop point (fragment.counting). */
#ifndef BT_FRAGMENT_KIND_H
#define BT_FRAGMENT_KIND_H

#include <stdbool.h>

struct fragment_kind {
	bool ticks;  /* it counts ticks and keeps no history (fragment_ticks.c) */
	bool logged; /* instructions with a result of their own are noted (fragment_own_result.c),
			or are not for it: each is told (backend.h) */
	bool apart;  /* tasks run in it side by side, each with a context of its own, at gs; else
			there is one context, at the region's beginning */
};

static inline bool fragment_kind_is(struct fragment_kind a, struct fragment_kind b)
{
	return a.ticks == b.ticks && a.logged == b.logged && a.apart == b.apart;
}

#endif
