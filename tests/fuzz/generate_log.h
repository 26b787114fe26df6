/* SPDX-License-Identifier: MIT */
/* Logs, and copies of mapped files, for the fuzz target log. Used by generate_corpus. */
#ifndef BT_GENERATE_LOG_H
#define BT_GENERATE_LOG_H

#include "lib/buf.h"

enum log_input_kind {
	LOG_INPUT_EVERY_KIND, /* each effect and each event */
	LOG_INPUT_MANY_CALLS, /* more than are read ahead, with outputs, shapes and data */
	LOG_INPUT_EMPTY,      /* effects without bytes */
	LOG_INPUT_ZEROS,      /* each kind of record, all its fields zero */
	LOG_INPUT_COPIES,     /* pieces of copies, the last of a copy that is not there */
	LOG_INPUT_CUT,        /* calls whose last is cut off */
};

/* Appends the input of that kind, of enum log_input_kind. */
void log_input(struct buf *out, unsigned kind);

#endif
