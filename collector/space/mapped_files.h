/* SPDX-License-Identifier: MIT */
/* The files that code of an address space is privately mapped from. A write to such a file is seen
 * in the space at once, without a system call, as long as the space has no copy of the page. A file
 * that takes another's place under its name changes nothing. Part of an address space. */
#ifndef BT_MAPPED_FILES_H
#define BT_MAPPED_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "collector/space/mappings.h"

struct mapped_file {
	uint64_t dev, ino;
	struct timespec modified, changed; /* mtime and ctime when it was last looked at */
	bool answers; /* it can be looked at without waiting for a process (FUSE: that process may
			 be a recorded one, and stopped) */
	bool written; /* after the known code was read */
};

struct mapped_files {
	struct mapped_file *list;
	size_t count, cap;
	struct timespec
		since; /* a file modified before has not been written to since it was mapped */
	bool written;  /* one of them was */
};

/* The empty list of a space that begins now. */
struct mapped_files mapped_files_new(void);

/* A copy, for a fork's child. False without memory; *to is empty then. */
bool mapped_files_copy(struct mapped_files *to, const struct mapped_files *from);
void mapped_files_release(struct mapped_files *f);

/* Looks at the file of the mapping m of pid, found by its path: not at one that cannot be found
 * there any more, nor at one that a process would have to tell of (FUSE). Marks it as written to
 * where it has been modified since the last time, or, the first time, since the space began.
 * Returns whether it has been modified since it was last looked at. */
bool mapped_files_look(struct mapped_files *f, pid_t pid, const struct mapping *m);

/* Whether the kernel alone serves the file system that the process sees at path: a file there can
 * be opened without waiting for a process (FUSE). */
bool mapped_files_answers(pid_t pid, const char *path);

/* Whether the file of m is marked. */
bool mapped_files_is_written(const struct mapped_files *f, const struct mapping *m);

/* No file counts as written any more. */
void mapped_files_clear(struct mapped_files *f);

#endif
