/* SPDX-License-Identifier: MIT */
/* Where the code of a code cache lies: in memory of ours, or in a file that the tracee maps, too.
 * How it comes into the tracee's region and is written there: code_cache_map(), code_cache_sync()
 * and code_cache_push() of code_cache.h are here as well. Used by the code cache and by left
 * caches. The code of a cache is written through these functions and patch() of code_cache.c alone.
 */
#ifndef BT_CACHE_REGION_H
#define BT_CACHE_REGION_H

#include "collector/backend/engine/cache/code_cache.h"

/* Room for n more bytes of code behind what there is. c->code may move, where it is private. False
 * without memory: nothing has changed. */
bool cache_region_reserve(struct code_cache *c, size_t n);

/* No process has the code mapped any more. It is to be mapped in another. */
void cache_region_leave(struct code_cache *c);

#endif
