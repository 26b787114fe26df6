/* SPDX-License-Identifier: MIT */
/* Writes a trace directory (doc/FORMAT.md). Used by the collector and the importers. Append-only:
 * every flush adds whole blocks, so that flushed records survive any end of the recorder. When the
 * disk fills or fails, writing stops: the writer puts a STOPPED record into the room it had
 * reserved for that, later calls do nothing and succeed, and trace_writer_stopped() tells. One
 * thread at a time. While it is open, events is locked: struct trace's being_written. */
#ifndef BT_TRACE_WRITER_H
#define BT_TRACE_WRITER_H

#include "format/block.h"
#include "format/file_window.h"
#include "format/record.h"
#include "lib/branch.h"
#include "lib/clock.h"

struct trace_writer;

/* Makes the directory dir (mode 0700; it must not exist, its parent must) and events with its
 * header. Strings in h are copied. Errors: BT_E_EXISTS, BT_E_PERMISSION, BT_E_IO, BT_E_NO_MEMORY;
 * nothing is left behind then. */
int trace_writer_open(struct trace_writer **out, const char *dir, const struct bt_record_header *h,
		      struct bt_error *err) BT_MUST_USE;

/* The next number in the order of the whole trace, for the seq of an event. */
uint64_t trace_writer_next_seq(struct trace_writer *w);

/* The clock of events. It began when the writer was opened; valid until the writer is closed. */
const struct bt_clock *trace_writer_clock(const struct trace_writer *w);

/* Adds an event of a unit (0: the recorder's own). body is the struct of that kind. Buffered. Here
 * and in the functions below, a record too large for a block (BT_BLOCK_MAX) is left out, and a NOTE
 * in unit 0 says so. */
void trace_writer_event(struct trace_writer *w, uint32_t unit, enum bt_record_kind kind,
			const void *body);

/* Adds a chunk of branch history to the stream of b->task. Buffered. */
void trace_writer_branches(struct trace_writer *w, const struct bt_record_branches *b);

/* Adds b->count entries; b is their record but for these bytes. For a source that tells no words:
 * of very many entries consecutive chunks become one BRANCH_GRAPH. Buffered. */
void trace_writer_history(struct trace_writer *w, const struct bt_record_branches *b,
			  const struct bt_branch *entries);

/* Adds the words of a chunk's entries, before the chunk. Buffered. */
void trace_writer_branch_words(struct trace_writer *w, const struct bt_record_branch_words *words);

/* Adds a record to the log of a unit (log.h). Buffered. Where logs cannot be written they end
 * (LOG_END says why); where nothing else can be written for want of room, what they have written
 * goes, too. Then this does nothing any more. */
void trace_writer_log(struct trace_writer *w, uint32_t unit, enum bt_record_kind kind,
		      const void *body);

/* The bytes that the logs of all units have in their files. Buffered bytes are not counted. */
uint64_t trace_writer_log_bytes(const struct trace_writer *w);

/* Why logs have ended so; NULL: they have not. It lives as long as w. */
const char *trace_writer_log_loss(const struct trace_writer *w);

/* Makes the file `name` of that directory the trace's number'th file that the program mapped, by a
 * link: it must not change any more. Returns 0 or an errno: EXDEV where it lies on another file
 * system. */
int trace_writer_link(struct trace_writer *w, int dir, const char *name, uint32_t number);
/* The same of an open file; ENOENT: it has no name any more. */
int trace_writer_link_open(struct trace_writer *w, int fd, uint32_t number);

/* The same by a copy of what the window shows. Returns 0 or an errno; there is no such file then.
 */
int trace_writer_copy(struct trace_writer *w, struct file_window *from, uint32_t number);

/* Stores bytes once and returns their number (the same for the same bytes). Buffered. Returns 0
 * without memory, if they are too many for a block, or if writing has stopped. */
uint64_t trace_writer_object(struct trace_writer *w, const void *bytes, size_t len);

/* trace_writer_object() for program code, which is mostly not packed. */
uint64_t trace_writer_code(struct trace_writer *w, const void *bytes, size_t len);

/* Whether nothing in the trace needs the objects: it has no snapshot and no branches. If so, they
 * are removed when the trace is closed, which END must say (code_left_out), and none that is still
 * held is written. To be asked when all but END has been added; it may be asked again. */
bool trace_writer_leave_code_out(struct trace_writer *w);

/* Hands everything buffered to the kernel. */
void trace_writer_flush(struct trace_writer *w);

/* errno of the failure that stopped writing, or 0. */
int trace_writer_stopped(const struct trace_writer *w);

/* Flushes and frees. The caller has added the END record to unit 0. */
void trace_writer_close(struct trace_writer *w);

/* Frees without flushing, and removes the files written so far and the directory dir. */
void trace_writer_discard(struct trace_writer *w, const char *dir);

#endif
