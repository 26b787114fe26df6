// SPDX-License-Identifier: MIT
/* For LD_PRELOAD: a disk that fails. FAIL_WRITE=N, FAIL_READ=N: from the Nth write(2), or read(2) and mmap(2), on of a file below a directory that is called
 * failing-disk on all of them fail with EIO. tests/e2e/surroundings.py */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool fails(int fd, const char *which, long *so_far)
{
	const char *from = getenv(which);
	char path[32], target[4096];
	ssize_t n;

	if (!from)
		return false;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	n = readlink(path, target, sizeof target - 1);
	target[n > 0 ? n : 0] = '\0';
	return strstr(target, "/failing-disk/") && ++*so_far >= atol(from);
}

static long writes, reads;

ssize_t write(int fd, const void *bytes, size_t n)
{
	if (fails(fd, "FAIL_WRITE", &writes)) {
		errno = EIO;
		return -1;
	}
	return syscall(SYS_write, fd, bytes, n);
}

ssize_t read(int fd, void *bytes, size_t n)
{
	if (fails(fd, "FAIL_READ", &reads)) {
		errno = EIO;
		return -1;
	}
	return syscall(SYS_read, fd, bytes, n);
}

void *mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	if (fd >= 0 && fails(fd, "FAIL_READ", &reads)) {
		errno = EIO;
		return MAP_FAILED;
	}
	return (void *)syscall(SYS_mmap, at, size, prot, flags, fd, offset);
}
