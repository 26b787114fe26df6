/* SPDX-License-Identifier: MIT */
/* Where the parts of the replay log put their records. */
#ifndef BT_LOG_SINK_H
#define BT_LOG_SINK_H

#include <sys/types.h>

#include "format/record.h"

struct log_sink {
	void (*put)(void *arg, enum bt_record_kind kind, const void *body);
	void *arg;
};

enum { LOG_SINK_PIECE = 1 << 13 }; /* bytes of memory in a record */

/* Puts what n bytes of the stopped tid's memory hold, as LOG_DATA, up to the first that cannot be
 * read. */
void log_sink_memory(const struct log_sink *sink, pid_t tid, uint64_t addr, uint64_t n);

#endif
