/* SPDX-License-Identifier: MIT */
/* The summary of a trace in a list of traces: when it began, of what program, how that ended, which
 * processes failed, its size. Read from its events alone, without symbols. Used by the commands
 * that list and remove traces. */
#ifndef BT_TRACE_DIGEST_H
#define BT_TRACE_DIGEST_H

#include "format/record.h"
#include "lib/buf.h"
#include "lib/trace_home.h"

enum trace_state {
	TRACE_COMPLETE, /* the recorder has closed it */
	TRACE_BEING_WRITTEN,
	TRACE_NOT_CLOSED, /* the recorder was killed, or could write no more */
	TRACE_UNREADABLE,
};

enum {
	FAILURES_MAX = 64,
	TRACE_NAME_MAX = 256,
	TRACE_PATH_MAX = BT_PATH_MAX + TRACE_NAME_MAX,
};

/* How a process failed. */
struct process_failure {
	uint32_t pid, status; /* exit status or signal number */
	uint8_t kind;         /* enum bt_exit_kind */
	bool is_crash;        /* a signal that dumps core */
	bool is_first;        /* the first process: its end is told as the trace's, too */
	char command[64];     /* cut to that; of the file that it executed last, or "" */
};

struct trace_digest {
	char name[TRACE_NAME_MAX]; /* in its directory */
	enum trace_state state;
	const char *why;  /* of TRACE_UNREADABLE: in a word or two */
	uint64_t started; /* ns since 1970; TRACE_UNREADABLE: time of its last change */
	uint64_t size;    /* bytes of its files */
	bool packed;      /* it is one file (format/pack.h) */
	bool has_end;     /* the next two are known */
	uint8_t end;      /* enum bt_exit_kind, of the first process */
	uint32_t status;
	struct buf argv;    /* NUL-terminated words */
	struct buf program; /* path, without NUL */
	struct process_failure
		failures[FAILURES_MAX]; /* the first of them, and the first process's */
	size_t failure_count;           /* of all */
	size_t crash_count;             /* of all but the first process */
};

/* The path of a trace, and its form for a terminal (say_safely()): each byte may become four. */
struct shown_path {
	char path[TRACE_PATH_MAX], safe[4 * TRACE_PATH_MAX];
};

/* Reads the trace dir/name. Returns false when there is no trace, or no memory. The caller releases
 * it. */
bool trace_digest_read(struct trace_digest *d, const char *dir, const char *name);

void trace_digest_release(struct trace_digest *d);

/* "exit 2", "SIGSEGV", "damaged": how it ended, or why that is not known. */
void trace_digest_end(const struct trace_digest *d, char *text, size_t size);

/* The same of a process: "exit 2". */
void exit_words(uint8_t kind, uint32_t status, char *text, size_t size);

/* Bytes of all files in the directory of a trace, or of its pack; 0 where it cannot be read. Files
 * that the program mapped are left out where the cache, or another trace, has them, too. */
uint64_t trace_digest_size(const char *path);

#endif
