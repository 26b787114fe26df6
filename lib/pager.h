/* SPDX-License-Identifier: MIT */
/* The user's pager, for text that may be longer than the screen: $BTREC_PAGER, else $PAGER, else
 * less -FRX; none where that is empty or cat, or the terminal can do nothing (TERM=dumb). Used by
 * the mains. Not to be called while other threads run: it forks. */
#ifndef BT_PAGER_H
#define BT_PAGER_H

#include "lib/error.h"
#include "lib/slice.h"

/* Shows the text, which goes to standard output where there is no pager, or none could be started.
 * Returns when the user has left the pager. One that ends early is left in peace. Errors: BT_E_IO.
 */
int pager_show(struct slice text, struct bt_error *err) BT_MUST_USE;

/* Whether it passes colours on: less(1) does so with -R only, which $LESS may leave out. */
bool pager_shows_colours(void);

#endif
