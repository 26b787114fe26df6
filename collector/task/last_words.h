/* SPDX-License-Identifier: MIT */
/* The output of a process to its descriptor 2: the first bytes, the last ones, and the lines that
 * say why it ends (telling.h). An assertion, an exception, a panic say that there, often with much
 * behind it, and the reader of the trace may not have seen it. The engine and the supervisor report
 * writes; snapshots put the bytes into the trace (snapshot.h). The last bytes are without a hole:
 * after bytes that are unknown the text begins anew. */
#ifndef BT_LAST_WORDS_H
#define BT_LAST_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct process;
struct task;

enum {
	LAST_WORDS_MAX = 4096, /* bytes kept of a process's last */
	FIRST_WORDS_MAX = 1024,
	TELLING_WORDS_MAX = 2048, /* the newest lines that say why */
	WORDS_LINE_MAX = 320,     /* of such a line */
	/* Of one write so many are looked at from its beginning, and from its end. */
	WORDS_AT_ONCE = 32768,
};

struct last_words {
	uint64_t total, written; /* bytes so far; the total when the record was written last */
	size_t first_len, len, line_len, telling_len;
	bool first_ended; /* by bytes that are unknown */
	unsigned more;    /* lines to come that belong to one that says why */
	char first[FIRST_WORDS_MAX];
	char text[LAST_WORDS_MAX];
	char line[WORDS_LINE_MAX]; /* the beginning of the line that is being written */
	char telling[TELLING_WORDS_MAX];
};

/* The process has written `unknown` bytes that nobody saw, then these n. */
void last_words_add(struct process *process, const void *bytes, size_t n, uint64_t unknown);

/* The process has written the len > 0 bytes at that address. */
void last_words_wrote(struct process *process, pid_t tid, uint64_t at, uint64_t len);

/* Whether task->syscall, which is being entered, is the first write of its program to descriptor 2.
 */
bool last_words_begin_here(const struct task *task);

/* To be called behind that, at each entry of a system call. */
void last_words_entered(struct task *task);

/* To be called when the task stands, with task->regs, behind a system call that was not cut short.
 */
void last_words_heard(struct task *task);

/* They are about to be looked at: a line that has no end yet is one, too. */
void last_words_end_line(struct last_words *w);

#endif
