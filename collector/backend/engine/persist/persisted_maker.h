/* SPDX-License-Identifier: MIT */
/* Makes groups (persisted_groups.h). The translator does not tell which numbers in a fragment's
 * code depend on where it and its source lie. So the fragment is made twice, in different places,
 * and the differences are looked at. A fragment with a difference of no known form is not kept.
 * Used when a cache goes or is emptied (cache_learn.c), never on the way into it. */
#ifndef BT_PERSISTED_MAKER_H
#define BT_PERSISTED_MAKER_H

#include "collector/backend/engine/persist/persisted_groups.h"
#include "lib/buf.h"

struct persisted_maker; /* opaque */

/* A fragment that is to be kept. Wishes are in the order in which the program came to them, so that
 * a fragment ends where one made before begins. */
struct persisted_wish {
	uint64_t pc;
	struct fragment_demand demand; /* the demand that the fragment is to meet */
	bool indirect;
	bool kept; /* set by persisted_make(): it is in the group */
};

/* A maker of groups of that kind: a cache of another kind refuses them. NULL without memory. */
struct persisted_maker *persisted_maker_new(const struct processor *processor,
					    struct fragment_kind kind);
void persisted_maker_free(struct persisted_maker *m);

/* Makes one group of the first wishes, all of one file, and appends it to out. It has those
 * fragments that can be kept, as many as it has room for, made from source->read alone. If none can
 * be kept, nothing is appended. offset: of the first wish in its file. Returns how many wishes were
 * looked at: at least 1 if n is not 0. */
size_t persisted_make(struct persisted_maker *m, const struct code_source *source,
		      struct persisted_wish *wishes, size_t n, uint64_t offset, struct buf *out);

#endif
