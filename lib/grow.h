/* SPDX-License-Identifier: MIT */
/* Arrays that grow by one element at a time. Large ones: large_array.h. Used wherever the number of
 * elements is not known in advance. The caller owns the array. */
#ifndef BT_GROW_H
#define BT_GROW_H

#include <stddef.h>

/* Returns the array of `count` elements of `size` bytes with room for one more; *cap is its
 * capacity. Free it with free(). NULL without memory: the array and *cap are unchanged. */
void *array_grow(void *at, size_t count, size_t *cap, size_t size);

#endif
