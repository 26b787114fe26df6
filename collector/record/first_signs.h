/* SPDX-License-Identifier: MIT */
/* Functions whose entry is a first sign of failure (abort, rust_panic, __cxa_throw ...), and those
 * of --snap-at-function. The moment at the entry is kept: code that reports a failure runs
 * afterwards, and would overwrite the history before it. The table is in first_signs.c. Used by the
 * recording alone. */
#ifndef BT_FIRST_SIGNS_H
#define BT_FIRST_SIGNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct first_signs;

/* How much of a moment at the function's entry is kept, and how often. */
enum sign_extent {
	SIGN_WHOLE, /* a full snapshot; a few in each process */
	SIGN_BRIEF, /* branches as of a handled fault, and the stack's newest part; rates are
		       limited, as a program may go on from it at any rate */
	SIGN_ASKED, /* a full snapshot; many in each process */
	SIGN_POINT, /* nothing but the point, once in each program */
	SIGN_EXTENTS,
};

/* The table, with the names that the user adds; these must stay as long. NULL without memory. */
struct first_signs *first_signs_new(const char *const *names, size_t count);
void first_signs_free(struct first_signs *f);

/* Finds them in mapped files (function_stops.h). */
const struct function_finder *first_signs_finder(const struct first_signs *f);

/* How many there are. Their numbers are below that. */
size_t first_signs_count(const struct first_signs *f);
enum sign_extent first_signs_extent(const struct first_signs *f, uint16_t sign);

/* Whether it is the function main, whose entry is told of (also where the user has named it). */
bool first_signs_is_main(const struct first_signs *f, uint16_t sign);

/* The name that a reader knows. Valid as long as f. */
const char *first_signs_name(const struct first_signs *f, uint16_t sign);

/* Whether the user's name of this number, below count of first_signs_new(), was in any file. */
bool first_signs_found(const struct first_signs *f, size_t name);

/* ---- For tests ---- */

/* The number of the sign that a symbol of this name is; -1: none. */
int first_signs_match(const struct first_signs *f, const char *symbol);

#endif
