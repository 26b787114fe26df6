/* SPDX-License-Identifier: MIT */
/* Writes a trace directory (doc/FORMAT.md). Used by the collector and the importers.
 * Append-only: every flush adds whole blocks, so that what was flushed survives whatever happens
 * next. When the disk fills or fails, writing stops: the writer puts a STOPPED record into the room
 * it had reserved for that, later calls do nothing and succeed, and trace_writer_stopped() tells.
 * One thread at a time. While it is open, events is locked: struct trace's being_written. */
#ifndef BT_TRACE_WRITER_H
#define BT_TRACE_WRITER_H

#include "format/block.h"
#include "format/record.h"
#include "lib/clock.h"

struct trace_writer;

/* Makes the directory dir (mode 0700; it must not exist, its parent must) and events with its
 * header. Strings in h are copied. Errors: BT_E_EXISTS, BT_E_PERMISSION, BT_E_IO, BT_E_NO_MEMORY;
 * nothing is left behind then. */
int trace_writer_open(struct trace_writer **out, const char *dir, const struct bt_record_header *h,
		      struct bt_error *err) BT_MUST_USE;

/* The next number in the order of the whole trace, for the seq of an event. */
uint64_t trace_writer_next_seq(struct trace_writer *w);

/* Tells the time of an event. Began when the writer was opened; valid as long as it is. */
const struct bt_clock *trace_writer_clock(const struct trace_writer *w);

/* Adds an event of a unit (0: the recorder's own). body is the struct of that kind. Buffered. Of
 * this and all that follows: a record that no block can hold (BT_BLOCK_MAX) is left out, with a
 * NOTE in unit 0 that says so. */
void trace_writer_event(struct trace_writer *w, uint32_t unit, enum bt_record_kind kind,
			const void *body);

/* Adds a chunk of branch history to the stream of b->task. Buffered. */
void trace_writer_branches(struct trace_writer *w, const struct bt_record_branches *b);

/* The same for what a source told beyond a chunk: before the chunk. */
void trace_writer_branch_words(struct trace_writer *w, const struct bt_record_branch_words *words);

/* Stores bytes once and gives their number (the same for the same bytes). Buffered. 0 without
 * memory, when they are too many for a block, or when writing has stopped. */
uint64_t trace_writer_object(struct trace_writer *w, const void *bytes, size_t len);

/* The same for program code, on which no time is spent to make it smaller. */
uint64_t trace_writer_code(struct trace_writer *w, const void *bytes, size_t len);

/* Hands everything buffered to the kernel. */
void trace_writer_flush(struct trace_writer *w);

/* errno of the failure that stopped writing, or 0. */
int trace_writer_stopped(const struct trace_writer *w);

/* Flushes and frees. The caller has added the END record to unit 0. */
void trace_writer_close(struct trace_writer *w);

/* Frees without flushing, and removes the files written so far and the directory dir: there is
 * nothing to keep. */
void trace_writer_discard(struct trace_writer *w, const char *dir);

#endif
