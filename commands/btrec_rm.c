/* SPDX-License-Identifier: MIT */
/* btrec rm: removes traces. */
#include <stdio.h>

#include "commands/btrec_commands.h"
#include "commands/trace_shelf.h"
#include "lib/trace_home.h"

static const char usage[] = "Usage: btrec rm TRACE...\nRemoves traces: directories, or names of "
			    "traces in the trace directory.";

static int remove_named(const char *name, struct bt_error *err)
{
	char path[BT_PATH_MAX];

	trace_home_find(name, path);
	return trace_remove(path, err);
}

int btrec_rm(int argc, char **argv)
{
	struct bt_error err;
	int at = btrec_parse_plain(argc, argv, usage, &err), status = 0;

	if (!at)
		return 0;
	if (at > 0 && at == argc)
		at = bt_fail(&err, BT_E_MISUSE, 0, "rm: which trace? (see btrec list)");
	if (at < 0)
		return btrec_complain(&err);
	for (; at < argc; at++)
		if (remove_named(argv[at], &err)) {
			int failed = btrec_complain(&err);

			status = status ? status : failed;
		}
	return status;
}
