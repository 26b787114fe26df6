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
	NONE = 0,             /* no place: numbers of places count from 1 on */
	RETURN_DISTANCE = 15, /* from a call to behind it, at most */
	FIRST_CHOICES = 8,    /* bytes */
	BEHIND = 0,           /* ways */
	TAKEN = BT_BRANCH_TAKEN,
	/* Bytes at most. */
	PLACE_SIZE = 48,
	TARGET_SIZE = 5,
	HEAD_SIZE = 100,
};

/* 64 bytes: a program has thousands, and each entry looks at one. */
struct graph_place {
	uint64_t start, from;
	uint8_t *choices;  /* bits of a conditional, else bytes */
	uint32_t *targets; /* places */
	size_t target_cap;
	uint32_t made;      /* choices */
	uint32_t used, cap; /* bytes of them, and room */
	uint32_t way[2];    /* places: behind the branch, and where it is taken */
	uint8_t kind, fan;
	bool asks; /* not all choices are the same */
};

/* The number of the place at an address; NONE without memory. */
static uint32_t place_at(struct branch_graph *g, uint64_t start)
{
	const struct hash_slot *slot = hash_table_find(&g->by_start, start);
	struct graph_place *places;

	if (slot)
		return (uint32_t)slot->number;
	places = array_grow(g->places, g->count, &g->cap, sizeof *places);
	if (!places)
		return NONE;
	g->places = places;
	if (!hash_table_add(&g->by_start, (struct hash_slot){start, {g->count + 1}}))
		return NONE;
	places[g->count] =
		(struct graph_place){.start = start, .from = start, .kind = BRANCH_GRAPH_NO_BRANCH};
	g->size += PLACE_SIZE;
	return (uint32_t)++g->count;
}

