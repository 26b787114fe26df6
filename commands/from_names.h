/* SPDX-License-Identifier: MIT */
/* The start location (--from), before the program runs: which function it names in the program and
 * in the libraries that it starts with. Used by btrec run. */
#ifndef BT_FROM_NAMES_H
#define BT_FROM_NAMES_H

#include <stdbool.h>

#include "lib/error.h"

enum {
	FROM_ADDRESS_MAX = 32,
};

/* Finds what `from` names in the program. A line of its source ("config.c:10") becomes an address,
 * in text, which is to be looked for instead; else address is "". *known: it is in the program or
 * in one of the libraries that the dynamic linker loads for it, or that cannot be found out: a
 * script has it elsewhere. Errors: BT_E_MISUSE: several functions are meant, which the text
 * lists; no code is of that line. */
int from_names_find(const char *program, const char *from, char address[FROM_ADDRESS_MAX],
		    bool *known, struct bt_error *err) BT_MUST_USE;

#endif
