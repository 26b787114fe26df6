/* SPDX-License-Identifier: MIT */
/* Reads what `perf script -F ...,brstack` prints, of perf 6.1 to 6.14 and later: samples, one
 * behind the other, the branches of each newest first. Of the fields before them comm, pid, tid,
 * cpu, time, event and ip are read, in whatever set; which of them there are is found out of all
 * samples together (script_head.h). The lines of a callchain, of srcline and of brstackinsn may
 * stand among them. There are no mappings in it. Used by capture.c. Any text can be given. */
#ifndef BT_BRSTACK_TEXT_H
#define BT_BRSTACK_TEXT_H

#include "import/importer.h"

enum {
	BRSTACK_TEXT_LOOKED_AT = 1 << 16, /* bytes in which a text must show what it is */
};

/* Whether the bytes are text that has branches in its first lines, be it as a field that cannot be
 * read. */
bool brstack_text_is(struct slice text);

/* Imports it. Errors, with the offset: BT_E_CORRUPT (a branch that is none, samples that differ in
 * their fields), BT_E_UNSUPPORTED (a field that tells no addresses, or not whose they are: it is
 * named), BT_E_NO_MEMORY. */
int brstack_text_import(struct importer *im, struct slice text, struct bt_error *err) BT_MUST_USE;

#endif
