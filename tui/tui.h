/* SPDX-License-Identifier: MIT */
/* The interactive viewer of a trace. */
#ifndef BT_TUI_H
#define BT_TUI_H

#include "decoder/model.h"
#include "decoder/symbols.h"

/* Shows a trace on the terminal until the user quits; the terminal is as before then. Sets the process' LC_CTYPE.
 * m and s stay the caller's. Returns 0; -BT_E_UNSUPPORTED (no terminal, or none that curses knows), -BT_E_IO (the terminal
 * went away), -BT_E_NO_MEMORY. One at a time. */
int tui_run(struct model *m, struct symbols *s, struct bt_error *err) BT_MUST_USE;

#endif
