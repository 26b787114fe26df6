/* SPDX-License-Identifier: MIT */
/* Reads a trace, from a directory or from memory, and survives any bytes in it.
 * Nothing here interprets records: that is the decoder's work. */
#ifndef BT_TRACE_READER_H
#define BT_TRACE_READER_H

#include "format/block.h"
#include "format/record.h"

/* One file of a trace, whole in memory. */
struct trace_file {
	char name[32];
	enum bt_file_kind kind;
	uint32_t number; /* task of a branch stream */
	struct slice bytes;
	uint64_t unread; /* bytes behind those, from a hole on */
};

struct trace {
	char *path; /* as opened; owned */
	uint8_t uuid[BT_UUID_SIZE];
	struct bt_record_header header; /* its strings point into header_raw */
	struct buf header_raw;
	struct trace_file
		*files; /* events, which is always there, branch streams sorted by task, objects */
	size_t file_count;
	bool being_written; /* when it was opened, a writer held it open */
	bool borrowed;      /* the files' bytes are the caller's (trace_open_memory) */
};

/* Opens the trace directory at path. Errors: BT_E_NO_TRACE (nothing there), BT_E_NOT_TRACE
 * (something else), BT_E_VERSION, BT_E_TRUNCATED or BT_E_CORRUPT (the header in the first block of
 * events, without which nothing can be read), BT_E_PERMISSION, BT_E_IO, BT_E_NO_MEMORY. Damage
 * anywhere else is no error here: the file's cursor says so. */
int trace_open(struct trace **out, const char *path, struct bt_error *err) BT_MUST_USE;

/* The same, without branches and objects, which may be gigabytes. */
int trace_open_events(struct trace **out, const char *path, struct bt_error *err) BT_MUST_USE;

/* trace_open() from files in memory, named as in a trace directory; bytes are borrowed. Only name
 * and bytes are read. */
int trace_open_memory(struct trace **out, const struct trace_file *files, size_t count,
		      struct bt_error *err) BT_MUST_USE;

void trace_close(struct trace *t);

/* A cursor over the records of one file: of events the HEADER and UNIT records, too. */
struct trace_cursor {
	const struct trace_file *file;
	struct slice rest;    /* of the file */
	struct buf raw;       /* records of the current block; decoded records point into it */
	struct slice records; /* not yet read of it */
	uint32_t unit;        /* of the newest record, where it is an event */
	uint64_t next_ordinal;
	uint64_t unpacked; /* bytes, of all blocks so far */
	uint64_t wasted;   /* bytes that may have been read again because of damage */
	bool header_read, hole_told;
	uint8_t uuid[BT_UUID_SIZE];
};

void trace_cursor_init(struct trace_cursor *c, const struct trace *t,
		       const struct trace_file *file);
void trace_cursor_release(struct trace_cursor *c);

/* The next record; its slices live until the next call. Returns 1; 0 at the end; -BT_E_CORRUPT,
 * -BT_E_TRUNCATED, -BT_E_NOT_TRACE, -BT_E_VERSION or -BT_E_NO_MEMORY with the offset in err:
 * something is missing here; call again to read on behind it. BT_E_TRUNCATED is a torn tail: the
 * recorder was cut off. A file with long holes is read up to them. Kilobytes can unpack to
 * terabytes: what goes beyond 1 GiB and 64 times the file is left out, as corrupt. */
int trace_cursor_next(struct trace_cursor *c, struct bt_record *rec,
		      struct bt_error *err) BT_MUST_USE;

#endif
