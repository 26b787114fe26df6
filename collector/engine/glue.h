/* SPDX-License-Identifier: MIT */
/* The common parts of the cache's code: the search behind an indirect branch, a checkpoint's record, whether a system call is made in the
 * cache, and what CPUID gives. */
#ifndef BT_GLUE_H
#define BT_GLUE_H

#include "collector/engine/code_cache.h"

/* Writes the glue to the beginning of the cache's code and notes where its parts are. */
void glue_emit(struct code_cache *c, const struct processor *processor);

#endif
