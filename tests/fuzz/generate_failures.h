/* SPDX-License-Identifier: MIT */
/* Events of programs that fail, for the fuzz targets of reports. */
#ifndef BT_GENERATE_FAILURES_H
#define BT_GENERATE_FAILURES_H

#include "lib/buf.h"

/* Appends records: calls that fail, what was written to standard error, an exception that was
 * thrown, a child that failed, and the first process that fails behind it. */
void failure_events(struct buf *out);

/* Appends records: two threads of which each waits for the other, and the signal that ended them.
 */
void hang_events(struct buf *out);

/* Appends the names and the stacks that are kept of these threads. */
void hang_symbols(struct buf *out);

#endif
