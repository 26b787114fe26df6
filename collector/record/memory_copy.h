/* SPDX-License-Identifier: MIT */
/* A copy of a process's memory that the kernel may write: writable mappings, and those of files.
 * Used for system calls of which nobody knows what they write. */
#ifndef BT_MEMORY_COPY_H
#define BT_MEMORY_COPY_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/buf.h"

struct memory_copy {
	struct memory_copy_range {
		uint64_t start;
		size_t len, at; /* in bytes */
		size_t whole;   /* of the mapping: pages behind a file's end cannot be read */
		bool is_zero;   /* memory that has no pages: nothing is kept of it */
	} * ranges;
	size_t count, cap;
	struct buf bytes;
};

enum memory_copy_of {
	MEMORY_COPY_NOTHING,
	MEMORY_COPY_FILES, /* the mappings of files: a call's write to a file changes them */
	MEMORY_COPY_ALL,
};

/* Takes a copy of what a stopped thread has in writable mappings (MEMORY_COPY_ALL) and in shared
 * ones of files, in the place of the one before. files: also in private ones of files, whose pages
 * follow the file until they are written to. False without memory, or when nothing can be read: the
 * copy is empty then. */
bool memory_copy_take(struct memory_copy *c, pid_t tid, enum memory_copy_of of, bool files);

/* Calls changed() for each run of bytes that are others now, by address, and for those that could
 * not be read before (behind the end of a file that has grown); cut() for pages that can be read no
 * more (a file was cut). Mappings that are gone are passed over. */
void memory_copy_compare(const struct memory_copy *c, pid_t tid,
			 void (*changed)(void *arg, uint64_t addr, const uint8_t *bytes, size_t n),
			 void (*cut)(void *arg, uint64_t start, uint64_t end), void *arg);

void memory_copy_release(struct memory_copy *c);

#endif
