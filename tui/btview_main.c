/* SPDX-License-Identifier: MIT */
/* btview: reads a trace and shows it, in the terminal, as text or as JSON. The options say which;
 * where standard output is no terminal, or curses cannot use it, it is text. An export needs no
 * model and goes through the files of the trace once; all else is a view of the model.
 *
 * Exit status: 0; 1 where there is nothing of what was asked for; else that of the error
 * (lib/err.def). A damaged trace is shown as far as it goes, and the status tells. */
#include "config.h"

#include <inttypes.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "decoder/cause/annotation.h"
#include "decoder/cause/headline.h"
#include "decoder/cause/signature.h"
#include "decoder/report/json.h"
#include "decoder/report/keep.h"
#include "decoder/report/report.h"
#include "decoder/symbols/source_address.h"
#include "export/export.h"
#include "lib/array_size.h"
#include "lib/escape.h"
#include "lib/options.h"
#include "lib/output.h"
#include "lib/room_for_stack.h"
#include "lib/trace_home.h"
#include "tui/refusal.h"
#include "tui/report_output.h"
#include "tui/screen.h"
#include "tui/tui.h"

enum output {
	VIEW_TERMINAL,
	VIEW_TEXT,
	VIEW_JSON,
	VIEW_EXPORT,
	VIEW_HEADLINE,
	VIEW_GITHUB,
	VIEW_SIGNATURE,
};

enum {
	EXIT_NO_MATCH = 1,
	BRANCHES_SHOWN = 40,
	BRANCHES_JSON = 65536, /* some 30 MB; a history has millions */
};

struct btview_arguments {
	enum output view;
	struct report_options report;
	bool count_given, by_cpu, no_pager, help, version;
	enum colour_when colour;
	const struct export_kind *export; /* of VIEW_EXPORT */
	const char *address_of; /* a line of a source of the program that stands for trace */
	const char *symbols;    /* a file or folder that the user vouches for; NULL: none */
	int keep; /* ms in which the trace's symbols are to be kept with it, 0: they are not */
	const char *trace; /* NULL: the latest */
};

static int set_text(void *target, const char *value, struct bt_error *err)
{
	(void)value;
	(void)err;
	((struct btview_arguments *)target)->view = VIEW_TEXT;
	return 0;
}

static int set_json(void *target, const char *value, struct bt_error *err)
{
	(void)value;
	(void)err;
	((struct btview_arguments *)target)->view = VIEW_JSON;
	return 0;
}

static int set_headline(void *target, const char *value, struct bt_error *err)
{
	(void)value;
	(void)err;
	((struct btview_arguments *)target)->view = VIEW_HEADLINE;
	return 0;
}

static int set_summary(void *target, const char *value, struct bt_error *err)
{
	struct btview_arguments *a = target;

	(void)value;
	(void)err;
	a->view = VIEW_TEXT;
	a->report.summary = true;
	return 0;
}

static int set_keep(void *target, const char *value, struct bt_error *err)
{
	unsigned long long n;
	int rc = options_number("--keep-symbols", value, 1, 1000000, &n, err);

	((struct btview_arguments *)target)->view = VIEW_HEADLINE;
	((struct btview_arguments *)target)->keep = (int)n;
	return rc;
}

static int set_format(void *target, const char *value, struct bt_error *err)
{
	((struct btview_arguments *)target)->view = VIEW_GITHUB;
	return strcmp(value, "github")
		       ? bt_fail(err, BT_E_MISUSE, 0, "--format: %s is not github", value)
		       : 0;
}

static int set_signature(void *target, const char *value, struct bt_error *err)
{
	(void)value;
	(void)err;
	((struct btview_arguments *)target)->view = VIEW_SIGNATURE;
	return 0;
}

static int set_export(void *target, const char *value, struct bt_error *err)
{
	struct btview_arguments *a = target;

	a->view = VIEW_EXPORT;
	a->export = export_find(value);
	return a->export ? 0
			 : bt_fail(err, BT_E_MISUSE, 0,
				   "--export: %s is no form that there is (see --help)", value);
}

