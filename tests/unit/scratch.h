/* SPDX-License-Identifier: MIT */
/* A directory of a test's own, below TMPDIR. */
#ifndef BT_UNIT_SCRATCH_H
#define BT_UNIT_SCRATCH_H

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SCRATCH_PATH = 64 };

/* 0, or -1 with errno. */
static inline int scratch_make(char dir[SCRATCH_PATH])
{
	const char *tmp = getenv("TMPDIR");

	snprintf(dir, SCRATCH_PATH, "%.30s/btrec-test.XXXXXX", tmp && *tmp ? tmp : "/tmp");
	return mkdtemp(dir) ? 0 : -1;
}

/* Of a directory without directories; one that is not there is no error. */
static inline void scratch_remove(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (*e->d_name != '.')
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
	rmdir(path);
}

#endif
