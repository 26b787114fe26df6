/* SPDX-License-Identifier: MIT */
/* The options of a command line from one table: parsing and --help. The commands of btrec and
 * btview use it; the tests compare what --help prints with the man pages and the completion. A long
 * name may be cut short as long as it stays unique; its argument follows as the next word or behind
 * a "=". Letters may be joined; the argument of the last one may follow at once. */
#ifndef BT_OPTIONS_H
#define BT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/error.h"

struct option_row {
	const char *name;     /* without --; NULL: it has a letter only */
	char letter;          /* or 0 */
	const char *argument; /* name of its argument in --help, or NULL */
	const char *help;     /* NULL: not shown (for tests) */
	/* Stores the value (NULL without argument) in target. Returns 0 or an error, filled. NULL:
	 * see at. */
	int (*set)(void *target, const char *value, struct bt_error *err);
	/* Without set: the offset in target of the const char * for the argument, or of the bool
	 * that an option without argument sets. */
	size_t at;
	/* Not NULL: the argument may be left out, and set gets NULL then. The next word is it only
	 * where this says so. */
	bool (*is_argument)(const char *word);
};

/* Parses argv[1..], up to "--" if that is there. Moves operands behind all options, as GNU programs
 * do. Returns the index of the first operand, or -BT_E_MISUSE. Options before an error are in
 * target. */
int options_parse(const struct option_row *rows, size_t count, void *target, int argc, char **argv,
		  struct bt_error *err) BT_MUST_USE;

/* options_parse() up to the first operand: the words behind it are another program's, or a
 * command's. */
int options_parse_to_operand(const struct option_row *rows, size_t count, void *target, int argc,
			     char **argv, struct bt_error *err) BT_MUST_USE;

/* One line per option. */
void options_help(FILE *to, const struct option_row *rows, size_t count);

/* What a letter behind a number multiplies it by; letter 0: none is there. */
struct option_unit {
	char letter;
	uint64_t of;
};

/* Parses a whole decimal number above 0 and its unit. Returns 0 or -BT_E_MISUSE: *out stays. */
int options_amount(const char *value, const struct option_unit *units, size_t count,
		   uint64_t *out) BT_MUST_USE;

/* Parses a whole decimal number from min to max. Returns 0 or -BT_E_MISUSE naming the option. */
int options_number(const char *option, const char *value, unsigned long long min,
		   unsigned long long max, unsigned long long *out,
		   struct bt_error *err) BT_MUST_USE;

#endif
