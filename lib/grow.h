/* SPDX-License-Identifier: MIT */
/* Arrays that grow by one element at a time. Large ones: large_array.h. Used by whoever collects an
 * unknown number of things; the array is the caller's. */
#ifndef BT_GROW_H
#define BT_GROW_H

#include <stddef.h>

/* An array of `count` elements of `size` bytes with room for one more; *cap is the room there is.
 * To be freed with free(). NULL without memory: the array and *cap stay as they are. */
void *array_grow(void *at, size_t count, size_t *cap, size_t size);

#endif
