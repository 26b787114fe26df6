/* SPDX-License-Identifier: MIT */
/* A file of the user's cache, read while anybody who may can write to it, cut it short or delete
 * it. The file is read, never mapped: a checked copy stays as it was, and a file cut short raises
 * no fault. Used by profiles. */
#ifndef BT_KEPT_FILE_H
#define BT_KEPT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/slice.h"

enum {
	KEPT_PIECE_MAX = 1 << 16, /* bytes */
};

struct kept_file {
	int fd;      /* -1: none */
	size_t size; /* at its opening */
};

/* The piece that was read last, of any open file: pieces are mostly wanted in the order in which
 * they stand. All 0: nothing yet. */
struct kept_window {
	uint8_t *bytes;
	size_t at, len; /* in the file */
	int fd;
};

/* Opens the file `name` of the directory dir (openat(2)) where it is a regular one of ours that
 * nobody else can write to, of at most max bytes. False, and none, where not, or where the
 * descriptors that are left are better kept for the recording. */
bool kept_file_open(struct kept_file *f, int dir, const char *name, size_t max);
void kept_file_close(struct kept_file *f);

/* Whether there were n bytes at `at`. */
bool kept_file_read(const struct kept_file *f, size_t at, void *bytes, size_t n);

/* The n bytes at `at`; empty where there are not so many, or n is 0 or more than KEPT_PIECE_MAX.
 * They stay until the next is asked for. Aligned to 8 as they are in the file. */
struct slice kept_file_piece(const struct kept_file *f, struct kept_window *w, size_t at, size_t n);
void kept_window_release(struct kept_window *w);

#endif
