/* SPDX-License-Identifier: MIT */
/* A crash signature: the features that the failures of one bug share over runs and builds of a
 * program. It is made of the kind of the failure, the source file and the functions of the user's
 * own code that were active, by name; so neither addresses nor lines are in it. Used by btview and
 * the JSON. */
#ifndef BT_SIGNATURE_H
#define BT_SIGNATURE_H

#include "decoder/symbols/function_name.h"
#include "decoder/symbols/symbols.h"

enum {
	SIGNATURE_FUNCTIONS_MAX = 5, /* the innermost: a bug is reached in many ways */
	SIGNATURE_KIND_MAX = 260,
	SIGNATURE_FILE_MAX = 100,
	SIGNATURE_TEXT_MAX = SIGNATURE_KIND_MAX + SIGNATURE_FILE_MAX +
			     SIGNATURE_FUNCTIONS_MAX * (FUNCTION_NAME_MAX + 3) + 8,
};

struct signature {
	uint64_t hash;                 /* of text */
	char kind[SIGNATURE_KIND_MAX]; /* "SIGSEGV null pointer", "exit 3" */
	char file[SIGNATURE_FILE_MAX]; /* of the first function: its name without folders, else the
					  module's */
	char functions[SIGNATURE_FUNCTIONS_MAX][FUNCTION_NAME_MAX]; /* innermost first, each once */
	size_t count;
	char text[SIGNATURE_TEXT_MAX]; /* all of it on one line; escape it */
};

/* Makes the signature of the failure that explains the end of a trace. Returns 0; 1: nothing has
 * failed; -BT_E_NO_MEMORY. */
int signature_make(struct signature *sig, const struct model *m, struct symbols *s,
		   struct bt_error *err) BT_MUST_USE;

#endif
