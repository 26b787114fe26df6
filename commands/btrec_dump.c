/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "commands/btrec_commands.h"
#include "decoder/model/dump.h"
#include "lib/array_size.h"
#include "lib/trace_home.h"

struct dump_arguments {
	bool no_branches, help;
};

static const struct option_row rows[] = {
	{"no-branches", 0, NULL, "leave out the entries of branch histories",
	 .at = offsetof(struct dump_arguments, no_branches)},
	{"help", 'h', NULL, "show this", .at = offsetof(struct dump_arguments, help)},
};

int btrec_dump(int argc, char **argv)
{
	struct dump_arguments args = {0};
	char path[BT_PATH_MAX];
	struct bt_error err;
	struct trace *t;
	size_t damaged;
	int at = options_parse(rows, ARRAY_SIZE(rows), &args, argc, argv, &err);

	if (at >= 0 && args.help) {
		puts("Usage: btrec dump [OPTIONS] [TRACE]\nPrints every record of a trace, the "
		     "latest by default.\n\nOptions:");
		options_help(stdout, rows, ARRAY_SIZE(rows));
		return 0;
	}
	if (at < 0 || btrec_trace_argument(argc, argv, at, path, &err) ||
	    trace_open(&t, path, &err))
		return btrec_complain(&err);
	damaged = trace_dump(stdout, t, !args.no_branches);
	trace_close(t);
	return damaged ? bt_error_exit_status(BT_E_CORRUPT) : 0;
}
