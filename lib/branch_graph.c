/* SPDX-License-Identifier: MIT */
/* While entries come, places are numbered as they come, and each keeps the choices that were made
 * there. At the end they are sorted by address: then most numbers of places are written as small
 * differences.
 *
 * What the graph cannot tell is a literal: gaps, epochs, handlers, the first entry, entries with
 * cycles or a prediction, and a branch at a place from which another one was executed before. */
#include "lib/branch_graph.h"

#include <stdlib.h>
#include <string.h>

#include "lib/grow.h"

enum {
	NONE = 0,             /* of numbers of places, which count from 1 on */
	RETURN_DISTANCE = 15, /* from a call to behind it, at most */
	/* Bytes at most. */
	PLACE_SIZE = 48,
	TARGET_SIZE = 5,
	HEAD_SIZE = 100,
};

struct graph_place {
	uint64_t start, from;
	size_t behind, taken; /* places */
	uint32_t *targets;    /* places */
	size_t target_cap;
	struct buf choices;
	uint32_t made; /* choices */
	uint8_t kind, fan;
	bool asks; /* not all choices are the same */
};

/* The number of the place at an address; NONE without memory. */
static size_t place_at(struct branch_graph *g, uint64_t start)
{
	const struct hash_slot *slot = hash_table_find(&g->by_start, start);
	struct graph_place *places;

	if (slot)
		return (size_t)slot->number;
	places = array_grow(g->places, g->count, &g->cap, sizeof *places);
	if (!places)
		return NONE;
	g->places = places;
	if (!hash_table_add(&g->by_start, (struct hash_slot){start, {g->count + 1}}))
		return NONE;
	places[g->count] =
		(struct graph_place){.start = start, .from = start, .kind = BRANCH_GRAPH_NO_BRANCH};
	g->size += PLACE_SIZE;
	return ++g->count;
}

static struct graph_place *place(const struct branch_graph *g, size_t number)
{
	return &g->places[number - 1];
}

/* Whether places can tell the entry. */
static bool is_plain(const struct bt_branch *b)
{
	bool known = b->kind <= BT_BRANCH_CALL || graph_kind_is_indirect(b->kind);
	bool taken = b->flags == BT_BRANCH_TAKEN || (!b->flags && b->kind == BT_BRANCH_JCC);

	return known && taken && !b->cycles;
}

/* Whether the entry is the branch of the place, which has none yet perhaps. */
static bool is_branch_of(struct graph_place *p, const struct bt_branch *b)
{
	if (p->kind == BRANCH_GRAPH_NO_BRANCH && b->from >= p->start) {
		p->kind = b->kind;
		p->from = b->from;
	}
	return p->kind == b->kind && p->from == b->from;
}

/* Where a way leads that is known or not yet: to the place at that address. NONE: it does not, or
 * there is no memory. */
static size_t way_to(struct branch_graph *g, size_t known, uint64_t start)
{
	if (known == NONE)
		return place_at(g, start);
	return place(g, known)->start == start ? known : NONE;
}

/* Returns the target's index, BRANCH_GRAPH_TARGETS when there is no room for it. */
static unsigned target_of(struct branch_graph *g, struct graph_place *p, size_t target)
{
	uint32_t *targets;
	unsigned i = 0;

	while (i < p->fan && p->targets[i] != target)
		i++;
	if (i < p->fan || i == BRANCH_GRAPH_TARGETS)
		return i;
	targets = array_grow(p->targets, p->fan, &p->target_cap, sizeof *targets);
	g->failed |= !targets;
	if (!targets)
		return BRANCH_GRAPH_TARGETS;
	p->targets = targets;
	targets[p->fan++] = (uint32_t)target;
	g->size += TARGET_SIZE;
	return i;
}

/* Where a return leads that belongs to the newest call. A call's first return tells where the code
 * behind it begins. */
