/* SPDX-License-Identifier: MIT */
/* The first difference between a replay and its recording: what was expected there, and what
 * came. Found by the session that replays; printed by the command. */
#ifndef BT_DIVERGENCE_H
#define BT_DIVERGENCE_H

#include <stdbool.h>
#include <stdio.h>

#include "lib/point.h"
#include "lib/regs.h"

enum divergence_kind {
	DIVERGENCE_NONE,
	DIVERGENCE_EVENT,     /* another event came */
	DIVERGENCE_POINT,     /* the event came elsewhere */
	DIVERGENCE_REGISTERS, /* with other registers */
	DIVERGENCE_END,       /* the task ended in another way */
	DIVERGENCE_OUTPUT,    /* it writes other bytes for its user */
	DIVERGENCE_EFFECT,    /* an effect could not be applied */
	DIVERGENCE_KINDS
};

enum { DIVERGENCE_BYTES = 16 };

/* The first range of memory that differs, and its first bytes. */
struct memory_difference {
	uint64_t start, end; /* both 0: none is known */
	size_t count;        /* of the bytes that follow */
	uint8_t expected[DIVERGENCE_BYTES], came[DIVERGENCE_BYTES];
	bool readable; /* else there is no memory, and nothing in `came` */
};

struct divergence {
	enum divergence_kind kind;
	uint64_t seq;   /* of the event in the trace; 0: it has none */
	bool is_behind; /* the call was made without a stop, and has none: seq is of the one before
			 */
	uint32_t task;
	char expected[80], came[80]; /* events */
	char cause[160];             /* a possible cause; empty: none is known */
	bool has_points;
	bool ticks_only; /* only the ticks of the points are known */
	struct bt_point expected_at, came_at;
	bool has_regs;
	struct bt_regs expected_regs, came_regs;
	struct memory_difference memory;
};

/* Whether registers differ that a replay must meet. Fields that a processor may change on its own
 * do not count: flags of single steps, selectors. */
bool divergence_regs_differ(const struct bt_regs *a, const struct bt_regs *b);

/* Completes what is known of a divergence by what came: `expected` is there. Points and registers
 * that need not be the same are left out. */
void divergence_came(struct divergence *d, const char *came);

/* A line, and one for each register that differs, and for memory. */
void divergence_print(const struct divergence *d, FILE *to);
void divergence_print_json(const struct divergence *d, FILE *to);

#endif
