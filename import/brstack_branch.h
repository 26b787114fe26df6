/* SPDX-License-Identifier: MIT */
/* One branch as perf script prints it (perf_sample__fprintf_brstack, tools/perf/builtin-script.c):
 * FROM/TO/EVENT/IN_TX/ABORT/CYCLES[/TYPE[/SPECULATION]]. An address is 0x and hexadecimal; with the
 * field dso its file stands behind it in brackets, in perf 6.1 at once, in later versions with a
 * blank before. Pure. Used by brstack_text.c. Any text can be given. */
#ifndef BT_BRSTACK_BRANCH_H
#define BT_BRSTACK_BRANCH_H

#include "import/importer.h"

struct brstack_branch {
	struct import_branch entry;
	struct slice file; /* of its first address; empty: not told */
	bool taken;        /* false: the processor reports a branch that was not taken (Arm) */
};

/* Whether a branch begins here: an address with or without a file, a slash, an address. */
bool brstack_branch_begins(struct slice text);

/* Takes the next branch off the text. Returns false and leaves the text if there is none. */
bool brstack_branch_take(struct slice *text, struct brstack_branch *b);

/* The offset of the first branch in a line; line.len if there is none. */
size_t brstack_branch_find(struct slice line);

/* Whether the line has the flags that perf prints behind a branch's addresses. The fields of
 * symbols print them, too. */
bool brstack_flags_stand_in(struct slice line);

#endif
