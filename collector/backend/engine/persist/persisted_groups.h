/* SPDX-License-Identifier: MIT */
/* Fragments as they are kept from one process to the next, some together (persisted_maker.h): their
 * code without the addresses of this process, linked to one another, and the application's bytes
 * from which they were made. They go into a cache only where exactly these bytes lie, on pages that
 * change only with their mappings. Used when a fragment is wanted (cache_entry.c). The bytes of a
 * group may be anything: what does not hold is refused, and the fragment is translated. */
#ifndef BT_PERSISTED_GROUPS_H
#define BT_PERSISTED_GROUPS_H

#include "collector/backend/engine/translate/translator.h"
#include "lib/slice.h"

enum {
	PERSISTED_FRAGMENTS = 64,  /* in one, at most */
	PERSISTED_BYTES = 1 << 16, /* of one, at most */
};

enum persisted_fault {
	PERSISTED_REFUSED,   /* none of its fragments can be put in now */
	PERSISTED_UNFIT,     /* this fragment cannot */
	PERSISTED_UNCHECKED, /* it would do but for the demands of those that wait for the fragment
			      */
};

/* Puts the fragment at pc into the cache, as translator_translate() does, and those that the group
 * has besides where there is none yet, when all they were made from is the same
 * (source->fixed_page). offset: of pc in its file. FRAGMENT_NONE, and *fault, when not, or the
 * group has no such fragment or makes no sense, or there is no room; then the cache has what it
 * had. */
uint32_t persisted_add(struct code_cache *c, const struct code_source *source, uint64_t pc,
		       uint64_t offset, struct slice bytes, enum persisted_fault *fault);

/* Whether the bytes are what persisted_make() made. */
bool persisted_is_whole(struct slice bytes);

/* Says for which translator and which processor groups are: others' are not to be used. */
uint64_t persisted_stamp(const struct processor *processor);

#endif
