/* SPDX-License-Identifier: MIT */
/* The branches of one task as the engine's code writes them: compact records, which are decoded
 * only when somebody wants to see them (settle). Between the engine's stretches stand the branches
 * that the stepper saw (system calls, handler entries, single instructions). The log is circular:
 * the oldest records give way, whole blocks at a time, and a gap stands for them.
 *
 * A stretch: branch_log_begin(pc), any number of records, branch_log_end(bits, pc). Each record
 * says which conditional branches were executed since the one before (or since the stretch began),
 * and where execution then was.
 *
 * Used by the engine, one log a task, through task.h. Records come from memory that the program can
 * write: any bytes can be given, and decoding them ends. */
#ifndef BT_BRANCH_LOG_H
#define BT_BRANCH_LOG_H

#include "collector/history/branch_ring.h"
#include "collector/history/segment.h"
#include "lib/processor.h"

/* 16 bytes. The cache's code writes it into the tracee's buffer with the complement of the bits
 * (branch_log_written()). bits: a sentinel 1, below it one bit per conditional branch executed
 * since the record before, oldest highest: 0 taken, 1 not. The value 1 says none. Only conditionals
 * that count as ticks are there; all of them are. */
struct branch_log_record {
	uint64_t bits;
	union {
		uint64_t to; /* of INDIRECT: the address that execution has reached */
		struct {
			uint32_t segment; /* of the others: execution is now at its pc (of LOOP: at
					     its `to`; of MISS: at its `from`) */
			uint32_t kind;    /* enum branch_log_kind; of INDIRECT less than
					     BRANCH_LOG_LOOP, whatever it is */
		};
	};
};

/* The complement has ones above its bits: code brings in a 1 by a rotation and a 0 by a LEA of two
 * registers, in one cycle each and without a change of flags; to bring a 1 in from nowhere takes
 * two or three. */
static inline uint64_t branch_log_written(uint64_t bits) { return ~bits; }
static inline uint64_t branch_log_bits(uint64_t written) { return ~written; }
/* How many conditionals the bits are of: those below the sentinel. */
static inline unsigned branch_log_conditionals(uint64_t bits)
{
	return (unsigned)__builtin_clzll(bits | 1) ^ 63;
}
/* Code writes neither: no sentinel, or one with nothing above it. */
static inline bool branch_log_bits_are_wrong(uint64_t bits) { return (int64_t)bits <= 0; }

enum branch_log_kind {
	BRANCH_LOG_INDIRECT, /* arrived by an indirect jump, an indirect call or a return, the next
			      * one on the path: at the beginning of a segment. It has 57 bits of an
			      * address at most (five-level page tables), and what is above is the
			      * program's half. */
	BRANCH_LOG_LOOP =
		1
		<< 25, /* executed the direct jump or call that ends the segment: execution is now
			* at its target. A backward one (to <= from) from whose target one can come
			* back to it without a conditional writes this whenever it is executed, so
			* that no address comes twice between two conditionals or records: a cycle
			* of direct branches is counted, and where a stretch ends is plain. So does
			* an indirect one that leads to its prediction, and closes such a cycle. */
	BRANCH_LOG_DIRECT, /* at a safe point of the code: the first visit of segment->pc since the
			    * last conditional or record, that place itself included; but directly
			    * behind another DIRECT, the next visit */
	BRANCH_LOG_MISS,   /* before the indirect branch that ends a segment with a prediction: the
			    * first visit of that branch since the last conditional   or record. It
			    * leads elsewhere. Without this record it leads to its prediction, and
			    * writes none. */
	BRANCH_LOG_ROUNDS, /* the DIRECT before it came again, each time without a conditional: the
			      number of times takes the place of the bits */
};

static inline bool branch_log_is_indirect(const struct branch_log_record *r)
{
	return r->kind < BRANCH_LOG_LOOP;
}

struct branch_log; /* opaque, of one task */

/* limit: entries of branch history wanted (>= 1); memory grows up to about 16 bytes per entry.
 * start: counts to go on from. NULL without memory. */
struct branch_log *branch_log_new(size_t limit, const struct ring_state *start,
				  const struct processor *processor);
void branch_log_free(struct branch_log *log);

