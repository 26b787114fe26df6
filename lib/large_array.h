/* SPDX-License-Identifier: MIT */
/* Memory of large arrays, in whole pages of their own. An array that grows is remapped, not copied.
 * Pages are populated some at a time, before they are written to. An array is freed with its
 * capacity. Used by the code cache, segments and lists by address. */
#ifndef BT_LARGE_ARRAY_H
#define BT_LARGE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

/* Grows the array at *array (NULL: none yet) of *cap elements of `size` bytes, at most 4096, to at
 * least `needed` elements. New elements are zero. False without memory: nothing has changed. */
bool large_array_reserve(void **array, size_t *cap, size_t needed, size_t size);

/* Returns a copy of the first `count` elements with the same capacity. NULL without memory, and for
 * cap 0. */
void *large_array_copy(const void *array, size_t count, size_t cap, size_t size);

void large_array_free(void *array, size_t cap, size_t size);

#endif
