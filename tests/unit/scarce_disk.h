/* SPDX-License-Identifier: MIT */
/* File systems of other kinds and with less room, when a test says so; of a program linked with
 * --wrap of fallocate and fstatfs. Included by its one file. */
#ifndef BT_UNIT_SCARCE_DISK_H
#define BT_UNIT_SCARCE_DISK_H

#include <errno.h>
#include <linux/magic.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/vfs.h>

int __real_fallocate(int fd, int mode, off_t offset, off_t len);
int __real_fstatfs(int fd, struct statfs *fs);
int __wrap_fallocate(int fd, int mode, off_t offset, off_t len);
int __wrap_fstatfs(int fd, struct statfs *fs);

enum disk_kind {
	DISK_AS_IS,
	DISK_KEEPS_BLOCKS, /* what is appended goes into the last block of the file; it has 4096
			      bytes */
	DISK_COPIES,       /* nothing is known of its blocks */
};

/* The one mutable global: the system calls have no other argument. */
static struct disk {
	enum disk_kind kind;
	int failure;  /* of fallocate, 0: none */
	off_t most;   /* where it fails only for more bytes than that */
	size_t asked; /* calls of fallocate */
	off_t end;    /* of the newest that succeeded */
} disk;

int __wrap_fallocate(int fd, int mode, off_t offset, off_t len)
{
	disk.asked++;
	if (disk.failure && len > disk.most) {
		errno = disk.failure;
		return -1;
	}
	if (__real_fallocate(fd, mode, offset, len))
		return -1;
	disk.end = offset + len;
	return 0;
}

int __wrap_fstatfs(int fd, struct statfs *fs)
{
	int rc = __real_fstatfs(fd, fs);

	if (disk.kind == DISK_KEEPS_BLOCKS) {
		fs->f_type = EXT4_SUPER_MAGIC;
		fs->f_bsize = 4096;
	} else if (disk.kind == DISK_COPIES) {
		fs->f_type = 0;
	}
	return rc;
}

#endif
