/* SPDX-License-Identifier: MIT */
/* btrec import: makes a trace of a capture that another tool made. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "commands/btrec_commands.h"
#include "commands/cause.h"
#include "config.h"
#include "import/capture.h"
#include "lib/array_size.h"
#include "lib/directories.h"
#include "lib/page.h"
#include "lib/say.h"

enum {
	NAMES_MAX = 100000,
	SYMBOLS_MS = 1000, /* for names that the first screen does not need */
	SYMBOLS_PATIENCE_MS = 10000,
};

#define COPIED_MAX (16ull << 30) /* bytes of a capture from a pipe or a device */

struct arguments {
	const char *output; /* NULL: a new name */
	bool help, quiet, no_symbols;
};

static const struct option_row rows[] = {
	{"output", 'o', "DIR", "the trace directory; it must not exist",
	 .at = offsetof(struct arguments, output)},
	{"no-symbols", 0, NULL, "do not keep names and source lines of the program with the trace",
	 .at = offsetof(struct arguments, no_symbols)},
	{"quiet", 'q', NULL, "say nothing when all is well",
	 .at = offsetof(struct arguments, quiet)},
	{"help", 'h', NULL, "show this", .at = offsetof(struct arguments, help)},
};

static bool is_taken(const char *path)
{
	struct stat st;

	return !lstat(path, &st);
}

/* Chooses the trace's path. directory: the one in which a new name was looked for. */
static int choose_trace(const struct arguments *a, const char *file, char trace[BT_PATH_MAX],
			char directory[BT_PATH_MAX], struct bt_error *err)
{
	const char *name = !strcmp(file, "-") ? "stdin" : file;
	int rc;

	if (a->output) {
		snprintf(trace, BT_PATH_MAX, "%s", a->output);
		return !is_taken(trace)
			       ? 0
			       : bt_fail(err, BT_E_EXISTS, 0,
					 "%s exists already: give -o another name, or remove it",
					 trace);
	}
	rc = directory_new_traces(directory, err);
	for (unsigned n = 0; !rc && n < NAMES_MAX; n++) {
		directory_trace_candidate(trace, directory, name, n);
		if (!is_taken(trace))
			return 0;
	}
	return rc ? rc
		  : bt_fail(err, BT_E_EXISTS, 0, "%s: no name is left for a trace of %s", directory,
			    name);
}

static void fill_header(struct importer *im, const struct capture *c)
{
	struct bt_record_header *h = importer_header(im);

	h->started = c->modified;
	h->backend = bt_str("import");
	h->source = bt_str("none");
	h->page_size = BT_PAGE;
	h->version = bt_str(PACKAGE_VERSION);
}

/* Puts the capture's name in front of an error about it. */
static int name_file(const char *file, int rc, struct bt_error *err)
{
	struct bt_error cause = *err;

	if (!rc || cause.code == BT_E_NO_MEMORY || cause.code == BT_E_IO)
		return rc;
	return bt_fail_at(err, cause.code, cause.offset, "%s: %s",
			  strcmp(file, "-") ? file : "standard input", cause.text);
}

static int import_as(const struct capture *c, const char *file, const char *trace, bool quiet,
		     struct bt_error *err)
{
	struct importer *im;
	uint64_t samples, branches;
	char *warning;
	int rc = importer_new(&im, trace, err);

	if (rc)
		return rc;
	fill_header(im, c);
	rc = name_file(file, capture_import(im, c->bytes, err), err);
	samples = importer_samples(im);
	branches = importer_branches(im);
	warning = strdup(importer_warning(im));
	if (rc)
		importer_discard(im);
	else
		rc = importer_close(im, err);
	if (!rc && warning && *warning)
		say("%s", warning);
	free(warning);
	if (!rc && !quiet && samples)
		say("imported %" PRIu64 " samples with %" PRIu64 " branches; trace: %s", samples,
		    branches, trace);
	else if (!rc && !quiet)
		say("imported; trace: %s", trace);
	return rc;
}

/* A name that was free when it was chosen may be another's by now: then the next one. */
static int import_file(const struct arguments *a, const char *file, char trace[BT_PATH_MAX],
		       char directory[BT_PATH_MAX], struct bt_error *err)
{
	struct capture c;
	int rc = choose_trace(a, file, trace, directory, err);

	if (!rc)
		rc = capture_open(&c, file, COPIED_MAX, err);
	if (rc)
		return rc;
	while ((rc = import_as(&c, file, trace, a->quiet, err)) == -BT_E_EXISTS && !a->output &&
	       !(rc = choose_trace(a, file, trace, directory, err)))
		;
	capture_close(&c);
	return rc;
}

static const char usage[] = "Usage: btrec import [OPTIONS] FILE|-\n"
			    "Makes a trace of a perf.data, of what perf script printed with "
			    "brstack, or of a core file;\n- reads standard input.";

static void keep_symbols(const char *trace)
{
	struct cause cause;

	cause_begin(&cause, trace, SYMBOLS_MS, 0);
	cause_end(&cause, SYMBOLS_PATIENCE_MS);
}

int btrec_import(int argc, char **argv)
{
	char trace[BT_PATH_MAX], directory[BT_PATH_MAX];
	struct arguments a = {0};
	struct bt_error err;
	int at = options_parse(rows, ARRAY_SIZE(rows), &a, argc, argv, &err), rc;

	if (a.help) {
		printf("%s\n\nOptions:\n", usage);
		options_help(stdout, rows, ARRAY_SIZE(rows));
		return 0;
	}
	if (at < 0)
		return btrec_complain(&err);
	if (argc - at != 1) {
		bt_fail(&err, BT_E_MISUSE, 0, "import: one FILE, or - for standard input");
		return btrec_complain(&err);
	}
	rc = import_file(&a, argv[at], trace, directory, &err);
	if (rc)
		return btrec_complain(&err);
	if (!a.output)
		directory_link_latest(directory, trace);
	if (!a.no_symbols)
		keep_symbols(trace);
	return 0;
}
