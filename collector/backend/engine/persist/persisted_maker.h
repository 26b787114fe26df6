/* SPDX-License-Identifier: MIT */
/* Makes groups (persisted_groups.h). What in a fragment's code depends on where it and its source
 * lie is not told by the translator: the fragment is made twice, in different places, and what
 * differs is looked at. A difference that has no known form makes a fragment that is not kept. Used
 * when a cache goes or is emptied (cache_learn.c), never on the way into it. */
#ifndef BT_PERSISTED_MAKER_H
#define BT_PERSISTED_MAKER_H

#include "collector/backend/engine/persist/persisted_groups.h"
#include "lib/buf.h"

struct persisted_maker; /* opaque */

/* A fragment that is to be kept: in application order of need, so that what leads to one made
 * before ends where that begins. */
struct persisted_wish {
	uint64_t pc;
	struct fragment_demand demand; /* that it is to meet */
	bool indirect;
	bool kept; /* by persisted_make(): it is in the group */
};

/* Of fragments of that kind; a cache of another kind refuses them. NULL without memory. */
struct persisted_maker *persisted_maker_new(const struct processor *processor,
					    struct fragment_kind kind);
void persisted_maker_free(struct persisted_maker *m);

/* Appends the group of as many fragments, all of one file, as it has room for: of the first wishes,
 * whose number is returned (1 at least, where n is not 0), those that can be kept, made from
 * source->read alone. Nothing is appended where none can. offset: of the first one in its file. */
size_t persisted_make(struct persisted_maker *m, const struct code_source *source,
		      struct persisted_wish *wishes, size_t n, uint64_t offset, struct buf *out);

#endif
