/* SPDX-License-Identifier: MIT */
/* A line of a source file, and whether the file may be another than when the program was built.
 * Used by symbols and the report. Opens regular files only, for reading. No state. */
#ifndef BT_SOURCE_H
#define BT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/slice.h"

/* A line without leading blanks and its end, and with spaces for its tabs. cap: at least 1. */
void source_plain_line(struct slice line, char *out, size_t cap);

/* Reads line `line` (from 1) of the file at path into out[cap], without leading blanks and its end,
 * and with spaces for its tabs. False when there is no such line or the file is no regular readable
 * one. */
bool source_line(const char *path, int line, char *out, size_t cap);

/* Whether the file at path was written after `time`, in ns since 1970. False when it is no regular
 * file, or there is none. */
bool source_is_newer(const char *path, uint64_t time);

#endif
