/* SPDX-License-Identifier: MIT */
#include <limits.h>
#include <stdio.h>

#include "commands/btrec_commands.h"
#include "commands/control.h"

static const char usage[] = "Usage: btrec snap PID\nKeeps the present moment of a recorded "
			    "process, or of all that a running `btrec run` records.";

int btrec_snap(int argc, char **argv)
{
	struct bt_error err;
	int at = btrec_parse_plain(argc, argv, usage, &err), count, due;
	unsigned long long pid = 0;

	if (!at)
		return 0;
	if (at > 0 && argc - at != 1)
		at = bt_fail(&err, BT_E_MISUSE, 0,
			     "snap: one process id, please (see btrec snap --help)");
	if (at > 0)
		at = options_number("snap", argv[at], 1, UINT64_MAX, &pid, &err);
	if (at >= 0 && pid > INT_MAX)
		at = bt_fail(&err, BT_E_GONE, 0, "no process %llu", pid);
	if (at < 0)
		return btrec_complain(&err);
	count = control_request_snapshot((int)pid, &due, &err);
	if (count < 0)
		return btrec_complain(&err);
	printf("kept %d snapshot%s", count, count == 1 ? "" : "s");
	if (due)
		printf("; %d process%s not stopped yet: kept when %s", due,
		       due == 1 ? " has" : "es have", due == 1 ? "it does" : "they do");
	putchar('\n');
	return 0;
}
