/* SPDX-License-Identifier: MIT */
/* branch_log_settle() decodes the log from its oldest slot to its newest, a unit at a time
 * (reader_next()), and pushes the branches into the ring.
 *
 * If something before the oldest block was lost, the transfers since the last tick are unknown.
 * Then nothing is pushed until a conditional comes (`adrift`); a gap stands for what was passed. If
 * none comes, the transfers are worked out from the count at the end, and the log is read once
 * more.
 *
 * A record may stand for any number of branches. After some more branches than the limit
 * (most_in_vain()) delivery goes on at the place from which about `limit` branches are left,
 * found from the end back (skip_to_newest()). Of a repeated round only as many are delivered as are
 * wanted.
 *
 * Records that cannot be decoded become a gap. Afterwards the ring's counts are those of the log.
 */
#include "collector/history/branch_log_private.h"

#include <string.h>

/* In front of a slot. */
struct log_place {
	uint64_t block;
	size_t slot;
};

struct settle {
	const struct branch_log *log;
	struct branch_ring *ring;
	bool adrift; /* the transfers since the last tick are not known: something was lost. Nothing
			is pushed until they are */
	uint64_t drifted; /* transfers met meanwhile */
	uint64_t tick;    /* before what comes next */
	struct reader reader;
};

static void append_gap(struct settle *d, enum bt_gap_reason reason, uint64_t transfers)
{
	struct ring_state state = {.tick = shown_tick(d->log, d->tick),
				   .transfers = transfers,
				   .space = d->reader.context.space,
				   .epoch = d->reader.context.epoch};

	branch_ring_resume(d->ring, reason, &state);
}

/* Why something before the oldest block is missing. */
static enum bt_gap_reason why_lost(const struct settle *d)
{
	return d->log->limited ? BT_GAP_LIMIT : BT_GAP_OVERWRITTEN;
}

static void deliver_one(struct settle *d, const struct bt_branch *b, bool tick)
{
	d->tick += tick;
	if (!d->adrift) {
		branch_ring_push(d->ring, b, tick);
	} else if (tick) {
		append_gap(d, why_lost(d), 0);
		d->adrift = false;
	} else {
		d->drifted += bt_branch_info[b->kind].transfer;
	}
}

static void deliver_branches(void *arg, const struct bt_branch *entries, size_t n)
{
	struct settle *d = arg;

	for (size_t i = 0; i < n; i++)
		deliver_one(d, &entries[i], entries[i].kind == BT_BRANCH_JCC);
}

/* A leg with more branches than have room was counted; now they are delivered as it is walked again
 * from `start`. */
static void deliver_long(struct settle *d, const struct log_unit *u, uint64_t start)
{
	struct branch_walk again = d->reader.walk;

	again.pc = start;
	again.segment = NULL; /* behind a MISS no leg is long */
	again.missed = false;
	d->reader.out.take = deliver_branches;
	d->reader.out.arg = d;
	(void)branch_walk(&again, &u->leg, &d->reader.out);
	deliver_branches(d, d->reader.out.entries, d->reader.out.n);
	d->reader.out.take = NULL;
}

/* Appends the gap between the ring's state and the state behind u. */
static void deliver_gap(struct settle *d, const struct log_unit *u, enum bt_gap_reason reason)
{
	d->tick += u->ticks;
	if (d->adrift && !u->ticks) {
		d->drifted += u->transfers;
		return; /* part of a gap that will stand there anyway */
	}
	if (d->adrift)
		append_gap(d, why_lost(d), 0);
	d->adrift = false;
	append_gap(d, reason, u->transfers + (u->ticks ? 0 : d->ring->now.transfers));
}

/* The first rounds of u, so many, are more than is kept. */
static void pass_rounds(struct settle *d, const struct log_unit *u, uint64_t rounds)
{
	d->tick += u->ticks / u->repeat.rounds * rounds;
	d->adrift = false;
	append_gap(d, why_lost(d),
		   u->ticks ? u->transfers : u->transfers * rounds + d->ring->now.transfers);
}

static void settle_unit(struct settle *d, const struct log_unit *u, uint64_t start);

static void deliver_long_round(struct settle *d, const struct log_unit *u)
{
	uint64_t start;
	struct log_unit one;

	reader_again(&d->reader, u);
	for (start = d->reader.walk.pc;
	     d->reader.slot < u->repeat.end && reader_next(&d->reader, &one);
	     start = d->reader.walk.pc)
		settle_unit(d, &one, start);
	reader_pass_repeat(&d->reader, u);
}

/* Reads what branches one round of u has. There is room for all of them. */
static void read_round(struct settle *d, const struct log_unit *u, struct bt_branch *entries)
{
	struct log_unit one;

	reader_again(&d->reader, u);
	while (d->reader.slot < u->repeat.end && reader_next(&d->reader, &one)) {
		memcpy(entries, d->reader.out.entries, d->reader.out.n * sizeof *entries);
		entries += d->reader.out.n;
	}
	reader_pass_repeat(&d->reader, u);
}

