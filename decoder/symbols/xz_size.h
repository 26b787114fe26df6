/* SPDX-License-Identifier: MIT */
/* How many bytes an .xz file unpacks to, without unpacking it. Its index says so at the end, but a
 * decoder does not look there before it has unpacked all. The chunks of LZMA2 say how many bytes
 * each has, packed and unpacked, and a decoder takes no others. Any bytes can be such a file. Used
 * by strange_elf. */
#ifndef BT_XZ_SIZE_H
#define BT_XZ_SIZE_H

#include <stdbool.h>
#include <stdint.h>

/* Adds up the first stream of the .xz file that lies in the open file, `size` bytes from `offset`
 * on. False: it is none, it is damaged, or it has more chunks than an encoder makes. */
bool xz_size(int fd, uint64_t offset, uint64_t size, uint64_t *unpacked);

#endif
