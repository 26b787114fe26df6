/* SPDX-License-Identifier: MIT */
#include "decoder/symbols/seen_sources.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/grow.h"

/* Where it is, or where it belongs. */
static size_t source_index(const struct seen_sources *s, const void *module, const char *path)
{
	size_t low = 0, high = s->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct seen_source *at = &s->at[mid];

		if ((uintptr_t)at->path < (uintptr_t)path ||
		    (at->path == path && (uintptr_t)at->module < (uintptr_t)module))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

bool seen_sources_add(struct seen_sources *s, const void *module, const char *path)
{
	size_t i = source_index(s, module, path);
	struct seen_source *at;

	if (i < s->count && s->at[i].path == path && s->at[i].module == module)
		return false;
	at = array_grow(s->at, s->count, &s->cap, sizeof *at);
	if (!at)
		return false;
	s->at = at;
	memmove(&at[i + 1], &at[i], (s->count - i) * sizeof *at);
	at[i] = (struct seen_source){module, path};
	s->count++;
	return true;
}

void seen_sources_release(struct seen_sources *s)
{
	free(s->at);
	*s = (struct seen_sources){0};
}
