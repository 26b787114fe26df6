/* SPDX-License-Identifier: MIT */
/* Which source files of which modules have been looked at: lookups come to the same ones by the
 * thousand. Used by symbols. Paths are compared by pointer, so they must come from one set of
 * strings (intern.h). */
#ifndef BT_SEEN_SOURCES_H
#define BT_SEEN_SOURCES_H

#include <stdbool.h>
#include <stddef.h>

struct seen_source {
	const void *module;
	const char *path;
};

struct seen_sources {
	struct seen_source *at; /* sorted by path, then module, as pointers */
	size_t count, cap;
};

/* Notes a source, by the pointer of its path (intern_str()). True when it was not noted before;
 * false also without memory. */
bool seen_sources_add(struct seen_sources *s, const void *module, const char *path);
void seen_sources_release(struct seen_sources *s);

#endif
