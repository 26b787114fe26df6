/* SPDX-License-Identifier: MIT */
/* Whether a full-screen program can use the terminal. Used by screen.c, and apart from it, as the
 * macros of <term.h> would take its names. No state. */
#ifndef BT_TERMINFO_H
#define BT_TERMINFO_H

#include <stdbool.h>

/* The type that TERM names is known and can place its cursor; curses itself takes some that cannot.
 */
bool terminfo_usable(void);

#endif
