/* SPDX-License-Identifier: MIT */
/* The memory that the arguments of a system call point to, as far as it belongs to the call: paths
 * and other strings, addresses of sockets (syscall_args.def). Used by the recorder and the engine.
 */
#ifndef BT_CALL_MEMORY_H
#define BT_CALL_MEMORY_H

#include "collector/tracee/tracee.h"
#include "lib/syscall.h"
#include "syscalls/syscall_args.h"

struct call_memory {
	struct bt_pointed pointed[BT_SYSCALL_ARGS]; /* of bytes */
	unsigned count;
	uint8_t bytes[BT_SYSCALL_ARGS][SYSCALL_POINTED_MAX];
};

/* Reads it while the task is stopped at the call. Memory that cannot be read is none, and so is
 * that of 32-bit code. */
void call_memory_read(struct call_memory *m, pid_t tid, const struct tracee_syscall *call);

#endif
