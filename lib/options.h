/* SPDX-License-Identifier: MIT */
/* Command-line options from one table: parsing, --help, and what tests compare man pages and
 * completion with. */
#ifndef BT_OPTIONS_H
#define BT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "lib/error.h"

struct option_row {
	const char *name;     /* without -- */
	char letter;          /* or 0 */
	const char *argument; /* name of its argument in --help, or NULL */
	const char *help;     /* NULL: not shown (for tests) */
	/* Takes the value (NULL without argument) into target. Returns 0 or an error, filled. */
	int (*set)(void *target, const char *value, struct bt_error *err);
};

/* Parses argv[1..] up to the first operand or "--". Returns the index of the first operand, or
 * -BT_E_MISUSE. */
int options_parse(const struct option_row *rows, size_t count, void *target, int argc, char **argv,
		  struct bt_error *err) BT_MUST_USE;

/* One line per option. */
void options_help(FILE *to, const struct option_row *rows, size_t count);

/* Parses a whole decimal number of at least min. Returns 0 or -BT_E_MISUSE naming the option. */
int options_number(const char *option, const char *value, unsigned long long min,
		   unsigned long long *out, struct bt_error *err) BT_MUST_USE;

#endif
