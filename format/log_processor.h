/* SPDX-License-Identifier: MIT */
/* The contents of a LOG_PROCESSOR record (doc/FORMAT.md, "The log"): its leaves, as bytes and
 * decoded. Used by the session that records and by the command that replays. */
#ifndef BT_LOG_PROCESSOR_H
#define BT_LOG_PROCESSOR_H

#include "format/record.h"
#include "lib/processor_offer.h"

/* Appends the leaves to bytes. */
void log_processor_encode(struct buf *bytes, const struct processor_offer *o);

/* Takes them from a record. Leaves that there is no room for are left out, and one that is not
 * whole. */
void log_processor_decode(const struct bt_record_log_processor *rec, struct processor_offer *o);

#endif