static int set_colour(void *target, const char *value, struct bt_error *err)
{
	static const char *const names[] = {
		[COLOUR_AUTO] = "auto", [COLOUR_ALWAYS] = "always", [COLOUR_NEVER] = "never"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(value, names[i])) {
			((struct btview_arguments *)target)->colour = (enum colour_when)i;
			return 0;
		}
	return bt_fail(err, BT_E_MISUSE, 0, "--color: %s is not auto, always or never", value);
}

static int set_by(void *target, const char *value, struct bt_error *err)
{
	((struct btview_arguments *)target)->by_cpu = true;
	return strcmp(value, "cpu") ? bt_fail(err, BT_E_MISUSE, 0, "--by: %s is not cpu", value)
				    : 0;
}

static int set_count(void *target, const char *value, struct bt_error *err)
{
	struct btview_arguments *a = target;
	unsigned long long n;
	int rc = options_number("-n", value, 1, UINT32_MAX, &n, err);

	a->report.count = n;
	a->count_given = true;
	return rc;
}

static int set_all(void *target, const char *value, struct bt_error *err)
{
	(void)value;
	(void)err;
	((struct btview_arguments *)target)->report.all = true;
	return 0;
}

static int set_snapshot(void *target, const char *value, struct bt_error *err)
{
	unsigned long long n;
	int rc = options_number("--snapshot", value, 1, UINT32_MAX, &n, err);

	((struct btview_arguments *)target)->report.snapshot = (uint32_t)n;
	return rc;
}

static int set_thread(void *target, const char *value, struct bt_error *err)
{
	struct btview_arguments *a = target;
	unsigned long long n;
	int rc = options_number("--thread", value, 0, UINT32_MAX, &n, err);

	a->report.has_thread = true;
	a->report.thread = (uint32_t)n;
	return rc;
}

static int set_function(void *target, const char *value, struct bt_error *err)
{
	((struct btview_arguments *)target)->report.function = value;
	return *value ? 0 : bt_fail(err, BT_E_MISUSE, 0, "--function: an empty name");
}

static const struct option_row rows[] = {
	{"stdio", 0, NULL, "print a report as text, as without a terminal", .set = set_text},
	{"summary", 0, NULL, "print what happened, where, and the stack; no branches",
	 .set = set_summary},
	{"format", 0, "github", "print a failure as the annotation of its source line, for CI",
	 .set = set_format},
	{"json", 0, NULL, "print a report as JSON (schema btrec-report/1)", .set = set_json},
	{"export", 0, "KIND", "print the trace in the form of another tool (listed below)",
	 .set = set_export},
	{"signature", 0, NULL,
	 "print what this failure has in common with others of the same bug, as a line",
	 .set = set_signature},
	{"by", 0, "cpu", "print which tasks ran on which CPU when, with their branches",
	 .set = set_by},
	{NULL, 'n', "N",
	 "show the last N lines (40; of --json branches, 65536; the terminal has all)",
	 .set = set_count},
	{"all", 0, NULL, "show what ran in libraries branch by branch, too; and vector registers",
	 .set = set_all},
	{"snapshot", 0, "N", "show this moment (listed in the report), not the end",
	 .set = set_snapshot},
	{"thread", 0, "TASK", "show the branches of this task, or thread id", .set = set_thread},
	{"function", 0, "NAME", "show only branches from or to this function", .set = set_function},
	{"symbols", 0, "FILE|DIR", "take the program's files from there where they are not found",
	 .at = offsetof(struct btview_arguments, symbols)},
	{"color", 0, "WHEN",
	 "colours of the text: auto (on a terminal, unless NO_COLOR is set), always, never",
	 .set = set_colour},
	{"no-pager", 0, NULL, "print the text on a terminal without $BTREC_PAGER, $PAGER or less",
	 .at = offsetof(struct btview_arguments, no_pager)},
	{"headline", 0, NULL, NULL, .set = set_headline}, /* for btrec run */
	{"keep-symbols", 0, "MS", NULL, .set = set_keep}, /* the same; tells the headline, too */
	{"address-of", 0, "LINE", NULL,                   /* the same */
	 .at = offsetof(struct btview_arguments, address_of)},
	{"help", 'h', NULL, "print this and end", .at = offsetof(struct btview_arguments, help)},
	{"version", 'V', NULL, "print the version and end",
	 .at = offsetof(struct btview_arguments, version)},
};

