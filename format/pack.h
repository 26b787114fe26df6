/* SPDX-License-Identifier: MIT */
/* A pack: a trace in one file, which is a tar archive (ustar) of its directory. So tar unpacks it,
 * and what tar packs (without compression) is one. Its members lie in it as they are: they are read
 * where they lie. trace_reader opens packs, `btrec pack` makes them. The bytes of a pack are not
 * trusted. */
#ifndef BT_PACK_H
#define BT_PACK_H

#include "format/trace_reader.h"

/* A file in a pack. */
struct pack_member {
	char name[101]; /* without its folder */
	uint64_t offset, size;
};

/* Finds the member whose header is at *at, and moves *at behind it. Folders, links and tar's own
 * notes on members are stepped over. Returns 1; 0 at the end of the archive; -BT_E_NOT_TRACE: it
 * does not begin as an archive does; -BT_E_CORRUPT: the next bytes are no header; -BT_E_TRUNCATED:
 * the file ends inside the archive, before its end marks; -BT_E_IO. size: of the file. */
int pack_next(int fd, uint64_t size, uint64_t *at, struct pack_member *m,
	      struct bt_error *err) BT_MUST_USE;

/* Writes the files of an open trace to the file `to`, in a folder `name`. with_symbols: also what
 * was found out of the program's files. Errors: BT_E_IO: something could not be read or written;
 * BT_E_CORRUPT: a file of the trace has become shorter; BT_E_NO_MEMORY. */
int pack_write(int to, const struct trace *t, const char *name, bool with_symbols,
	       struct bt_error *err) BT_MUST_USE;

#endif
