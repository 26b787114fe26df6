/* SPDX-License-Identifier: MIT */
#include "lib/grow.h"

#include <stdlib.h>

enum {
	FIRST = 16,
};

void *array_grow(void *at, size_t count, size_t *cap, size_t size)
{
	size_t more = *cap ? *cap * 2 : FIRST;
	void *grown;

	if (count < *cap)
		return at;
	grown = reallocarray(at, more, size);
	if (grown)
		*cap = more;
	return grown;
}
