/* SPDX-License-Identifier: MIT */
/* The common parts of the cache's code: the search behind an indirect branch, a safe point's
 * record, whether a system call is made in the cache, and what CPUID gives. The code cache writes
 * them at its beginning, once. */
#ifndef BT_ROUTINES_H
#define BT_ROUTINES_H

#include "collector/backend/engine/cache/code_cache.h"

/* Writes the routines to the beginning of the cache's code and notes where its parts are. */
void routines_emit(struct code_cache *c, const struct processor *processor);

#endif
