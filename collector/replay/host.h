/* SPDX-License-Identifier: MIT */
/* The process in which a recorded address space is made anew. It is a traced process of ours, whose
 * memory is taken away; then only what the log says is there. The program in it makes no system
 * call: those made here are all. Used by the session that replays. */
#ifndef BT_HOST_H
#define BT_HOST_H

#include <stdbool.h>
#include <sys/types.h>

#include "format/record.h"
#include "lib/error.h"

/* Takes all memory and all descriptors from the thread's process. The thread is at the exit of an
 * execve or of a call that was not made, here and below. Errors: BT_E_GONE, BT_E_IO. */
int host_empty(pid_t tid, struct bt_error *err) BT_MUST_USE;

/* Makes pages as the effect says. False when that cannot be: it is no range of the program's, or
 * the kernel refuses. */
bool host_shape(pid_t tid, const struct bt_record_log_shape *shape);

/* Writes bytes that the kernel wrote. False where nothing is mapped. */
bool host_write(pid_t tid, uint64_t addr, struct slice bytes);

#endif
