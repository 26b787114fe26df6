/* SPDX-License-Identifier: MIT */
/* A source file in memory, by lines. Used by the source view. It may hold any bytes. It is read
 * once. */
#ifndef BT_SOURCE_FILE_H
#define BT_SOURCE_FILE_H

#include <stdbool.h>
#include <stddef.h>

struct source_file {
	char *path;
	char *bytes;
	size_t *starts; /* of the lines, and the end of the last one */
	size_t lines;   /* 0: not readable, or empty */
	bool readable;
};

/* Reads a file. An unreadable file, or one that is no regular file, has no lines. Returns false
 * without memory. */
bool source_file_read(struct source_file *f, const char *path);
/* The same of a text, which it takes over. Returns false without memory. */
bool source_file_take(struct source_file *f, const char *path, char *text, size_t len);

void source_file_release(struct source_file *f);

/* Line n (from 0) without its end. */
const char *source_file_line(const struct source_file *f, size_t n, size_t *len);

#endif
