/* SPDX-License-Identifier: MIT */
/* The interactive viewer of a trace: what btview shows on a terminal. Model and symbols are the
 * caller's; the model does not change. */
#ifndef BT_TUI_H
#define BT_TUI_H

#include "decoder/focus.h"

/* Shows a trace on the terminal until the user quits; the terminal is as before then. Sets the
 * process' LC_CTYPE. m and s stay the caller's. Begins with the thread and at the newest branch of
 * the function that o asks for; its count is not for the viewer. Returns 0; 1 when there is no such
 * thread or branch; -BT_E_UNSUPPORTED (no terminal, or none that curses knows), -BT_E_IO (the
 * terminal went away), -BT_E_NO_MEMORY. One at a time. */
int tui_run(struct model *m, struct symbols *s, const struct report_options *o,
	    struct bt_error *err) BT_MUST_USE;

#endif
