/* SPDX-License-Identifier: MIT */
/* Writes the trace of an imported capture: threads, maps, samples as snapshots, their branches as
 * runs. Used by every reader of a foreign format; knows none of them. The trace is made at the
 * first record, so that a capture that is refused at once leaves nothing behind. Calls do not fail
 * one by one: the first failure stops the writing, and importer_close returns it. Threads are
 * identified by pid and tid; a thread without a sample gets no task in the trace. */
#ifndef BT_IMPORTER_H
#define BT_IMPORTER_H

#include "format/trace_writer.h"
#include "lib/branch.h"

struct importer;

enum {
	/* All tasks of an import share one unit: a capture has one order, that of its times. */
	IMPORTER_UNIT = 1,
};

/* One entry of a branch record as perf has it (struct perf_branch_entry,
 * include/uapi/linux/perf_event.h). */
struct import_branch {
	uint64_t from, to, flags;
	uint64_t counters; /* PERF_SAMPLE_BRANCH_COUNTERS, else 0 */
};

/* Bits of import_branch.flags. */
enum import_branch_flags {
	IMPORT_MISPREDICTED = 1,
	IMPORT_PREDICTED = 2,
	IMPORT_IN_TX = 4,
	IMPORT_ABORT = 8,
	IMPORT_CYCLES_SHIFT = 4, /* 16 bits */
	IMPORT_TYPE_SHIFT = 20,  /* 4 bits */
	IMPORT_SPEC_SHIFT = 24,  /* 2 bits, PERF_BR_SPEC_*: 1 is a wrong path */
};

struct import_thread_id {
	uint32_t pid, tid;
};

struct import_map {
	uint32_t pid;
	uint64_t start, end, offset, dev, ino;
	uint8_t prot;
	bool shared;
	struct slice path, build_id;
};

struct import_sample {
	struct import_thread_id id;
	uint64_t time; /* ns of the capture's clock, 0: unknown */
	uint64_t ip;
	uint32_t cpu;       /* number + 1, 0: unknown */
	struct slice event; /* its name */
	uint64_t hw_index;  /* + 1, 0: none */
	bool has_branches;  /* the event records branches, though there may be none */
	const struct import_branch *branches; /* newest first */
	size_t branch_count;
	const struct bt_regs *regs; /* NULL: none */
	struct slice stack;         /* from regs->rsp on */
};

/* Makes an importer for the trace directory dir (it must not exist, its parent must). dir NULL: it
 * reads and counts, and writes nothing. */
int importer_new(struct importer **out, const char *dir, struct bt_error *err) BT_MUST_USE;

/* The header of the trace; fill it before any other call. Its strings are borrowed until the first
 * record. */
struct bt_record_header *importer_header(struct importer *im);

void importer_comm(struct importer *im, struct import_thread_id id, uint64_t time,
		   struct slice comm, bool exec);
/* maps: a new process has its parent's mappings. */
void importer_fork(struct importer *im, struct import_thread_id child,
		   struct import_thread_id parent, bool maps, uint64_t time);
void importer_exit(struct importer *im, struct import_thread_id id, uint64_t time);
void importer_map(struct importer *im, const struct import_map *map);
void importer_sched(struct importer *im, struct import_thread_id id, uint64_t time, uint32_t cpu,
		    enum bt_sched what);
void importer_sample(struct importer *im, const struct import_sample *s);

/* For captures with whole histories, not only the branches before each sample. importer_traced:
 * from now on a sample without branches has its place in the history. importer_entry: appends a
 * branch or a gap; returns false for a gap behind an equal one, which is left out. */
void importer_traced(struct importer *im);
bool importer_entry(struct importer *im, struct import_thread_id id, const struct bt_branch *b);

/* Copies up to n bytes of code of a thread's process at addr. Returns how many. */
size_t importer_code(struct importer *im, struct import_thread_id id, uint64_t addr, uint8_t *bytes,
		     size_t n);

/* Notes that code at addr was needed and is missing. The note names the file; each file has one. */
void importer_lacks(struct importer *im, struct import_thread_id id, uint64_t addr);

/* The process of a thread by its tid; 0: no record has told it yet. */
uint32_t importer_pid(const struct importer *im, uint32_t tid);

/* Notes that records were lost here: the next sample of every thread follows a gap that says so. */
void importer_lost(struct importer *im);

/* A note about the capture, as printf. */
void importer_note(struct importer *im, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A note that is also for the user: the capture is not whole. The last one is kept. */
void importer_warn(struct importer *im, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The last warning, or "". Owned by the importer. */
const char *importer_warning(const struct importer *im);

/* For the readers: the samples and branches found so far, and whether to go on. */
uint64_t importer_samples(const struct importer *im);
uint64_t importer_branches(const struct importer *im);
bool importer_failed(const struct importer *im);

/* The writer and the task of a thread, for readers that write more than samples (core files). The
 * writer is NULL if writing failed. */
struct trace_writer *importer_writer(struct importer *im);
uint32_t importer_task(struct importer *im, struct import_thread_id id, uint32_t *space,
		       uint32_t *epoch);

/* Sets how the initial process ended, if the capture tells. */
void importer_ended(struct importer *im, enum bt_exit_kind kind, uint32_t status);

/* Ends the trace and frees. Errors: those of trace_writer_open; BT_E_NO_MEMORY, BT_E_UNSUPPORTED
 * (too many threads), BT_E_IO; nothing is left behind then. */
int importer_close(struct importer *im, struct bt_error *err) BT_MUST_USE;

/* Frees and leaves nothing behind. */
void importer_discard(struct importer *im);

#endif