static void print_help(void)
{
	puts("Usage: btview [OPTION]... [TRACE]\n"
	     "Shows how a recorded program came to its crash: the latest one where TRACE is left "
	     "out.\n");
	options_help(stdout, rows, ARRAY_SIZE(rows));
	puts("\nExports:");
	for (const struct export_kind *k = export_kinds; k->name; k++)
		printf("  %-32s %s\n", k->name, k->help);
	puts("\nWithout --stdio, --json or --export the trace is shown in the terminal; h lists "
	     "its keys there.\n"
	     "Exit status: 0 done, 1 a filter matched nothing, 2 usage, 66 no such trace, 74 I/O "
	     "error,\n"
	     "76 not a trace or damaged (what is readable is shown), 77 no permission.");
}

static int fail_with(const struct bt_error *err)
{
	char text[2 * sizeof err->text];

	bt_escape_str(text, sizeof text, err->text, false);
	fprintf(stderr, "btview: %s\n", text);
	return bt_error_exit_status(err->code);
}

/* Whether the options go together. */
static int check_arguments(const struct btview_arguments *a, int operands, struct bt_error *err)
{
	if (operands > 1)
		return bt_fail(err, BT_E_MISUSE, 0, "one trace at a time (see --help)");
	if (a->by_cpu && (a->view == VIEW_EXPORT || a->view == VIEW_SIGNATURE))
		return bt_fail(err, BT_E_MISUSE, 0, "--by goes with --stdio or --json");
	if (a->report.summary && (a->view != VIEW_TEXT || a->by_cpu))
		return bt_fail(err, BT_E_MISUSE, 0,
			       "--summary is a text of its own: no --json, --format, --export nor "
			       "--by");
	if (a->report.summary && (a->count_given || a->report.function || a->report.all))
		return bt_fail(err, BT_E_MISUSE, 0,
			       "--summary shows no branches: no -n, --function nor --all");
	if (a->view == VIEW_GITHUB && (a->count_given || a->report.has_thread ||
				       a->report.snapshot || a->report.function || a->by_cpu))
		return bt_fail(err, BT_E_MISUSE, 0,
			       "--format github tells of the failure alone: no -n, --thread, "
			       "--snapshot, --function nor --by");
	if (a->view == VIEW_SIGNATURE &&
	    (a->count_given || a->report.has_thread || a->report.snapshot || a->report.function))
		return bt_fail(err, BT_E_MISUSE, 0,
			       "--signature is the whole trace's: no -n, --thread, --snapshot nor "
			       "--function");
	if (a->view == VIEW_EXPORT &&
	    (a->count_given || a->report.function ||
	     (a->export->print && (a->report.has_thread || a->report.snapshot))))
		return bt_fail(err, BT_E_MISUSE, 0,
			       a->export->print_moment ? "--export goes with --snapshot and "
							 "--thread, not with -n nor --function"
						       : "--export prints the whole trace: no -n, "
							 "--thread, --snapshot nor "
							 "--function");
	return 0;
}

/* Returns -1 to go on, else the status to exit with. */
static int parse_arguments(struct btview_arguments *a, int argc, char **argv)
{
	struct bt_error err;
	int at = options_parse(rows, ARRAY_SIZE(rows), a, argc, argv, &err);

	if (a->help) {
		print_help();
		return 0;
	}
	if (a->version) {
		puts("btview " PACKAGE_VERSION);
		return 0;
	}
	if (at < 0 || check_arguments(a, argc - at, &err))
		return fail_with(&err);
	if (a->view == VIEW_EXPORT && a->export->is_binary && isatty(STDOUT_FILENO)) {
		bt_fail(&err, BT_E_MISUSE, 0,
			"--export %s: it is not for a terminal; put > FILE behind it",
			a->export->name);
		return fail_with(&err);
	}
	if (a->by_cpu && a->view == VIEW_TERMINAL)
		a->view = VIEW_TEXT;
	a->trace = argv[at];
	return -1;
}

