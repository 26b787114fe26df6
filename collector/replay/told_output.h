/* SPDX-License-Identifier: MIT */
/* Output of the recorded program for its user (LOG_OUTPUT in doc/FORMAT.md): compares it with the
 * bytes in the program's memory, and writes it again. Used by the session that replays. */
#ifndef BT_TOLD_OUTPUT_H
#define BT_TOLD_OUTPUT_H

#include <sys/types.h>

#include "collector/replay/divergence.h"
#include "collector/replay/log_reader.h"

/* How many bytes of output the effects of this item have. */
uint64_t output_length(const struct log_item *item);

/* Whether the bytes of the effect lie in the memory of tid, if they lay in memory at all. Where
 * they do not, *first is where they differ first. */
bool output_is_there(const struct log_reader *l, const struct log_effect *e, pid_t tid,
		     struct memory_difference *first);

/* Writes bytes to our own standard output or (stream 2) error, and waits where that has no room.
 * Bytes that cannot be written are left out; of the first of standard output *cause is the errno,
 * if it was 0. */
void output_repeat(unsigned stream, struct slice bytes, int *cause);

#endif
