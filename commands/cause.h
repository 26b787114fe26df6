/* SPDX-License-Identifier: MIT */
/* What happened and where, for the last line of btrec run: "SIGSEGV: null read in port
 * config.c:10". btview tells it, in a process of its own: it has the libraries for symbols, which
 * no recording is to load, and however large the debug information or strange the trace, the run
 * ends in time. */
#ifndef BT_CAUSE_H
#define BT_CAUSE_H

#include <stdbool.h>
#include <stddef.h>

enum {
	CAUSE_TEXT_MAX = 600,
	CAUSE_PATIENCE_MS = 500, /* a user who looks at a crash does not notice it */
};

/* Asks the btview that lies beside this program, for patience milliseconds at most. Returns false,
 * with text empty, when there is nothing to tell, no btview, or it has not told in time. */
bool cause_tell(const char *trace, int patience, char text[CAUSE_TEXT_MAX]);

#endif
