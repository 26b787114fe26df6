/* SPDX-License-Identifier: MIT */
/* A foreign capture: finds its format and imports it. Used by btrec import. The first format that
 * recognises a capture takes it. */
#ifndef BT_CAPTURE_H
#define BT_CAPTURE_H

#include "import/importer.h"

/* The bytes of a capture. A regular file is mapped. Other input (a pipe) that begins like a capture
 * is first copied to a temporary file: readers may need its end at the start. */
struct capture {
	struct slice bytes;
	uint64_t modified; /* wall clock, ns since 1970 */
	void *mapping;
};

/* Opens the file, or standard input for "-". most: the most bytes to copy. Errors, which name the
 * file: BT_E_NO_TRACE (nothing there), BT_E_PERMISSION, BT_E_UNSUPPORTED (a directory),
 * BT_E_NOT_CAPTURE (input to be copied that is no capture, or is longer), BT_E_IO,
 * BT_E_NO_MEMORY. */
int capture_open(struct capture *c, const char *path, uint64_t most,
		 struct bt_error *err) BT_MUST_USE;
void capture_close(struct capture *c);

/* Imports it. Errors: those of the format; BT_E_NOT_CAPTURE: no format recognises it. */
int capture_import(struct importer *im, struct slice bytes, struct bt_error *err) BT_MUST_USE;

#endif
