/* SPDX-License-Identifier: MIT */
/* The processes of a tree that failed (model_failure), as the report and the viewer list them. The
 * texts hold names from outside: escape them to show them. */
#ifndef BT_FAILURES_H
#define BT_FAILURES_H

#include "decoder/model/model.h"

enum {
	FAILURES_SHOWN = 10,
	FAILURE_TEXT_MAX = 160,
};

/* Whether they are to be listed where this moment (NULL: none) is explained: there are several, or
 * one that it is not of. */
bool failures_are_told(const struct model *m, const struct model_snapshot *snap);

/* Picks those to list when there are too many: the first crashes, then the newest. Returns how many
 * indices of m->failures are in chosen, in order. */
size_t failures_choose(const struct model *m, size_t chosen[FAILURES_SHOWN]);

/* "killed by SIGSEGV", "exited with status 1". Returns out. */
const char *failure_end(const struct model_failure *f, char out[FAILURE_TEXT_MAX]);

/* "task 4: cc -c a.c": its command line, cut short. Returns out. */
const char *failure_command(const struct model_failure *f, char out[FAILURE_TEXT_MAX]);

/* How many lack a line: "and 12 more, which --json lists"; "" for none. Returns out. */
const char *failures_rest(const struct model *m, size_t shown, char out[FAILURE_TEXT_MAX]);

/* "Failures: 3 of 12 processes, in the order of their ends". Returns out. */
const char *failures_heading(const struct model *m, char out[FAILURE_TEXT_MAX]);

#endif
