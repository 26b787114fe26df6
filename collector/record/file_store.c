/* SPDX-License-Identifier: MIT */
#include "collector/record/file_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "lib/directories.h"

enum {
	COPIES_MAX = 4096,
	AGED = 24 * 3600, /* seconds after which the use of a copy is noted again */
};

#define BYTES_MAX ((uint64_t)1 << 30)
#define NEW       "new-" /* begins the name of a copy that is being made */

struct file_store file_store_open(const char *cache)
{
	struct file_store s = {.dir = -1, .most = BYTES_MAX};
	int base = cache ? directory_open_cache(cache, true) : -1;
	struct stat st;

	if (base < 0)
		return s;
	if (!mkdirat(base, "files", 0700) || errno == EEXIST)
		s.dir = openat(base, "files", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	close(base);
	if (s.dir >= 0 &&
	    (fstat(s.dir, &st) || st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH)))
		file_store_close(&s);
	return s;
}

void file_store_close(struct file_store *s)
{
	if (s->dir >= 0)
		close(s->dir);
	s->dir = -1;
}

bool file_store_name(const struct stat *f, char name[FILE_STORE_NAME])
{
	snprintf(name, FILE_STORE_NAME, "%llx-%llx-%llx-%llx.%lx-%llx.%lx",
		 (unsigned long long)f->st_dev, (unsigned long long)f->st_ino,
		 (unsigned long long)f->st_size, (unsigned long long)f->st_mtim.tv_sec,
		 (unsigned long)f->st_mtim.tv_nsec, (unsigned long long)f->st_ctim.tv_sec,
		 (unsigned long)f->st_ctim.tv_nsec);
	return S_ISREG(f->st_mode) && f->st_size > 0 && f->st_size <= FILE_STORE_FILE_MOST;
}

/* ---- Older copies go ---- */

struct stored_copy {
	char name[FILE_STORE_NAME];
	uint64_t size;
	struct timespec used;
};

static int by_use(const void *a, const void *b)
{
	const struct timespec *x = &((const struct stored_copy *)a)->used,
			      *y = &((const struct stored_copy *)b)->used;

	if (x->tv_sec != y->tv_sec)
		return x->tv_sec > y->tv_sec ? -1 : 1;
	return (x->tv_nsec < y->tv_nsec) - (x->tv_nsec > y->tv_nsec);
}

/* All of them that are whole, those that are beyond any number left out: they are gone the next
 * time. */
static size_t list_copies(int dir, struct stored_copy *copies)
{
	DIR *d = fdopendir(openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	struct dirent *e;
	struct stat st;
	size_t n = 0;

	while (d && n < 2 * COPIES_MAX && (e = readdir(d))) {
		if (strlen(e->d_name) >= FILE_STORE_NAME ||
		    fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			continue;
		if (!strncmp(e->d_name, NEW, strlen(NEW))) {
			/* Nobody takes so long: of a recorder that was killed. */
			if (time(NULL) - st.st_mtim.tv_sec > AGED)
				unlinkat(dir, e->d_name, 0);
			continue;
		}
		copies[n] = (struct stored_copy){.size = (uint64_t)st.st_size, .used = st.st_mtim};
		memcpy(copies[n++].name, e->d_name, strlen(e->d_name) + 1);
	}
	if (d)
		closedir(d);
	return n;
}

static void drop_old(const struct file_store *s)
{
	struct stored_copy *copies = malloc(2 * COPIES_MAX * sizeof *copies);
	size_t n = copies ? list_copies(s->dir, copies) : 0;
	uint64_t bytes = 0;

	if (n)
		qsort(copies, n, sizeof *copies, by_use);
	for (size_t i = 0; i < n; i++) {
		bytes += copies[i].size;
		if (i >= COPIES_MAX || bytes > s->most)
			unlinkat(s->dir, copies[i].name, 0);
	}
	free(copies);
}

/* ---- A copy ---- */

/* Shares the bytes where the file system can (ioctl_ficlone(2)). */
static bool copy_bytes(int from, int to, size_t n)
{
	size_t done = 0;
	ssize_t k;

	if (!ioctl(to, FICLONE, from))
		return true;
	while (done < n && (k = copy_file_range(from, NULL, to, NULL, n - done, 0)) > 0)
		done += (size_t)k;
	return done == n;
}

static bool has_name(int fd, const char *name)
{
	char now[FILE_STORE_NAME];
	struct stat st;

	return !fstat(fd, &st) && file_store_name(&st, now) && !strcmp(now, name);
}

/* Opens the file by the descriptor that has been checked: by now the path may name another file,
 * whose opening may have effects (a device, a FIFO). */
static int open_regular(const char *path, const char *name, size_t *size)
{
	int fd = -1, seen = open(path, O_PATH | O_CLOEXEC);
	char again[40];
	struct stat st;

	if (seen >= 0 && has_name(seen, name) && !fstat(seen, &st)) {
		*size = (size_t)st.st_size;
		snprintf(again, sizeof again, "/proc/self/fd/%d", seen);
		fd = open(again, O_RDONLY | O_CLOEXEC);
	}
	if (seen >= 0)
		close(seen);
	return fd;
}

/* Under another name at first: a copy that is there is whole. */
static bool make_copy(int dir, const char *path, const char *name)
{
	char number[DIRECTORY_NEW_NUMBER], new[sizeof NEW + sizeof number];
	size_t size;
	int from = open_regular(path, name, &size), to = -1;
	bool ok = false;

	directory_new_number(number);
	snprintf(new, sizeof new, NEW "%s", number);
	if (from >= 0)
		to = openat(dir, new, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0400);
	if (to >= 0) {
		ok = copy_bytes(from, to, size) && has_name(from, name) &&
		     !renameat(dir, new, dir, name);
		if (!ok)
			unlinkat(dir, new, 0);
		close(to);
	}
	if (from >= 0)
		close(from);
	return ok;
}

static int open_copy(int dir, const char *name)
{
	const struct timespec now[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_NOW}};
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid()) {
		close(fd);
		return -1;
	}
	if (time(NULL) - st.st_mtim.tv_sec > AGED)
		(void)!futimens(fd, now);
	return fd;
}

int file_store_get(const struct file_store *s, const char *path, const char *name)
{
	int fd = s->dir < 0 ? -1 : open_copy(s->dir, name);

	if (fd >= 0 || s->dir < 0 || !make_copy(s->dir, path, name))
		return fd;
	drop_old(s);
	return open_copy(s->dir, name);
}
