/* SPDX-License-Identifier: MIT */
/* btrec doctor: the facilities of this machine that a recording can use. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "collector/doctor/doctor.h"
#include "commands/btrec_commands.h"
#include "lib/array_size.h"

struct doctor_arguments {
	bool json, help;
};

static const struct option_row rows[] = {
	{"json", 0, NULL, "print it as JSON, schema btrec-doctor/1",
	 .at = offsetof(struct doctor_arguments, json)},
	{"help", 'h', NULL, "show this", .at = offsetof(struct doctor_arguments, help)},
};

enum { ROWS = ARRAY_SIZE(rows) };

int btrec_doctor(int argc, char **argv)
{
	struct doctor_arguments args = {0};
	struct doctor *doctor;
	struct bt_error err;
	int rc = options_parse(rows, ROWS, &args, argc, argv, &err);

	if (rc >= 0 && args.help) {
		puts("Usage: btrec doctor [OPTIONS]\nTells what of this machine a recording can "
		     "use, why not the rest, and what changes that.\n\nOptions:");
		options_help(stdout, rows, ROWS);
		return 0;
	}
	if (rc >= 0 && rc < argc)
		rc = bt_fail(&err, BT_E_MISUSE, 0, "doctor: takes no argument, not %s", argv[rc]);
	if (rc < 0)
		return btrec_complain(&err);
	signal(SIGCHLD, SIG_DFL); /* children of ours tell something by how they end */
	doctor = malloc(sizeof *doctor);
	if (!doctor) {
		bt_no_memory(&err, NULL);
		return btrec_complain(&err);
	}
	doctor_init(doctor, machine_here());
	rc = args.json ? doctor_print_json(stdout, doctor, &err)
		       : doctor_print_text(stdout, doctor);
	free(doctor);
	if (rc < 0)
		return btrec_complain(&err);
	return rc ? 0 : bt_error_exit_status(BT_E_NO_HARDWARE);
}
