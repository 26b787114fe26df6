/* SPDX-License-Identifier: MIT */
#include "decoder/symbols/trace_copies.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "decoder/symbols/strange_elf.h"
#include "decoder/symbols/vouched.h"
#include "lib/page.h"
#include "lib/regular_file.h"

enum {
	COPIES_MOST = 256, /* each has a descriptor */
	PIECE = 1 << 20,
	IN_MEMORY_MOST = 512 << 20, /* bytes of those that lie in a pack, together */
};

static const uint64_t memory_most = UINT64_C(4) << 30;       /* bytes */
static const uint64_t time_most = 60 * UINT64_C(1000000000); /* ns */

void trace_copies_init(struct trace_copies *c)
{
	*c = (struct trace_copies){.memory_most = memory_most, .time = {.most = time_most}};
}

static bool is_elf(struct file_window *w)
{
	struct slice head = file_window_at(w, 0, SELFMAG);

	return head.len >= SELFMAG && !memcmp(head.at, ELFMAG, SELFMAG);
}

/* A file that libelf can map, with the bytes of one in a pack, or in memory. */
static int in_memory(struct file_window *w, uint64_t *left)
{
	int fd = w->size <= *left ? memfd_create("btrec-copy", MFD_CLOEXEC) : -1;

	for (uint64_t done = 0; fd >= 0 && done < w->size;) {
		struct slice piece = file_window_at(w, done, PIECE);

		if (!piece.len || write(fd, piece.at, piece.len) != (ssize_t)piece.len) {
			close(fd);
			return -1;
		}
		done += piece.len;
	}
	*left -= fd >= 0 ? w->size : 0;
	return fd;
}

static int on_disk(const struct trace *t, const struct trace_file *file)
{
	struct stat st;
	int fd = regular_file_open(t->dir, file->name, &st);

	if (fd >= 0 && st.st_dev == file->dev && st.st_ino == file->ino)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static int open_copy(const struct trace *t, const struct trace_file *file, uint64_t *left)
{
	struct file_window w;
	int fd = -1;

	trace_file_window(&w, t, file);
	if (is_elf(&w))
		fd = t->dir >= 0 ? on_disk(t, file) : in_memory(&w, left);
	file_window_release(&w);
	if (fd >= 0 && !strange_elf_is_bounded(fd)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Lets this process have so many bytes more than now. Sizes of sections bound what libelf unpacks,
 * not what libdw makes of them: each byte of a line program may be a row, one instruction of unwind
 * information may ask for 128 million registers, and packed sections may lie in packed symbols. */
static void limit_memory(uint64_t more)
{
	FILE *f = fopen("/proc/self/statm", "r");
	unsigned long long pages;
	struct rlimit l;
	rlim_t most;

	/* The sixth is that of private writable memory, which RLIMIT_DATA is for since Linux 4.7
	 * (proc(5), getrlimit(2)). */
	if (f && fscanf(f, "%*s %*s %*s %*s %*s %llu", &pages) == 1 &&
	    !getrlimit(RLIMIT_DATA, &l)) {
		most = pages * BT_PAGE + more;
		if (most < l.rlim_cur) {
			l.rlim_cur = most;
			setrlimit(RLIMIT_DATA, &l);
		}
	}
	if (f)
		fclose(f);
}

static void read_all(struct trace_copies *c, const struct trace *t)
{
	uint64_t left = IN_MEMORY_MOST;

	c->read = true;
	c->list = calloc(COPIES_MOST, sizeof *c->list);
	for (size_t i = 0; c->list && i < t->file_count && c->count < COPIES_MOST; i++) {
		struct trace_copy *copy = &c->list[c->count];

		if (t->files[i].kind != BT_FILE_MAPPED)
			continue;
		copy->fd = open_copy(t, &t->files[i], &left);
		if (copy->fd < 0)
			continue;
		if (!c->count)
			limit_memory(c->memory_most);
		vouched_build_id(copy->fd, copy->build_id);
		c->count++;
	}
}

bool trace_copies_offer(struct trace_copies *c, const struct trace *t, const char *build_id,
			bool (*take)(void *arg, int fd, const char *path), void *arg)
{
	if (!c->read)
		read_all(c, t);
	for (size_t i = 0; i < c->count; i++) {
		int fd;

		if (*build_id && strcmp(build_id, c->list[i].build_id) != 0)
			continue;
		fd = fcntl(c->list[i].fd, F_DUPFD_CLOEXEC, 0);
		if (fd < 0)
			return false;
		if (take(arg, fd, ""))
			return true;
		close(fd);
	}
	return false;
}

void trace_copies_release(struct trace_copies *c)
{
	for (size_t i = 0; i < c->count; i++)
		close(c->list[i].fd);
	free(c->list);
	*c = (struct trace_copies){0};
}
