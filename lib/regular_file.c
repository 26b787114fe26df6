/* SPDX-License-Identifier: MIT */
#include "lib/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int regular_file_open(int dir, const char *name, struct stat *st)
{
	int fd;

	if (fstatat(dir, name, st, 0))
		return -1;
	fd = S_ISREG(st->st_mode) ? openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
				  : -1;
	if (fd >= 0 && !fstat(fd, st) && S_ISREG(st->st_mode))
		return fd;
	if (fd >= 0)
		close(fd);
	if (fd >= 0 || !S_ISREG(st->st_mode))
		errno = EINVAL;
	return -1;
}

bool regular_file_read(int fd, void *to, size_t n, uint64_t offset)
{
	return offset <= INT64_MAX && pread(fd, to, n, (off_t)offset) == (ssize_t)n;
}