/* The folder of the checkout: GitHub's, else the one in which btview runs. */
static const char *checkout(char folder[BT_PATH_MAX])
{
	const char *workspace = getenv("GITHUB_WORKSPACE");

	if (workspace && *workspace == '/')
		return workspace;
	return getcwd(folder, BT_PATH_MAX) ? folder : "";
}

/* Nothing where there is no failure. */
static int print_headline(struct model *m, struct symbols *s, const struct btview_arguments *a,
			  struct bt_error *err)
{
	struct headline h;
	struct text t = {.utf8 = a->report.utf8};
	char folder[BT_PATH_MAX];
	int rc = headline_make(&h, m, s, err);

	if (rc)
		return rc < 0 ? rc : 0;
	if (a->view == VIEW_GITHUB) {
		annotation_put_github(&h, checkout(folder), &t);
	} else {
		headline_put(&h, &t);
		text_printf(&t, "\n");
	}
	if (t.buf.failed)
		rc = bt_no_memory(err, NULL);
	else if (bt_output(stdout, t.buf.data, t.buf.len, err))
		rc = -BT_E_IO;
	buf_release(&t.buf);
	return rc;
}

static int print_signature(const struct model *m, struct symbols *s, bool utf8,
			   struct bt_error *err)
{
	struct signature sig;
	struct buf line = {0};
	int rc = signature_make(&sig, m, s, err);

	if (rc)
		return rc;
	bt_escape(&line, slice_of(sig.text, strlen(sig.text)), utf8);
	printf("%016" PRIx64 "  %.*s\n", sig.hash, (int)line.len, (const char *)line.data);
	buf_release(&line);
	return 0;
}

/* A terminal that cannot be drawn on still shows text. */
static int show_as(const struct btview_arguments *a, struct model *m, struct symbols *s,
		   struct bt_error *err)
{
	struct report_options options = a->report;
	int rc;

	if (a->view == VIEW_TERMINAL && (rc = tui_run(m, s, &options, err)) != -BT_E_UNSUPPORTED)
		return rc;
	if (a->view == VIEW_EXPORT)
		return a->export->print_moment(stdout, m, s, &options, err);
	if (a->view == VIEW_SIGNATURE)
		return print_signature(m, s, a->report.utf8, err);
	if (a->view == VIEW_JSON && !a->count_given)
		options.count = BRANCHES_JSON;
	if (a->view == VIEW_JSON)
		return a->by_cpu ? json_print_by_cpu(stdout, m, s, &options, err)
				 : json_print(stdout, m, s, &options, err);
	if (a->view == VIEW_HEADLINE || a->view == VIEW_GITHUB)
		return print_headline(m, s, a, err);
	if (!a->count_given)
		options.count = BRANCHES_SHOWN;
	return report_output(a->by_cpu ? report_print_by_cpu : report_print, m, s, &options,
			     a->colour, !a->no_pager, err);
}

