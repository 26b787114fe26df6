/* SPDX-License-Identifier: MIT */
/* Which system calls may run in the cache, without a stop: those that change nothing that the
 * engine or the recorder keeps track of, and show the program nothing that they hide from it. Where
 * others of the unit wait for the turn, only those that return soon; where they run side by side,
 * those that wait, too. Used by the routines, which test it in the task, and by the tracer's side
 * (descriptors, cache_syscalls). Constant tables. A call that is not listed is made at a stop. */
#ifndef BT_SYSCALL_POLICY_H
#define BT_SYSCALL_POLICY_H

#include <stddef.h>
#include <stdint.h>

/* The needs of a call (syscall_policy), and the grants of the moment (CTX_SYSCALLS): a call runs in
 * the cache when all that it needs is granted. */
enum syscall_policy {
	POLICY_CACHE = 1 << 0, /* any call */
	POLICY_PATHS = 1 << 1, /* it asks a file system that may be slow: only where nobody else
				  waits for the turn */
	POLICY_DESCRIPTORS = 1 << 2, /* its first argument is a descriptor: the table of descriptors
					(layout.h) allows that, or it is not open */
	POLICY_WRITE = 1 << 3,       /* the kernel writes to the program's memory */
	POLICY_OPERATION = 1 << 4,   /* it is one of policy_operations */
	POLICY_CLOSE = 1 << 5,       /* the descriptor is gone behind it */
	POLICY_COPY = 1 << 6,   /* it gives a duplicate of the descriptor in the first argument */
	POLICY_WAIT = 1 << 7,   /* it may wait: only where nobody else waits for the turn. The table
				   of descriptors names those whose calls may wait, too */
	POLICY_ANY = 1 << 8,    /* with POLICY_DESCRIPTORS: any descriptor, if calls may wait */
	POLICY_GIVES = 1 << 9,  /* it gives a descriptor whose calls may wait */
	POLICY_OPENS = 1 << 10, /* it gives a descriptor of an unknown file; only for a file opened
				   for reading alone: another is looked at at once */
	POLICY_MAPS = 1 << 11,  /* it changes mappings: only such as hold no code before and after
				   it, and are not the engine's (routine_syscalls.c) */
	POLICY_ACTION = 1 << 12, /* it sets what a signal does: not of those that the engine and the
				    stepper use themselves, or that memory raises */
	POLICY_FIRST = 1 << 13,  /* only of policy_operations */
	POLICY_ASKS = 1 << 14,   /* likewise; its third argument has to be 0: it sets nothing */
	POLICY_STOP = 1 << 15,   /* never granted */
	POLICY_PROTECTS =
		1 << 16, /* of no call as such: mprotect(2) may let write. Taken back where a file
			    is mapped that others see changes of: code may be mapped from it, too */
	POLICY_TELLS = 1 << 17,  /* of descriptor 2 only where what it writes can be copied
				    (POLICY_COPIES): the recorder keeps that (last_words.h) */
	POLICY_COPIES = 1 << 18, /* of no call as such: write(2) may write to descriptor 2 */
	POLICY_TABLE = 1 << 19,  /* of no call as such: there is a table of descriptors. Without it
				    only descriptors that are not open are known */
	POLICY_MASKS = 1 << 20,  /* it sets the signal mask: likewise, and where none is hidden */
	POLICY_READS = 1 << 21,  /* of no call as such: the memory that a failed call's arguments
				    point to is read */
	POLICY_ALL = POLICY_CACHE | POLICY_PATHS | POLICY_DESCRIPTORS | POLICY_WRITE |
		     POLICY_OPERATION | POLICY_CLOSE | POLICY_COPY | POLICY_WAIT | POLICY_ANY |
		     POLICY_GIVES | POLICY_OPENS | POLICY_MAPS | POLICY_ACTION | POLICY_PROTECTS |
		     POLICY_TELLS | POLICY_COPIES | POLICY_TABLE | POLICY_MASKS | POLICY_READS,
};

enum {
	POLICY_NUMBERS = 448,
};

/* enum syscall_policy of a system call; POLICY_STOP for those that are not listed. */
uint32_t syscall_policy(uint64_t nr);

/* A second argument (POLICY_FIRST: first; for all of a call) with which a call may run in the
 * cache, and what it needs then: POLICY_COPY, POLICY_WAIT, POLICY_ASKS or nothing more. Those of a
 * call stand together. */
struct policy_operation {
	uint16_t nr, need;
	uint32_t value;
};
extern const struct policy_operation policy_operations[];
extern const size_t policy_operations_count;

#endif
