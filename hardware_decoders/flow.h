/* SPDX-License-Identifier: MIT */
/* A processor's record of user code as items, the same for every kind of record; and how items
 * become entries of a task's history. Made by pt_flow and bts_flow; used by the pmu backend and the
 * import of perf.data. Pure. */
#ifndef BT_FLOW_H
#define BT_FLOW_H

#include "lib/branch.h"

enum flow_kind {
	FLOW_BRANCH, /* branch: complete */
	FLOW_LEAVE,  /* user code was left at branch.from: by a system call (SYSCALL), an interrupt
		      * or exception before the instruction  there (ASYNC), or into code that the
		      * capture's filter leaves out (GAP) */
	FLOW_ENTER,  /* user code goes on at branch.to */
	FLOW_GAP,    /* branch: a gap */
	FLOW_ARRIVE, /* the task arrives on a CPU: time, cpu */
	FLOW_DEPART, /* it departs from it */
	FLOW_SYNC, /* decoding begins at a synchronization point: addr is its offset in the stream.
		      No code was asked for yet */
};

struct flow_item {
	enum flow_kind kind;
	struct bt_branch branch;
	uint64_t tsc;  /* approximate, in ticks of the time-stamp counter; 0: unknown */
	uint64_t time; /* of ARRIVE and DEPART: ns */
	uint32_t cpu;
	bool preempted;    /* of DEPART: it could have run on */
	uint64_t addr;     /* of a gap: the address that decoding had reached, 0: unknown */
	const char *cause; /* of a gap: in words, or NULL */
};

/* Copies up to n bytes of code at addr. Returns how many; 0: no code is known there. */
typedef size_t flow_code(void *arg, uint64_t addr, uint8_t *bytes, size_t n);

/* The kind of branch at addr. ASYNC: another instruction, which only an interrupt leaves this way.
 * BRANCH: no code is known there. code may be NULL. */
enum bt_branch_kind flow_kind_at(flow_code *code, void *arg, uint64_t addr);

/* Addresses of the kernel's half, the vsyscall page included. */
static inline bool flow_is_kernel(uint64_t addr) { return addr >> 63; }

/* Makes entries of one task's history from its items: a LEAVE and the next ENTER become one entry.
 * Zero it for a new task. */
struct flow_join {
	bool left;
	struct bt_branch at;
};

/* Returns whether the item completes an entry, and puts that into *out. A return from an interrupt
 * to the interrupted instruction is no entry. */
bool flow_join(struct flow_join *j, const struct flow_item *item, struct bt_branch *out);

#endif