static size_t place_behind_call(struct branch_graph *g, uint64_t to)
{
	size_t call, behind;

	if (!g->calls.depth)
		return NONE;
	call = g->calls.at[(g->calls.top - 1) % BRANCH_GRAPH_CALLS];
	behind = place(g, call)->behind;
	if (behind == NONE && to - place(g, call)->from - 1 < RETURN_DISTANCE) {
		behind = place_at(g, to);
		place(g, call)->behind = behind;
	}
	return behind;
}

static void choose(struct branch_graph *g, struct graph_place *p, unsigned choice)
{
	buf_u8(&p->choices, (uint8_t)choice);
	g->size++;
	p->made++;
}

static void choose_bit(struct branch_graph *g, struct graph_place *p, bool bit)
{
	if (p->made % 8 == 0) {
		buf_u8(&p->choices, 0);
		g->size++;
	}
	if (!p->choices.failed)
		p->choices.data[p->choices.len - 1] |= (uint8_t)(bit << p->made % 8);
	p->made++;
}

/* Each of these takes an entry that is the branch of the place with that number. Returns where it
 * leads; NONE: it must be a literal. */
static size_t take_direct(struct branch_graph *g, size_t number, const struct bt_branch *b)
{
	size_t next = way_to(g, place(g, number)->taken, b->to);

	if (next == NONE)
		return NONE;
	place(g, number)->taken = next;
	if (b->kind == BT_BRANCH_CALL)
		graph_calls_push(&g->calls, number);
	return next;
}

static size_t take_conditional(struct branch_graph *g, size_t number, const struct bt_branch *b)
{
	bool taken = bt_branch_taken(b);
	struct graph_place *p = place(g, number);
	size_t next = way_to(g, taken ? p->taken : p->behind, b->to);

	if (next == NONE)
		return NONE;
	p = place(g, number);
	*(taken ? &p->taken : &p->behind) = next;
	choose_bit(g, p, taken);
	return next;
}

static size_t take_indirect(struct branch_graph *g, size_t number, const struct bt_branch *b)
{
	bool returns = b->kind == BT_BRANCH_RET;
	size_t next = returns ? place_behind_call(g, b->to) : NONE, call;
	unsigned choice = 0;

	if (next == NONE || place(g, next)->start != b->to) {
		next = place_at(g, b->to);
		choice = next == NONE ? BRANCH_GRAPH_TARGETS : target_of(g, place(g, number), next);
		if (choice == BRANCH_GRAPH_TARGETS)
			return NONE;
		choice += returns;
	}
	place(g, number)->asks |= choice != 0;
	choose(g, place(g, number), choice);
	if (returns)
		graph_calls_pop(&g->calls, &call);
	else if (b->kind == BT_BRANCH_ICALL)
		graph_calls_push(&g->calls, number);
	return next;
}

static size_t take_plain(struct branch_graph *g, size_t number, const struct bt_branch *b)
{
	if (b->kind == BT_BRANCH_JCC)
		return take_conditional(g, number, b);
	return graph_kind_is_indirect(b->kind) ? take_indirect(g, number, b)
					       : take_direct(g, number, b);
}

static void add_literal(struct branch_graph *g, const struct bt_branch *b)
{
	struct bt_branch_codec codec = {.last = g->at == NONE ? 0 : place(g, g->at)->start};

	buf_leb(&g->literals, g->steps);
	bt_branch_encode(&codec, &g->literals, b);
	g->steps = 0;
	g->literal_count++;
	if (!bt_branch_is_branch(b))
		return;
	g->at = place_at(g, b->to);
	g->failed |= g->at == NONE;
}

void branch_graph_add(struct branch_graph *g, const struct bt_branch *b)
{
	size_t next = NONE;

	if (g->failed)
		return;
	if (g->at != NONE && is_plain(b) && is_branch_of(place(g, g->at), b))
		next = take_plain(g, g->at, b);
	g->entries++;
	if (next != NONE) {
		g->at = next;
		g->steps++;
	} else {
		add_literal(g, b);
	}
}

/* The parts of a graph that follow its leads, in their order. */
enum graph_column { STARTS, FROMS, BEHINDS, TAKENS, FANS, COUNTS, BITS, BYTES, COLUMNS };

