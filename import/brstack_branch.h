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
	struct slice file; /* that its first address is in; empty: not told */
	bool taken; /* false of one that the processor reports though it was not taken (Arm) */
};

/* Whether a branch begins here: an address with or without a file, a slash, an address. */
bool brstack_branch_begins(struct slice text);

/* Takes the next branch off the text. False, with the text as it was, when none is there. */
bool brstack_branch_take(struct slice *text, struct brstack_branch *b);

/* Where the first branch of a line begins; line.len: it has none. */
size_t brstack_branch_find(struct slice line);

/* Whether the line has what perf prints behind a branch's addresses: so do the fields of symbols,
 * too. */
bool brstack_flags_stand_in(struct slice line);

#endif
