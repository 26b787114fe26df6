/* SPDX-License-Identifier: MIT */
/* The default place of traces. Used by btrec, which makes traces there, and by btview. Makes
 * nothing itself (directories.h). */
#ifndef BT_TRACE_HOME_H
#define BT_TRACE_HOME_H

#include "lib/error.h"

enum {
	BT_PATH_MAX = 4096,
};

/* The directory that holds traces: $BTREC_TRACE_DIR, else $XDG_DATA_HOME/btrec (when absolute),
 * else .local/share/btrec in $HOME or, if that is not set, in the home directory of the user's
 * account. It need not exist. Errors: BT_E_IO. */
int trace_home(char dir[BT_PATH_MAX], struct bt_error *err) BT_MUST_USE;

/* The path of the latest trace there, which may be missing. Errors: BT_E_IO. */
int trace_home_latest(char path[BT_PATH_MAX], struct bt_error *err) BT_MUST_USE;

/* The path of the trace that a user names: a name without a slash is looked for in that directory,
 * too, where nothing has it here. */
void trace_home_find(const char *name, char path[BT_PATH_MAX]);

#endif
