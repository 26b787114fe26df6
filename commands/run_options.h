/* SPDX-License-Identifier: MIT */
/* The options of `btrec run`: their table, their defaults, their values. Used by btrec run.
 * Strings are argv's. */
#ifndef BT_RUN_OPTIONS_H
#define BT_RUN_OPTIONS_H

#include <stdio.h>

#include "collector/record/recording.h"
#include "collector/supervisor/supervisor.h"
#include "commands/mode.h"
#include "commands/trace_shelf.h"
#include "lib/error.h"

struct run_options {
	struct recording_options recording;
	struct supervisor_options supervisor;
	struct test_knobs tests;
	struct mode_wish wish;
	struct stop_point *stop_points; /* owned; recording.stop_points */
	const char **functions;         /* owned; recording.functions */
	const char *output;             /* -o, or NULL */
	int patience;                   /* ms for what happened (cause.h) */
	struct shelf_limits limits;     /* of the traces in the trace directory */
	bool no_aslr;                   /* the program's addresses are not randomized */
	bool only_crashes;              /* of a run that ends well no trace is kept */
	bool has_log_size;              /* --log-size */
	bool no_symbols;                /* they are not kept with the trace */
	bool quiet, help;
};

/* Sets every default. */
void run_options_init(struct run_options *o);

void run_options_release(struct run_options *o);

/* Parses argv[1..] up to the program. Returns the program's index (argc if there is none), or a
 * negative error: BT_E_MISUSE, BT_E_NO_MEMORY. Options before the error keep their values. */
int run_options_parse(struct run_options *o, int argc, char **argv,
		      struct bt_error *err) BT_MUST_USE;

/* Prints a line for each option, without those for tests. */
void run_options_help(FILE *to);

#endif
