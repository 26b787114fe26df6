/* SPDX-License-Identifier: MIT */
/* Whether a full-screen program can use the terminal. Used by screen.c; separate from it because
 * macros of <term.h> clash with its names. No state. */
#ifndef BT_TERMINFO_H
#define BT_TERMINFO_H

#include <stdbool.h>

/* Whether the terminal type in TERM is known and can place its cursor; curses accepts some that
 * cannot. */
bool terminfo_usable(void);

#endif
