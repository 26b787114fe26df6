/* SPDX-License-Identifier: MIT */
/* A line of a source file, for reports. */
#ifndef BT_SOURCE_H
#define BT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

/* Reads line `line` (from 1) of the file at path into out[cap], without leading blanks and its end. False when there is no
 * such line or the file is no regular readable one. */
bool source_line(const char *path, int line, char *out, size_t cap);

#endif
