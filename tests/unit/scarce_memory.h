/* SPDX-License-Identifier: MIT */
/* Memory that runs out when a test says so; of a program linked with --wrap of malloc, calloc and
 * realloc. Included by its one file. */
#ifndef BT_UNIT_SCARCE_MEMORY_H
#define BT_UNIT_SCARCE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

/* Allocations that still succeed; negative: all. The one mutable global: malloc has no other
 * argument. */
static long allocations_left = -1;

static bool allocation_fails(void)
{
	if (allocations_left < 0)
		return false;
	if (!allocations_left)
		return true;
	allocations_left--;
	return false;
}

void *__wrap_malloc(size_t n) { return allocation_fails() ? NULL : __real_malloc(n); }
void *__wrap_calloc(size_t n, size_t size)
{
	return allocation_fails() ? NULL : __real_calloc(n, size);
}
void *__wrap_realloc(void *p, size_t n) { return allocation_fails() ? NULL : __real_realloc(p, n); }

#endif
