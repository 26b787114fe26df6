/* SPDX-License-Identifier: MIT */
/* A graph's places are read as a whole: after that each step through it costs some loads. Every
 * number is checked here, once, so that a step need check none but those that it computes. */
#include <stdlib.h>
#include <string.h>

#include "lib/branch_graph.h"

/* The parts of a graph, as they follow its leads. */
struct graph_columns {
	struct slice leads, starts, froms, behinds, takens, fans, counts, bits, bytes;
};

static void take_columns(struct slice *in, uint32_t count, struct graph_columns *c)
{
	struct slice *const columns[] = {&c->starts, &c->froms,  &c->behinds, &c->takens,
					 &c->fans,   &c->counts, &c->bits,    &c->bytes};
	uint64_t lengths[8];

	for (unsigned i = 0; i < 8; i++)
		lengths[i] = slice_leb(in);
	c->leads = slice_take(in, count);
	for (unsigned i = 0; i < 8; i++)
		*columns[i] = slice_take(in, lengths[i]);
}

static bool columns_are_bad(const struct graph_columns *c)
{
	return c->leads.bad || c->starts.bad || c->froms.bad || c->behinds.bad || c->takens.bad ||
	       c->fans.bad || c->counts.bad || c->bits.bad || c->bytes.bad;
}

/* A place that is told by its distance from this one. */
static uint32_t take_way(const struct branch_graph_reader *r, struct slice *in, uint32_t place)
{
	uint64_t to = place + (uint64_t)slice_sleb(in);

	if (to >= r->count)
		in->bad = true;
	return in->bad ? UINT32_MAX : (uint32_t)to;
}

/* The targets of an indirect branch, behind `used` of other places. There is a byte for each. */
static void take_targets(struct branch_graph_reader *r, struct graph_way *p,
			 struct graph_columns *c, uint32_t place, uint32_t *used)
{
	uint64_t fan = slice_leb(&c->fans);

	if (!fan || fan > BRANCH_GRAPH_TARGETS || fan > c->takens.len) {
		c->fans.bad = true;
		return;
	}
	p->taken = *used;
	p->fan = (uint8_t)fan;
	for (uint64_t i = 0; i < fan; i++)
		r->targets[(*used)++] = take_way(r, &c->takens, place);
}

static void take_choices(struct graph_way *p, struct graph_columns *c)
{
	uint64_t n = slice_leb(&c->counts);
	struct slice *in = p->kind == BT_BRANCH_JCC ? &c->bits : &c->bytes;

	if (n > BRANCH_GRAPH_MOST) {
		c->counts.bad = true;
		return;
	}
	p->choices = slice_take(in, (size_t)(p->kind == BT_BRANCH_JCC ? (n + 7) / 8 : n)).at;
	p->most = (uint32_t)n;
}

static bool has_choices(const struct graph_way *p, uint8_t lead)
{
	const uint8_t both = BRANCH_GRAPH_BEHIND | BRANCH_GRAPH_TAKEN;

	return p->kind == BT_BRANCH_JCC ? (lead & both) == both
					: p->fan > (p->kind != BT_BRANCH_RET);
}

static bool kind_is_known(unsigned kind)
{
	return kind <= BT_BRANCH_CALL || graph_kind_is_indirect(kind) ||
	       kind == BRANCH_GRAPH_NO_BRANCH;
}

/* The place with that number, and what it leads to. */
static void take_place(struct branch_graph_reader *r, struct graph_columns *c, uint32_t place,
		       uint32_t *used)
{
	struct graph_way *p = &r->places[place];
	const struct graph_way *before = place ? p - 1 : &r->places[r->count];
	uint8_t lead = slice_u8(&c->leads);

	p->kind = lead & BRANCH_GRAPH_KIND;
	c->leads.bad |= !kind_is_known(p->kind) || lead > BRANCH_GRAPH_LEADS;
	p->start = p->from = before->from + (uint64_t)slice_sleb(&c->starts);
	c->starts.bad |= place && p->start <= before->start;
	if (p->kind != BRANCH_GRAPH_NO_BRANCH)
		p->from += slice_leb(&c->froms);
	p->behind = p->taken = UINT32_MAX;
	if (lead & BRANCH_GRAPH_BEHIND)
		p->behind = take_way(r, &c->behinds, place);
	if (lead & BRANCH_GRAPH_TAKEN && graph_kind_is_indirect(p->kind))
		take_targets(r, p, c, place, used);
	else if (lead & BRANCH_GRAPH_TAKEN)
		p->taken = take_way(r, &c->takens, place);
	if (has_choices(p, lead))
		take_choices(p, c);
}

