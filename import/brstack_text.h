/* SPDX-License-Identifier: MIT */
/* Reads what `perf script -F ...,brstack` prints: a sample a line, its branches as FROM/TO/PREDICTED/IN_TX/ABORT/CYCLES[/TYPE[/SPEC]],
 * newest first. Any of comm, pid, tid, cpu, time, event and ip may stand before them; addresses may have their file in brackets
 * behind them; the lines of a callchain may stand between a sample's first line and its branches. There are no mappings in it. */
#ifndef BT_BRSTACK_TEXT_H
#define BT_BRSTACK_TEXT_H

#include "import/importer.h"

enum {
	BRSTACK_TEXT_LOOKED_AT = 1 << 16, /* bytes in which a text must show what it is */
};

/* Whether the bytes are text that has a branch in its first lines. */
bool brstack_text_is(struct slice text);

/* Imports it. Errors, with the offset: BT_E_CORRUPT (a branch that is none), BT_E_NO_MEMORY. */
int brstack_text_import(struct importer *im, struct slice text, struct bt_error *err) BT_MUST_USE;

#endif
