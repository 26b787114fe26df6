/* SPDX-License-Identifier: MIT */
/* Segments: stretches of straight-line application code from a place that was jumped to up to and
 * with the next branch. They are what is needed to turn the engine's records back into branches,
 * long after code has gone. Of one address space; changed only while its tasks are stopped. A table
 * is counted: the cache and each log with records of it hold it, so a history outlives its address
 * space (execve) undecoded.
 *
 * Code may be replaced (self-modifying, dlclose, JIT): a segment lives from the generation in which
 * it was added until the one in which its bytes went. Generations are counted per table and only
 * grow.
 *
 * Used by the code cache, which adds and kills, and by branch logs and walks, which look up. One
 * thread. */
#ifndef BT_SEGMENT_H
#define BT_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/branch.h"

enum {
	SEGMENT_FALL = BT_BRANCH_KINDS, /* kind of one that ends without a branch and goes on at
					   `to`: no entry of the history */
};

#define SEGMENT_NONE  UINT32_MAX
#define SEGMENT_ALIVE UINT32_MAX /* died of one whose code is still there */

struct segment {
	uint64_t pc;   /* first instruction */
	uint64_t from; /* the branch instruction; of SEGMENT_FALL the last instruction. pc <= from;
			  the code is [pc, end) */
	uint64_t end;  /* address behind it: a conditional that is not taken goes on there */
	uint64_t to;   /* target of a direct branch; address at which SEGMENT_FALL or a system call
			  goes on; of an indirect branch its prediction: it leads there unless a
			  record says otherwise. 0: none, there is a record each time */
	uint32_t born, died;
	uint8_t kind; /* enum bt_branch_kind: JCC, JMP, CALL, RET, IJMP, ICALL, SYSCALL; or
			 SEGMENT_FALL */
	bool tick;    /* JCC of a counted class */
};

struct segment_table; /* opaque */

/* Whether it was there in a generation. */
static inline bool segment_lived(const struct segment *s, uint32_t generation)
{
	return s->born <= generation && generation < s->died;
}

static inline bool segment_has_prediction(const struct segment *s)
{
	return s->to && (s->kind == BT_BRANCH_RET || s->kind == BT_BRANCH_IJMP ||
			 s->kind == BT_BRANCH_ICALL);
}

/* An empty table in generation 0, held once; NULL without memory. */
struct segment_table *segment_table_new(void);
/* A copy (fork), held once; NULL without memory. */
struct segment_table *segment_table_copy(const struct segment_table *t);
/* Holds it once more; returns it. */
struct segment_table *segment_table_get(struct segment_table *t);
/* Lets go of it: the last holder frees it. Of NULL: nothing. */
void segment_table_put(struct segment_table *t);
/* By how many it is held. */
unsigned segment_table_holders(const struct segment_table *t);
/* Bytes of memory of its segments. */
size_t segment_table_memory(const struct segment_table *t);

/* Adds a living segment (born and died are set here) and returns its number; one that is there,
 * alive and the same, is found again. SEGMENT_NONE without memory, or when not pc <= from < end.
 * Numbers stay valid for the table's life unless segment_collect() gives them back. */
uint32_t segment_add(struct segment_table *t, const struct segment *s);

/* The segment of a number, whatever it is: NULL when there is none. Pointers are valid until the
 * next segment_add(). */
const struct segment *segment_get(const struct segment_table *t, uint32_t number);

/* The segment that began at pc in a generation, or NULL. */
const struct segment *segment_at(const struct segment_table *t, uint64_t pc, uint32_t generation);

/* No more than so many segments have a number now. */
size_t segment_count(const struct segment_table *t);

/* The code of [start, end) has changed or gone: segments that overlap it die, and a new generation
 * begins, which is returned (also when none died). */
uint32_t segment_kill(struct segment_table *t, uint64_t start, uint64_t end);
uint32_t segment_generation(const struct segment_table *t);

/* The same of all code of which stays() is not true for each piece. */
uint32_t segment_retain(struct segment_table *t,
			bool (*stays)(void *arg, uint64_t start, uint64_t end), void *arg);

/* How many have died that are not freed. */
size_t segment_dead(const struct segment_table *t);

/* Frees what died in or before the given generation: no record of it is left in the log of any
 * holder. */
void segment_collect(struct segment_table *t, uint32_t generation);

#endif