/* A graph's places in the order of their addresses. */
struct sorted_places {
	const struct graph_place **at; /* by rank */
	uint32_t *ranks;               /* by number - 1 */
	struct buf leads, columns[COLUMNS];
};

static int compare_starts(const void *a, const void *b)
{
	const struct graph_place *const *x = a, *const *y = b;

	return (*x)->start < (*y)->start ? -1 : (*x)->start > (*y)->start;
}

static bool sort_places(struct sorted_places *s, const struct branch_graph *g)
{
	s->at = calloc(g->count + 1, sizeof *s->at);
	s->ranks = calloc(g->count + 1, sizeof *s->ranks);
	if (!s->at || !s->ranks)
		return false;
	for (size_t i = 0; i < g->count; i++)
		s->at[i] = &g->places[i];
	qsort(s->at, g->count, sizeof *s->at, compare_starts);
	for (size_t i = 0; i < g->count; i++)
		s->ranks[s->at[i] - g->places] = (uint32_t)i;
	return true;
}

static void put_way(struct sorted_places *s, enum graph_column column, size_t from, size_t number)
{
	buf_sleb(&s->columns[column], (int64_t)s->ranks[number - 1] - (int64_t)from);
}

static void put_choices(struct sorted_places *s, const struct graph_place *p)
{
	enum graph_column column = p->kind == BT_BRANCH_JCC ? BITS : BYTES;

	buf_leb(&s->columns[COUNTS], p->made);
	buf_put(&s->columns[column], p->choices.data, p->choices.len);
	s->columns[column].failed |= p->choices.failed;
}

static void put_place(struct sorted_places *s, size_t rank)
{
	const struct graph_place *p = s->at[rank], *before = rank ? s->at[rank - 1] : NULL;

	buf_u8(&s->leads, (uint8_t)(p->kind | (p->behind != NONE ? BRANCH_GRAPH_BEHIND : 0) |
				    (p->taken != NONE || p->fan ? BRANCH_GRAPH_TAKEN : 0)));
	buf_sleb(&s->columns[STARTS], (int64_t)(p->start - (before ? before->from : 0)));
	if (p->kind != BRANCH_GRAPH_NO_BRANCH)
		buf_leb(&s->columns[FROMS], p->from - p->start);
	if (p->behind != NONE)
		put_way(s, BEHINDS, rank, p->behind);
	if (p->taken != NONE)
		put_way(s, TAKENS, rank, p->taken);
	if (p->fan)
		buf_leb(&s->columns[FANS], p->fan);
	for (unsigned i = 0; i < p->fan; i++)
		put_way(s, TAKENS, rank, p->targets[i]);
	if (p->asks || (p->kind == BT_BRANCH_JCC && p->behind != NONE && p->taken != NONE))
		put_choices(s, p);
}

size_t branch_graph_size(const struct branch_graph *g)
{
	return HEAD_SIZE + g->size + g->literals.len;
}

bool branch_graph_encode(const struct branch_graph *g, struct buf *out)
{
	struct sorted_places s = {0};
	bool good = sort_places(&s, g) && !g->failed && !g->literals.failed;

	for (size_t i = 0; good && i < g->count; i++)
		put_place(&s, i);
	buf_leb(out, g->count);
	for (unsigned i = 0; i < COLUMNS; i++)
		buf_leb(out, s.columns[i].len);
	buf_put(out, s.leads.data, s.leads.len);
	good &= !s.leads.failed;
	for (unsigned i = 0; i < COLUMNS; i++) {
		buf_put(out, s.columns[i].data, s.columns[i].len);
		good &= !s.columns[i].failed;
		buf_release(&s.columns[i]);
	}
	buf_put(out, g->literals.data, g->literals.len);
	buf_release(&s.leads);
	free(s.at);
	free(s.ranks);
	return good && !out->failed;
}

void branch_graph_release(struct branch_graph *g)
{
	for (size_t i = 0; i < g->count; i++) {
		free(g->places[i].targets);
		buf_release(&g->places[i].choices);
	}
	free(g->places);
	hash_table_release(&g->by_start);
	buf_release(&g->literals);
	*g = (struct branch_graph){0};
}
