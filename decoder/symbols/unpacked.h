/* SPDX-License-Identifier: MIT */
/* Debug sections that are compressed with zstd, which libdw knows from 0.189 on: older ones take
 * them for none. For image.c, which hands files to libdwfl; separate debug files that opens itself.
 * Any bytes can be such a file. */
#ifndef BT_UNPACKED_H
#define BT_UNPACKED_H

#include <stdbool.h>

/* An open ELF file with such sections becomes a copy in memory in which they are as they were; what
 * it has else lies where it lay. Takes fd over and returns the copy, or fd itself: of any other
 * file, and where a section cannot be unpacked or memory is short. */
int unpacked_file(int fd);

/* Whether the ELF file at path has debug information that is compressed. */
bool unpacked_is_compressed(const char *path);

#endif
