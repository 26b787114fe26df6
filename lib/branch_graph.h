/* SPDX-License-Identifier: MIT */
/* Consecutive entries of a branch history as a graph of the code that ran, and the way through it:
 * doc/FORMAT.md, "Graphs". A place is where a branch led. Straight-line code leads from it to one
 * branch, so of most entries nothing is kept but the direction of a conditional. The trace writer
 * makes graphs; all readers of histories read them. No state but in the structs. */
#ifndef BT_BRANCH_GRAPH_H
#define BT_BRANCH_GRAPH_H

#include "lib/branch.h"
#include "lib/hash_table.h"

enum {
	BRANCH_GRAPH_MOST = 1 << 22, /* entries of a graph */
	BRANCH_GRAPH_CALLS = 1024,   /* the newest calls that returns are looked for in; a power of
					two */
	BRANCH_GRAPH_TARGETS = 254, /* of an indirect branch, at most; other entries are literals */
};

/* The lead byte of a place: the kind of its branch, and which ways on it has. */
enum branch_graph_lead {
	BRANCH_GRAPH_NO_BRANCH = 15, /* kind: none is known */
	BRANCH_GRAPH_KIND = 15,      /* mask */
	BRANCH_GRAPH_BEHIND = 16,    /* not taken; of a call: behind its return */
	BRANCH_GRAPH_TAKEN = 32,
	BRANCH_GRAPH_LEADS = 63, /* mask */
};

/* The newest calls, by the number of the place whose branch they are. */
struct graph_calls {
	uint32_t at[BRANCH_GRAPH_CALLS];
	uint32_t top, depth;
};

struct graph_place;

/* A graph while it is made. All zero is an empty one. */
struct branch_graph {
	struct graph_place *places;
	size_t count, cap;
	struct hash_table by_start; /* the number of a place, counted from 1 on */
	uint32_t at;                /* the place that the newest branch led to; 0: none */
	uint64_t entries;
	uint64_t steps; /* entries since the newest literal */
	size_t size;    /* bytes of places and choices, at most */
	struct buf literals;
	uint64_t literal_count;
	struct graph_calls calls;
	bool failed; /* no memory */
};

/* Appends an entry. Without memory the graph is marked `failed`. */
void branch_graph_add(struct branch_graph *g, const struct bt_branch *b);

/* Bytes that branch_graph_encode() appends, at most. */
size_t branch_graph_size(const struct branch_graph *g);

/* Appends the graph's bytes to out. False without memory. */
bool branch_graph_encode(const struct branch_graph *g, struct buf *out);

/* Forgets all entries, and frees the memory. */
void branch_graph_release(struct branch_graph *g);

/* A place as it is read. */
struct graph_way {
	uint64_t start, from; /* of straight-line code; of the branch behind it */
	uint32_t behind,
		taken; /* places by number. behind: if not taken, or a call returns. taken: the
			  target; of branches with several the index of the first in `targets` */
	const uint8_t *choices; /* bits of a conditional, else bytes; NULL: there is no choice */
	uint32_t made, most;    /* of them */
	uint8_t kind;           /* enum bt_branch_kind, or BRANCH_GRAPH_NO_BRANCH */
	uint8_t fan;            /* targets */
};

/* Reads the entries of a graph. */
struct branch_graph_reader {
	struct graph_way *places; /* one more than `count`: nowhere */
	uint32_t count;
	uint32_t *targets; /* of indirect branches: places */
	uint32_t at;       /* the place that the newest branch led to */
	uint64_t steps;    /* entries before the next literal */
	struct slice literals;
	struct graph_calls calls;
};

/* Reads the places of a graph. Its bytes are borrowed. Returns 0; -BT_E_CORRUPT; -BT_E_NO_MEMORY.
 * Release it in any case. */
int branch_graph_reader_init(struct branch_graph_reader *r, struct slice graph);
void branch_graph_reader_release(struct branch_graph_reader *r);

/* Parts of branch_graph_reader_next(). The place that a branch leads to, no conditional;
 * UINT32_MAX: the graph is damaged. */
uint32_t branch_graph_reader_way(struct branch_graph_reader *r, struct graph_way *p);
int branch_graph_reader_literal(struct branch_graph_reader *r, struct bt_branch *b);

/* Reads an entry; how many there are the graph does not say. Returns 1, or -BT_E_CORRUPT with *b
 * zeroed: then no more can be read. Inline for the reason of bt_branch_decode(). */
static inline int branch_graph_reader_next(struct branch_graph_reader *r, struct bt_branch *b)
{
	struct graph_way *p = &r->places[r->at];
	uint8_t taken = BT_BRANCH_TAKEN;
	uint32_t next;

	if (!r->steps)
		return branch_graph_reader_literal(r, b);
	if (p->kind != BT_BRANCH_JCC) {
		next = branch_graph_reader_way(r, p);
	} else if (!p->choices) {
		next = p->taken < r->count ? p->taken : p->behind;
		taken = p->taken < r->count;
	} else if (p->made < p->most) {
		taken = p->choices[p->made / 8] >> p->made % 8 & 1;
		next = taken ? p->taken : p->behind;
		p->made++;
	} else {
		next = UINT32_MAX;
	}
	if (next >= r->count) {
		*b = (struct bt_branch){0};
		return -BT_E_CORRUPT;
	}
	r->steps--;
	r->at = next;
	*b = (struct bt_branch){
		.from = p->from, .to = r->places[next].start, .kind = p->kind, .flags = taken};
	return 1;
}

/* --- for both directions --- */

static inline void graph_calls_push(struct graph_calls *c, size_t place)
{
	c->at[c->top++ % BRANCH_GRAPH_CALLS] = (uint32_t)place;
	c->depth += c->depth < BRANCH_GRAPH_CALLS;
}

/* Takes the newest call. False when none is known. */
static inline bool graph_calls_pop(struct graph_calls *c, size_t *place)
{
	if (!c->depth)
		return false;
	c->depth--;
	*place = c->at[--c->top % BRANCH_GRAPH_CALLS];
	return true;
}

static inline bool graph_kind_calls(unsigned kind)
{
	return kind == BT_BRANCH_CALL || kind == BT_BRANCH_ICALL;
}

/* Kinds whose branch may lead anywhere each time. */
static inline bool graph_kind_is_indirect(unsigned kind)
{
	return kind == BT_BRANCH_RET || kind == BT_BRANCH_IJMP || kind == BT_BRANCH_ICALL ||
	       kind == BT_BRANCH_SYSCALL;
}

#endif
