/* SPDX-License-Identifier: MIT */
/* Opens a trace, in a directory, in a pack or in memory. Its records are read by cursors
 * (trace_cursor.h), piece by piece: an open trace holds none of its files in memory. Nothing here
 * interprets records: that is the decoder's work. Used by the model, the exports and `btrec dump`.
 * The open trace does not change: any number of readers may share it. */
#ifndef BT_TRACE_READER_H
#define BT_TRACE_READER_H

#include "format/block.h"
#include "format/record.h"

/* One file of a trace. Bytes appended after it was opened are not read. */
struct trace_file {
	char name[32];
	enum bt_file_kind kind;
	uint32_t number;    /* task of a branch stream */
	uint64_t size;      /* bytes that are read */
	uint64_t unread;    /* bytes behind those, from a hole on */
	struct slice bytes; /* of a file in memory; borrowed */
	int fd;             /* of a file on disk; -1: it is opened when it is read */
	dev_t dev;          /* of a file on disk: its identity */
	ino_t ino;
	uint64_t base; /* of a file in a pack: its offset there */
};

struct trace {
	char *path; /* as opened; owned */
	uint8_t uuid[BT_UUID_SIZE];
	struct bt_record_header header; /* its strings point into header_raw */
	struct buf header_raw;
	struct trace_file *files; /* events; branch streams, sorted by task; objects */
	size_t file_count;
	bool being_written; /* when it was opened, a writer held it open */
	int dir;            /* the directory; -1: there is none */
	int pack; /* the pack that has the files (pack.h); -1: there is none. Without either
		     they are in memory */
};

/* Opens the trace at path, a directory or a pack (pack.h). Errors: BT_E_NO_TRACE (nothing is
 * there), BT_E_NOT_TRACE (something else is), BT_E_PERMISSION, BT_E_IO, BT_E_NO_MEMORY;
 * BT_E_VERSION, BT_E_TRUNCATED, BT_E_CORRUPT: of a pack, or of the header in the first block of
 * events, without which nothing can be read. Damage anywhere else is no error here: the file's
 * cursor tells it. */
int trace_open(struct trace **out, const char *path, struct bt_error *err) BT_MUST_USE;

/* trace_open() without branches and objects. */
int trace_open_events(struct trace **out, const char *path, struct bt_error *err) BT_MUST_USE;

/* trace_open() of files in memory, named as in a trace directory. Only name and bytes of files are
 * read; the bytes are borrowed. */
int trace_open_memory(struct trace **out, const struct trace_file *files, size_t count,
		      struct bt_error *err) BT_MUST_USE;

void trace_close(struct trace *t);

/* The branch stream of the task, or NULL. */
const struct trace_file *trace_branch_file(const struct trace *t, uint32_t task);

/* A window over a file of the trace. The trace must live as long as the window. */
void trace_file_window(struct file_window *w, const struct trace *t, const struct trace_file *file);

#endif
