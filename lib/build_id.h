/* SPDX-License-Identifier: MIT */
/* The GNU build-id of an ELF image. Address spaces, profiles and the import know files by it. The
 * image is not trusted. Pure. */
#ifndef BT_BUILD_ID_H
#define BT_BUILD_ID_H

#include <stddef.h>
#include <stdint.h>

enum {
	BT_BUILD_ID_MAX = 64,
};

/* Finds the NT_GNU_BUILD_ID note of an ELF file. image: the file's first len bytes; a mapping's
 * first pages suffice. Returns its length, 0 when there is none or the bytes are no ELF file. Never
 * reads outside image. */
size_t bt_build_id(const void *image, size_t len, uint8_t out[BT_BUILD_ID_MAX]);

#endif
