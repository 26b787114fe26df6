/* SPDX-License-Identifier: MIT */
/* The files of a trace that hold what its program had mapped (doc/FORMAT.md, "mapped-N"), as far as
 * they are ELF files: where a program's own file is gone, or is another now, one of them is what it
 * was. Whether it is that is for image.c to say. Used by symbols.
 *
 * They may be a stranger's. Before the first one is read, the soft limit of the memory of this
 * process (RLIMIT_DATA) is lowered to memory_most more than it has then. */
#ifndef BT_TRACE_COPIES_H
#define BT_TRACE_COPIES_H

#include <stdbool.h>
#include <stddef.h>

#include "decoder/symbols/strange_time.h"
#include "format/trace_reader.h"

struct trace_copies {
	bool read;
	struct trace_copy {
		int fd;
		char build_id[2 * 64 + 1]; /* hex; "": it has none */
	} * list;                          /* owned */
	size_t count;
	uint64_t memory_most;     /* bytes that this process may have more than before */
	struct strange_time time; /* for all that is done with them */
};

/* The trace has not been looked at. All work with copies may take a minute of processor time and 4
 * GB of memory. */
void trace_copies_init(struct trace_copies *c);

/* Offers those with that build-id (hex; "": all) until take() takes one: it returns true, and the
 * descriptor is its own. Returns whether one was taken. */
bool trace_copies_offer(struct trace_copies *c, const struct trace *t, const char *build_id,
			bool (*take)(void *arg, int fd, const char *path), void *arg);

void trace_copies_release(struct trace_copies *c);

#endif
