/* SPDX-License-Identifier: MIT */
/* A file of the user's cache, read while anybody who may can write to it, cut it short or delete
 * it. The file is read, never mapped: a checked copy stays as it was, and a file cut short raises
 * no fault. Used by profiles. */
#ifndef BT_UNTRUSTED_FILE_H
#define BT_UNTRUSTED_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/slice.h"

enum {
	UNTRUSTED_PIECE_MAX = 1 << 16, /* bytes */
};

struct untrusted_file {
	int fd;      /* -1: none */
	size_t size; /* at its opening */
};

/* The piece that was read last, of any open file: pieces are mostly wanted in the order in which
 * they stand. All 0: nothing yet. */
struct untrusted_window {
	uint8_t *bytes;
	size_t at, len; /* in the file */
	int fd;
};

/* Opens the file `name` of the directory dir (openat(2)) where it is a regular one of ours that
 * nobody else can write to, of at most max bytes. False, and none, where not, or where the
 * descriptors that are left are better kept for the recording. */
bool untrusted_file_open(struct untrusted_file *f, int dir, const char *name, size_t max);
void untrusted_file_close(struct untrusted_file *f);

/* Whether there were n bytes at `at`. */
bool untrusted_file_read(const struct untrusted_file *f, size_t at, void *bytes, size_t n);

/* The n bytes at `at`; empty where there are not so many, or n is 0 or more than
 * UNTRUSTED_PIECE_MAX. They stay until the next is asked for. Aligned to 8 as they are in the file.
 */
struct slice untrusted_file_piece(const struct untrusted_file *f, struct untrusted_window *w,
				  size_t at, size_t n);
void untrusted_window_release(struct untrusted_window *w);

#endif
