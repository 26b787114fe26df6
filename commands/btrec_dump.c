/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "commands/btrec_commands.h"
#include "decoder/model/dump.h"

static const char usage[] =
	"Usage: btrec dump [TRACE]\nPrints every record of a trace, the latest by default.";

int btrec_dump(int argc, char **argv)
{
	struct bt_error err;
	struct trace *t;
	char path[4096];
	size_t damaged;
	int at = btrec_parse_plain(argc, argv, usage, &err);

	if (!at)
		return 0;
	if (at < 0 || btrec_trace_argument(argc, argv, at, path, &err) ||
	    trace_open(&t, path, &err))
		return btrec_complain(&err);
	damaged = trace_dump(stdout, t);
	trace_close(t);
	return damaged ? bt_error_exit_status(BT_E_CORRUPT) : 0;
}
