/* SPDX-License-Identifier: MIT */
/* Lines by which a program says why it ends: of sanitizers, runtimes of languages, libc, and those
 * that call themselves an error. The recorder keeps them, however much is written behind them; the
 * report shows them first. A constant table of patterns. Pure. */
#ifndef BT_TELLING_H
#define BT_TELLING_H

#include <stdbool.h>

#include "lib/slice.h"

/* Whether the line is one; *more: the number of lines behind it that belong to it (the message of a
 * Rust panic stands in the next one). Left untouched if it is none. */
bool telling_line(struct slice line, unsigned *more);

#endif
