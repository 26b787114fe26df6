/* SPDX-License-Identifier: MIT */
/* Where traces are when the user names none: the same for who makes one and who shows it. Used by
 * btrec, which makes traces there, and btview. Nothing is made here (directories.h). */
#ifndef BT_TRACE_HOME_H
#define BT_TRACE_HOME_H

#include "lib/error.h"

enum {
	BT_PATH_MAX = 4096,
};

/* The directory that holds traces: $BTREC_TRACE_DIR, else $XDG_DATA_HOME/btrec (when absolute),
 * else .local/share/btrec in $HOME, or, where that is not set, in the home directory of the user's
 * account. It need not be there. Errors: BT_E_IO. */
int trace_home(char dir[BT_PATH_MAX], struct bt_error *err) BT_MUST_USE;

/* The latest trace there, of which it is not said that it is. Errors: BT_E_IO. */
int trace_home_latest(char path[BT_PATH_MAX], struct bt_error *err) BT_MUST_USE;

#endif
