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

/* Whether the trace has the file of a LOG_PIECE, as long as it must be. Errors: BT_E_CORRUPT. */
int mapped_copies_check(const struct trace *t, const struct bt_record_log_piece *piece,
			struct bt_error *err) BT_MUST_USE;

/* The bytes of a LOG_PIECE, until the next call. Errors: BT_E_CORRUPT: the trace does not have
 * them; BT_E_NO_MEMORY, BT_E_IO: it could not be read. */
int mapped_copies_get(struct mapped_copies *c, const struct trace *t,
		      const struct bt_record_log_piece *piece, struct slice *bytes,
		      struct bt_error *err) BT_MUST_USE;

void mapped_copies_release(struct mapped_copies *c);

#endif
