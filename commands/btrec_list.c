/* SPDX-License-Identifier: MIT */
/* btrec list: the traces in the trace directory, oldest first, for people and as JSON
 * (doc/list.schema.json). */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "commands/btrec_commands.h"
#include "commands/json_out.h"
#include "commands/signature_groups.h"
#include "commands/trace_shelf.h"
#include "lib/array_size.h"
#include "lib/escape.h"
#include "lib/output.h"
#include "lib/say.h"
#include "lib/trace_home.h"

enum {
	COMMAND_MAX = 100, /* bytes of a command that are shown */
	HOW_MAX = 128,
	HOW_PART = 3,     /* of a terminal's columns one in so many says how it ended */
	COMMAND_MIN = 12, /* columns: less is not worth it */
};

struct list_arguments {
	bool by_signature, json, help;
};

/* "exit 2; SIGSEGV in cc1" */
static void describe_end(const struct trace_digest *d, char how[HOW_MAX])
{
	char end[64], name[4 * sizeof d->failures->command];
	size_t n;

	trace_digest_end(d, how, HOW_MAX);
	for (size_t i = 0; i < d->failure_count && i < FAILURES_MAX; i++) {
		const struct process_failure *f = &d->failures[i];

		if (!f->is_crash || f->is_first)
			continue;
		exit_words(f->kind, f->status, end, sizeof end);
		n = strlen(how);
		snprintf(how + n, HOW_MAX - n, "; %s in %.60s", end,
			 say_safely(name, sizeof name, f->command));
		n = strlen(how);
		if (d->crash_count > 1)
			snprintf(how + n, HOW_MAX - n, " and %zu more", d->crash_count - 1);
		return;
	}
}

/* The words as one would type them, cut to COMMAND_MAX. */
static void describe_command(const struct trace_digest *d, char *text, size_t size)
{
	char words[COMMAND_MAX + 1];
	size_t len = d->argv.len < COMMAND_MAX ? d->argv.len : COMMAND_MAX;

	*text = '\0';
	if (!len)
		return;
	memcpy(words, d->argv.data, len);
	while (len && !words[len - 1])
		len--;
	words[len] = '\0';
	for (size_t i = 0; i < len; i++)
		words[i] = words[i] ? words[i] : ' ';
	say_safely(text, size, words);
	if (d->argv.len > COMMAND_MAX)
		snprintf(text + strlen(text), size - strlen(text), "...");
}

/* Columns of the terminal that is printed to; 0: it is none, and nothing is cut. */
static size_t terminal_width(void)
{
	struct winsize size;

	if (!isatty(STDOUT_FILENO))
		return 0;
	return !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col ? size.ws_col : 80;
}

/* Cuts text to `most` bytes, which take no fewer columns, with "..." for what is gone. */
static void cut_text(char *text, size_t most)
{
	size_t n = most > 3 ? most - 3 : 0;

	if (strlen(text) <= most)
		return;
	while (n && ((unsigned char)text[n] & 0xc0) == 0x80)
		n--; /* not in the midst of a character */
	strcpy(text + n, "...");
}

/* how: columns for it. */
static void print_line(const struct trace_digest *d, const char *path, size_t how_width,
		       size_t width)
{
	time_t seconds = (time_t)(d->started / 1000000000u);
	char when[64] = "?", how[HOW_MAX], size[24], command[4 * COMMAND_MAX + 8];
	size_t taken;
	struct tm tm;

	if (localtime_r(&seconds, &tm))
		strftime(when, sizeof when, width ? "%F %H:%M" : "%F %T", &tm);
	describe_end(d, how);
	cut_text(how, how_width);
	describe_command(d, command, sizeof command);
	size_words(d->size, size);
	taken = strlen(when) + how_width + strlen(path) + sizeof "      1023 KB  " - 1;
	if (width && taken + COMMAND_MIN > width)
		*command = '\0';
	else if (width)
		cut_text(command, width - taken);
	printf("%s  %-*s  %7s  %s%s%s\n", when, (int)how_width, how, size, path,
	       *command ? "  " : "", command);
}

/* On a terminal a line each: the folder stands above them, and what has no room is cut. */
static void print_lines(const struct trace_shelf *s, const char *dir, struct shown_path *shown)
{
	size_t width = terminal_width(), how_width = 8;
	char how[HOW_MAX];

	for (size_t i = 0; i < s->count; i++) {
		describe_end(&s->at[i], how);
		how_width = strlen(how) > how_width ? strlen(how) : how_width;
	}
	if (width && how_width > width / HOW_PART)
		how_width = width / HOW_PART > 8 ? width / HOW_PART : 8;
	if (width && s->count)
		printf("Traces in %s:\n", say_safely(shown->safe, sizeof shown->safe, dir));
	for (size_t i = 0; i < s->count; i++) {
		snprintf(shown->path, sizeof shown->path, width ? "%.0s%s" : "%s/%s", dir,
			 s->at[i].name);
		print_line(&s->at[i], say_safely(shown->safe, sizeof shown->safe, shown->path),
			   how_width, width);
	}
}

/* ---- JSON ---- */

static void put_argv(struct buf *b, const struct buf *argv)
{
	json_out(b, "[");
	for (size_t at = 0; at < argv->len;) {
		size_t len = strnlen((const char *)argv->data + at, argv->len - at);

		json_out(b, at ? ", " : "");
		json_out_text(b, slice_of(argv->data + at, len));
		at += len + 1;
	}
	json_out(b, "]");
}

static void put_end(struct buf *b, uint8_t kind, uint32_t status)
{
	char words[64];

	exit_words(kind, status, words, sizeof words);
	json_out(b, kind == BT_EXIT_SIGNAL ? "\"signal\": " : "\"status\": ");
	if (kind == BT_EXIT_SIGNAL)
		json_out_text(b, bt_str(words));
	else
		json_out(b, "%" PRIu32, status);
}

