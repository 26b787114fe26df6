/* SPDX-License-Identifier: MIT */
/* Where traces are kept when the user names no directory. */
#ifndef BT_PLACE_H
#define BT_PLACE_H

#include <stdbool.h>

#include "lib/error.h"

enum {
	BT_PATH_MAX = 4096,
};

/* The directory that holds traces: $BTREC_TRACE_DIR, else $XDG_DATA_HOME/btrec, else ~/.local/share/btrec. */
int place_directory(char dir[BT_PATH_MAX], struct bt_error *err) BT_MUST_USE;

/* The directory of what is kept only to be faster the next time: $XDG_CACHE_HOME/btrec, else ~/.cache/btrec. False when there is none, or
 * the directory that it is, or will be made, in is another user's; that of everybody (/tmp) will do for one to be made. */
bool place_cache(char dir[BT_PATH_MAX]);

/* Makes that directory and its parents (mode 0700). Errors: BT_E_PERMISSION, BT_E_IO. */
int place_prepare(const char *dir, struct bt_error *err) BT_MUST_USE;

/* The nth candidate for a trace of a program: DIR/NAME-n, without what is not printable of its name, and not longer than a name may be. */
void place_candidate(char path[BT_PATH_MAX], const char *dir, const char *program, unsigned n);

/* Lets the link DIR/latest name the trace. Failure does not matter. */
void place_link_latest(const char *dir, const char *trace);

/* Where the control socket of a recorder with this pid and owner is. */
void place_control_socket(char path[108], unsigned uid, int pid);

#endif
