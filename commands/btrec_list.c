/* SPDX-License-Identifier: MIT */
/* btrec list: the traces in the trace directory, oldest first. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "commands/btrec_commands.h"
#include "commands/signature_groups.h"
#include "decoder/signals.h"
#include "format/trace_cursor.h"
#include "lib/array_size.h"
#include "lib/directories.h"
#include "lib/say.h"

struct list_arguments {
	bool by_signature, help;
};

struct listed {
	uint64_t started; /* of a trace that cannot be read: when it was last changed */
	char name[256], how[64];
};

struct listing {
	struct listed *at;
	size_t count;
};

/* A path, and as it is shown: each byte may become four. */
struct shown_path {
	char path[BT_PATH_MAX + sizeof((struct listed *)0)->name],
		safe[4 * (BT_PATH_MAX + sizeof((struct listed *)0)->name)];
};

static int by_start(const void *a, const void *b)
{
	const struct listed *x = a, *y = b;

	return x->started != y->started ? (x->started < y->started ? -1 : 1)
					: strcmp(x->name, y->name);
}

/* How the program ended. */
static void describe_end(const struct trace *t, char *how, size_t size)
{
	struct trace_cursor c;
	struct bt_record rec;
	int rc;

	snprintf(how, size, t->being_written ? "being written" : "not closed");
	trace_cursor_init(&c, t, &t->files[0]);
	while ((rc = trace_cursor_next(&c, &rec, NULL))) {
		char name[SIGNAL_NAME_MAX];

		if (rc < 0 || rec.kind != BT_RECORD_END)
			continue;
		if (rec.u.end.kind == BT_EXIT_SIGNAL)
			snprintf(how, size, "%s", signal_name(rec.u.end.status, name));
		else if (rec.u.end.kind == BT_EXIT_UNKNOWN)
			snprintf(how, size, "unknown");
		else
			snprintf(how, size, "exit %u", rec.u.end.status);
	}
	trace_cursor_release(&c);
}

/* Why a trace cannot be opened, in a word; NULL: there is no trace. */
static const char *why_unreadable(enum bt_error_code code)
{
	static const char *const whys[BT_E_COUNT] = {
		[BT_E_VERSION] = "unknown version", [BT_E_TRUNCATED] = "damaged",
		[BT_E_CORRUPT] = "damaged",         [BT_E_PERMISSION] = "no permission",
		[BT_E_IO] = "not readable",         [BT_E_NO_MEMORY] = "no memory"};

	return whys[code];
}

static uint64_t changed(const char *path)
{
	struct stat st;

	return stat(path, &st) || st.st_mtime < 0 ? 0 : (uint64_t)st.st_mtime * 1000000000u;
}

static void add(struct listing *l, const char *dir, const char *name)
{
	char path[BT_PATH_MAX + 300];
	struct listed *grown, *entry;
	struct trace *t = NULL;
	int rc;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	rc = trace_open_events(&t, path, NULL);
	if (rc && !why_unreadable((enum bt_error_code) - rc))
		return;
	grown = realloc(l->at, (l->count + 1) * sizeof *grown);
	if (grown) {
		l->at = grown;
		entry = &grown[l->count++];
		entry->started = rc ? changed(path) : t->header.started;
		snprintf(entry->name, sizeof entry->name, "%s", name);
		if (rc)
			snprintf(entry->how, sizeof entry->how, "%s",
				 why_unreadable((enum bt_error_code) - rc));
		else
			describe_end(t, entry->how, sizeof entry->how);
	}
	if (!rc)
		trace_close(t);
}

/* A directory that is not there yet has no traces. */
static int cannot_read(const char *dir, int cause)
{
	struct bt_error err;

	bt_fail(&err, bt_code_of_errno(cause), cause, "cannot read %.300s", dir);
	return btrec_complain(&err);
}

static void print_listed(const struct listed *l, const char *dir, struct shown_path *shown)
{
	time_t seconds = (time_t)(l->started / 1000000000u);
	char when[64] = "?";
	struct tm tm;

	if (localtime_r(&seconds, &tm))
		strftime(when, sizeof when, "%F %T", &tm);
	snprintf(shown->path, sizeof shown->path, "%s/%s", dir, l->name);
	printf("%s  %-12s %s\n", when, l->how,
	       say_safely(shown->safe, sizeof shown->safe, shown->path));
}

static int print_groups(const struct listing *l, const char *dir)
{
	struct grouped_trace *traces = calloc(l->count + 1, sizeof *traces);
	struct bt_error err;
	int rc = 0;

	for (size_t i = 0; traces && i < l->count; i++)
		traces[i] = (struct grouped_trace){l->at[i].name, l->at[i].started};
	rc = traces ? signature_groups_print(dir, traces, l->count, &err)
		    : bt_no_memory(&err, NULL);
	free(traces);
	return rc ? btrec_complain(&err) : 0;
}

static int list(const struct list_arguments *args, const char *dir, struct shown_path *shown)
{
	int status;
	struct listing l = {0};
	DIR *d = opendir(dir);
	struct dirent *e;

	if (!d && errno != ENOENT)
		return cannot_read(dir, errno);
	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.' && strcmp(e->d_name, "latest"))
			add(&l, dir, e->d_name);
	if (d)
		closedir(d);
	if (l.count)
		qsort(l.at, l.count, sizeof *l.at, by_start);
	status = l.count ? 0 : 1;
	if (args->by_signature && l.count)
		status = print_groups(&l, dir);
	for (size_t i = 0; i < l.count && !args->by_signature; i++)
		print_listed(&l.at[i], dir, shown);
	if (!l.count)
		say("no traces in %s", dir);
	free(l.at);
	return status;
}

static int set_group(void *target, const char *value, struct bt_error *err)
{
	((struct list_arguments *)target)->by_signature = true;
	return strcmp(value, "signature")
		       ? bt_fail(err, BT_E_MISUSE, 0, "--group: %s is not signature", value)
		       : 0;
}

static const struct option_row rows[] = {
	{"group", 0, "signature", "put failures of one bug together; reads each trace",
	 .set = set_group},
	{"help", 'h', NULL, "show this", .at = offsetof(struct list_arguments, help)},
};

int btrec_list(int argc, char **argv)
{
	struct shown_path *shown;
	struct bt_error err;
	char dir[BT_PATH_MAX];
	struct list_arguments args = {0};
	int at = options_parse(rows, ARRAY_SIZE(rows), &args, argc, argv, &err), status;

	if (at >= 0 && args.help) {
		puts("Usage: btrec list [OPTIONS]\nLists the traces, oldest first.\n\nOptions:");
		options_help(stdout, rows, ARRAY_SIZE(rows));
		return 0;
	}
	if (at >= 0 && at < argc)
		at = bt_fail(&err, BT_E_MISUSE, 0, "list takes no arguments");
	if (at < 0 || trace_home(dir, &err))
		return btrec_complain(&err);
	shown = malloc(sizeof *shown);
	if (!shown) {
		bt_no_memory(&err, NULL);
		return btrec_complain(&err);
	}
	status = list(&args, dir, shown);
	free(shown);
	return status;
}
