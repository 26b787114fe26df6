/* SPDX-License-Identifier: MIT */
/* The line that btview prints when the trace lacks what was asked for: it tells what the trace has
 * instead. Used by btview's main. It has names from outside: escape it. */
#ifndef BT_REFUSAL_H
#define BT_REFUSAL_H

#include "decoder/report/report.h"

enum {
	REFUSAL_MAX = 600,
};

/* "no snapshot 99: the trace has 3 moments: 1 to 3". */
void refusal_snapshot(char out[REFUSAL_MAX], const struct model *m, uint32_t asked);

/* "no task or thread 99: the trace has 2 tasks: 1 and 2". */
void refusal_thread(char out[REFUSAL_MAX], const struct model *m, uint32_t asked);

/* "no function prize in this history; the nearest names are price and print_price". */
void refusal_function(char out[REFUSAL_MAX], const struct model *m, struct symbols *s,
		      const struct report_options *o);

#endif
