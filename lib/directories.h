/* SPDX-License-Identifier: MIT */
/* Files in the directory of traces (lib/trace_home.h) and elsewhere: the cache, control sockets.
 * Used by the commands, the doctor and the engine's profiles. Names are of BT_PATH_MAX bytes at
 * most. */
#ifndef BT_DIRECTORIES_H
#define BT_DIRECTORIES_H

#include <stdbool.h>

#include "lib/error.h"
#include "lib/trace_home.h"

/* Finds the cache directory, whose content only saves time: $XDG_CACHE_HOME/btrec, else
 * ~/.cache/btrec. It need not exist yet. Returns false unless only the user can change it: it must
 * be the user's own, its parents (HOME and .cache, too) the user's or root's, and none writable by
 * others. A sticky directory that is writable by all (/tmp) may hold it. */
bool directory_cache(char dir[BT_PATH_MAX]);

/* Opens it and checks it again. make: makes it if it is missing (mode 0700). The caller owns the
 * descriptor. Returns -1 with errno: EPERM if others can change it, ENOENT. */
int directory_open_cache(const char *dir, bool make);

/* A number, in decimal, for the name under which a file of the cache is made before it is renamed:
 * no other process has it, not even one of another container, where pids are the same. */
enum { DIRECTORY_NEW_NUMBER = 24 };
void directory_new_number(char number[DIRECTORY_NEW_NUMBER]);

/* Makes that directory and its parents (mode 0700). Errors: BT_E_PERMISSION, BT_E_IO. */
int directory_prepare(const char *dir, struct bt_error *err) BT_MUST_USE;

/* Finds the directory for a new trace (trace_home()) and prepares it. Errors: those of trace_home()
 * and directory_prepare(); the text names -o DIR as a way round. */
int directory_new_traces(char dir[BT_PATH_MAX], struct bt_error *err) BT_MUST_USE;

/* The nth candidate for a trace of a program: DIR/NAME-n, without unprintable characters, cut to
 * the length of a file name. */
void directory_trace_candidate(char path[BT_PATH_MAX], const char *dir, const char *program,
			       unsigned n);

/* Lets the link DIR/latest name the trace. Failure does not matter. */
void directory_link_latest(const char *dir, const char *trace);

/* The path of the control socket of the recorder with this pid and owner. */
void directory_control_socket(char path[108], unsigned uid, int pid);

#endif
