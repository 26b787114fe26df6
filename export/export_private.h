/* SPDX-License-Identifier: MIT */
/* Shared by the exports: the runs of branches before a trace's snapshots, in one pass over its
 * events. Nobody else includes this. Positions only grow from call to call. */
#ifndef BT_EXPORT_PRIVATE_H
#define BT_EXPORT_PRIVATE_H

#include "export/export.h"
#include "format/branch_entries.h"
#include "format/trace_cursor.h"

/* A taken branch, or an empty slot (0 to 0), with the flags word of struct perf_branch_entry. */
struct run_entry {
	uint64_t from, to, flags;
};

/* Pairs of BRANCH_WORDS that are being read. */
struct run_words {
	struct buf bytes;
	struct slice in;
	uint64_t first, left, word; /* left: of the pair */
};

/* Reads the branches of one task from the oldest on. */
struct run_reader {
	struct trace_cursor cursor;
	bool opened, imported, damaged;
	bool torn;  /* the file ends inside a block: damage where the trace was closed */
	bool whole; /* an import of whole histories: no sample has branches of its own */
	struct branch_entries entries; /* of the chunk */
	uint64_t number, end;          /* number: of the next entry; end: of the chunk */
	uint64_t claimed;              /* entries of all chunks so far, as they say */
	struct run_words flags;
	struct run_entry *at; /* the run: entries since the last gap or snapshot, oldest first */
	size_t count, cap;
};

/* Reads up to a position and leaves the run before it in at[0 .. count). False without memory. */
bool run_reader_advance(struct run_reader *r, const struct trace *t, uint32_t task,
			uint64_t position);
void run_reader_release(struct run_reader *r);

int export_core(FILE *to, const struct model *m, struct symbols *s, const struct report_options *o,
		struct bt_error *err);

int export_folded(FILE *to, const struct model *m, struct symbols *s,
		  const struct report_options *o, struct bt_error *err);
int export_perfetto(FILE *to, const struct model *m, struct symbols *s,
		    const struct report_options *o, struct bt_error *err);

int export_perf_script(FILE *to, const struct trace *t, struct bt_error *err);

#endif
