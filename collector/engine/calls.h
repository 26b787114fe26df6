/* SPDX-License-Identifier: MIT */
/* Which system calls may run in the cache, without a stop: those that return soon, change nothing that the engine or the recorder keeps
 * track of, and show the program nothing that they hide from it. */
#ifndef BT_CALLS_H
#define BT_CALLS_H

#include <stddef.h>
#include <stdint.h>

/* What a call needs (calls_class) and what is granted at the moment (CTX_CALLS): it runs in the cache when all that it needs is granted. */
enum calls_need {
	CALLS_CACHE = 1 << 0,	   /* any call */
	CALLS_PATHS = 1 << 1,	   /* it asks a file system that may be slow: only where nobody else waits for the turn */
	CALLS_DESCRIPTORS = 1 << 2, /* its first argument is a descriptor, and the table of descriptors (layout.h) allows that */
	CALLS_WRITE = 1 << 3,	   /* the kernel writes to the program's memory */
	CALLS_OPERATION = 1 << 4,  /* its second argument is one of calls_operations */
	CALLS_CLOSE = 1 << 5,	   /* the descriptor is gone behind it */
	CALLS_COPY = 1 << 6,	   /* it gives a descriptor that is what the first argument is */
	CALLS_STOP = 1 << 7,	   /* never granted */
	CALLS_ALL = CALLS_CACHE | CALLS_PATHS | CALLS_DESCRIPTORS | CALLS_WRITE | CALLS_OPERATION | CALLS_CLOSE | CALLS_COPY,
};

enum {
	CALLS_NUMBERS = 512,
	CALLS_OPERATIONS = 8,
};

/* enum calls_need of a system call; CALLS_STOP for those that are not listed. */
uint8_t calls_class(uint64_t nr);

/* A call that runs in the cache with these second arguments only; those in front are CALLS_COPY. */
struct calls_operation {
	uint16_t nr;
	uint8_t count, copies;
	uint32_t allowed[CALLS_OPERATIONS];
};
extern const struct calls_operation calls_operations[];
extern const size_t calls_operations_count;

#endif
