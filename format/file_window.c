/* SPDX-License-Identifier: MIT */
#include "format/file_window.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "lib/regular_file.h"

enum {
	/* Bytes that are read at a time, if no more are asked for: several small blocks, or the
	 * header of a large one with the front of its payload. */
	STEP = 64 << 10,
};

void file_window_init_memory(struct file_window *w, struct slice bytes)
{
	*w = (struct file_window){.size = bytes.len, .bytes = bytes};
}

void file_window_init_disk(struct file_window *w, const struct disk_file *disk, uint64_t size)
{
	*w = (struct file_window){.disk = *disk, .size = size};
}

void file_window_release(struct file_window *w) { buf_release(&w->room); }

/* Opens the file again. Returns -1 with errno if it is not there, or another one is. */
static int reopen_file(const struct disk_file *f)
{
	struct stat st;
	int fd = regular_file_open(f->dir, f->name, &st);

	if (fd < 0 || (st.st_dev == f->dev && st.st_ino == f->ino))
		return fd;
	close(fd);
	errno = ESTALE;
	return -1;
}

/* Reads n bytes, fewer if the file ends or reading fails. Returns how many. */
static size_t read_piece(struct file_window *w, uint8_t *to, size_t n, uint64_t offset)
{
	int fd = w->disk.fd >= 0 ? w->disk.fd : reopen_file(&w->disk);
	size_t done = 0;
	ssize_t got;

	if (fd < 0) {
		w->failure = errno;
		return 0;
	}
	do {
		got = pread(fd, to + done, n - done, (off_t)(w->disk.base + offset + done));
		done += got > 0 ? (size_t)got : 0;
	} while (done < n && (got > 0 || (got < 0 && errno == EINTR)));
	if (got < 0)
		w->failure = errno;
	if (fd != w->disk.fd)
		close(fd);
	return done;
}

/* Moves the window to offset, with at least n bytes. Keeps those of them that it has already. */
static void move_window(struct file_window *w, uint64_t offset, size_t n)
{
	uint64_t left = w->size - offset;
	size_t want = n > STEP ? n : left < STEP ? (size_t)left : STEP, kept = 0;
	struct buf *room = &w->room;

	if (offset >= w->start && offset - w->start < room->len)
		kept = room->len - (size_t)(offset - w->start);
	if (kept)
		memmove(room->data, room->data + room->len - kept, kept);
	room->len = kept;
	if (buf_reserve(room, want - kept))
		room->len += read_piece(w, room->data + kept, want - kept, offset + kept);
	else
		w->failure = ENOMEM;
	if (room->len < want)
		w->size = offset + room->len;
	w->start = offset;
	w->bytes = slice_of(room->data, room->len);
}

struct slice file_window_at(struct file_window *w, uint64_t offset, size_t n)
{
	uint64_t left = offset < w->size ? w->size - offset : 0;
	struct slice rest;

	if (n > left)
		n = (size_t)left;
	if (!n)
		return slice_of(w->bytes.at, 0);
	if (offset < w->start || offset - w->start > w->bytes.len ||
	    n > w->bytes.len - (offset - w->start))
		move_window(w, offset, n);
	rest = w->bytes;
	slice_take(&rest, (size_t)(offset - w->start));
	return rest;
}

int file_window_error(const struct file_window *w, uint64_t offset, struct bt_error *err)
{
	enum bt_error_code code = w->failure == ENOMEM ? BT_E_NO_MEMORY : BT_E_IO;
	int rc = bt_fail_at(err, code, offset, "cannot read on: %s", strerror(w->failure));

	if (err)
		err->os_errno = w->failure;
	return rc;
}
