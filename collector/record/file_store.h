/* SPDX-License-Identifier: MIT */
/* Copies of the files that recorded programs map, in the user's cache directory: from one recording
 * to the next, each once. A trace has links to those that its log names, so that a copy may go at
 * any time. A copy's bytes are compared with the program's memory where they are used, so a wrong
 * copy does no harm. Used by the replay log.
 *
 * A copy is named by what stat(2) says of its file; a file that is written again has another. */
#ifndef BT_FILE_STORE_H
#define BT_FILE_STORE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

enum {
	FILE_STORE_NAME = 128,
	FILE_STORE_FILE_MOST = 64 << 20, /* bytes of a file that is kept */
};

struct file_store {
	int dir;       /* -1: there is none, and no file has a copy */
	uint64_t most; /* bytes of all copies */
};

/* Opens the store in the cache directory, which is made where it is missing. NULL, or where others
 * can write: none. */
struct file_store file_store_open(const char *cache);
void file_store_close(struct file_store *s);

/* The name of the copy that a file has, or may have. False: it is none that is kept: not regular,
 * empty, or too large. */
bool file_store_name(const struct stat *file, char name[FILE_STORE_NAME]);

/* Opens the copy of the file at path, which has that name; it is made if there is none, and older
 * ones go where there are too many. -1: there is none, and none can be made. */
int file_store_get(const struct file_store *s, const char *path, const char *name);

#endif
