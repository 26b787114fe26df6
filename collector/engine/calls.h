/* SPDX-License-Identifier: MIT */
/* Which system calls may run in the cache, without a stop: those that change nothing that the engine or the recorder keeps track of, and
 * show the program nothing that they hide from it. Where others of the unit wait for the turn, only those that return soon; where they run
 * side by side, those that wait, too. */
#ifndef BT_CALLS_H
#define BT_CALLS_H

#include <stddef.h>
#include <stdint.h>

/* What a call needs (calls_class) and what is granted at the moment (CTX_CALLS): it runs in the cache when all that it needs is granted. */
enum calls_need {
	CALLS_CACHE = 1 << 0,	   /* any call */
	CALLS_PATHS = 1 << 1,	   /* it asks a file system that may be slow: only where nobody else waits for the turn */
	CALLS_DESCRIPTORS = 1 << 2, /* its first argument is a descriptor: the table of descriptors (layout.h) allows that, or it is not open */
	CALLS_WRITE = 1 << 3,	   /* the kernel writes to the program's memory */
	CALLS_OPERATION = 1 << 4,  /* it is one of calls_operations */
	CALLS_CLOSE = 1 << 5,	   /* the descriptor is gone behind it */
	CALLS_COPY = 1 << 6,	   /* it gives a descriptor that is what the first argument is */
	CALLS_WAIT = 1 << 7,	   /* it may wait: only where nobody else waits for the turn. So may calls of descriptors of which the table says so */
	CALLS_ANY = 1 << 8,	   /* with CALLS_DESCRIPTORS: where calls may wait, the descriptor may be any */
	CALLS_GIVES = 1 << 9,	   /* it gives a descriptor whose calls may wait */
	CALLS_OPENS = 1 << 10,	   /* it gives a descriptor of which nothing is known; only what is opened for reading alone: the other is looked at at once */
	CALLS_MAPS = 1 << 11,	   /* it changes mappings: only such as hold no code before and after it, and are not the engine's (routine_calls.c) */
	CALLS_ACTION = 1 << 12,	   /* it sets what a signal does: only of signals that the engine and the stepper do not use themselves */
	CALLS_FIRST = 1 << 13,	   /* only of calls_operations */
	CALLS_ASKS = 1 << 14,	   /* likewise; its third argument has to be 0: it sets nothing */
	CALLS_STOP = 1 << 15,	   /* never granted */
	CALLS_PROTECTS = 1 << 16,  /* of no call as such: mprotect(2) may let write. Taken back where a file is mapped that others see changes of: code may be mapped from it, too */
	CALLS_TELLS = 1 << 17,	   /* of descriptor 2 only where what it writes can be copied (CALLS_COPIES): the recorder keeps that (last_words.h) */
	CALLS_COPIES = 1 << 18,	   /* of no call as such: write(2) may write to descriptor 2 */
	CALLS_TABLE = 1 << 19,	   /* of no call as such: there is a table of descriptors. Where there is none, only those that are not open are known */
	CALLS_MASKS = 1 << 20,	   /* it sets the signal mask: only of signals that the engine and the stepper do not use themselves, and where none is hidden */
	CALLS_ALL = CALLS_CACHE | CALLS_PATHS | CALLS_DESCRIPTORS | CALLS_WRITE | CALLS_OPERATION | CALLS_CLOSE | CALLS_COPY | CALLS_WAIT | CALLS_ANY |
		    CALLS_GIVES | CALLS_OPENS | CALLS_MAPS | CALLS_ACTION | CALLS_PROTECTS | CALLS_TELLS | CALLS_COPIES | CALLS_TABLE | CALLS_MASKS,
};

enum {
	CALLS_NUMBERS = 448,
};

/* enum calls_need of a system call; CALLS_STOP for those that are not listed. */
uint32_t calls_class(uint64_t nr);

/* A second argument (CALLS_FIRST: first; for all of a call) with which a call may run in the cache, and what it needs then: CALLS_COPY, CALLS_WAIT,
 * CALLS_ASKS or nothing more. Those of a call stand together. */
struct calls_operation {
	uint16_t nr, need;
	uint32_t value;
};
extern const struct calls_operation calls_operations[];
extern const size_t calls_operations_count;

#endif
