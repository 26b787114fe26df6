/* SPDX-License-Identifier: MIT */
/* A memory file (memfd_create(2)) that tracer and tracee both map. The task opens it, and the
 * tracer reaches it through /proc; no trace of the descriptor stays in the task. Not where other
 * threads use descriptors meanwhile, or a system call filter of the program's might end it for
 * asking. Used by cache_region and window. */
#ifndef BT_MEMORY_FILE_H
#define BT_MEMORY_FILE_H

#include <stdint.h>
#include <sys/types.h>

enum {
	MEMORY_FILE_QUARTERS = 3,
};

/* Opens one of so many bytes in a stopped task whose signals are blocked. name: address in the
 * tracee of the string by which the kernel shows it; 0: one is lent to it. *own: the tracer's
 * descriptor. Returns the task's, to be closed by memory_file_close_there(), or -1, and nothing is
 * open: also where the tracer has few descriptors left (MEMORY_FILE_QUARTERS of
 * limits_has_spare()). */
long memory_file_open(pid_t tid, uint64_t name, uint64_t size, int *own);

/* Opens one of the tracer's in such a task, to be read and executed, through /proc. As above; -1
 * too where the task has another /proc than the tracer (nothing is opened there then), or is not
 * let at it. */
long memory_file_open_there(pid_t tid, int own);

void memory_file_close_there(pid_t tid, long fd);

#endif