/* Of very many rounds, the newest. */
static void deliver_repeat(struct settle *d, const struct log_unit *u)
{
	uint64_t wanted = d->log->limit / u->repeat.branches + 1, rounds = u->repeat.rounds;
	bool is_long = u->repeat.branches > WALK_BUFFER;
	struct bt_branch entries[WALK_BUFFER];

	if (d->adrift && !u->ticks) {
		d->drifted += u->transfers * rounds;
		return;
	}
	if (rounds > wanted)
		pass_rounds(d, u, rounds - wanted);
	if (!is_long)
		read_round(d, u, entries);
	for (rounds = rounds < wanted ? rounds : wanted; rounds; rounds--) {
		if (is_long)
			deliver_long_round(d, u);
		else
			deliver_branches(d, entries, u->repeat.branches);
	}
}

static void settle_unit(struct settle *d, const struct log_unit *u, uint64_t start)
{
	if (!d->adrift && u->type != UNIT_NONE)
		branch_ring_epoch(d->ring, d->reader.context.space, d->reader.context.epoch);
	if (u->type == UNIT_BRANCH)
		deliver_one(d, d->reader.out.entries, u->tick);
	else if (u->type == UNIT_WALKED && d->reader.out.total > d->reader.out.n)
		deliver_long(d, u, start);
	else if (u->type == UNIT_WALKED)
		deliver_branches(d, d->reader.out.entries, d->reader.out.n);
	else if (u->type == UNIT_REPEAT)
		deliver_repeat(d, u);
	else if (u->type == UNIT_UNKNOWN)
		deliver_gap(d, u, BT_GAP_SCRIBBLED);
	else if (u->type == UNIT_COUNT || u->type == UNIT_BREAK)
		deliver_gap(d, u, u->reason);
}

static void go_to(struct settle *d, const struct log_place *p)
{
	struct log_context context = branch_log_context(d->log, p->block, p->slot);
	const struct block *b = block_at(d->log, p->block);

	reader_start(&d->reader, d->log, p->block, p->slot, &context);
	d->tick = b->tick;
	for (size_t i = 0; i < p->slot; i++)
		d->tick += branch_log_slot_ticks(&b->slots[i]);
}

/* How many branches settle_unit() delivers of u, about. */
static uint64_t unit_branches(const struct settle *d, const struct log_unit *u)
{
	uint64_t branches;

	if (u->type != UNIT_REPEAT)
		return u->type == UNIT_WALKED ? d->reader.out.total : u->type != UNIT_NONE;
	if (__builtin_mul_overflow(u->repeat.rounds, u->repeat.branches, &branches) ||
	    branches > d->log->limit + u->repeat.branches)
		return d->log->limit + u->repeat.branches;
	return branches;
}

/* Delivers what stands behind a place, or gives up when that were more than `most` branches: *from
 * is then in front of the rest. */
static bool settle_from(struct settle *d, struct log_place *from, uint64_t most)
{
	uint64_t start;
	struct log_unit u;

	go_to(d, from);
	for (start = d->reader.walk.pc; reader_next(&d->reader, &u); start = d->reader.walk.pc) {
		uint64_t branches = unit_branches(d, &u);

		if (branches > most)
			return false;
		most -= branches;
		settle_unit(d, &u, start);
		*from = (struct log_place){d->reader.block, d->reader.slot};
	}
	return true;
}

/* The slot before a place behind `limit`, at which one can start to read. False when there is none.
 */
static bool step_back(const struct branch_log *log, const struct log_place *limit,
		      struct log_place *p)
{
	const struct branch_log_record *slot;

	do {
		if (p->block == limit->block && p->slot <= limit->slot)
			return false;
		while (!p->slot)
			p->slot = block_at(log, --p->block)->used;
		p->slot--;
		slot = &block_at(log, p->block)->slots[p->slot];
	} while (slot->kind == SLOT_PC || slot->kind == SLOT_TO);
	return true;
}

/* Moves *from towards the log's end, to where `wanted` branches are left, found from the end back;
 * some more where that is in front of a conditional, from which on transfers are known. False when
 * it stays where it is. */
static bool skip_to_newest(struct settle *d, struct log_place *from, uint64_t wanted)
{
	const struct branch_log *log = d->log;
	struct log_place p = {log->next - 1, block_at(log, log->next - 1)->used};
	uint64_t found = 0, steps = d->reader.walk.steps;
	struct log_unit u;

	while (found < 8 * wanted && step_back(log, from, &p)) {
		reader_start_inside(&d->reader, log, p.block, p.slot);
		d->reader.walk.steps = steps;
		if (!reader_next(&d->reader, &u) ||
		    (found >= wanted && (u.ticks || u.type == UNIT_REPEAT)))
			break;
		found += unit_branches(d, &u);
		steps = d->reader.walk.steps;
	}
	if (p.block == from->block && p.slot <= from->slot)
		return false;
	*from = p;
	return true;
}

