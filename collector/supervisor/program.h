/* SPDX-License-Identifier: MIT */
/* Which file a command names, and whether it can be recorded. Used by btrec run, and by the
 * supervisor at each execve. No state. Looks only: it opens files for reading. */
#ifndef BT_PROGRAM_H
#define BT_PROGRAM_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/buf.h"
#include "lib/error.h"
#include "lib/regs.h"

/* Finds the file that execvp(3) would run for name and checks that it can be recorded. path[4096]
 * gets it. Errors: BT_E_NOT_FOUND; BT_E_NOT_RECORDABLE (a directory, not executable, not x86-64,
 * gains privileges), path then names the file. */
int program_find(const char *name, char path[4096], struct bt_error *err) BT_MUST_USE;

/* Whether a program keeps the privileges that its file gives it (set-uid, capabilities) under this
 * recorder. */
bool program_privileges_survive(void);

/* A stopped task is about to make an execve or (at) execveat with these arguments. Whether that
 * gives the program privileges that it would lose under this recorder; reason says which. */
bool program_gains_privileges(pid_t tid, bool at, const uint64_t args[2], char *reason,
			      size_t size);

/* The program that a task runs: the path of its file, and its arguments, each with a NUL behind it.
 */
void program_of(pid_t tid, char *path, size_t size, struct buf *argv);

#endif
