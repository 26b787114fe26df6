/* SPDX-License-Identifier: MIT */
/* State maps: where the application's registers are, at which point of a fragment's code. Entries
 * are many and seldom asked for, so a list of them is kept as bytes, two or three an entry. The
 * translator makes them; the cache keeps them; a stop is looked up in them. Pure. */
#ifndef BT_STATE_MAP_H
#define BT_STATE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The registers at a place in the code: the state before the application's instruction at pc. */
enum state_flag {
	STATE_R11 = 1,     /* r11 is the application's, the bits are in the context */
	STATE_SHIFTED = 2, /* the coming conditional has been counted */
	STATE_SPILLED = 4, /* a register (reg) is in CTX_SPILL */
	STATE_RCX = 8, /* rcx is in the context; and, if reg says so, r10, or (rdx) rax and rdx, or
			  (rbx) these and rbx */
	STATE_BETWEEN = 16, /* in the middle of something: step on */
	STATE_PROBED = 32,  /* ... but a fault is the instruction's own, flags aside: its operand
			       went away since it was probed */
	STATE_CALLED = 64,  /* behind a system call that is to be noted; rcx is to be the
			       application's pc */
	STATE_NOTED = 128,  /* the bits are where the next record will be, and not in r11 */
	STATE_BIT = STATE_BETWEEN | STATE_SHIFTED, /* (history) the bit of the conditional before pc
						      is still to come */
	STATE_ROUNDS = STATE_BETWEEN | STATE_R11 | STATE_NOTED, /* (history) behind rounds of a
						      cycle: r11 counts them still */
	/* Of a branch that has been made, all but the jump. Nobody stops there; a task that has
	   died is told to be where the branch leads. */
	STATE_MADE = STATE_BETWEEN | STATE_CALLED, /* the branch leads to pc; if ticks are counted,
						      it is not yet counted */
	STATE_LEADS = STATE_BETWEEN | STATE_NOTED, /* (ticks) it leads to the address in r11; the
						      count is in the context; */
	STATE_LEADS_RCX =
		STATE_LEADS | STATE_RCX, /* it leads to the address in rcx; the count is in r11, */
	STATE_LEADS_UNCOUNTED =
		STATE_LEADS_RCX | STATE_CALLED, /* and does not have this branch yet */
};

struct state_entry {
	uint16_t at;        /* from the fragment's beginning; holds until the next entry */
	uint8_t state, reg; /* reg: 0 where state has neither STATE_SPILLED nor STATE_RCX */
	int32_t pc;         /* from the fragment's pc */
};

enum {
	STATE_BYTES_MAX = 9, /* of an entry in a list */
};

/* Writes a list of n entries, in the order of their code, to `out`, which has room for n *
 * STATE_BYTES_MAX. Returns its bytes. */
size_t state_map_encode(const struct state_entry *state_map, size_t n, uint8_t *out);

/* The last entry of such a list that is not behind `at`. False when there is none. */
bool state_map_find(const uint8_t *list, size_t len, uint32_t at, struct state_entry *found);

#endif
