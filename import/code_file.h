/* SPDX-License-Identifier: MIT */
/* Code of a mapped file, read from the file if its build-id shows that it is still the one that was
 * mapped. Without a build-id on either side it is not used. Opens regular files only, for reading.
 * Used by code_map.c and core_file.c. */
#ifndef BT_CODE_FILE_H
#define BT_CODE_FILE_H

#include <stdbool.h>

#include "lib/slice.h"

struct code_file {
	struct slice bytes; /* empty: missing, or another file */
	void *mapping;
};

/* Opens the file at path (not NUL-terminated) if it has this build-id; else *f is empty. */
void code_file_open(struct code_file *f, struct slice path, struct slice build_id);
void code_file_close(struct code_file *f);

/* Up to n bytes at an offset of the file. */
struct slice code_file_at(const struct code_file *f, uint64_t offset, size_t n);

#endif
