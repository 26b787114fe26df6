/* SPDX-License-Identifier: MIT */
/* Shared by the files of the importer. importer.c: the trace, samples, the end; importer_threads.c:
 * threads, processes, their spaces and mappings; importer_branches.c: histories. Nobody else
 * includes this. */
#ifndef BT_IMPORTER_PRIVATE_H
#define BT_IMPORTER_PRIVATE_H

#include "import/code_map.h"
#include "import/importer.h"
#include "lib/hash_table.h"

enum {
	COMM_MAX = 64,
	THREADS_MAX = 1 << 17, /* each has a file of branches */
	CHUNK_TARGET = 32 << 10,
	PENDING_MAX = 32 << 20, /* buffered bytes before a flush */
};

/* Words of branch entries as pairs of count and word. */
struct runs {
	struct buf bytes;
	uint64_t length, word;
	bool any; /* some word is not 0 */
};

struct import_process {
	uint32_t pid;
	uint32_t space, epoch;
	bool begun; /* the space is in the trace */
	bool seen;  /* a sample was taken in this epoch */
	uint32_t live;
	struct code_map code;
};

struct thread {
	struct import_thread_id id;
	size_t process;
	uint32_t task; /* 0: not in the trace yet */
	bool exited;
	uint64_t lost; /* importer.lost at its newest sample */
	char comm[COMM_MAX];
	/* Its history: the present chunk, and the number of earlier entries. */
	struct bt_branch_codec codec;
	struct buf entries;
	struct runs flags, counters;
	uint64_t first, count;
	uint32_t chunk_space, chunk_epoch, space, epoch;
	uint8_t gap; /* reason + 1 of the newest entry if that is a gap of a traced history; else 0
		      */
};

struct importer {
	char *dir;
	struct bt_record_header header;
	struct trace_writer *writer;
	struct bt_error error; /* the first failure */
	struct thread **threads;
	struct import_process *processes;
	size_t thread_count, thread_cap, process_count, process_cap;
	struct hash_table by_tid,
		by_pid; /* index + 1 of the newest thread or process with that number */
	uint32_t tasks, spaces, snapshots;
	struct bt_record_end end;
	uint64_t samples, branches, lost, pending, last_time;
	struct code_files files;
	char warning[512]; /* importer_warn() */
	bool traced;       /* importer_traced() */
	bool told_wild;    /* the user was told that code ran outside all known mappings */
};

void importer_fail(struct importer *im, enum bt_error_code code, const char *text);
void importer_no_memory(struct importer *im);

/* Adds an event of the one unit. */
void importer_event(struct importer *im, enum bt_record_kind kind, const void *body);

/* The next number in the order of the trace. */
uint64_t importer_seq(struct importer *im);

/* importer_threads.c */
struct thread *importer_thread(
	struct importer *im,
	struct import_thread_id id); /* found or new; NULL when the import has failed */
bool importer_give_task(struct importer *im,
			struct thread *t); /* false when the import has failed */
void importer_release_threads(struct importer *im);

/* importer_branches.c. begin_run: puts the gap before the branches of a sample; put_code: puts the
 * page at addr into the trace. */
void importer_begin_run(const struct importer *im, struct thread *t);
void importer_put_branches(struct importer *im, struct thread *t, const struct import_branch *at,
			   size_t n);
bool importer_put_entry(struct importer *im, struct thread *t, const struct bt_branch *b);
void importer_flush_chunk(struct importer *im, struct thread *t);
struct slice importer_put_code(struct importer *im, struct thread *t, uint64_t addr, size_t n);

#endif
