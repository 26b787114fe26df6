/* SPDX-License-Identifier: MIT */
/* What a processor's record tells of user code, piece by piece, whatever record that is; and how
 * the pieces become entries of a task's history. Made by pt_flow and bts_flow; used by the pmu
 * backend and the import of perf.data. Pure. */
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
	uint64_t tsc;  /* about when, in ticks of the time-stamp counter; 0: unknown */
	uint64_t time; /* of ARRIVE and DEPART: ns */
	uint32_t cpu;
	bool preempted;    /* of DEPART: it could have run on */
	uint64_t addr;     /* of a gap: where decoding stood, 0: unknown */
	const char *cause; /* of a gap: in words, or NULL */
};

/* Up to n bytes of code at addr into bytes; returns how many, 0: none is known there. */
typedef size_t flow_code(void *arg, uint64_t addr, uint8_t *bytes, size_t n);

/* What the code at addr is: a kind of branch; ASYNC for what is none, so that only an interrupt
 * leads away from it; BRANCH where there is no code to tell. code may be NULL. */
enum bt_branch_kind flow_kind_at(flow_code *code, void *arg, uint64_t addr);

/* Addresses of the kernel's half, the vsyscall page included. */
static inline bool flow_is_kernel(uint64_t addr) { return addr >> 63; }

/* Makes entries of one task's history from the items that belong to it: what left user code and
 * what entered it again are one entry. Zero it for a new task. */
struct flow_join {
	bool left;
	struct bt_branch at;
};

/* Whether the item completes an entry, which is in *out then. Coming back from an interrupt to
 * where it happened is none. */
bool flow_join(struct flow_join *j, const struct flow_item *item, struct bt_branch *out);

#endif
