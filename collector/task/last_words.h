/* SPDX-License-Identifier: MIT */
/* The bytes that a process has written to its descriptor 2 last. An assertion, an exception, a
 * panic say there why they end the process, and the reader of the trace may not have seen it. The
 * engine and the supervisor report writes; snapshots put the bytes into the trace (snapshot.h).
 * Kept bytes are without a hole: after bytes that are unknown the text begins anew. */
#ifndef BT_LAST_WORDS_H
#define BT_LAST_WORDS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct process;
struct task;

enum {
	LAST_WORDS_MAX = 4096, /* bytes kept of a process */
};

struct last_words {
	uint64_t total, written; /* bytes so far; the total when the record was written last */
	size_t len;
	char text[LAST_WORDS_MAX];
};

/* The process has written `unknown` bytes that nobody saw, then these n <= LAST_WORDS_MAX. */
void last_words_add(struct process *process, const void *bytes, size_t n, uint64_t unknown);

/* The process has written the len > 0 bytes at that address. */
void last_words_wrote(struct process *process, pid_t tid, uint64_t at, uint64_t len);

/* To be called when the task stands, with task->regs, behind a system call that was not cut short.
 */
void last_words_heard(struct task *task);

#endif