static void put_failures(struct buf *b, const struct trace_digest *d)
{
	json_out(b, ", \"failures\": [");
	for (size_t i = 0; i < d->failure_count && i < FAILURES_MAX; i++) {
		const struct process_failure *f = &d->failures[i];

		json_out(b, "%s{\"process\": %" PRIu32 ", \"command\": ", i ? ", " : "", f->pid);
		json_out_text(b, bt_str(f->command));
		json_out(b, ", ");
		put_end(b, f->kind, f->status);
		json_out(b, ", \"crash\": %s}", f->is_crash ? "true" : "false");
	}
	json_out(b, "], \"failure_count\": %zu", d->failure_count);
}

static void put_trace(struct buf *b, const struct trace_digest *d, const char *path, bool latest)
{
	static const char *const states[] = {[TRACE_COMPLETE] = "complete",
					     [TRACE_BEING_WRITTEN] = "being written",
					     [TRACE_NOT_CLOSED] = "not closed",
					     [TRACE_UNREADABLE] = "unreadable"};

	json_out(b, "{\"path\": ");
	json_out_text(b, bt_str(path));
	json_out(b, ", \"state\": \"%s\", \"why\": ", states[d->state]);
	if (d->why)
		json_out_text(b, bt_str(d->why));
	else
		json_out(b, "null");
	json_out(b, ", \"latest\": %s, \"started\": \"%" PRIu64 "\", \"size\": %" PRIu64,
		 latest ? "true" : "false", d->started, d->size);
	json_out(b, ", \"program\": ");
	json_out_text(b, slice_of(d->program.data, d->program.len));
	json_out(b, ", \"argv\": ");
	put_argv(b, &d->argv);
	json_out(b, ", \"end\": ");
	if (d->has_end) {
		json_out(b, "{");
		put_end(b, d->end, d->status);
		json_out(b, "}");
	} else {
		json_out(b, "null");
	}
	put_failures(b, d);
	json_out(b, "}");
}

static int print_json(const struct trace_shelf *s, const char *dir, struct shown_path *shown,
		      struct bt_error *err)
{
	char link[BT_PATH_MAX + 16], latest[NAME_MAX + 2] = "";
	struct buf b = {0};
	int rc = 0;

	snprintf(link, sizeof link, "%s/latest", dir);
	if (readlink(link, latest, sizeof latest - 1) < 0)
		*latest = '\0';
	json_out(&b, "{\"schema\": \"btrec-list/1\", \"directory\": ");
	json_out_text(&b, bt_str(dir));
	json_out(&b, ", \"traces\": [");
	for (size_t i = 0; i < s->count; i++) {
		snprintf(shown->path, sizeof shown->path, "%s/%s", dir, s->at[i].name);
		json_out(&b, i ? ",\n  " : "\n  ");
		put_trace(&b, &s->at[i], shown->path, !strcmp(latest, s->at[i].name));
	}
	json_out(&b, "]}\n");
	if (b.failed)
		rc = bt_no_memory(err, NULL);
	else
		rc = bt_output(stdout, b.data, b.len, err);
	buf_release(&b);
	return rc;
}

/* ---- Groups ---- */

static int print_groups(const struct trace_shelf *s, const char *dir, struct bt_error *err)
{
	struct grouped_trace *traces = calloc(s->count + 1, sizeof *traces);
	int rc;

	if (!traces)
		return bt_no_memory(err, NULL);
	for (size_t i = 0; i < s->count; i++)
		traces[i] = (struct grouped_trace){s->at[i].name, s->at[i].started};
	rc = signature_groups_print(dir, traces, s->count, err);
	free(traces);
	return rc;
}

/* ---- The command ---- */

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
	{"json", 0, NULL, "print it as JSON, schema btrec-list/1",
	 .at = offsetof(struct list_arguments, json)},
	{"help", 'h', NULL, "show this", .at = offsetof(struct list_arguments, help)},
};

enum { ROWS = ARRAY_SIZE(rows) };

static int list_traces(const struct list_arguments *args, const char *dir, struct bt_error *err)
{
	struct shown_path *shown = malloc(sizeof *shown);
	struct trace_shelf s;
	int rc = shown ? trace_shelf_open(&s, dir, err) : bt_no_memory(err, NULL);

	if (!rc) {
		if (args->json)
			rc = print_json(&s, dir, shown, err);
		else if (args->by_signature && s.count)
			rc = print_groups(&s, dir, err);
		else
			print_lines(&s, dir, shown);
		if (!rc && !s.count && !args->json) {
			say("no traces in %s", dir);
			rc = 1;
		}
		trace_shelf_close(&s);
	}
	free(shown);
	return rc;
}

int btrec_list(int argc, char **argv)
{
	struct list_arguments args = {0};
	struct bt_error err;
	char dir[BT_PATH_MAX];
	int rc = options_parse(rows, ROWS, &args, argc, argv, &err);

	if (rc >= 0 && args.help) {
		puts("Usage: btrec list [OPTIONS]\nLists the traces, oldest first: when, how the "
		     "program ended, size, trace, command.\n\nOptions:");
		options_help(stdout, rows, ROWS);
		return 0;
	}
	if (rc >= 0 && rc < argc)
		rc = bt_fail(&err, BT_E_MISUSE, 0, "list takes no arguments");
	if (rc >= 0 && args.json && args.by_signature)
		rc = bt_fail(&err, BT_E_MISUSE, 0, "list: --json lists no groups");
	if (rc >= 0)
		rc = trace_home(dir, &err);
	if (rc >= 0)
		rc = list_traces(&args, dir, &err);
	return rc < 0 ? btrec_complain(&err) : rc;
}
