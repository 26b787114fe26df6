/* SPDX-License-Identifier: MIT */
#ifndef BT_GENERATE_CAPTURES_H
#define BT_GENERATE_CAPTURES_H

#include "lib/buf.h"

void capture_pipe(struct buf *out, bool packed);
void capture_tracepoint(struct buf *out); /* which only TRACING_DATA names */
void capture_aux(struct buf *out, uint32_t type);
void capture_file(struct buf *out);
void capture_core(struct buf *out);
void capture_core_stacks(
	struct buf *out); /* a signal's stack, an overflow, mappings that only NT_FILE has */
void capture_text(struct buf *out);
void capture_text_columns(struct buf *out);
void capture_text_of_symbols(struct buf *out); /* refused */

#endif
