/* SPDX-License-Identifier: MIT */
/* Fragments as they are kept from one process to the next, some together (persisted_maker.h): their
 * code without the addresses of this process, linked to one another, and the application's bytes
 * from which they were made. They go into a cache only where exactly these bytes lie, on pages that
 * change only with their mappings. Used when a fragment is wanted (cache_entry.c). The bytes of a
 * group may be anything: a group that is not valid is refused, and the fragment is translated. */
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
	PERSISTED_UNCHECKED, /* it does not meet the demands of the exits that wait for it */
};

/* Puts the fragment at pc into the cache, as translator_translate() does, and the group's other
 * fragments that the cache does not have. The application bytes that they were made from must be
 * the same (source->fixed_page). offset: of pc in its file. FRAGMENT_NONE, with *fault, if they are
 * not, if the group has no such fragment or is invalid, or if there is no room: the cache is then
 * unchanged. */
uint32_t persisted_add(struct code_cache *c, const struct code_source *source, uint64_t pc,
		       uint64_t offset, struct slice bytes, enum persisted_fault *fault);

/* Whether the bytes are what persisted_make() made. */
bool persisted_is_whole(struct slice bytes);

/* Names the translator and the processor that groups are for. A group with another stamp must not
 * be used. */
uint64_t persisted_stamp(const struct processor *processor);

#endif
