/* SPDX-License-Identifier: MIT */
#include "lib/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A command line on its way into a target. */
struct parser {
	const struct option_row *rows;
	size_t count;
	void *target;
	char **argv;
	int argc, at; /* at: the word that is being parsed */
};

/* The option of that name, or the only one in --help whose name begins so. */
static const struct option_row *by_name(const struct parser *p, const char *name, size_t len)
{
	const struct option_row *found = NULL;
	unsigned begin_so = 0;

	for (const struct option_row *row = p->rows; row < p->rows + p->count; row++) {
		if (!row->name || strncmp(row->name, name, len) != 0)
			continue;
		if (strlen(row->name) == len)
			return row;
		if (row->help) {
			found = row;
			begin_so++;
		}
	}
	return begin_so == 1 ? found : NULL;
}

static const struct option_row *by_letter(const struct parser *p, char letter)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->rows[i].letter == letter)
			return &p->rows[i];
	return NULL;
}

static int take_option(const struct parser *p, const struct option_row *row, const char *value,
		       struct bt_error *err)
{
	char *place = (char *)p->target + row->at;

	if (row->set)
		return row->set(p->target, value, err);
	if (row->argument)
		*(const char **)(void *)place = value;
	else
		*(bool *)place = true;
	return 0;
}

static bool is_left_out(const struct parser *p, const struct option_row *row)
{
	return row->is_argument && (p->at + 1 >= p->argc || !row->is_argument(p->argv[p->at + 1]));
}

static int apply_option(struct parser *p, const struct option_row *row, const char *given,
			const char *value, struct bt_error *err)
{
	if (!row->argument && value)
		return bt_fail(err, BT_E_MISUSE, 0, "%s takes no argument", given);
	if (row->argument && !value && is_left_out(p, row))
		return row->set(p->target, NULL, err);
	if (row->argument && !value) {
		if (p->at + 1 >= p->argc)
			return bt_fail(err, BT_E_MISUSE, 0, "%s needs an argument: %s", given,
				       row->argument);
		value = p->argv[++p->at];
	}
	return take_option(p, row, value, err);
}

static int parse_long(struct parser *p, struct bt_error *err)
{
	const char *name = p->argv[p->at] + 2, *equals = strchr(name, '=');
	size_t len = equals ? (size_t)(equals - name) : strlen(name);
	const struct option_row *row = by_name(p, name, len);
	char given[80];

	snprintf(given, sizeof given, "--%.*s", (int)len, name);
	if (!row)
		return bt_fail(err, BT_E_MISUSE, 0, "unknown option %s (see --help)", given);
	return apply_option(p, row, given, equals ? equals + 1 : NULL, err);
}

static int parse_letters(struct parser *p, struct bt_error *err)
{
	for (const char *letter = p->argv[p->at] + 1; *letter; letter++) {
		const struct option_row *row = by_letter(p, *letter);
		char given[3] = {'-', *letter, '\0'};
		int rc;

		if (!row)
			return bt_fail(err, BT_E_MISUSE, 0, "unknown option %s (see --help)",
				       given);
		if (row->argument && letter[1])
			return take_option(p, row, letter + 1, err);
		rc = apply_option(p, row, given, NULL, err);
		if (rc)
			return rc;
		if (row->argument)
			break;
	}
	return 0;
}

/* Moves the words [from, end) in front of those in [to, from). */
static void move_words(char **argv, int to, int from, int end)
{
	for (; to < from && from < end; to++, from++) {
		char *word = argv[from];

		memmove(&argv[to + 1], &argv[to], (size_t)(from - to) * sizeof *argv);
		argv[to] = word;
	}
}

/* The words from the first operand up to p->at are operands. */
static int parse_words(struct parser *p, bool anywhere, struct bt_error *err)
{
	int first_operand = 1;

	for (p->at = 1; p->at < p->argc; p->at++) {
		const char *word = p->argv[p->at];
		bool ends = !strcmp(word, "--");
		int begin = p->at, rc;

		if (word[0] != '-' || !word[1]) {
			if (anywhere)
				continue;
			break;
		}
		rc = ends ? 0 : word[1] == '-' ? parse_long(p, err) : parse_letters(p, err);
		if (rc)
			return rc;
		move_words(p->argv, first_operand, begin, p->at + 1);
		first_operand += p->at + 1 - begin;
		if (ends)
			break;
	}
	return first_operand;
}

int options_parse(const struct option_row *rows, size_t count, void *target, int argc, char **argv,
		  struct bt_error *err)
{
	struct parser p = {rows, count, target, argv, argc, 0};

	return parse_words(&p, true, err);
}

int options_parse_to_operand(const struct option_row *rows, size_t count, void *target, int argc,
			     char **argv, struct bt_error *err)
{
	struct parser p = {rows, count, target, argv, argc, 0};

	return parse_words(&p, false, err);
}

void options_help(FILE *to, const struct option_row *rows, size_t count)
{
	for (const struct option_row *row = rows; row < rows + count; row++) {
		char left[64], letter[8] = "    ";

		if (!row->help)
			continue;
		if (row->letter)
			snprintf(letter, sizeof letter, "-%c%s", row->letter,
				 row->name ? ", " : "");
		snprintf(left, sizeof left, "%s%s%s%s%s", letter, row->name ? "--" : "",
			 row->name ? row->name : "", row->argument ? " " : "",
			 row->argument ? row->argument : "");
		fprintf(to, "  %-32s %s\n", left, row->help);
	}
}

int options_amount(const char *value, const struct option_unit *units, size_t count, uint64_t *out)
{
	char *end;
	unsigned long long n;

	errno = 0;
	n = strtoull(value, &end, 10);
	if (*value < '0' || *value > '9' || errno || !n)
		return -BT_E_MISUSE;
	for (size_t i = 0; i < count; i++)
		if (*end == units[i].letter && (!*end || !end[1])) {
			if (n > UINT64_MAX / units[i].of)
				return -BT_E_MISUSE;
			*out = n * units[i].of;
			return 0;
		}
	return -BT_E_MISUSE;
}

int options_number(const char *option, const char *value, unsigned long long min,
		   unsigned long long max, unsigned long long *out, struct bt_error *err)
{
	char *end;

	errno = 0;
	*out = strtoull(value, &end, 10);
	if (errno || *end || value[0] < '0' || value[0] > '9' || *out < min)
		return bt_fail(err, BT_E_MISUSE, 0, "%s: %s is no number of at least %llu", option,
			       value, min);
	if (*out > max)
		return bt_fail(err, BT_E_MISUSE, 0, "%s: %s is more than %llu", option, value, max);
	return 0;
}
