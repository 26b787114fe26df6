/* SPDX-License-Identifier: MIT */
/* The parts of this machine that a recording can use, each with the reason for its verdict and with
 * what changes it. `btrec doctor` prints all of it; `btrec run` asks for what it needs to choose. A
 * row is probed when it is asked for, once: rows rest on others. */
#ifndef BT_DOCTOR_H
#define BT_DOCTOR_H

#include <stdbool.h>
#include <stdio.h>

#include "collector/doctor/machine.h"
#include "lib/error.h"

enum doctor_row {
#define BT_DOCTOR_ROW(id, group, name, serves, probe) DOCTOR_##id,
#include "collector/doctor/rows.def"
#undef BT_DOCTOR_ROW
	DOCTOR_ROWS,
};

enum doctor_answer {
	DOCTOR_NOT_ASKED,
	DOCTOR_YES,
	DOCTOR_PARTLY,
	DOCTOR_NO,
	DOCTOR_FACT, /* neither good nor bad */
};

struct doctor_verdict {
	enum doctor_answer answer;
	char why[240];    /* one line */
	char change[240]; /* a command, or in words what changes it; empty: nothing to change, or
			     nothing that could be */
};

struct doctor {
	struct machine machine;
	struct doctor_verdict verdicts[DOCTOR_ROWS];
	bool hurried; /* doctor_hurry() */
};

/* The backend and the source that btrec run uses by default. */
struct doctor_choice {
	const char *backend; /* its name; NULL: nothing records here */
	const char *source;  /* of its branches */
	char reason[300];
};

void doctor_init(struct doctor *d, struct machine machine);

/* The verdict of a row; it stays where it is. */
const struct doctor_verdict *doctor_ask(struct doctor *d, enum doctor_row row);

/* Takes a row for good without asking: its caller will find out. */
void doctor_presume(struct doctor *d, enum doctor_row row);

/* From now on only what decides is asked: verdicts may be better than things are. For a recording
 * that is about to start. */
void doctor_hurry(struct doctor *d);

/* Asks only what the choice depends on: some system calls. */
void doctor_choose(struct doctor *d, struct doctor_choice *out);

/* All rows as a table, or as JSON, schema btrec-doctor/1 (doc/doctor.schema.json). Returns whether
 * anything records here, or -BT_E_NO_MEMORY. */
int doctor_print_text(FILE *to, struct doctor *d);
int doctor_print_json(FILE *to, struct doctor *d, struct bt_error *err);

#endif
