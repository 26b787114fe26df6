/* SPDX-License-Identifier: MIT */
/* How long libdw has worked on files of a stranger's trace, in processor time of this process. A
 * small file can keep it busy for long: unwind information of 7 KB asks for gigabytes of registers
 * in each frame. Nothing interrupts libdw; but each of its functions ends, and when they have taken
 * too long together, no more are called. Used by symbols, through images, units and values. */
#ifndef BT_STRANGE_TIME_H
#define BT_STRANGE_TIME_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroed but for `most`: nothing was done yet. */
struct strange_time {
	uint64_t most;         /* that may be spent, ns */
	unsigned depth;        /* of work within work, which counts once */
	uint64_t begun, spent; /* ns */
	bool over;
};

/* Around work on a stranger's file, each begin with an end; t may be NULL: it is nobody's whose
 * time is counted. */
void strange_time_begin(struct strange_time *t);
void strange_time_end(struct strange_time *t);

/* Whether more than t->most has been spent, the work in hand included. False without t. Takes a
 * quarter of a microsecond. */
bool strange_time_is_over(struct strange_time *t);

#endif
