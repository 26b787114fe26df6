/* SPDX-License-Identifier: MIT */
/* Opens files by names that nobody vouches for: those in traces, captures and debug information.
 * No state. */
#ifndef BT_REGULAR_FILE_H
#define BT_REGULAR_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* Opens a regular file for reading and fills *st. dir and name: as openat(2) takes them. Returns a
 * descriptor, or -1 with errno: EINVAL for any other kind of file. Those are not opened, as opening
 * a device may act on it and opening a pipe may block. */
int regular_file_open(int dir, const char *name, struct stat *st);

/* Reads n bytes from offset on. False: not all of them are there, or cannot be read; *to is then
 * undefined. Any offset may be asked for. */
bool regular_file_read(int fd, void *to, size_t n, uint64_t offset);

#endif
