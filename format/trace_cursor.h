/* SPDX-License-Identifier: MIT */
/* A cursor over the records of one file of a trace. It survives any bytes. It holds one block at a
 * time, whatever the size of the file. Any number of cursors may read one trace. The decoder and
 * the exports read through it; a cursor is used by one thread. */
#ifndef BT_TRACE_CURSOR_H
#define BT_TRACE_CURSOR_H

#include "format/trace_reader.h"

struct trace_cursor {
	const struct trace_file *file;
	struct file_window window;
	uint64_t at;          /* offset of the next block */
	struct buf raw;       /* records of the current block; decoded records point into it */
	struct slice records; /* of raw, not yet read */
	uint32_t unit;        /* of the newest record, if it is an event */
	uint64_t next_ordinal;
	uint64_t unpacked; /* bytes, of all blocks so far */
	uint64_t wasted;   /* bytes that damage may have caused to be read again */
	bool header_read, end_told;
	uint8_t uuid[BT_UUID_SIZE];
};

/* The trace must live as long as the cursor. */
void trace_cursor_init(struct trace_cursor *c, const struct trace *t,
		       const struct trace_file *file);
void trace_cursor_release(struct trace_cursor *c);

/* The next record; of events the HEADER and UNIT records, too. Its slices live until the next call.
 * Returns 1; 0 at the end; or an error: something is missing at the offset in err, and the next
 * call reads on behind it.
 * - BT_E_CORRUPT, BT_E_NOT_TRACE, BT_E_VERSION: damage. A file with long holes is read up to them.
 *   Records beyond 1 GiB and 64 times the file's size, unpacked, are left out, but of
 *   a log: that may hold what packs better.
 * - BT_E_TRUNCATED: a torn tail; the recorder was cut off.
 * - BT_E_NO_MEMORY, BT_E_IO: bytes that are there could not be read. */
int trace_cursor_next(struct trace_cursor *c, struct bt_record *rec,
		      struct bt_error *err) BT_MUST_USE;

#endif
