/* SPDX-License-Identifier: MIT */
#include "lib/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct option_row *by_name(const struct option_row *rows, size_t count,
					const char *name, size_t len)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(rows[i].name) == len && !strncmp(rows[i].name, name, len))
			return &rows[i];
	return NULL;
}

static const struct option_row *by_letter(const struct option_row *rows, size_t count, char letter)
{
	for (size_t i = 0; i < count; i++)
		if (rows[i].letter == letter)
			return &rows[i];
	return NULL;
}

static int apply(const struct option_row *row, void *target, const char *given, const char *value,
		 char **argv, int argc, int *at, struct bt_error *err)
{
	if (!row->argument && value)
		return bt_fail(err, BT_E_MISUSE, 0, "%s takes no argument", given);
	if (row->argument && !value) {
		if (*at + 1 >= argc)
			return bt_fail(err, BT_E_MISUSE, 0, "%s needs an argument: %s", given,
				       row->argument);
		value = argv[++*at];
	}
	return row->set(target, value, err);
}

static int parse_long(const struct option_row *rows, size_t count, void *target, int argc,
		      char **argv, int *at, struct bt_error *err)
{
	const char *name = argv[*at] + 2, *equals = strchr(name, '=');
	size_t len = equals ? (size_t)(equals - name) : strlen(name);
	const struct option_row *row = by_name(rows, count, name, len);
	char given[80];

	snprintf(given, sizeof given, "--%.*s", (int)len, name);
	if (!row)
		return bt_fail(err, BT_E_MISUSE, 0, "unknown option %s (see --help)", given);
	return apply(row, target, given, equals ? equals + 1 : NULL, argv, argc, at, err);
}

static int parse_letters(const struct option_row *rows, size_t count, void *target, int argc,
			 char **argv, int *at, struct bt_error *err)
{
	for (const char *letter = argv[*at] + 1; *letter; letter++) {
		const struct option_row *row = by_letter(rows, count, *letter);
		char given[3] = {'-', *letter, '\0'};
		int rc;

		if (!row)
			return bt_fail(err, BT_E_MISUSE, 0, "unknown option %s (see --help)",
				       given);
		if (row->argument && letter[1])
			return row->set(target, letter + 1, err);
		rc = apply(row, target, given, NULL, argv, argc, at, err);
		if (rc)
			return rc;
		if (row->argument)
			break;
	}
	return 0;
}

int options_parse(const struct option_row *rows, size_t count, void *target, int argc, char **argv,
		  struct bt_error *err)
{
	int at = 1;

	for (; at < argc && argv[at][0] == '-' && argv[at][1]; at++) {
		int rc;

		if (!strcmp(argv[at], "--"))
			return at + 1;
		rc = argv[at][1] == '-' ? parse_long(rows, count, target, argc, argv, &at, err)
					: parse_letters(rows, count, target, argc, argv, &at, err);
		if (rc)
			return rc;
	}
	return at;
}

void options_help(FILE *to, const struct option_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char left[64], letter[8] = "    ";

		if (!rows[i].help)
			continue;
		if (rows[i].letter)
			snprintf(letter, sizeof letter, "-%c, ", rows[i].letter);
		snprintf(left, sizeof left, "%s--%s%s%s", letter, rows[i].name,
			 rows[i].argument ? " " : "", rows[i].argument ? rows[i].argument : "");
		fprintf(to, "  %-32s %s\n", left, rows[i].help);
	}
}

int options_number(const char *option, const char *value, unsigned long long min,
		   unsigned long long *out, struct bt_error *err)
{
	char *end;

	errno = 0;
	*out = strtoull(value, &end, 10);
	if (errno || *end || value[0] < '0' || value[0] > '9' || *out < min)
		return bt_fail(err, BT_E_MISUSE, 0, "%s: %s is no number of at least %llu", option,
			       value, min);
	return 0;
}
