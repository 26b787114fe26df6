/* SPDX-License-Identifier: MIT */
/* How a branch log is laid out, and the reader of it: what its source files share, and nobody else.
 * A slot's meaning depends on those before it in its stretch; the block keeps what its first slot
 * needs (struct log_context). */
#ifndef BT_BRANCH_LOG_PRIVATE_H
#define BT_BRANCH_LOG_PRIVATE_H

#include "collector/history/branch_log.h"
#include "collector/history/branch_walk.h"
#include "collector/history/record_copy.h"

/* Kinds of slots beside enum branch_log_kind. A record that the program has overwritten cannot look
 * like one of these. */
enum slot_kind {
	SLOT_BAD = BRANCH_LOG_ROUNDS + 1, /* a record that cannot be one */
	SLOT_BEGIN,                       /* bits: pc; segment: generation */
	SLOT_END,                         /* bits; segment: enum walk_goal. A SLOT_PC follows */
	SLOT_PC,                          /* bits: pc */
	SLOT_BRANCH,                      /* bits: from; segment: packed. A SLOT_TO follows */
	SLOT_TO,                          /* bits: to */
	SLOT_EPOCH,                       /* bits: epoch; segment: space */
	SLOT_TABLE,                       /* bits: the table's address */
	SLOT_BREAK,                       /* segment: enum bt_gap_reason */
	SLOT_COUNT, /* bits: ticks; segment: enum bt_gap_reason. A SLOT_PC with transfers follows */
	SLOT_REPEAT, /* the `segment` records before it, all in the same block, are repeated. bits:
			ticks of all repetitions. A SLOT_PC with their number follows */
};

/* The state that decoding a slot needs from the slots before it. */
struct log_context {
	const struct segment_table *table;
	uint32_t generation, space, epoch;
	bool stretch;                  /* inside one, at the place of: */
	struct branch_log_record last; /* a record or a SLOT_BEGIN */
};

struct block {
	struct block *next_spare;
	struct log_context context; /* before its first slot */
	uint64_t tick, entries;     /* likewise */
	size_t used;
	_Alignas(sizeof(
		struct branch_log_record)) struct branch_log_record slots[]; /* record_copy.h */
};

/* A place in the log and what was counted up to it. */
struct counted {
	uint64_t block;
	size_t slot;
	uint64_t transfers;
	struct log_context context;
	bool cond; /* a conditional stands behind that place: the newest in block cond_block */
	uint64_t cond_block;
};

enum {
	TABLES_MAX = 4, /* an execve that comes later has the log settled */
};

/* A segment table that records in the log are read by, and the last block that may have some; of
 * the one of log->at: UINT64_MAX. */
struct table_use {
	struct segment_table *table;
	uint64_t last;
};

struct branch_log {
	record_copy_fn *copy;
	size_t limit;
	size_t block_slots, max_blocks;
	size_t state_map;      /* of blocks: max_blocks, but where that was lowered */
	struct block **blocks; /* by number modulo places */
	uint64_t oldest, next; /* numbers of blocks; there is always one */
	struct block *spare;   /* not in use, kept */
	size_t spare_count;
	struct log_context at;  /* now */
	uint64_t tick, entries; /* now. entries: logged so far, and perhaps some more */
	bool tick_unknown;
	bool limited;            /* it was lowered */
	bool lost;               /* something before the oldest block, since the last settle */
	struct counted *counted; /* a cache */
	struct table_use tables[TABLES_MAX]; /* those that it holds */
	size_t table_count;
};

static inline struct block *block_at(const struct branch_log *log, uint64_t number)
{
	return log->blocks[number % log->state_map];
}

static inline uint64_t shown_tick(const struct branch_log *log, uint64_t tick)
{
	return log->tick_unknown ? BT_TICKS_UNKNOWN : tick;
}

/* How many ticks a slot holds. */
uint64_t branch_log_slot_ticks(const struct branch_log_record *slot);

/* One branch of the stepper in two slots, as `segment` of the first. */
uint32_t branch_log_pack(const struct bt_branch *b, bool tick);

/* Records of another table follow, or (NULL) of none: it is held. There is room for it
 * (branch_log_crowded). */
void branch_log_change_table(struct branch_log *log, struct segment_table *t);

/* Lets go of the tables that no block needs any more. */
void branch_log_drop_tables(struct branch_log *log);

/* Memory of the tables that nobody else holds. */
size_t branch_log_table_memory(const struct branch_log *log);

/* Nothing is left in it; the counts stay. */
void branch_log_empty(struct branch_log *log);

/* Brings c behind a slot. */
void branch_log_pass(struct log_context *c, const struct branch_log_record *slot);

/* The context of a slot of a block, found by reading the slots before it. */
struct log_context branch_log_context(const struct branch_log *log, uint64_t block, size_t slot);

enum unit_type {
	UNIT_WALKED,  /* branches, in out */
	UNIT_UNKNOWN, /* branches that cannot be told */
	UNIT_BRANCH,  /* one, in out */
	UNIT_BREAK,
	UNIT_COUNT,  /* branches that were only counted */
	UNIT_REPEAT, /* the same records again and again: reader_again() */
	UNIT_NONE,   /* no branches */
};

struct log_unit {
	enum unit_type type;
	uint64_t ticks;
	uint64_t transfers; /* of UNIT_COUNT: behind those; of UNIT_REPEAT: in a round, behind its
			       last conditional */
	bool tick;          /* of UNIT_BRANCH */
	enum bt_gap_reason reason; /* of UNIT_BREAK, UNIT_COUNT */
	struct walk_leg leg;       /* of UNIT_WALKED */
	struct {
		uint64_t rounds;   /* so many, */
		uint64_t branches; /* each of so many, never 0 */
		uint64_t block;
		size_t first, end; /* the slots to read for one of them */
		size_t behind;     /* the unit's own */
	} repeat;                  /* of UNIT_REPEAT */
};

struct reader {
	const struct branch_log *log;
	uint64_t block;
	size_t slot;
	struct log_context context;
	bool known; /* execution is known to be at walk.pc */
	struct branch_walk walk;
	struct walk_out out;
};

/* Reading goes on in front of a slot, behind which context stood. */
void reader_start(struct reader *r, const struct branch_log *log, uint64_t block, size_t slot,
		  const struct log_context *context);

/* The same in front of a slot inside a stretch or of a SLOT_BRANCH, faster, but without space and
 * epoch: mostly all of a block is of one generation. */
void reader_start_inside(struct reader *r, const struct branch_log *log, uint64_t block,
			 size_t slot);

/* The next slot, NULL at the log's end. */
const struct branch_log_record *reader_slot(struct reader *r);

/* Reads what the next slot says. Returns false at the log's end. */
bool reader_next(struct reader *r, struct log_unit *u);

/* Behind a unit of UNIT_REPEAT: the slots of a round of it, up to u->repeat.end, are read next;
 * each leaves its branches in r->out. */
void reader_again(struct reader *r, const struct log_unit *u);
/* Behind that round: on behind the unit. */
void reader_pass_repeat(struct reader *r, const struct log_unit *u);

#endif
