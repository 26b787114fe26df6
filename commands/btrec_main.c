/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "collector/program.h"
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

static const struct command commands[] = {
	{"run", "[OPTIONS] [--] PROGRAM [ARG...]", "record a program", btrec_run},
	{"snap", "PID", "keep the present moment of a recorded process", btrec_snap},
	{"import", "[OPTIONS] FILE|-", "make a trace of a perf.data or a core file", btrec_import},
	{"list", "", "list the traces", btrec_list},
	{"info", "[TRACE]", "what a trace holds and how it was made", btrec_info},
	{"doctor", "[--json]", "what of this machine a recording can use", btrec_doctor},
	{"dump", "[TRACE]", "print every record of a trace", btrec_dump},
};

static void help(FILE *to)
{
	fputs("Usage: btrec COMMAND [ARGUMENTS]\nA flight recorder for Linux programs: it keeps "
	      "the branches that led to a crash.\n\nCommands:\n",
	      to);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		fprintf(to, "  %-6s %-32s %s\n", commands[i].name, commands[i].arguments,
			commands[i].help);
	fputs("\nOptions:\n  -h, --help      show this\n  -V, --version   show the "
	      "version\n\n`btrec COMMAND --help` tells more. btview(1) shows a trace.\n",
	      to);
}

int btrec_complain(const struct bt_error *err)
{
	say("%s", err->text);
	return bt_error_exit_status(err->code);
}

static int set_flag(void *target, const char *value, struct bt_error *err)
{
	(void)value;
	(void)err;
	*(bool *)target = true;
	return 0;
}

int btrec_parse_plain(int argc, char **argv, const char *usage, struct bt_error *err)
{
	static const struct option_row rows[] = {{"help", 'h', NULL, "show this", set_flag}};
	bool help = false;
	int at = options_parse(rows, 1, &help, argc, argv, err);

	if (at < 0 || !help)
		return at;
	printf("%s\n\nOptions:\n", usage);
	options_help(stdout, rows, 1);
	return 0;
}

int btrec_trace_argument(int argc, char **argv, int operand, char path[BT_PATH_MAX],
			 struct bt_error *err)
{
	if (argc - operand > 1)
		return bt_fail(err, BT_E_MISUSE, 0, "%s: one trace at a time, not %d", argv[0],
			       argc - operand);
	if (argc - operand == 1) {
		snprintf(path, BT_PATH_MAX, "%s", argv[operand]);
		return 0;
	}
	return trace_home_latest(path, err);
}

/* Whether it is what the user wants to record, and not a command. */
static bool is_program(const char *name)
{
	char path[BT_PATH_MAX];

	return *name != '-' && (strchr(name, '/') || (*name && !program_find(name, path, NULL)));
}

static int command(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(commands[i].name, name))
			return commands[i].run(argc - 1, argv + 1);
	if (!strcmp(name, "--help") || !strcmp(name, "-h")) {
		help(stdout);
		return 0;
	}
	if (!strcmp(name, "--version") || !strcmp(name, "-V")) {
		puts("btrec " PACKAGE_VERSION);
		return 0;
	}
	if (is_program(name)) {
		say("unknown command %s; to record it: btrec run %s", name, name);
		return 2;
	}
	if (argc > 1)
		say("unknown command %s", *name ? name : "''");
	help(stderr);
	return 2;
}

int main(int argc, char **argv)
{
	struct bt_error err;
	int status = with_room_for_stack(command, argc, argv);

	return bt_output_end(stdout, &err) ? btrec_complain(&err) : status;
}
