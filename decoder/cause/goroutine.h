/* SPDX-License-Identifier: MIT */
/* The goroutine that main.main runs on, as Go's runtime writes it to standard error when it ends a
 * program: no thread has its stack where all goroutines wait. Used by signatures and the
 * explanation of faults. The text is the program's: anything may stand in it. */
#ifndef BT_GOROUTINE_H
#define BT_GOROUTINE_H

#include "lib/slice.h"

enum {
	GOROUTINE_FUNCTION_MAX = 200,
	GOROUTINE_FILE_MAX = 1024,
};

struct goroutine_frame {
	char function[GOROUTINE_FUNCTION_MAX]; /* "main.(*T).run"; cut to that */
	char file[GOROUTINE_FILE_MAX];
	int line; /* 0: not told */
};

struct goroutine {
	struct slice rest; /* lines that are left */
};

/* Finds it in the lines of standard error; of several the last. False: it is not there. */
bool goroutine_find(struct goroutine *g, struct slice words);

/* Its next frame in code of the user's own, from the innermost on. False: there is none. */
bool goroutine_next_own(struct goroutine *g, struct goroutine_frame *frame);

#endif
