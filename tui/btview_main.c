/* SPDX-License-Identifier: MIT */
/* btview: reads a trace and shows it, in the terminal, as text or as JSON. */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "decoder/export.h"
#include "decoder/json.h"
#include "decoder/report.h"
#include "lib/array_size.h"
#include "lib/escape.h"
#include "lib/output.h"
#include "lib/room_for_stack.h"
#include "lib/trace_home.h"
#include "tui/tui.h"

enum view {
	VIEW_TERMINAL,
	VIEW_TEXT,
	VIEW_JSON,
	VIEW_EXPORT,
};

enum {
	EXIT_NO_MATCH = 1,
	EXIT_USAGE = 2,
	BRANCHES_SHOWN = 40,
	BRANCHES_JSON = 65536, /* some 30 MB; a history has millions */
	FIRST_LONG = 256,
};

struct arguments {
	enum view view;
	struct report_options report;
	bool count_given, by_cpu;
	const struct export_kind *export; /* of VIEW_EXPORT */
	const char *trace;                /* NULL: the latest */
};

/* What an option does: returns false when its argument is not what it takes. */
typedef bool take_option(struct arguments *a, const char *value);

static bool parse_number(const char *text, unsigned long max, unsigned long *out)
{
	char *end;

	errno = 0;
	*out = strtoul(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && !errno && *out <= max;
}

static bool take_text(struct arguments *a, const char *value)
{
	(void)value;
	a->view = VIEW_TEXT;
	return true;
}

static bool take_json(struct arguments *a, const char *value)
{
	(void)value;
	a->view = VIEW_JSON;
	return true;
}

static bool take_export(struct arguments *a, const char *value)
{
	a->view = VIEW_EXPORT;
	a->export = export_find(value);
	return a->export;
}

static bool take_count(struct arguments *a, const char *value)
{
	unsigned long n;

	if (!parse_number(value, UINT32_MAX, &n) || !n)
		return false;
	a->report.count = n;
	a->count_given = true;
	return true;
}

static bool take_thread(struct arguments *a, const char *value)
{
	unsigned long n;

	if (!parse_number(value, UINT32_MAX, &n))
		return false;
	a->report.has_thread = true;
	a->report.thread = (uint32_t)n;
	return true;
}

static bool take_snapshot(struct arguments *a, const char *value)
{
	unsigned long n;

	if (!parse_number(value, UINT32_MAX, &n) || !n)
		return false;
	a->report.snapshot = (uint32_t)n;
	return true;
}

static bool take_function(struct arguments *a, const char *value)
{
	a->report.function = value;
	return *value;
}

static bool take_by(struct arguments *a, const char *value)
{
	a->by_cpu = true;
	return !strcmp(value, "cpu");
}

struct option_row {
	char letter; /* 0: none */
	const char *name, *argument, *help;
	take_option *take; /* NULL: --help and --version */
};

static const struct option_row rows[] = {
	{0, "stdio", NULL, "print a report as text, as without a terminal", take_text},
	{0, "json", NULL, "print a report as JSON (schema btrec-report/1)", take_json},
	{0, "export", "KIND", "print the trace in the form of another tool (listed below)",
	 take_export},
	{0, "by", "cpu", "print which tasks ran on which CPU when, with their branches", take_by},
	{'n', NULL, "N", "show the last N branches (40; with --json 65536; the terminal has all)",
	 take_count},
	{0, "snapshot", "N", "show this moment (listed in the report), not the end", take_snapshot},
	{0, "thread", "TASK", "show the branches of this task, or thread id", take_thread},
	{0, "function", "NAME", "show only branches from or to this function", take_function},
	{'h', "help", NULL, "print this and end", NULL},
	{'V', "version", NULL, "print the version and end", NULL},
};

enum { ROWS = ARRAY_SIZE(rows) };

static void print_help(void)
{
	puts("Usage: btview [OPTION]... [TRACE]\n"
	     "Shows how a recorded program came to its crash: the latest one where TRACE is left "
	     "out.\n");
	for (size_t i = 0; i < ROWS; i++) {
		const struct option_row *o = &rows[i];
		char letter[4] = "", name[32] = "", left[48];

		if (o->letter)
			snprintf(letter, sizeof letter, "-%c%s", o->letter, o->name ? "," : "");
		if (o->name)
			snprintf(name, sizeof name, "--%s", o->name);
		snprintf(left, sizeof left, "%-3s %s%s%s", letter, name,
			 o->argument ? (o->name ? "=" : "") : "", o->argument ? o->argument : "");
		printf("  %-22s %s\n", left, o->help);
	}
	puts("\nExports:");
	for (const struct export_kind *k = export_kinds; k->name; k++)
		printf("  %-22s %s\n", k->name, k->help);
	puts("\nWithout --stdio, --json or --export the trace is shown in the terminal; h lists "
	     "its keys there.\n"
	     "Exit status: 0 done, 1 a filter matched nothing, 2 usage, 66 no such trace, 74 I/O "
	     "error,\n"
	     "76 not a trace or damaged (what is readable is shown), 77 no permission.");
}

/* getopt_long's tables, made from the rows. */
struct getopt_tables {
	char letters[2 * ROWS + 1];
	struct option names[ROWS + 1];
};

static void make_tables(struct getopt_tables *t)
{
	size_t letters = 0, names = 0;

	*t = (struct getopt_tables){.letters = ""};
	for (size_t i = 0; i < ROWS; i++) {
		if (rows[i].letter) {
			t->letters[letters++] = rows[i].letter;
			if (rows[i].argument)
				t->letters[letters++] = ':';
		}
		if (rows[i].name)
			t->names[names++] = (struct option){
				.name = rows[i].name,
				.has_arg = rows[i].argument ? required_argument : no_argument,
				.val = FIRST_LONG + (int)i};
	}
}

static const struct option_row *row_of(int option)
{
	if (option >= FIRST_LONG)
		return &rows[option - FIRST_LONG];
	for (size_t i = 0; i < ROWS; i++)
		if (rows[i].letter == option)
			return &rows[i];
	return NULL;
}

static int usage_error(void)
{
	fputs("Try 'btview --help'.\n", stderr);
	return EXIT_USAGE;
}

/* Returns -1 to go on, else the status to exit with. */
static int parse(struct arguments *a, int argc, char **argv)
{
	struct getopt_tables tables;
	int option;

	make_tables(&tables);
	while ((option = getopt_long(argc, argv, tables.letters, tables.names, NULL)) != -1) {
		const struct option_row *row = row_of(option);

		if (!row)
			return usage_error();
		if (!row->take) {
			if (row->letter == 'h')
				print_help();
			else
				puts("btview " PACKAGE_VERSION);
			return 0;
		}
		if (!row->take(a, optarg)) {
			fprintf(stderr, "btview: %s%s does not take '%s'\n", row->name ? "--" : "-",
				row->name ? row->name : "n", optarg);
			return usage_error();
		}
	}
	if (argc - optind > 1) {
		fputs("btview: one trace at a time\n", stderr);
		return usage_error();
	}
	if (a->by_cpu && a->view == VIEW_EXPORT) {
		fputs("btview: --by goes with --stdio or --json\n", stderr);
		return usage_error();
	}
	if (a->view == VIEW_EXPORT &&
	    (a->count_given || a->report.has_thread || a->report.snapshot || a->report.function)) {
		fputs("btview: --export prints the whole trace: no -n, --thread, --snapshot nor "
		      "--function\n",
		      stderr);
		return usage_error();
	}
	if (a->by_cpu && a->view == VIEW_TERMINAL)
		a->view = VIEW_TEXT;
	a->trace = argv[optind];
	return -1;
}

static int fail(const struct bt_error *err)
{
	char text[2 * sizeof err->text];

	bt_escape_str(text, sizeof text, err->text, false);
	fprintf(stderr, "btview: %s\n", text);
	return bt_error_exit_status(err->code);
}

/* A terminal that cannot be drawn on still shows text. */
static int show_as(const struct arguments *a, struct model *m, struct symbols *s,
		   struct bt_error *err)
{
	struct report_options options = a->report;
	int rc;

	if (a->view == VIEW_TERMINAL && (rc = tui_run(m, s, &options, err)) != -BT_E_UNSUPPORTED)
		return rc;
	if (a->view == VIEW_JSON && !a->count_given)
		options.count = BRANCHES_JSON;
	if (a->view == VIEW_JSON)
		return a->by_cpu ? json_print_by_cpu(stdout, m, s, &options, err)
				 : json_print(stdout, m, s, &options, err);
	if (!a->count_given)
		options.count = BRANCHES_SHOWN;
	return a->by_cpu ? report_print_by_cpu(stdout, m, s, &options, err)
			 : report_print(stdout, m, s, &options, err);
}

static const char *what_is_missing(const struct arguments *a, const struct model *m)
{
	struct focus f;

	if ((a->report.has_thread || a->report.snapshot) && focus_choose(&f, m, &a->report))
		return f.snap || !a->report.snapshot ? "no such task or thread"
						     : "no such snapshot";
	if (a->report.function && !a->by_cpu)
		return "no such branch";
	return "the trace does not tell when a task ran where: it has no arrivals, no departures, "
	       "no samples with CPU and time";
}

/* Says so where not all of standard output could be written. */
static bool is_written(void)
{
	struct bt_error err;

	if (!bt_output_end(stdout, &err))
		return true;
	fprintf(stderr, "btview: %s\n", err.text);
	return false;
}

static int show(const struct arguments *a, struct model *m, struct symbols *s)
{
	struct bt_error err = {0};
	int rc = show_as(a, m, s, &err);

	if (rc < 0)
		return fail(&err);
	if (!is_written())
		return bt_error_exit_status(BT_E_IO);
	if (rc)
		fprintf(stderr, "btview: %s\n", what_is_missing(a, m));
	return rc ? EXIT_NO_MATCH : 0;
}

/* A trace that was cut off is no damage: its recorder was killed. */
static int tell_damage(const struct model *m)
{
	bool damaged = false, torn = false;

	for (size_t i = 0; i < m->damage_count; i++) {
		damaged |= !m->damage[i].torn;
		torn |= m->damage[i].torn;
	}
	if (damaged)
		fprintf(stderr, "btview: the trace is damaged: what is readable is shown\n");
	else if (m->stopped)
		fprintf(stderr, "btview: recording stopped before the program ended\n");
	else if (torn || !m->end)
		fprintf(stderr, "btview: %s\n", model_unclosed(m));
	return damaged ? bt_error_exit_status(BT_E_CORRUPT) : 0;
}

/* Reads the files of the trace in one pass, without the model. */
static int export_trace(const struct arguments *a, const char *path)
{
	struct bt_error err = {0};
	struct trace *t;
	int rc = trace_open(&t, path, &err);

	if (rc)
		return fail(&err);
	rc = a->export->print(stdout, t, &err);
	trace_close(t);
	if (rc < 0)
		return fail(&err);
	if (!is_written())
		return bt_error_exit_status(BT_E_IO);
	if (rc)
		fprintf(stderr, "btview: the trace is damaged: what is readable is shown\n");
	return rc ? bt_error_exit_status(BT_E_CORRUPT) : 0;
}

static int view_trace(const struct arguments *a, const char *path)
{
	struct bt_error err = {0};
	struct trace *t;
	struct model *m;
	struct symbols *s;
	int status, damage;

	if (trace_open(&t, path, &err))
		return fail(&err);
	if (model_load(&m, t, &err))
		return fail(&err);
	if (symbols_open(&s, m, &err)) {
		model_free(m);
		return fail(&err);
	}
	damage = tell_damage(m);
	status = show(a, m, s);
	symbols_close(s);
	model_free(m);
	return status ? status : damage;
}

static int btview(int argc, char **argv)
{
	struct arguments a = {.view = VIEW_TERMINAL};
	char latest[BT_PATH_MAX];
	struct bt_error err;
	int status;

	setlocale(LC_CTYPE, "");
	a.report.utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	status = parse(&a, argc, argv);
	if (status >= 0)
		return is_written() ? status : bt_error_exit_status(BT_E_IO);
	if (a.view == VIEW_TERMINAL && !(isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)))
		a.view = VIEW_TEXT;
	if (!a.trace && trace_home_latest(latest, &err))
		return fail(&err);
	if (!a.trace)
		a.trace = latest;
	return a.view == VIEW_EXPORT ? export_trace(&a, a.trace) : view_trace(&a, a.trace);
}

int main(int argc, char **argv) { return with_room_for_stack(btview, argc, argv); }
