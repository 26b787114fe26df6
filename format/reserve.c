/* SPDX-License-Identifier: MIT */
#include "format/reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "lib/array_size.h"

enum {
	STEP = 64 << 10, /* disk is allocated up to a multiple of this */
	FILE_SIZE = 16 << 10,
};

static const char file_name[] = "reserve";

/* File systems that append within the file's last block, whose disk they hold from its first byte
 * on. Others may copy the block on a write, and report other block sizes than the disk's. */
static bool keeps_blocks(const struct statfs *fs)
{
	static const unsigned long types[] = {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, TMPFS_MAGIC};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if ((unsigned long)fs->f_type == types[i])
			return true;
	return false;
}

void reserve_init(struct reserve *r, int dir, int events)
{
	struct statfs fs;

	*r = (struct reserve){.dir = dir, .events = events};
	if (!fstatfs(events, &fs) && keeps_blocks(&fs))
		r->block = fs.f_bsize;
}

/* The size that the kernel lets no file exceed (RLIMIT_FSIZE). */
static off_t size_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur > INT64_MAX)
		return INT64_MAX;
	return (off_t)limit.rlim_cur;
}

static off_t round_up(off_t n, off_t to) { return (n + to - 1) / to * to; }

/* fallocate(2). Returns 0 or an errno. */
static int allocate_reserve(struct reserve *r, off_t size, off_t end)
{
	while (fallocate(r->events, FALLOC_FL_KEEP_SIZE, size, end - size))
		if (errno != EINTR)
			return errno;
	r->allocated = end;
	return 0;
}

static int make_file(struct reserve *r)
{
	static const char zeros[FILE_SIZE];
	int fd = openat(r->dir, file_name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600),
	    failure = 0;
	ssize_t n;

	if (fd < 0)
		return errno;
	r->file = true;
	n = write(fd, zeros, sizeof zeros);
	if (n != (ssize_t)sizeof zeros)
		failure = n < 0 ? errno : ENOSPC;
	if (close(fd) && !failure)
		failure = errno;
	if (failure)
		reserve_break(r);
	return failure;
}

int reserve_make_room(struct reserve *r, size_t len)
{
	off_t size, end, least, most, limit = size_limit();
	int failure;

	if (r->events < 0)
		return 0;
	size = lseek(r->events, 0, SEEK_END);
	end = size + (off_t)len;
	least = end + RESERVE_LAST;
	if (least > limit)
		return EFBIG;
	if (r->file || least <= r->allocated || (r->block && least <= round_up(end, r->block)))
		return 0;
	/* tmpfs checks the limit of sizes although the size stays (mm/shmem.c). */
	most = round_up(least, STEP);
	failure = allocate_reserve(r, size, most < limit ? most : limit);
	if (failure == ENOSPC || failure == EDQUOT)
		return allocate_reserve(r, size, least);
	/* EOPNOTSUPP, ENOSYS or another reason: the file system cannot allocate. */
	return failure ? make_file(r) : 0;
}

void reserve_break(struct reserve *r)
{
	if (r->file)
		unlinkat(r->dir, file_name, 0);
	r->file = false;
}

void reserve_close(struct reserve *r)
{
	off_t size;

	reserve_break(r);
	/* Truncating a file to its own size frees the disk allocated behind it. */
	if (r->allocated && (size = lseek(r->events, 0, SEEK_END)) >= 0 && size < r->allocated)
		(void)!ftruncate(r->events, size);
	*r = (struct reserve){.dir = -1, .events = -1};
}
