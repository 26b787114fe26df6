/* SPDX-License-Identifier: MIT */
/* What a process has written to its descriptor 2 last: an assertion, an exception, a panic say
 * there why they end it, and who reads the trace may not have been there. Backends and the recorder
 * tell what is written; snapshots have it written to the trace (snapshot.h). */
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
	uint64_t total, written; /* bytes so far; of these when the record was written last */
	size_t len;
	char text[LAST_WORDS_MAX];
};

/* The process has written so many bytes that are not known, then these, at most LAST_WORDS_MAX. */
void last_words_add(struct process *process, const void *bytes, size_t n, uint64_t unknown);

/* The process has written the len > 0 bytes at that address. */
void last_words_wrote(struct process *process, pid_t tid, uint64_t at, uint64_t len);

/* The task stands, with task->regs, behind a system call that was not cut short. */
void last_words_heard(struct task *task);

#endif
