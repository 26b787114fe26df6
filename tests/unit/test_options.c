/* SPDX-License-Identifier: MIT */
/* One table of options: what a command line makes of it. */
#include "tests/unit/unit.h"

#include <stdio.h>

#include "lib/array_size.h"
#include "lib/options.h"

struct target {
	const char *output, *form;
	bool quiet, quick, hidden;
	unsigned times;
	const char *number;
};

static int set_form(void *target, const char *value, struct bt_error *err)
{
	((struct target *)target)->form = value;
	return *value ? 0 : bt_fail(err, BT_E_MISUSE, 0, "--form: empty");
}

static bool is_number(const char *word) { return *word >= '0' && *word <= '9'; }

static int set_number(void *target, const char *value, struct bt_error *err)
{
	(void)err;
	((struct target *)target)->number = value ? value : "none";
	return 0;
}

static int count_times(void *target, const char *value, struct bt_error *err)
{
	(void)err;
	assert_null(value);
	((struct target *)target)->times++;
	return 0;
}

static const struct option_row rows[] = {
	{"output", 'o', "DIR", "where to", .at = offsetof(struct target, output)},
	{"form", 0, "FORM", "which", .set = set_form},
	{"quiet", 'q', NULL, "no word", .at = offsetof(struct target, quiet)},
	{"quick", 0, NULL, "no wait", .at = offsetof(struct target, quick)},
	{"quiver", 0, NULL, NULL, .at = offsetof(struct target, hidden)},
	{NULL, 't', NULL, "once more", .set = count_times},
	{"number", 'n', "[N]", "how many", .set = set_number, .is_argument = is_number},
};

enum {
	WORDS_MAX = 10,
};

/* A command line, and what came of it. */
struct line {
	char *words[WORDS_MAX];
	struct target target;
	struct bt_error err;
	int at;
};

typedef int parser(const struct option_row *rows, size_t count, void *target, int argc, char **argv,
		   struct bt_error *err);

/* The words are parted by spaces. */
static struct line *parse(parser *how, const char *text)
{
	static struct line l;
	static char copy[200];
	int argc = 1;

	l = (struct line){.words = {(char *)"program"}};
	snprintf(copy, sizeof copy, "%s", text);
	for (char *save, *word = strtok_r(copy, " ", &save); word && argc < WORDS_MAX;
	     word = strtok_r(NULL, " ", &save))
		l.words[argc++] = word;
	l.at = how(rows, ARRAY_SIZE(rows), &l.target, argc, l.words, &l.err);
	return &l;
}

static struct line *parsed(const char *text) { return parse(options_parse_to_operand, text); }

static void fails_with(const char *text, const char *message)
{
	const struct line *l = parsed(text);

	assert_int_equal(l->at, -BT_E_MISUSE);
	assert_string_equal(l->err.text, message);
}

static void an_argument_follows_or_is_part_of_the_word(void **state)
{
	static const char *const lines[] = {"--output x rest", "--output=x rest", "-o x rest",
					    "-ox rest",        "-qo x rest",      "-qox rest"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		const struct line *l = parsed(lines[i]);

		assert_string_equal(l->words[l->at], "rest");
		assert_string_equal(l->target.output, "x");
		assert_int_equal(l->target.quiet, i >= 4);
	}
	assert_string_equal(parsed("--output=")->target.output, "");
	assert_string_equal(parsed("--output=a=b")->target.output, "a=b");
	assert_int_equal(parsed("-tt -t")->target.times, 3);
}

static void a_name_may_be_cut_short_where_it_is_one_only(void **state)
{
	(void)state;
	assert_string_equal(parsed("--ou=x")->target.output, "x");
	assert_true(parsed("--quie")->target.quiet);
	assert_true(parsed("--quiver")->target.hidden); /* in no --help: only as a whole */
	assert_false(parsed("--qui")->target.quick);
	fails_with("--quiv", "unknown option --quiv (see --help)");
	fails_with("--qui", "unknown option --qui (see --help)");
	fails_with("--q", "unknown option --q (see --help)");
	fails_with("--outputs", "unknown option --outputs (see --help)");
}

static void options_end_at_the_first_operand(void **state)
{
	const struct line *l = parsed("-q program -t --output=x");

	(void)state;
	assert_int_equal(l->at, 2);
	assert_true(l->target.quiet);
	assert_int_equal(l->target.times, 0);
	assert_int_equal(parsed("- -q")->at, 1); /* standard input */
	assert_int_equal(parsed("-q -- -t")->at, 3);
	assert_int_equal(parsed("")->at, 1);
}