/* Why there is nothing of what was asked for. */
static void tell_missing(const struct btview_arguments *a, const struct model *m, struct symbols *s)
{
	char text[REFUSAL_MAX] =
		"the trace does not tell when a task ran where: it has no arrivals, "
		"no departures, no samples with CPU and time",
	     safe[4 * REFUSAL_MAX];
	struct focus f;

	if (a->view == VIEW_SIGNATURE)
		snprintf(text, sizeof text, "nothing has failed in this trace: no signature");
	else if ((a->report.has_thread || a->report.snapshot) && focus_choose(&f, m, &a->report) &&
		 (f.snap || !a->report.snapshot))
		refusal_thread(text, m, a->report.thread);
	else if ((a->report.has_thread || a->report.snapshot) && focus_choose(&f, m, &a->report))
		refusal_snapshot(text, m, a->report.snapshot);
	else if (a->report.function && !a->by_cpu)
		refusal_function(text, m, s, &a->report);
	bt_escape_str(safe, sizeof safe, text, a->report.utf8);
	fprintf(stderr, "btview: %s\n", safe);
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

static int show_trace(const struct btview_arguments *a, struct model *m, struct symbols *s)
{
	struct bt_error err = {0};
	int rc = show_as(a, m, s, &err);

	if (rc < 0)
		return fail_with(&err);
	if (!is_written())
		return bt_error_exit_status(BT_E_IO);
	if (rc)
		tell_missing(a, m, s);
	return rc ? EXIT_NO_MATCH : 0;
}

/* Keeps symbols in the trace. Closes standard output before that, so that the reader of the
 * headline has it, and its end, at once. */
static int keep_answers(const struct btview_arguments *a, struct model *m, struct symbols *s)
{
	struct bt_error err;

	fflush(stdout);
	close(STDOUT_FILENO);
	return m->trace->being_written || keep_symbols(m, s, a->keep, &err) ? EXIT_NO_MATCH : 0;
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
static int export_trace(const struct btview_arguments *a, const char *path)
{
	struct bt_error err = {0};
	struct trace *t;
	int rc = trace_open(&t, path, &err);

	if (rc)
		return fail_with(&err);
	rc = a->export->print(stdout, t, &err);
	trace_close(t);
	if (rc < 0)
		return fail_with(&err);
	if (!is_written())
		return bt_error_exit_status(BT_E_IO);
	if (rc)
		fprintf(stderr, "btview: the trace is damaged: what is readable is shown\n");
	return rc ? bt_error_exit_status(BT_E_CORRUPT) : 0;
}

static __attribute__((noreturn)) void end_without_memory(void)
{
	screen_leave();
	fputs("btview: no memory for the debug information of a file (ulimit -d; or it is made to "
	      "take much)\n",
	      stderr);
	exit(bt_error_exit_status(BT_E_NO_MEMORY));
}

static int view_trace(const struct btview_arguments *a, const char *path)
{
	struct bt_error err = {0};
	struct trace *t;
	struct model *m;
	struct symbols *s;
	int status, damage;

	if (trace_open(&t, path, &err))
		return fail_with(&err);
	if (model_load(&m, t, &err))
		return fail_with(&err);
	if (symbols_open(&s, m, &err)) {
		model_free(m);
		return fail_with(&err);
	}
	symbols_on_no_memory(s, end_without_memory);
	if ((a->keep && symbols_note(s, &err)) ||
	    (a->symbols && symbols_vouch(s, a->symbols, &err))) {
		symbols_close(s);
		model_free(m);
		return fail_with(&err);
	}
	damage = tell_damage(m);
	status = show_trace(a, m, s);
	if (a->keep)
		status = keep_answers(a, m, s);
	if (a->symbols && !symbols_vouched_used(s))
		fprintf(stderr, "btview: --symbols: nothing of it was needed, or fits a file of "
				"this trace\n");
	symbols_close(s);
	model_free(m);
	return status ? status : damage;
}

static int print_address(const char *program, const char *place)
{
	struct bt_error err;
	uint64_t addr;
	int rc = source_address_find(program, place, &addr, &err);

	if (rc < 0)
		return fail_with(&err);
	if (rc)
		return EXIT_NO_MATCH;
	printf("0x%" PRIx64 "\n", addr);
	return is_written() ? 0 : bt_error_exit_status(BT_E_IO);
}

static int btview(int argc, char **argv)
{
	struct btview_arguments a = {.view = VIEW_TERMINAL};
	char path[BT_PATH_MAX];
	struct bt_error err;
	int status;

	setlocale(LC_CTYPE, "");
	a.report.utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	status = parse_arguments(&a, argc, argv);
	if (status >= 0)
		return is_written() ? status : bt_error_exit_status(BT_E_IO);
	if (a.view == VIEW_TERMINAL && !(isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)))
		a.view = VIEW_TEXT;
	if (a.address_of)
		return print_address(a.trace ? a.trace : "", a.address_of);
	if (a.trace)
		trace_home_find(a.trace, path);
	else if (trace_home_latest(path, &err))
		return fail_with(&err);
	a.trace = path;
	return a.view == VIEW_EXPORT && a.export->print ? export_trace(&a, a.trace)
							: view_trace(&a, a.trace);
}

int main(int argc, char **argv) { return with_room_for_stack(btview, argc, argv); }
