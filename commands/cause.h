/* SPDX-License-Identifier: MIT */
/* The cause of a failure, for the last line of btrec run: "SIGSEGV: null read in port config.c:10".
 * btview finds it, in a process of its own: that process loads the libraries for symbols, which no
 * recording is to load, and the run ends in time however large the debug information or strange the
 * trace. */
#ifndef BT_CAUSE_H
#define BT_CAUSE_H

#include "commands/helper.h"

enum {
	CAUSE_TEXT_MAX = 600,
	CAUSE_PATIENCE_MS = 500, /* a user who looks at a crash does not notice it */
	CAUSE_KEEP_MS = 100,     /* for names that the first screen does not need */
	CAUSE_WELL = 10,         /* of a run that ended well a tenth of it */
	/* To keep the symbols of a run that failed: a replay shows them when the program is gone,
	   and nothing else has them then. */
	CAUSE_REPLAYABLE_MS = 20000,
};

struct cause {
	struct helper helper;
	char text[CAUSE_TEXT_MAX]; /* empty: there is nothing to tell, or it was not told in time */
};

/* Asks the btview that lies beside this program what happened, for patience milliseconds at most;
 * 0: it is not waited for. keep: it then keeps the trace's symbols with it, while the caller goes
 * on, and takes so many milliseconds for what the first screen does not need; 0: it does not. */
void cause_begin(struct cause *c, const char *trace, int keep, int patience);

/* Waits for that, for patience milliseconds at most. */
void cause_end(struct cause *c, int patience);

#endif
