/* SPDX-License-Identifier: MIT */
#include "collector/backend/engine/persist/untrusted_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/task/limits.h"

enum {
	QUARTERS = 2,      /* of all descriptors: caches have some, too, and need them more */
	AHEAD = 1 << 14,   /* bytes read at once if pieces are wanted one after the other: so many
			      stay in the nearest cache */
	GAP_MAX = 1 << 11, /* unwanted bytes between two pieces that still count as one after the
			      other */
};

bool untrusted_file_open(struct untrusted_file *f, int dir, const char *name, size_t max)
{
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	*f = (struct untrusted_file){.fd = -1};
	if (fd >= 0 && limits_has_spare(fd, QUARTERS) && !fstat(fd, &st) && S_ISREG(st.st_mode) &&
	    st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH)) && st.st_size > 0 &&
	    (uint64_t)st.st_size <= max) {
		*f = (struct untrusted_file){.fd = fd, .size = (size_t)st.st_size};
		return true;
	}
	if (fd >= 0)
		close(fd);
	return false;
}

void untrusted_file_close(struct untrusted_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	*f = (struct untrusted_file){.fd = -1};
}

/* How many of at most n bytes are there. */
static size_t read_file_at(int fd, size_t at, uint8_t *bytes, size_t n)
{
	size_t done = 0;
	ssize_t k;

	while (done < n && (k = pread(fd, bytes + done, n - done, (off_t)(at + done))) > 0)
		done += (size_t)k;
	return done;
}

bool untrusted_file_read(const struct untrusted_file *f, size_t at, void *bytes, size_t n)
{
	return f->fd >= 0 && read_file_at(f->fd, at, bytes, n) == n;
}

static bool window_holds(const struct untrusted_window *w, int fd, size_t at, size_t n)
{
	return w->len && w->fd == fd && at >= w->at && at - w->at <= w->len &&
	       n <= w->len - (at - w->at);
}

/* Whether what follows is likely to be wanted, too. */
static bool reads_sequentially(const struct untrusted_window *w, int fd, size_t at)
{
	return w->len && w->fd == fd && at >= w->at && at - w->at <= w->len + GAP_MAX;
}

struct slice untrusted_file_piece(const struct untrusted_file *f, struct untrusted_window *w,
				  size_t at, size_t n)
{
	size_t wanted = reads_sequentially(w, f->fd, at) && n < AHEAD ? AHEAD : n;

	if (f->fd < 0 || !n || n > UNTRUSTED_PIECE_MAX)
		return slice_of(NULL, 0);
	if (!window_holds(w, f->fd, at, n)) {
		if (!w->bytes && !(w->bytes = malloc(UNTRUSTED_PIECE_MAX)))
			return slice_of(NULL, 0);
		w->fd = f->fd;
		w->at = at;
		w->len = read_file_at(f->fd, at, w->bytes, wanted);
	}
	return window_holds(w, f->fd, at, n) ? slice_of(w->bytes + (at - w->at), n)
					     : slice_of(NULL, 0);
}

void untrusted_window_release(struct untrusted_window *w)
{
	free(w->bytes);
	*w = (struct untrusted_window){0};
}
