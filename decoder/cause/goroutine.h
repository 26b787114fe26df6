/* SPDX-License-Identifier: MIT */
/* The goroutine that main.main runs on, as Go's runtime writes it to standard error when it ends a
 * program: no thread has its stack where all goroutines wait. Used by signatures. The text is the
 * program's: anything may stand in it. */
#ifndef BT_GOROUTINE_H
#define BT_GOROUTINE_H

#include "lib/slice.h"

struct goroutine_frame {
	struct slice function; /* "main.(*T).run" */
	struct slice file;
};

struct goroutine {
	struct slice rest; /* lines that are left */
};

/* Finds it in the lines of standard error; of several the last. False: it is not there. */
bool goroutine_find(struct goroutine *g, struct slice words);

/* Its next frame, from the innermost on. False: there is none. */
bool goroutine_next(struct goroutine *g, struct goroutine_frame *frame);

#endif
