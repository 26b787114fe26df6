/* SPDX-License-Identifier: MIT */
/* Memory of arrays that become large: in whole pages of their own, which are moved, not copied,
 * when there are to be more, and which are there before they are written to, some at a time. An
 * array is freed with the capacity it has. For the code cache, segments and lists by address. */
#ifndef BT_LARGE_ARRAY_H
#define BT_LARGE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

/* Room in the array at *array (NULL: none yet) of *cap elements of `size` bytes, at most 4096, for
 * `needed` elements, and for some more. New elements are zero. False without memory: nothing has
 * changed. */
bool large_array_reserve(void **array, size_t *cap, size_t needed, size_t size);

/* A copy, as large, of which `count` elements are the same. NULL without memory; of cap 0, too. */
void *large_array_copy(const void *array, size_t count, size_t cap, size_t size);

void large_array_free(void *array, size_t cap, size_t size);

#endif
