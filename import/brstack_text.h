/* SPDX-License-Identifier: MIT */
/* Reads the output of `perf script -F ...,brstack`, perf 6.1 to 6.14 and later: samples one behind
 * the other, each with its branches newest first. Reads any set of the fields comm, pid, tid, cpu,
 * time, event and ip before them; all samples together show which set it is (script_head.h). Lines
 * of a callchain, of srcline and of brstackinsn may stand among them. The text has no mappings.
 * Used by capture.c. Any text can be given. */
#ifndef BT_BRSTACK_TEXT_H
#define BT_BRSTACK_TEXT_H

#include "import/importer.h"

enum {
	BRSTACK_TEXT_LOOKED_AT = 1 << 16, /* bytes in which a text must show its format */
};

/* Whether the bytes are text with branches in its first lines, even in a field that cannot be
 * read. */
bool brstack_text_is(struct slice text);

/* Imports it. Errors, with the offset: BT_E_CORRUPT (a malformed branch, samples with different
 * fields), BT_E_UNSUPPORTED (a field without addresses, or without their owner: the text names it),
 * BT_E_NO_MEMORY. */
int brstack_text_import(struct importer *im, struct slice text, struct bt_error *err) BT_MUST_USE;

#endif