/* A stretch begins at pc, in the current generation of the table, in this image epoch. The log
 * holds the table as long as it has records of it. */
void branch_log_begin(struct branch_log *log, struct segment_table *t, uint64_t pc, uint32_t space,
		      uint32_t epoch);
/* n records of the stretch, in order, as the cache's code wrote them. */
void branch_log_records(struct branch_log *log, const struct branch_log_record *records, size_t n);
/* The last record of the stretch, a DIRECT, comes so many times more, each without a conditional.
 */
void branch_log_rounds(struct branch_log *log, uint64_t rounds);
/* The stretch ends before the instruction at pc, bits (as in a record) after the last record. That
 * is the first visit of pc since the last conditional or record. */
void branch_log_end(struct branch_log *log, uint64_t bits, uint64_t pc);
/* The stretch ends at the target of a branch that has just been executed, without a record of it,
 * where that is not translated. kind: INDIRECT or DIRECT. Needed for indirect ones, whose target
 * may lie in the segment they end; else like branch_log_end(). */
void branch_log_arrive(struct branch_log *log, uint64_t bits, enum branch_log_kind kind,
		       uint64_t pc);
/* The stretch ends and nobody knows how (the records are damaged): a gap of this reason stands
 * there, ticks go on from what is known. */
void branch_log_break(struct branch_log *log, enum bt_gap_reason reason);

/* So many conditionals and, since the last of them (or, without one, since before), transfers were
 * executed that nobody recorded: a gap of BT_GAP_OFF. Between stretches. */
void branch_log_count(struct branch_log *log, uint64_t ticks, uint64_t transfers);

/* The same for another reason; a gap also where there were none. */
void branch_log_skip(struct branch_log *log, enum bt_gap_reason reason, uint64_t ticks,
		     uint64_t transfers);

/* One branch seen by the stepper (between stretches). */
void branch_log_branch(struct branch_log *log, const struct bt_branch *b, bool tick);
void branch_log_epoch(struct branch_log *log, uint32_t space, uint32_t epoch);

/* Lowers the limit; the oldest entries give way, and the gap that stands for those has BT_GAP_LIMIT
 * as its reason from now on. */
void branch_log_lower(struct branch_log *log, size_t limit);

/* Bytes of memory it uses. */
size_t branch_log_memory(const struct branch_log *log);

/* Whether the log would soon have to drop some of the newest `limit` entries for want of room: many
 * short stretches, or stretches of many tables (an execve brings a new one). Settle it then:
 * between stretches that always helps. */
bool branch_log_crowded(const struct branch_log *log);

/* About how many entries it has had, all told. */
uint64_t branch_log_passed(const struct branch_log *log);

/* About how many entries of the ring will come of it. */
uint64_t branch_log_entries(const struct branch_log *log);

/* The counts now (between stretches): exact ticks, and transfers since the last tick. */
struct ring_state branch_log_now(const struct branch_log *log);

/* The exact tick now, also in a stretch. Cheap. */
uint64_t branch_log_tick(const struct branch_log *log);

/* Decodes what has not been decoded since the last time and appends it to the ring, a gap before it
 * when some of it has been lost, and leaves the log empty. Of more than a few times `limit`
 * branches (a record may stand for any number of direct jumps) the older ones count as lost.
 * Records that do not fit the code (scribbled on) become a gap of BT_GAP_SCRIBBLED there; decoding
 * goes on at the next record. The ring's counts are those of branch_log_now() afterwards. Bounded
 * by the log's size, whatever the records say. */
void branch_log_settle(struct branch_log *log, struct branch_ring *ring);

/* Decodes about so many of the newest branches, oldest first, as far as they are in the log, and
 * leaves it as it is. Of a record that stands for very many some may be missing. */
void branch_log_look(const struct branch_log *log, uint64_t newest,
		     void (*take)(void *arg, const struct bt_branch *entries, size_t n), void *arg);

/* Whether it holds the table. */
bool branch_log_holds(const struct branch_log *log, const struct segment_table *t);

/* The oldest generation of t that a record still refers to, UINT32_MAX when none does. */
uint32_t branch_log_oldest_generation(const struct branch_log *log, const struct segment_table *t);

#endif
