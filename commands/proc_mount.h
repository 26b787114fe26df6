/* SPDX-License-Identifier: MIT */
/* The proc(5) that recording and replaying read of the processes that they trace. */
#ifndef BT_PROC_MOUNT_H
#define BT_PROC_MOUNT_H

#include "lib/error.h"

/* Whether /proc is there and is that of this PID namespace (pid_namespaces(7)); use: what needs it,
 * "recording". -BT_E_UNSUPPORTED: it is not, and err says what to do. */
BT_MUST_USE int proc_mount_check(const char *use, struct bt_error *err);

#endif
