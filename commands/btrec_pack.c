/* SPDX-License-Identifier: MIT */
/* btrec pack: a trace in one file. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands/btrec_commands.h"
#include "commands/cause.h"
#include "format/pack.h"
#include "lib/array_size.h"
#include "lib/trace_home.h"

enum {
	SYMBOLS_MS = 10000,
	SYMBOLS_PATIENCE_MS = 60000,
};

struct pack_arguments {
	const char *output;
	bool no_symbols, help;
};

static const struct option_row rows[] = {
	{"output", 'o', "FILE", "make FILE, which must not exist (the trace's name with .btrec)",
	 .at = offsetof(struct pack_arguments, output)},
	{"no-symbols", 0, NULL, "leave out names and source lines of the program",
	 .at = offsetof(struct pack_arguments, no_symbols)},
	{"help", 'h', NULL, "show this", .at = offsetof(struct pack_arguments, help)},
};

/* The trace's own name, behind links. */
static const char *name_of(const char *path, char real[BT_PATH_MAX])
{
	char *found = realpath(path, NULL), *slash;

	snprintf(real, BT_PATH_MAX, "%s", found ? found : path);
	free(found);
	slash = strrchr(real, '/');
	return slash && slash[1] ? slash + 1 : "trace";
}

static bool has_symbols(const struct trace *t)
{
	for (size_t i = 0; i < t->file_count; i++)
		if (t->files[i].kind == BT_FILE_SYMBOLS)
			return true;
	return false;
}

static bool is_written(const struct trace *t, struct bt_error *err)
{
	if (t->being_written)
		bt_fail(err, BT_E_MISUSE, 0, "%.300s is not packed: it is being recorded", t->path);
	return t->being_written;
}

/* The trace as it is when the program's symbols have been kept, if they can be. */
static int open_with_symbols(struct trace **out, const char *path, bool keep, struct bt_error *err)
{
	struct cause cause;
	int rc = trace_open(out, path, err);

	if (rc)
		return rc;
	if (is_written(*out, err)) {
		trace_close(*out);
		return -BT_E_MISUSE;
	}
	if (!keep || (*out)->dir < 0 || has_symbols(*out))
		return 0;
	trace_close(*out);
	cause_begin(&cause, path, SYMBOLS_MS, 0);
	cause_end(&cause, SYMBOLS_PATIENCE_MS);
	return trace_open(out, path, err);
}

static int write_pack(const char *output, const struct trace *t, const char *name,
		      bool with_symbols, struct bt_error *err)
{
	int fd = open(output, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600), rc;

	signal(SIGXFSZ, SIG_IGN); /* a limit of file sizes is told by errno, and leaves no part */

	if (fd < 0 && errno == EEXIST)
		return bt_fail(err, BT_E_EXISTS, 0,
			       "%.300s exists already: give -o another name, or remove it", output);
	if (fd < 0)
		return bt_fail(err, bt_code_of_errno(errno), errno, "cannot make %.300s", output);
	rc = pack_write(fd, t, name, with_symbols, err);
	if (close(fd) && !rc)
		rc = bt_fail(err, BT_E_IO, errno, "cannot write %.300s", output);
	if (rc)
		unlink(output);
	return rc;
}

static int pack_trace(const struct pack_arguments *args, const char *path, struct bt_error *err)
{
	char real[BT_PATH_MAX], named[BT_PATH_MAX + 16];
	const char *name = name_of(path, real), *output = args->output;
	struct trace *t;
	int rc = open_with_symbols(&t, path, !args->no_symbols, err);

	if (rc)
		return rc;
	snprintf(named, sizeof named, "%s.btrec", name);
	rc = write_pack(output ? output : named, t, name, !args->no_symbols, err);
	if (!rc)
		printf("%s\n", output ? output : named);
	trace_close(t);
	return rc;
}

int btrec_pack(int argc, char **argv)
{
	struct pack_arguments args = {0};
	char path[BT_PATH_MAX];
	struct bt_error err;
	int at = options_parse(rows, ARRAY_SIZE(rows), &args, argc, argv, &err);

	if (at >= 0 && args.help) {
		puts("Usage: btrec pack [OPTIONS] [TRACE]\nMakes one file of a trace, the latest "
		     "by "
		     "default: btview and btrec open it as they open the trace.\n\nOptions:");
		options_help(stdout, rows, ARRAY_SIZE(rows));
		return 0;
	}
	if (at < 0 || btrec_trace_argument(argc, argv, at, path, &err) ||
	    pack_trace(&args, path, &err))
		return btrec_complain(&err);
	return 0;
}
