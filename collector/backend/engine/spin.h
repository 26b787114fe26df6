/* SPDX-License-Identifier: MIT */
/* Whether a task does nothing but wait for what others do: it goes round in a short loop that reads
 * the same places again and again, and changes nothing but counters. That is found by executing a
 * copy of its registers, two rounds ahead, for the few instructions that such loops are made of. A
 * loop with another instruction, or one that takes longer, is taken for work. Nothing of the task
 * is changed. The answer decides only who has the turn. Used by cache_spin.c. */
#ifndef BT_SPIN_H
#define BT_SPIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/regs.h"

enum spin_kind {
	SPIN_NOT,    /* it works, for all that can be seen */
	SPIN_COUNTS, /* it spins, and may stop by itself some time: something counts */
	SPIN_FIXED,  /* it spins for as long as the memory that it reads is as it is */
};

/* The task. Both copy up to n bytes at addr and return how many there are. */
struct spin_reader {
	size_t (*code)(void *arg, uint64_t addr, uint8_t *bytes, size_t n);
	size_t (*memory)(void *arg, uint64_t addr, uint8_t *bytes, size_t n);
	void *arg;
};

enum { SPIN_WORDS = 4 };

/* Eight aligned bytes of memory that count. */
struct spin_word {
	uint64_t addr, at, step;
};

struct spin {
	enum spin_kind kind;
	struct bt_regs at;   /* its registers at the look */
	uint64_t tick;       /* the task's tick at the look; set by the caller */
	struct bt_regs step; /* the number added to each register in a round, modulo 2^64; flags are
				not told */
	uint64_t ticks;      /* conditional branches in a round */
	struct spin_word words[SPIN_WORDS];
	size_t word_count;
};

/* Looks at a task with these registers, in 64-bit code between two instructions. whole: a task that
 * counts is SPIN_FIXED if a loop around that changes nothing, else SPIN_NOT; that takes longer.
 * Without memory it is SPIN_NOT. */
void spin_look(const struct bt_regs *regs, const struct spin_reader *reader, bool whole,
	       struct spin *spin);

/* Whether a task that counted as `before` says, and counts still, has done nothing else in between.
 */
bool spin_goes_on(const struct spin *before, const struct spin *now);

#endif
