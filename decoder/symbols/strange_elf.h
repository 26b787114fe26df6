/* SPDX-License-Identifier: MIT */
/* ELF files out of a trace, which may be a stranger's: whether libdw and libelf can read one
 * without taking memory beyond a bound, and without opening files that it names. They read it in
 * this process. Any bytes can be such a file. Used by trace_copies. */
#ifndef BT_STRANGE_ELF_H
#define BT_STRANGE_ELF_H

#include <stdbool.h>

enum {
	STRANGE_ELF_MOST = 256 << 20, /* bytes of a file: as many has a window's copy, at most */
	STRANGE_ELF_UNPACKED_MOST = 1 << 30,  /* bytes to which its sections unpack, together */
	STRANGE_ELF_SYMBOLS_MOST = 256 << 20, /* bytes to which its .gnu_debugdata unpacks (xz) */
};

/* Whether the open file is an ELF file of 64 bits that may be handed to them. False of one that
 * - has more bytes than the bounds above, or symbols in .gnu_debugdata that are no .xz file;
 * - names another debug file by its path (.gnu_debugaltlink), which libdw would open, whatever it
 *   is;
 * - has more sections than its header counts (elf(5), SHN_LORESERVE), or no readable names of them.
 */
bool strange_elf_is_bounded(int fd);

#endif
