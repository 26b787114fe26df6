/* SPDX-License-Identifier: MIT */
/* The interactive viewer of a trace, for btview on a terminal. The caller owns model and symbols;
 * the model does not change. */
#ifndef BT_TUI_H
#define BT_TUI_H

#include "decoder/cause/focus.h"

/* Shows a trace on the terminal until the user quits, then restores the terminal. Sets the process'
 * LC_CTYPE. Begins with o's thread, at the newest branch of o's function; ignores o's count.
 * Returns 0; 1 when there is no such thread or branch; -BT_E_UNSUPPORTED (no terminal, or none that
 * curses knows), -BT_E_IO (the terminal went away), -BT_E_NO_MEMORY. One at a time. */
int tui_run(struct model *m, struct symbols *s, const struct report_options *o,
	    struct bt_error *err) BT_MUST_USE;

#endif
