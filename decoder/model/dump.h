/* SPDX-License-Identifier: MIT */
/* A trace as it lies in its files, for people who debug one. Used by `btrec dump`. Interprets
 * nothing. */
#ifndef BT_DUMP_H
#define BT_DUMP_H

#include <stdio.h>

#include "format/trace_reader.h"

/* Prints every record of every file, file by file; the entries of branch history below their
 * record, if they are wanted (else they are read, up to a thousand million of a file); damage as
 * lines with its offset. Safe on a terminal. Returns the number of damaged places (a torn tail is
 * none in a trace without END). */
size_t trace_dump(FILE *to, const struct trace *t, bool entries);

#endif
