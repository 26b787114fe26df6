/* SPDX-License-Identifier: MIT */
/* The commands of the program btrec. Each takes its own argv (argv[0] is its name), prints, and
 * returns the exit status. Each has a file of its own; btrec_main.c chooses. No library prints. */
#ifndef BT_BTREC_COMMANDS_H
#define BT_BTREC_COMMANDS_H

#include "collector/backend/pmu/perf_ops.h"
#include "lib/error.h"
#include "lib/options.h"

struct backend_ops;

int btrec_run(int argc, char **argv);
/* btrec_run() over another kernel and another runner of code, for tests of the pmu backend. */
int btrec_run_on(int argc, char **argv, const struct perf_kernel *kernel,
		 const struct backend_ops *runner);
int btrec_snap(int argc, char **argv);
int btrec_import(int argc, char **argv);
int btrec_list(int argc, char **argv);
int btrec_rm(int argc, char **argv);
int btrec_prune(int argc, char **argv);
int btrec_replay(int argc, char **argv);
int btrec_info(int argc, char **argv);
int btrec_pack(int argc, char **argv);
int btrec_dump(int argc, char **argv);
int btrec_doctor(int argc, char **argv);

/* Parses the arguments of a command whose only option is --help; prints usage on --help. Returns
 * the index of the first operand; 0 when help was shown; -BT_E_MISUSE. */
int btrec_parse_plain(int argc, char **argv, const char *usage, struct bt_error *err);

/* Prints "btrec: TEXT" to stderr and returns the error's exit status. */
int btrec_complain(const struct bt_error *err);

/* The trace named by the only operand, or the latest one. path[4096]. */
int btrec_trace_argument(int argc, char **argv, int operand, char path[4096], struct bt_error *err);

#endif