/* So many branches are delivered before it is seen which of them are the newest. The blocks of a
 * log whose limit was lowered are larger than those of one that began with that limit. */
static uint64_t most_in_vain(const struct branch_log *log)
{
	uint64_t blocks = 64 * log->block_slots, limits = 8 * (uint64_t)log->limit;

	return 4 * (uint64_t)log->limit + (log->limited && limits < blocks ? limits : blocks);
}

/* Whether there are more, as far as that is known beforehand: records that repeat. */
static bool has_too_many(const struct branch_log *log)
{
	return log->entries - block_at(log, log->oldest)->entries > most_in_vain(log);
}

/* Delivers everything, but of very many branches the newest: a record may stand for any number of
 * direct jumps. */
static void settle_all(struct settle *d, const struct ring_state *now)
{
	const struct branch_log *log = d->log;
	struct log_place start = {log->oldest, 0}, at = start;

	d->adrift = log->lost;
	if (has_too_many(log) || !settle_from(d, &at, most_in_vain(log))) {
		if (skip_to_newest(d, &at, log->limit)) {
			start = at;
			d->adrift = true;
			d->drifted = 0;
		}
		settle_from(d, &at, UINT64_MAX);
	}
	if (!d->adrift)
		return;
	/* No conditional in all that: the transfers before it are those of now less those met. */
	d->adrift = false;
	go_to(d, &start);
	append_gap(d, why_lost(d), now->transfers > d->drifted ? now->transfers - d->drifted : 0);
	settle_from(d, &start, UINT64_MAX);
}

void branch_log_settle(struct branch_log *log, struct branch_ring *ring)
{
	struct settle d = {.log = log, .ring = ring};
	struct ring_state now = branch_log_now(log);

	settle_all(&d, &now);
	if (ring->now.transfers != now.transfers) { /* damaged records that were given up */
		d.reader.context = log->at;
		append_gap(&d, BT_GAP_SCRIBBLED, now.transfers);
	}
	branch_ring_epoch(ring, now.space, now.epoch);
	branch_log_empty(log);
}

/* Of the rounds of u so many branches. */
static void look_at_repeat(struct reader *r, const struct log_unit *u, uint64_t newest,
			   void (*take)(void *arg, const struct bt_branch *entries, size_t n),
			   void *arg)
{
	uint64_t wanted = newest / u->repeat.branches + 1;
	struct log_unit one;

	for (uint64_t rounds = u->repeat.rounds < wanted ? u->repeat.rounds : wanted; rounds;
	     rounds--) {
		reader_again(r, u);
		while (r->slot < u->repeat.end && reader_next(r, &one))
			take(arg, r->out.entries, r->out.n);
	}
	reader_pass_repeat(r, u);
}

/* How many branches the slot at a place stands for: all of what repeats, else those that it says
 * itself. */
static uint64_t branches_at(const struct branch_log *log, const struct log_place *p)
{
	const struct branch_log_record *slot = &block_at(log, p->block)->slots[p->slot];
	uint64_t branches;
	struct reader r;
	struct log_unit u;

	if (slot->kind <= BRANCH_LOG_MISS)
		return branch_log_conditionals(slot->bits) + (slot->kind <= BRANCH_LOG_LOOP);
	if (slot->kind == SLOT_END)
		return branch_log_conditionals(slot->bits);
	if (slot->kind != SLOT_REPEAT && slot->kind != BRANCH_LOG_ROUNDS)
		return slot->kind == SLOT_BRANCH;
	reader_start_inside(&r, log, p->block, p->slot);
	if (!reader_next(&r, &u) || u.type != UNIT_REPEAT)
		return 0;
	return __builtin_mul_overflow(u.repeat.rounds, u.repeat.branches, &branches) ? UINT64_MAX
										     : branches;
}

/* In front of so many of the newest branches, or at the log's beginning. */
static struct log_place place_of_newest(const struct branch_log *log, uint64_t newest)
{
	const struct log_place oldest = {log->oldest, 0};
	struct log_place p = {log->next - 1, block_at(log, log->next - 1)->used};

	for (uint64_t branches; newest && step_back(log, &oldest, &p);
	     newest -= branches < newest ? branches : newest)
		branches = branches_at(log, &p);
	return p;
}

void branch_log_look(const struct branch_log *log, uint64_t newest,
		     void (*take)(void *arg, const struct bt_branch *entries, size_t n), void *arg)
{
	const struct log_place start = place_of_newest(log, newest);
	struct reader r;
	struct log_unit u;

	reader_start_inside(&r, log, start.block, start.slot);
	while (reader_next(&r, &u))
		if (u.type == UNIT_WALKED || u.type == UNIT_BRANCH)
			take(arg, r.out.entries, r.out.n);
		else if (u.type == UNIT_REPEAT)
			look_at_repeat(&r, &u, newest, take, arg);
}
