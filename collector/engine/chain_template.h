/* SPDX-License-Identifier: MIT */
/* A chain as it is kept from one process to the next: its code without the addresses of this process, and the application's bytes from
 * which it was made. It goes into a cache only where exactly these bytes lie, on pages that change only with their mappings.
 *
 * What in a chain's code depends on where it and its source lie is not told by the translator: the chain is made twice, in different
 * places, and what differs is looked at. A difference that has no known form makes a chain that is not kept. */
#ifndef BT_CHAIN_TEMPLATE_H
#define BT_CHAIN_TEMPLATE_H

#include "collector/engine/translator.h"
#include "lib/buf.h"
#include "lib/slice.h"

struct template_maker; /* opaque */

/* ticks: of chains as they are where no history is kept; a cache of the other kind refuses them. NULL without memory. */
struct template_maker *template_maker_new(const struct processor *processor, bool ticks);
void template_maker_free(struct template_maker *m);

/* Appends the template of the chain at pc that meets the demand, made from source->read alone. False, and nothing appended, where there can be none. Chains
 * that were made before are there: what leads to them ends where they begin. */
bool template_make(struct template_maker *m, const struct code_source *source, uint64_t pc, bool indirect, struct chain_demand demand, struct buf *out);

enum template_fault {
	TEMPLATE_UNFIT,
	TEMPLATE_UNCHECKED, /* it would do but for the demands of those that wait for the chain */
	TEMPLATE_HALF, /* half a chain was made: the cache is to be cleared */
};

/* Puts the chain at pc into the cache, as translator_translate() does, when all it was made from is the same (source->fixed_page).
 * CHAIN_NONE, and *fault, when not, or the template makes no sense, or there is no room. */
uint32_t template_add(struct code_cache *c, const struct code_source *source, uint64_t pc, struct slice bytes, enum template_fault *fault);

/* Whether the bytes are what template_make() made. */
bool template_is_whole(struct slice bytes);

/* Says for which translator and which processor templates are: others' are not to be used. */
uint64_t template_stamp(const struct processor *processor);

#endif
