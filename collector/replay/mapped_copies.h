/* SPDX-License-Identifier: MIT */
/* The files of a trace that hold what its program had mapped (doc/FORMAT.md, "mapped-N"), as far as
 * the log names them. Used by the log's events. Their bytes are not trusted, but what they are is
 * checked. */
#ifndef BT_MAPPED_COPIES_H
#define BT_MAPPED_COPIES_H

#include "format/record.h"
#include "format/trace_reader.h"

/* Zeroed: none was read. */
struct mapped_copies {
	struct file_window window; /* of the file read last */
	bool opened;
	uint32_t number; /* that */
};

/* The bytes of a LOG_PIECE, until the next call. False: the trace does not have them; *why says
 * what is wrong, for a reader. */
bool mapped_copies_get(struct mapped_copies *c, const struct trace *t,
		       const struct bt_record_log_piece *piece, struct slice *bytes, char why[100]);

void mapped_copies_release(struct mapped_copies *c);

#endif
