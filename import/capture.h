/* SPDX-License-Identifier: MIT */
/* A foreign capture of whatever kind: finds out which, and imports it. Used by btrec import. Each
 * format says whether a capture is its own; the first that does takes it. */
#ifndef BT_CAPTURE_H
#define BT_CAPTURE_H

#include "import/importer.h"

/* The bytes of a capture: a regular file is mapped, anything else (a pipe) is copied to a temporary
 * file first, when it begins like a capture, because what is needed at the start may stand at the
 * end. */
struct capture {
	struct slice bytes;
	uint64_t modified; /* wall clock, ns since 1970 */
	void *mapping;
};

/* Opens the file, or standard input for "-". most: bytes that are copied at most. Errors, which
 * name the file: BT_E_NO_TRACE (nothing there), BT_E_PERMISSION, BT_E_UNSUPPORTED (a directory),
 * BT_E_NOT_CAPTURE (what would be copied is none, or is longer), BT_E_IO, BT_E_NO_MEMORY. */
int capture_open(struct capture *c, const char *path, uint64_t most,
		 struct bt_error *err) BT_MUST_USE;
void capture_close(struct capture *c);

/* Imports it. Errors: those of the format; BT_E_NOT_CAPTURE when it is of none. */
int capture_import(struct importer *im, struct slice bytes, struct bt_error *err) BT_MUST_USE;

#endif
