/* SPDX-License-Identifier: MIT */
/* One entry of a branch history, and its encoding: the unit of exchange between every source
 * (stepper, engine, LBR, BTS, PT, import) and every reader. The numbers of kinds, flags and gaps
 * are those of the trace: they never change. Pure. */
#ifndef BT_BRANCH_H
#define BT_BRANCH_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/buf.h"
#include "lib/error.h"
#include "lib/slice.h"

enum bt_branch_kind {
#define BT_BRANCH(name, json, transfer, text) BT_BRANCH_##name,
#include "lib/branch.def"
#undef BT_BRANCH
	BT_BRANCH_KINDS
};

enum bt_gap_reason {
#define BT_GAP(name, json, text) BT_GAP_##name,
#include "lib/gap.def"
#undef BT_GAP
	BT_GAP_REASONS
};

enum bt_branch_flags {
	BT_BRANCH_TAKEN = 1, /* clear only for a conditional that fell through, and for an imported
				entry of a wrong path */
	BT_BRANCH_PREDICTION_KNOWN = 2,
	BT_BRANCH_MISPREDICTED = 4,
};

/* 24 bytes: the ring of a task is an array of these.
 * GAP: from = how many branches are missing (0: unknown), to = enum bt_gap_reason. EPOCH: to = the
 * epoch. */
struct bt_branch {
	uint64_t from; /* address of the branch instruction */
	uint64_t to;   /* address of the instruction executed next; of a branch not taken: the one
			  behind it */
	uint8_t kind;  /* enum bt_branch_kind */
	uint8_t flags;
	uint16_t cycles; /* since the entry before, 0: unknown */
	uint32_t reserved;
};

struct bt_branch_info {
	const char *name; /* as in JSON */
	bool transfer;    /* counts as a transfer of a point (design, "point") */
	const char *text;
};

extern const struct bt_branch_info bt_branch_info[BT_BRANCH_KINDS];
extern const struct bt_branch_info bt_gap_info[BT_GAP_REASONS];

static inline bool bt_branch_kind_is_branch(unsigned kind)
{
	return kind <= BT_BRANCH_ASYNC || kind == BT_BRANCH_BRANCH;
}
static inline bool bt_branch_is_branch(const struct bt_branch *b)
{
	return bt_branch_kind_is_branch(b->kind);
}
static inline bool bt_branch_taken(const struct bt_branch *b) { return b->flags & BT_BRANCH_TAKEN; }

/* The part of the flags word of Linux's struct perf_branch_entry that an entry holds; BRANCH_WORDS
 * records hold the rest (FORMAT.md, section 6). */
static inline uint64_t bt_branch_perf_flags(const struct bt_branch *b)
{
	uint64_t flags = (uint64_t)b->cycles << 4;

	if (b->flags & BT_BRANCH_PREDICTION_KNOWN)
		flags |= b->flags & BT_BRANCH_MISPREDICTED ? 1 : 2;
	return flags;
}

/* Encoder and decoder state: deltas run from the `to` of the entry before. Zero it at the start of
 * a chunk. */
struct bt_branch_codec {
	uint64_t last;
};

/* Appends one entry. Layout: doc/FORMAT.md, "Branch entries". */
void bt_branch_encode(struct bt_branch_codec *c, struct buf *out, const struct bt_branch *b);

/* The lead byte: kind in bits 0-3, flags in 4-6, bit 7 set when a cycle count follows. */
enum {
	BT_BRANCH_LEAD_FLAGS = 4,
	BT_BRANCH_LEAD_CYCLES = 0x80,
};

/* Reads one entry. Returns 1; 0 at the end of the bytes; -BT_E_CORRUPT when they are no entry, with
 * *b zeroed. Inline, so that a reader of millions of entries gets them in registers, not through
 * memory. */
static inline int bt_branch_decode(struct bt_branch_codec *c, struct slice *in, struct bt_branch *b)
{
	uint64_t from, to, cycles;
	unsigned lead, kind;
	bool branch;

	*b = (struct bt_branch){0};
	if (in->bad || !in->len)
		return in->bad ? -BT_E_CORRUPT : 0;
	lead = *in->at++;
	in->len--;
	kind = lead & 15;
	branch = bt_branch_kind_is_branch(kind);
	if (branch) {
		from = c->last + (uint64_t)slice_sleb(in);
		to = from + (uint64_t)slice_sleb(in);
	} else {
		from = slice_leb(in);
		to = slice_leb(in);
	}
	cycles = lead & BT_BRANCH_LEAD_CYCLES ? slice_leb(in) : 0;
	if (in->bad || cycles > UINT16_MAX || kind >= BT_BRANCH_KINDS ||
	    (kind == BT_BRANCH_GAP && to >= BT_GAP_REASONS)) {
		in->bad = true;
		return -BT_E_CORRUPT;
	}
	if (branch)
		c->last = to;
	*b = (struct bt_branch){.from = from,
				.to = to,
				.kind = (uint8_t)kind,
				.flags = lead >> BT_BRANCH_LEAD_FLAGS & 7,
				.cycles = (uint16_t)cycles};
	return 1;
}

#endif