static void options_stand_anywhere_where_they_may(void **state)
{
	const struct line *l = parse(options_parse, "a -q b --output x - --form=y -t");

	(void)state;
	assert_int_equal(l->at, 6);
	assert_string_equal(l->words[6], "a");
	assert_string_equal(l->words[7], "b");
	assert_string_equal(l->words[8], "-");
	assert_string_equal(l->target.output, "x");
	assert_string_equal(l->target.form, "y");
	assert_true(l->target.quiet && l->target.times == 1);

	l = parse(options_parse, "a -q -- -t b");
	assert_int_equal(l->at, 3);
	assert_string_equal(l->words[3], "a");
	assert_string_equal(l->words[4], "-t");
	assert_string_equal(l->words[5], "b");
	assert_int_equal(l->target.times, 0);
}

static void an_argument_may_be_left_out(void **state)
{
	static const struct {
		const char *text, *number;
		int at;
	} lines[] = {
		{"--number 5 a", "5", 3}, {"--number a", "none", 2}, {"--number -q", "none", 3},
		{"--number=a b", "a", 2}, {"-n", "none", 2},         {"-n5 7", "5", 2},
		{"-qn 7", "7", 3},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		const struct line *l = parsed(lines[i].text);

		assert_int_equal(l->at, lines[i].at);
		assert_string_equal(l->target.number, lines[i].number);
	}
}

static void what_is_wrong_is_named(void **state)
{
	(void)state;
	fails_with("--nothing=1", "unknown option --nothing (see --help)");
	fails_with("-qx", "unknown option -x (see --help)");
	fails_with("--quiet=yes", "--quiet takes no argument");
	fails_with("-q --output", "--output needs an argument: DIR");
	fails_with("-o", "-o needs an argument: DIR");
	fails_with("--form=", "--form: empty");
	assert_true(parsed("-q --nothing")->target.quiet); /* what stood before it has been taken */
}

static void amounts_have_units(void **state)
{
	static const struct option_unit units[] = {{'\0', 1}, {'K', 1000}, {'k', 1000}};
	uint64_t n = 0;

	(void)state;
	assert_int_equal(options_amount("5000", units, 3, &n), 0);
	assert_true(n == 5000);
	assert_int_equal(options_amount("20K", units, 3, &n), 0);
	assert_true(n == 20000);
	assert_int_equal(options_amount("10k", units, 3, &n), 0);
	assert_true(n == 10000);
	assert_int_equal(options_amount("18446744073709551K", units, 3, &n), 0);
	assert_true(n == UINT64_C(18446744073709551) * 1000);
	for (const char *const *text = (const char *const[]){"", "0", "0k", "-1", "K", "1M", "1KK",
							     "1 K", "18446744073709552K", NULL};
	     *text; text++)
		assert_int_equal(options_amount(*text, units, 3, &n), -BT_E_MISUSE);
	assert_true(n == UINT64_C(18446744073709551) * 1000);
}

static void numbers_have_bounds(void **state)
{
	unsigned long long n;
	struct bt_error err;

	(void)state;
	assert_int_equal(options_number("-n", "18446744073709551615", 0, UINT64_MAX, &n, &err), 0);
	assert_true(n == UINT64_MAX);
	assert_int_equal(options_number("-n", "7", 7, 7, &n, &err), 0);
	assert_int_equal(options_number("-n", "6", 7, 7, &n, &err), -BT_E_MISUSE);
	assert_string_equal(err.text, "-n: 6 is no number of at least 7");
	assert_int_equal(options_number("-n", "8", 7, 7, &n, &err), -BT_E_MISUSE);
	assert_string_equal(err.text, "-n: 8 is more than 7");
	for (const char *const *text = (const char *const[]){"", "-1", "+1", " 1", "1 ", "0x1",
							     "18446744073709551616", NULL};
	     *text; text++)
		assert_int_equal(options_number("-n", *text, 0, UINT64_MAX, &n, &err),
				 -BT_E_MISUSE);
}

static void help_shows_each_but_the_hidden(void **state)
{
	char text[1000] = "";
	FILE *f = fmemopen(text, sizeof text, "w");

	(void)state;
	options_help(f, rows, ARRAY_SIZE(rows));
	fclose(f);
	assert_string_equal(text, "  -o, --output DIR                 where to\n"
				  "      --form FORM                  which\n"
				  "  -q, --quiet                      no word\n"
				  "      --quick                      no wait\n"
				  "  -t                               once more\n"
				  "  -n, --number [N]                 how many\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_argument_follows_or_is_part_of_the_word),
		cmocka_unit_test(an_argument_may_be_left_out),
		cmocka_unit_test(a_name_may_be_cut_short_where_it_is_one_only),
		cmocka_unit_test(options_end_at_the_first_operand),
		cmocka_unit_test(options_stand_anywhere_where_they_may),
		cmocka_unit_test(what_is_wrong_is_named),
		cmocka_unit_test(amounts_have_units),
		cmocka_unit_test(numbers_have_bounds),
		cmocka_unit_test(help_shows_each_but_the_hidden),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
