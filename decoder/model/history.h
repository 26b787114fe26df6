/* SPDX-License-Identifier: MIT */
/* The branch history of one task: one sequence of entries from any source, oldest first, with gaps
 * as entries of their own; and the straight-line code between them. Loaded once from the model,
 * then constant. The report, the JSON, call stacks, verdicts and the viewer read it. */
#ifndef BT_HISTORY_H
#define BT_HISTORY_H

#include "decoder/model/model.h"
#include "lib/branch.h"
#include "lib/insn.h"

struct history_entry {
	uint64_t number;    /* in the task's history since its creation */
	uint64_t tick;      /* after this entry; BT_TICKS_UNKNOWN */
	uint64_t transfers; /* since that tick, after this entry */
	uint64_t from, to;  /* GAP: number of missing branches (0: unknown), enum bt_gap_reason */
	uint32_t space, epoch;
	uint8_t kind, flags; /* enum bt_branch_kind (never EPOCH: it is folded into epoch), enum
				bt_branch_flags */
	uint16_t cycles;
};

struct history {
	uint32_t task;
	struct history_entry *entries;
	size_t count;
	uint32_t space, epoch; /* behind the last entry */
	uint64_t next; /* the number behind the last stored entry; behind it there is at most a GAP
			  for entries that snapshots count */
	bool is_part;  /* older entries are in the trace: history_load_newest() has left them out,
			  and a gap stands for them */
	uint64_t unread; /* so many older branches are in the trace that nothing reads: a gap stands
			    for them */
	bool is_calls;   /* history_load_calls() has left out branches */
};

/* Loads the whole history of a task. A task without branches gives an empty one. Missing and
 * damaged chunks become GAP entries; so do entries behind the last chunk that a snapshot counted.
 * Errors: BT_E_NO_MEMORY. */
int history_load(struct history *h, const struct model *m, uint32_t task,
		 struct bt_error *err) BT_MUST_USE;
/* The watcher that waits for a long history. goes_on is told how far the work is, and says whether
 * to go on. */
struct history_watch {
	bool (*goes_on)(void *arg, size_t done, size_t total); /* entries; total 0: not known yet */
	void *arg;
};

/* history_load() that can be stopped. Returns 1 when it was: h is empty then. */
int history_load_watched(struct history *h, const struct model *m, uint32_t task,
			 const struct history_watch *watch, struct bt_error *err) BT_MUST_USE;
/* history_load() for callstack_build(), in a tenth of the memory: without conditional branches and
 * direct jumps, if the source tells all branches. watch: NULL, or returns 1 where it was stopped:
 * h is empty then. */
int history_load_calls(struct history *h, const struct model *m, uint32_t task,
		       const struct history_watch *watch, struct bt_error *err) BT_MUST_USE;

/* history_load() for the newest `most` entries, in the time and memory that they take: of millions
 * a screen shows some. A history of few_most entries or less is loaded whole. Errors: as above. */
int history_load_newest(struct history *h, const struct model *m, uint32_t task, size_t most,
			size_t few_most, struct bt_error *err) BT_MUST_USE;

void history_release(struct history *h);

/* The number of entries that lie before a stream position (snapshot.position, thread.position). */
size_t history_index(const struct history *h, uint64_t position);

/* The space and epoch to look up an entry's target in: the entry's own; for an execve, those of the
 * new program. e: an entry of h, or a copy. */
void history_target(const struct history *h, const struct history_entry *e, uint32_t *space,
		    uint32_t *epoch);

/* One executed instruction. */
struct history_insn {
	uint64_t addr;
	uint8_t len;
	uint8_t bytes[BT_INSN_MAX];
};

/* The address where the code between entries i-1 and i begins (i <= count). False behind a gap,
 * where it is not known. */
bool history_start(const struct history *h, size_t i, uint64_t *start);

/* The instructions executed between entry i-1 and entry i, the branch instruction of entry i
 * included. Where entry i is a gap, or i == count: from entry i-1 up to and without stop, a
 * snapshot's rip. *out is a new array (free() it). Returns their number, or -BT_E_CORRUPT when the
 * code bytes are missing or do not lead from one entry to the next (after a gap, for one); *out is
 * NULL then. */
long history_straight(const struct history *h, const struct model *m, size_t i, uint64_t stop,
		      struct history_insn **out);

#endif
