/* SPDX-License-Identifier: MIT */
/* A file of a trace, read piece by piece: only a window of it is in memory. Blocks are found and
 * read through it. The file may be in memory instead (tests, fuzz targets): then the window is all
 * of it.
 *
 * A window sees a file of fixed size. It does not read bytes that were appended later. If the file
 * was cut short, or reading fails, the file ends there. */
#ifndef BT_FILE_WINDOW_H
#define BT_FILE_WINDOW_H

#include <sys/stat.h>

#include "lib/buf.h"
#include "lib/error.h"
#include "lib/slice.h"

/* A file on disk. Its opener owns the descriptors and the name. */
struct disk_file {
	int dir;          /* the directory */
	const char *name; /* in dir */
	int fd;           /* -1: the file is not held open, but opened for each piece */
	dev_t dev;        /* with ino: the identity of the file */
	ino_t ino;
	uint64_t base; /* offset of the file in fd's file, for that may be a pack */
};

struct file_window {
	struct disk_file disk; /* name NULL: the file is in memory */
	uint64_t size;         /* of the file */
	uint64_t start;        /* of the window, in the file */
	struct slice bytes;    /* the window */
	struct buf room;       /* its memory, for a file on disk */
	int failure;           /* errno of the failure that cut the file short, or 0 */
};

void file_window_init_memory(struct file_window *w, struct slice bytes);
void file_window_init_disk(struct file_window *w, const struct disk_file *disk, uint64_t size);
void file_window_release(struct file_window *w);

/* The bytes of the window from offset on: at least n, fewer only where the file ends. They are
 * valid until the next call. */
struct slice file_window_at(struct file_window *w, uint64_t offset, size_t n);

/* Says why the file was cut short. Returns -BT_E_NO_MEMORY or -BT_E_IO. Only for a window with a
 * failure. */
int file_window_error(const struct file_window *w, uint64_t offset,
		      struct bt_error *err) BT_MUST_USE;

#endif
