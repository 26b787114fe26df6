/* SPDX-License-Identifier: MIT */
/* What is put where traces are kept (lib/trace_home.h), and what is kept elsewhere. Used by the
 * commands, the doctor and the engine's profiles. Names are of BT_PATH_MAX bytes at most. */
#ifndef BT_DIRECTORIES_H
#define BT_DIRECTORIES_H

#include <stdbool.h>

#include "lib/error.h"
#include "lib/trace_home.h"

/* The directory of what is kept only to be faster the next time: $XDG_CACHE_HOME/btrec, else
 * ~/.cache/btrec; it need not be there yet. False when there is none that nobody else can change:
 * it is to be the user's own, what it is in (HOME and .cache, too) the user's or root's, and
 * neither to be written by others; in a directory of everybody's that is sticky (/tmp) it may be.
 */
bool directory_cache(char dir[BT_PATH_MAX]);

/* Opens it, as what it is then; make: it is made if need be (mode 0700). The descriptor is the
 * caller's. -1 and errno: EPERM where others can change it, ENOENT. */
int directory_open_cache(const char *dir, bool make);

/* Makes that directory and its parents (mode 0700). Errors: BT_E_PERMISSION, BT_E_IO. */
int directory_prepare(const char *dir, struct bt_error *err) BT_MUST_USE;

/* Finds the directory that a new trace is to be made in (trace_home()) and prepares it. Errors,
 * which name -o DIR as a way round: as those. */
int directory_new_traces(char dir[BT_PATH_MAX], struct bt_error *err) BT_MUST_USE;

/* The nth candidate for a trace of a program: DIR/NAME-n, without what is not printable of its
 * name, and not longer than a name may be. */
void directory_trace_candidate(char path[BT_PATH_MAX], const char *dir, const char *program,
			       unsigned n);

/* Lets the link DIR/latest name the trace. Failure does not matter. */
void directory_link_latest(const char *dir, const char *trace);

/* Where the control socket of a recorder with this pid and owner is. */
void directory_control_socket(char path[108], unsigned uid, int pid);

#endif
