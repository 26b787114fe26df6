/* SPDX-License-Identifier: MIT */
/* Keeps the symbols of a trace with it (doc/FORMAT.md, "Symbols"): makes what btview shows of it,
 * unseen, and writes what it asked of the program's files. Used by btview, which `btrec run` asks
 * for it at the end of a recording. */
#ifndef BT_KEEP_H
#define BT_KEEP_H

#include "decoder/symbols/symbols.h"

/* s: just opened, and symbols_note() was called of it. milliseconds: of time for what the first
 * screen does not need. Errors: those of symbols_keep(). */
int keep_symbols(const struct model *m, struct symbols *s, int milliseconds,
		 struct bt_error *err) BT_MUST_USE;

#endif
