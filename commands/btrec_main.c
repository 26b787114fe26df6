/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "collector/supervisor/program.h"
#include "commands/btrec_commands.h"
#include "config.h"
#include "lib/array_size.h"
#include "lib/output.h"
#include "lib/room_for_stack.h"
#include "lib/say.h"
#include "lib/trace_home.h"

struct command {
	const char *name, *arguments, *help;
	int (*run)(int argc, char **argv);
};

static int btrec_help(int argc, char **argv);

static const struct command commands[] = {
	{"run", "[OPTIONS] [--] PROGRAM [ARG...]", "record a program", btrec_run},
	{"snap", "PID", "keep the present moment of a recorded process", btrec_snap},
	{"import", "[OPTIONS] FILE|-", "make a trace of a perf.data or a core file", btrec_import},
	{"list", "[OPTIONS]", "list the traces", btrec_list},
	{"rm", "TRACE...", "remove traces", btrec_rm},
	{"prune", "[OPTIONS]", "remove the oldest traces", btrec_prune},
	{"replay", "[OPTIONS] [TRACE]", "run a recording again, exactly", btrec_replay},
	{"pack", "[OPTIONS] [TRACE]", "make one file of a trace", btrec_pack},
	{"info", "[TRACE]", "what a trace holds and how it was made", btrec_info},
	{"doctor", "[--json]", "what of this machine a recording can use", btrec_doctor},
	{"dump", "[TRACE]", "print every record of a trace", btrec_dump},
	{"help", "[COMMAND]", "show the options of a command", btrec_help},
};

struct main_arguments {
	bool help, version;
};

static const struct option_row rows[] = {
	{"help", 'h', NULL, "show this", .at = offsetof(struct main_arguments, help)},
	{"version", 'V', NULL, "show the version", .at = offsetof(struct main_arguments, version)},
};

static void print_help(FILE *to)
{
	fputs("Usage: btrec COMMAND [ARGUMENTS]\nA flight recorder for Linux programs: it keeps "
	      "the branches that led to a crash.\n\nCommands:\n",
	      to);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		fprintf(to, "  %-6s %-32s %s\n", commands[i].name, commands[i].arguments,
			commands[i].help);
	fputs("\nOptions:\n", to);
	options_help(to, rows, ARRAY_SIZE(rows));
	fputs("\n`btrec help COMMAND` tells more. btview(1) shows a trace.\n", to);
}

int btrec_complain(const struct bt_error *err)
{
	say("%s", err->text);
	return bt_error_exit_status(err->code);
}

int btrec_parse_plain(int argc, char **argv, const char *usage, struct bt_error *err)
{
	const struct option_row *help_row = &rows[0];
	struct main_arguments args = {0};
	int at = options_parse(help_row, 1, &args, argc, argv, err);

	if (at < 0 || !args.help)
		return at;
	printf("%s\n\nOptions:\n", usage);
	options_help(stdout, help_row, 1);
	return 0;
}

int btrec_trace_argument(int argc, char **argv, int operand, char path[BT_PATH_MAX],
			 struct bt_error *err)
{
	if (argc - operand > 1)
		return bt_fail(err, BT_E_MISUSE, 0, "%s: one trace at a time, not %d", argv[0],
			       argc - operand);
	if (argc - operand == 1) {
		trace_home_find(argv[operand], path);
		return 0;
	}
	return trace_home_latest(path, err);
}

static const struct command *command_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

static const char help_usage[] =
	"Usage: btrec help [COMMAND]\nShows the commands, or the options of one.";

/* btrec help COMMAND: the same as btrec COMMAND --help. */
static int btrec_help(int argc, char **argv)
{
	char option[] = "--help", *words[] = {NULL, option, NULL};
	const struct command *c;
	struct bt_error err;
	int at = btrec_parse_plain(argc, argv, help_usage, &err);

	if (!at)
		return 0;
	if (at > 0 && argc - at > 1)
		at = bt_fail(&err, BT_E_MISUSE, 0, "help: one command at a time");
	if (at < 0)
		return btrec_complain(&err);
	if (at == argc) {
		print_help(stdout);
		return 0;
	}
	c = command_find(argv[at]);
	if (!c) {
		say("help: there is no command %s (see btrec help)", argv[at]);
		return bt_error_exit_status(BT_E_MISUSE);
	}
	words[0] = argv[at];
	return c->run(2, words);
}

/* Whether the name is a program that the user wants to record, and not a command. */
static bool is_program(const char *name)
{
	char path[BT_PATH_MAX];

	return *name != '-' && (strchr(name, '/') || (*name && !program_find(name, path, NULL)));
}

static int run_command(int argc, char **argv)
{
	struct main_arguments args = {0};
	struct bt_error err;
	int at = options_parse_to_operand(rows, ARRAY_SIZE(rows), &args, argc, argv, &err);
	const struct command *found;
	const char *name;

	if (args.help) {
		print_help(stdout);
		return 0;
	}
	if (args.version) {
		puts("btrec " PACKAGE_VERSION);
		return 0;
	}
	if (at < 0)
		return btrec_complain(&err);
	name = at < argc ? argv[at] : "";
	found = command_find(name);
	if (found)
		return found->run(argc - at, argv + at);
	if (is_program(name)) {
		say("unknown command %s; to record it: btrec run %s", name, name);
		return 2;
	}
	if (at < argc)
		say("unknown command %s", *name ? name : "''");
	print_help(stderr);
	return 2;
}

int main(int argc, char **argv)
{
	struct bt_error err;
	int status = with_room_for_stack(run_command, argc, argv);

	return bt_output_end(stdout, &err) ? btrec_complain(&err) : status;
}