static struct graph_place *place_numbered(const struct branch_graph *g, size_t number)
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
static uint32_t way_to(struct branch_graph *g, uint32_t known, uint64_t start)
{
	if (known == NONE)
		return place_at(g, start);
	return place_numbered(g, known)->start == start ? known : NONE;
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
static uint32_t place_behind_call(struct branch_graph *g, uint64_t to)
{
	uint32_t call, behind;

	if (!g->calls.depth)
		return NONE;
	call = g->calls.at[(g->calls.top - 1) % BRANCH_GRAPH_CALLS];
	behind = place_numbered(g, call)->way[BEHIND];
	if (behind == NONE && to - place_numbered(g, call)->from - 1 < RETURN_DISTANCE) {
		behind = place_at(g, to);
		place_numbered(g, call)->way[BEHIND] = behind;
	}
	return behind;
}

static void push_byte(struct branch_graph *g, struct graph_place *p, uint8_t byte)
{
	uint32_t cap = p->cap ? 2 * p->cap : FIRST_CHOICES;
	uint8_t *choices = p->used == p->cap ? realloc(p->choices, cap) : p->choices;

	if (!choices) {
		g->failed = true;
		return;
	}
	if (p->used == p->cap)
		p->cap = cap;
	p->choices = choices;
	choices[p->used++] = byte;
	g->size++;
}

static void add_choice(struct branch_graph *g, struct graph_place *p, unsigned choice)
{
	push_byte(g, p, (uint8_t)choice);
	p->made++;
}

static void choose_bit(struct branch_graph *g, struct graph_place *p, unsigned bit)
{
	if (p->made % 8 == 0)
		push_byte(g, p, (uint8_t)bit);
	else
		p->choices[p->used - 1] |= (uint8_t)(bit << p->made % 8);
	p->made++;
}

/* Each of these takes an entry that is the branch of the place with that number. Returns where it
 * leads; NONE: it must be a literal. */
static uint32_t take_direct(struct branch_graph *g, size_t number, const struct bt_branch *b)
{
	uint32_t next = way_to(g, place_numbered(g, number)->way[TAKEN], b->to);

	if (next == NONE)
		return NONE;
	place_numbered(g, number)->way[TAKEN] = next;
	if (b->kind == BT_BRANCH_CALL)
		graph_calls_push(&g->calls, number);
	return next;
}

static uint32_t take_conditional(struct branch_graph *g, size_t number, const struct bt_branch *b)
{
	unsigned taken = b->flags & BT_BRANCH_TAKEN; /* an index: nobody could predict a branch */
	uint32_t next = way_to(g, place_numbered(g, number)->way[taken], b->to);

	if (next == NONE)
		return NONE;
	place_numbered(g, number)->way[taken] = next;
	choose_bit(g, place_numbered(g, number), taken);
	return next;
}

static uint32_t take_indirect(struct branch_graph *g, size_t number, const struct bt_branch *b)
{
	bool returns = b->kind == BT_BRANCH_RET;
	uint32_t next = returns ? place_behind_call(g, b->to) : NONE;
	size_t call;
	unsigned choice = 0;

	if (next == NONE || place_numbered(g, next)->start != b->to) {
		next = place_at(g, b->to);
		choice = next == NONE ? BRANCH_GRAPH_TARGETS
				      : target_of(g, place_numbered(g, number), next);
		if (choice == BRANCH_GRAPH_TARGETS)
			return NONE;
		choice += returns;
	}
	place_numbered(g, number)->asks |= choice != 0;
	add_choice(g, place_numbered(g, number), choice);
	if (returns)
		graph_calls_pop(&g->calls, &call);
	else if (b->kind == BT_BRANCH_ICALL)
		graph_calls_push(&g->calls, number);
	return next;
}

static uint32_t take_plain(struct branch_graph *g, size_t number, const struct bt_branch *b)
{
	if (b->kind == BT_BRANCH_JCC)
		return take_conditional(g, number, b);
	return graph_kind_is_indirect(b->kind) ? take_indirect(g, number, b)
					       : take_direct(g, number, b);
}

static void add_literal(struct branch_graph *g, const struct bt_branch *b)
{
	struct bt_branch_codec codec = {.last = g->at == NONE ? 0
							      : place_numbered(g, g->at)->start};

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
	uint32_t next = NONE;

	if (g->failed)
		return;
	if (g->at != NONE && is_plain(b) && is_branch_of(place_numbered(g, g->at), b))
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
	buf_put(&s->columns[column], p->choices, p->used);
}

static void put_place(struct sorted_places *s, size_t rank)
{
	const struct graph_place *p = s->at[rank], *before = rank ? s->at[rank - 1] : NULL;

	buf_u8(&s->leads, (uint8_t)(p->kind | (p->way[BEHIND] != NONE ? BRANCH_GRAPH_BEHIND : 0) |
				    (p->way[TAKEN] != NONE || p->fan ? BRANCH_GRAPH_TAKEN : 0)));
	buf_sleb(&s->columns[STARTS], (int64_t)(p->start - (before ? before->from : 0)));
	if (p->kind != BRANCH_GRAPH_NO_BRANCH)
		buf_leb(&s->columns[FROMS], p->from - p->start);
	if (p->way[BEHIND] != NONE)
		put_way(s, BEHINDS, rank, p->way[BEHIND]);
	if (p->way[TAKEN] != NONE)
		put_way(s, TAKENS, rank, p->way[TAKEN]);
	if (p->fan)
		buf_leb(&s->columns[FANS], p->fan);
	for (unsigned i = 0; i < p->fan; i++)
		put_way(s, TAKENS, rank, p->targets[i]);
	if (p->asks ||
	    (p->kind == BT_BRANCH_JCC && p->way[BEHIND] != NONE && p->way[TAKEN] != NONE))
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
		free(g->places[i].choices);
	}
	free(g->places);
	hash_table_release(&g->by_start);
	buf_release(&g->literals);
	*g = (struct branch_graph){0};
}
