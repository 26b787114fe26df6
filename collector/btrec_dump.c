/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "collector/btrec_commands.h"
#include "decoder/dump.h"

static int set_flag(void *target, const char *value, struct bt_error *err)
{
	(void)value;
	(void)err;
	*(bool *)target = true;
	return 0;
}

static const struct option_row rows[] = {
	{"help", 'h', NULL, "show this", set_flag},
};

int btrec_dump(int argc, char **argv)
{
	struct bt_error err;
	struct trace *t;
	bool help = false;
	char path[4096];
	size_t damaged;
	int at = options_parse(rows, 1, &help, argc, argv, &err);

	if (help) {
		puts("Usage: btrec dump [TRACE]\nPrints every record of a trace, the latest by default.\n\nOptions:");
		options_help(stdout, rows, 1);
		return 0;
	}
	if (at < 0 || btrec_trace_argument(argc, argv, at, path, &err) || trace_open(&t, path, &err))
		return btrec_complain(&err);
	damaged = trace_dump(stdout, t);
	trace_close(t);
	return damaged ? bt_error_exit_status(BT_E_CORRUPT) : 0;
}