static void count_to_literal(struct branch_graph_reader *r)
{
	r->steps = r->literals.len ? slice_leb(&r->literals) : UINT64_MAX;
}

int branch_graph_reader_init(struct branch_graph_reader *r, struct slice graph)
{
	uint64_t count = slice_leb(&graph);
	struct graph_columns c = {0};
	uint32_t used = 0;

	*r = (struct branch_graph_reader){0};
	if (graph.bad || count > graph.len || count > BRANCH_GRAPH_MOST + 1)
		return -BT_E_CORRUPT;
	take_columns(&graph, (uint32_t)count, &c);
	if (columns_are_bad(&c))
		return -BT_E_CORRUPT;
	r->count = r->at = (uint32_t)count;
	r->places = calloc(count + 1, sizeof *r->places);
	r->targets = malloc((c.takens.len + 1) * sizeof *r->targets);
	if (!r->places || !r->targets)
		return -BT_E_NO_MEMORY;
	r->places[count].kind = BRANCH_GRAPH_NO_BRANCH;
	for (uint32_t i = 0; i < count && !columns_are_bad(&c); i++)
		take_place(r, &c, i, &used);
	r->literals = graph;
	count_to_literal(r);
	return columns_are_bad(&c) || r->literals.bad ? -BT_E_CORRUPT : 0;
}

void branch_graph_reader_release(struct branch_graph_reader *r)
{
	free(r->places);
	free(r->targets);
	*r = (struct branch_graph_reader){0};
}

/* Where the return from the newest call leads. */
static uint32_t way_behind_call(struct branch_graph_reader *r, bool known, size_t call)
{
	return known ? r->places[call].behind : UINT32_MAX;
}

uint32_t branch_graph_reader_way(struct branch_graph_reader *r, struct graph_way *p)
{
	uint32_t place = (uint32_t)(p - r->places);
	size_t call = 0;
	unsigned choice = 0;
	bool known = false;

	if (graph_kind_calls(p->kind))
		graph_calls_push(&r->calls, place);
	if (!graph_kind_is_indirect(p->kind))
		return p->kind == BRANCH_GRAPH_NO_BRANCH ? UINT32_MAX : p->taken;
	if (p->choices && p->made == p->most)
		return UINT32_MAX;
	if (p->choices)
		choice = p->choices[p->made++];
	if (p->kind == BT_BRANCH_RET)
		known = graph_calls_pop(&r->calls, &call);
	if (p->kind == BT_BRANCH_RET && choice-- == 0)
		return way_behind_call(r, known, call);
	return choice < p->fan ? r->targets[p->taken + choice] : UINT32_MAX;
}

static int compare_start(const void *key, const void *member)
{
	uint64_t start = *(const uint64_t *)key, at = ((const struct graph_way *)member)->start;

	return start < at ? -1 : start > at;
}

int branch_graph_reader_literal(struct branch_graph_reader *r, struct bt_branch *b)
{
	struct bt_branch_codec codec = {.last = r->at < r->count ? r->places[r->at].start : 0};
	const struct graph_way *to;

	*b = (struct bt_branch){0};
	if (r->steps || bt_branch_decode(&codec, &r->literals, b) != 1)
		return -BT_E_CORRUPT;
	if (bt_branch_is_branch(b)) {
		to = bsearch(&b->to, r->places, r->count, sizeof *r->places, compare_start);
		if (!to) {
			*b = (struct bt_branch){0};
			r->literals.bad = true;
			return -BT_E_CORRUPT;
		}
		r->at = (uint32_t)(to - r->places);
	}
	count_to_literal(r);
	return 1;
}
