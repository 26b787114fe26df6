/* SPDX-License-Identifier: MIT */
#include "collector/engine/branch_log.h"

#include <stdlib.h>
#include <string.h>

#include "collector/engine/branch_walk.h"

/* The log is a row of slots as large as a record, in blocks. The oldest block gives way as one; each knows what stood before it,
 * so that nothing must be looked at to drop it. */
enum {
	BLOCK_MAX = 1024, /* slots: 16 KiB, read again from the first-level cache when a record is checked */
	BLOCK_MIN = 16,
};

/* Kinds of slots beside enum branch_log_kind. What the program scribbles on its records cannot make one of these. */
enum slot_kind {
	SLOT_BAD = BRANCH_LOG_LOOP + 1, /* a record that cannot be one */
	SLOT_BEGIN,	/* bits: pc; segment: generation */
	SLOT_END,	/* bits; segment: enum walk_goal. A SLOT_PC follows */
	SLOT_PC,	/* bits: pc */
	SLOT_BRANCH,	/* bits: from; segment: packed. A SLOT_TO follows */
	SLOT_TO,	/* bits: to */
	SLOT_EPOCH,	/* bits: epoch; segment: space */
	SLOT_TABLE,	/* bits: the table's address */
	SLOT_BREAK,	/* segment: enum bt_gap_reason */
};

/* What a slot needs of those before it. */
struct context {
	const struct segment_table *table;
	uint32_t generation, space, epoch;
	bool stretch;			/* inside one, at the place of: */
	struct branch_log_record last; /* a record or a SLOT_BEGIN */
};

struct block {
	struct block *next_spare;
	struct context context; /* before its first slot */
	uint64_t tick, entries; /* likewise */
	size_t used;
	struct branch_log_record slots[];
};

/* A place in the log and what was counted up to it. */
struct counted {
	uint64_t block;
	size_t slot;
	uint64_t transfers;
	struct context context;
	bool cond; /* a conditional stands behind that place: the newest in block cond_block */
	uint64_t cond_block;
};

struct branch_log {
	size_t limit;
	size_t block_slots, max_blocks;
	struct block **blocks;	/* by number modulo max_blocks */
	uint64_t oldest, next;	/* numbers of blocks; there is always one */
	struct block *spare;	/* not in use, kept */
	struct context at;	/* now */
	uint64_t tick, entries; /* now. entries: logged so far, and perhaps some more */
	bool tick_unknown;
	bool lost;	      /* something before the oldest block, since the last settle */
	struct counted *counted; /* a cache */
};

static struct block *block_at(const struct branch_log *log, uint64_t number) { return log->blocks[number % log->max_blocks]; }

static unsigned conditionals(uint64_t bits) { return (unsigned)__builtin_clzll(bits | 1) ^ 63; }

static uint32_t packed_branch(const struct bt_branch *b, bool tick)
{
	return b->kind | (uint32_t)(b->flags & 7) << 8 | (uint32_t)tick << 15 | (uint32_t)b->cycles << 16;
}

static struct bt_branch unpacked_branch(const struct branch_log_record *slot)
{
	return (struct bt_branch){.from = slot[0].bits, .to = slot[1].bits, .kind = (uint8_t)slot->segment, .flags = slot->segment >> 8 & 7,
				  .cycles = (uint16_t)(slot->segment >> 16)};
}

static bool unpacked_tick(const struct branch_log_record *slot) { return slot->segment >> 15 & 1; }

/* How many ticks a slot holds. */
static unsigned slot_ticks(const struct branch_log_record *slot)
{
	if (slot->kind <= SLOT_BAD || slot->kind == SLOT_END)
		return conditionals(slot->bits);
	return slot->kind == SLOT_BRANCH && unpacked_tick(slot);
}

static void context_pass(struct context *c, const struct branch_log_record *slot)
{
	switch (slot->kind) {
	case SLOT_BEGIN:
		c->generation = slot->segment;
		c->stretch = true;
		c->last = *slot;
		break;
	case SLOT_END:
	case SLOT_BREAK:
		c->stretch = false;
		break;
	case SLOT_EPOCH:
		c->space = slot->segment;
		c->epoch = (uint32_t)slot->bits;
		break;
	case SLOT_TABLE:
		c->table = (const struct segment_table *)(uintptr_t)slot->bits;
		break;
	default:
		if (slot->kind <= SLOT_BAD)
			c->last = *slot;
	}
}

static const struct segment *segment_of(const struct context *c, uint32_t number)
{
	const struct segment *s = c->table ? segment_get(c->table, number) : NULL;

	return s && segment_lived(s, c->generation) ? s : NULL;
}

/* Where execution was behind a record or SLOT_BEGIN, and how it came there. False where that makes no sense. */
static bool leg_to(const struct context *c, const struct branch_log_record *slot, struct walk_leg *leg)
{
	static const enum walk_goal goals[] = {[BRANCH_LOG_INDIRECT] = WALK_INDIRECT, [BRANCH_LOG_DIRECT] = WALK_DIRECT, [BRANCH_LOG_LOOP] = WALK_LOOP};
	const struct segment *s;

	*leg = (struct walk_leg){.bits = slot->bits, .pc = slot->bits};
	if (slot->kind == SLOT_BEGIN)
		return true;
	s = slot->kind >= SLOT_BAD ? NULL : segment_of(c, slot->segment);
	if (!s)
		return false;
	leg->goal = goals[slot->kind];
	leg->segment_pc = s->pc;
	leg->pc = leg->goal == WALK_LOOP ? s->to : s->pc;
	leg->segment = leg->goal == WALK_LOOP ? NULL : s;
	return leg->goal != WALK_LOOP || s->kind == BT_BRANCH_JMP || s->kind == BT_BRANCH_CALL;
}

/* Reading */

enum unit_type {
	UNIT_WALKED,  /* branches, in out */
	UNIT_UNKNOWN, /* branches that cannot be told */
	UNIT_BRANCH,  /* one, in out */
	UNIT_BREAK,
	UNIT_NONE, /* no branches */
};

struct unit {
	enum unit_type type;
	unsigned ticks;
	bool tick;		   /* of UNIT_BRANCH */
	enum bt_gap_reason reason; /* of UNIT_BREAK */
	struct walk_leg leg;	   /* of UNIT_WALKED */
};

struct reader {
	const struct branch_log *log;
	uint64_t block;
	size_t slot;
	struct context context;
	bool known; /* where execution is: walk.pc */
	struct branch_walk walk;
	struct walk_out out;
};

/* Reading goes on in front of a slot, behind which context stood. */
static void reader_start(struct reader *r, const struct branch_log *log, uint64_t block, size_t slot, const struct context *context)
{
	struct walk_leg leg;

	r->log = log;
	r->block = block;
	r->slot = slot;
	r->context = *context;
	r->known = false;
	r->walk.steps = 64 * (uint64_t)(log->next - log->oldest) * log->block_slots + (context->table ? segment_count(context->table) : 0);
	r->out.take = NULL;
	if (!context->stretch)
		return;
	r->known = leg_to(context, &context->last, &leg);
	r->walk.pc = leg.pc;
	r->walk.segment = leg.segment;
}

/* The next slot, NULL at the log's end. */
static const struct branch_log_record *reader_slot(struct reader *r)
{
	while (r->slot >= block_at(r->log, r->block)->used) {
		if (r->block + 1 == r->log->next)
			return NULL;
		r->block++;
		r->slot = 0;
	}
	return &block_at(r->log, r->block)->slots[r->slot];
}

static bool reader_walk(struct reader *r, const struct walk_leg *leg)
{
	r->walk.table = r->context.table;
	r->walk.generation = r->context.generation;
	return branch_walk(&r->walk, leg, &r->out);
}

/* Whether what led here can be told or not: where a record says that execution is, there reading goes on. Behind a bad record nobody
 * knows until the next. That it depends on nothing older lets reading start anywhere. */
static void read_record(struct reader *r, const struct branch_log_record *slot, struct unit *u, uint32_t kind_before)
{
	bool was_known = r->known;

	u->type = UNIT_UNKNOWN;
	r->known = r->context.stretch && leg_to(&r->context, slot, &u->leg);
	u->leg.onward = kind_before == BRANCH_LOG_DIRECT;
	if (!r->known)
		return;
	if (was_known && reader_walk(r, &u->leg))
		u->type = UNIT_WALKED;
	r->walk.pc = u->leg.pc;
	r->walk.segment = u->leg.segment;
}

static void read_end(struct reader *r, const struct branch_log_record *slot, struct unit *u)
{
	u->type = UNIT_UNKNOWN;
	u->leg = (struct walk_leg){.goal = (enum walk_goal)slot[0].segment, .bits = slot[0].bits, .pc = slot[1].bits};
	if (r->known && slot->bits && reader_walk(r, &u->leg))
		u->type = UNIT_WALKED;
	r->known = false;
}

/* Reads what the next slot says. Returns false at the log's end. */
static bool reader_next(struct reader *r, struct unit *u)
{
	const struct branch_log_record *slot = reader_slot(r);
	uint32_t kind_before = r->context.last.kind;

	if (!slot)
		return false;
	*u = (struct unit){.type = UNIT_NONE, .ticks = slot_ticks(slot)};
	r->slot += slot->kind == SLOT_END || slot->kind == SLOT_BRANCH ? 2 : 1;
	context_pass(&r->context, slot);
	if (slot->kind <= SLOT_BAD) {
		read_record(r, slot, u, kind_before);
	} else if (slot->kind == SLOT_END) {
		read_end(r, slot, u);
	} else if (slot->kind == SLOT_BEGIN) {
		r->walk.pc = slot->bits;
		r->walk.segment = NULL;
		r->known = true;
	} else if (slot->kind == SLOT_BRANCH) {
		u->type = UNIT_BRANCH;
		u->tick = unpacked_tick(slot);
		r->out.entries[0] = unpacked_branch(slot);
		r->out.n = 1;
	} else if (slot->kind == SLOT_BREAK) {
		u->type = UNIT_BREAK;
		u->reason = (enum bt_gap_reason)slot->segment;
		r->known = false;
	}
	return true;
}

/* Counting transfers */

static uint64_t count_unit(const struct reader *r, const struct unit *u, uint64_t transfers)
{
	switch (u->type) {
	case UNIT_WALKED:
		return r->out.tick ? r->out.transfers : transfers + r->out.transfers;
	case UNIT_BRANCH:
		return u->tick ? 0 : transfers + bt_branch_info[r->out.entries[0].kind].transfer;
	case UNIT_UNKNOWN:
		return u->ticks ? 0 : transfers;
	default:
		return transfers;
	}
}

/* What stood before a slot of a block. */
static struct context context_before(const struct block *b, size_t slot)
{
	struct context c = b->context;

	for (size_t i = 0; i < slot; i++)
		context_pass(&c, &b->slots[i]);
	return c;
}

/* Sets out in front of the newest slot with a conditional. */
static void start_at_newest_conditional(struct reader *r, const struct branch_log *log)
{
	const struct block *b = block_at(log, log->counted->cond_block);
	struct context c = b->context;
	size_t slot = b->used;

	while (slot && !slot_ticks(&b->slots[slot - 1]))
		slot--;
	slot -= slot > 0;
	/* Mostly all of the block is of one generation, and nothing else must be known. */
	if (c.table && c.table == log->at.table && c.generation == log->at.generation && slot) {
		c.stretch = true;
		c.last = b->slots[slot - 1];
	} else {
		c = context_before(b, slot);
	}
	reader_start(r, log, log->counted->cond_block, slot, &c);
}

/* Brings *log->counted up to the start of a block, or to the log's end. */
static void count_up_to(const struct branch_log *log, uint64_t block)
{
	struct counted *c = log->counted;
	uint64_t transfers = c->transfers;
	struct reader r;
	struct unit u;

	if (c->cond)
		start_at_newest_conditional(&r, log);
	else
		reader_start(&r, log, c->block, c->slot, &c->context);
	while (reader_slot(&r) && r.block < block && reader_next(&r, &u))
		transfers = count_unit(&r, &u, transfers);
	*c = (struct counted){.block = r.block, .slot = r.slot, .transfers = transfers, .context = r.context};
}

/* Writing */

/* The oldest block gives way, to log->spare. */
static void drop_oldest(struct branch_log *log)
{
	struct block *b = block_at(log, log->oldest);
	struct counted *c = log->counted;

	if (!c->cond || c->cond_block <= log->oldest)
		count_up_to(log, log->oldest + 1);
	if (c->block <= log->oldest) {
		c->block = log->oldest + 1;
		c->slot = 0;
	}
	log->lost |= b->used > 0;
	b->next_spare = log->spare;
	log->spare = b;
	log->oldest++;
}

static struct block *new_block(struct branch_log *log)
{
	struct block *b;

	while (log->next - log->oldest == log->max_blocks ||
	       (log->next - log->oldest > 1 && log->entries - block_at(log, log->oldest + 1)->entries >= log->limit))
		drop_oldest(log);
	b = log->spare;
	if (!b) {
		b = malloc(sizeof *b + log->block_slots * sizeof *b->slots);
		if (!b) {
			drop_oldest(log);
			b = log->spare;
		}
	}
	log->spare = log->spare ? log->spare->next_spare : NULL;
	b->context = log->at;
	b->tick = log->tick;
	b->entries = log->entries;
	b->used = 0;
	log->blocks[log->next++ % log->max_blocks] = b;
	return b;
}

/* Appends n slots that stay together. */
static void put(struct branch_log *log, const struct branch_log_record *slots, size_t n)
{
	struct block *b = block_at(log, log->next - 1);
	unsigned ticks = slot_ticks(slots);

	if (b->used + n > log->block_slots)
		b = new_block(log);
	memcpy(b->slots + b->used, slots, n * sizeof *slots);
	b->used += n;
	log->tick += ticks;
	log->entries += slots->kind == SLOT_BRANCH ? 1 : ticks;
	if (ticks) {
		log->counted->cond = true;
		log->counted->cond_block = log->next - 1;
	}
	context_pass(&log->at, slots);
}

struct branch_log *branch_log_new(size_t limit, const struct ring_state *start)
{
	struct branch_log *log = calloc(1, sizeof *log);

	if (!log)
		return NULL;
	log->limit = limit;
	log->block_slots = BLOCK_MIN;
	while (log->block_slots < BLOCK_MAX && log->block_slots < limit / 16)
		log->block_slots *= 2;
	log->max_blocks = limit / log->block_slots + 2;
	log->blocks = calloc(log->max_blocks, sizeof *log->blocks);
	log->counted = calloc(1, sizeof *log->counted);
	log->spare = malloc(sizeof *log->spare + log->block_slots * sizeof *log->spare->slots);
	if (!log->blocks || !log->counted || !log->spare) {
		branch_log_free(log);
		return NULL;
	}
	log->spare->next_spare = NULL;
	log->at.space = start->space;
	log->at.epoch = start->epoch;
	log->tick_unknown = start->tick == BT_TICKS_UNKNOWN;
	log->tick = log->tick_unknown ? 0 : start->tick;
	log->counted->transfers = start->transfers;
	new_block(log);
	return log;
}

/* All blocks become spare ones. */
static void empty(struct branch_log *log)
{
	while (log->oldest < log->next) {
		struct block *b = block_at(log, log->oldest++);

		b->next_spare = log->spare;
		log->spare = b;
	}
}

void branch_log_free(struct branch_log *log)
{
	if (!log)
		return;
	empty(log);
	while (log->spare) {
		struct block *b = log->spare;

		log->spare = b->next_spare;
		free(b);
	}
	free(log->blocks);
	free(log->counted);
	free(log);
}

void branch_log_begin(struct branch_log *log, const struct segment_table *t, uint64_t pc, uint32_t space, uint32_t epoch)
{
	if (t != log->at.table)
		put(log, &(struct branch_log_record){.bits = (uintptr_t)t, .kind = SLOT_TABLE}, 1);
	branch_log_epoch(log, space, epoch);
	put(log, &(struct branch_log_record){.bits = pc, .segment = segment_generation(t), .kind = SLOT_BEGIN}, 1);
}

static void mark_bad_records(struct branch_log_record *records, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!records[i].bits || records[i].kind > BRANCH_LOG_LOOP)
			records[i].kind = SLOT_BAD;
}

/* The records are our own copy by now: the program can write to the others at any moment. */
static void check_records(struct branch_log *log, struct branch_log_record *records, size_t n)
{
	uint64_t ticks = 0, transfers = 0;
	uint32_t bad = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t bits = records[i].bits;
		uint32_t kind = records[i].kind;

		ticks += conditionals(bits);
		transfers += kind != BRANCH_LOG_DIRECT;
		bad |= !bits | (kind > BRANCH_LOG_LOOP);
	}
	if (bad)
		mark_bad_records(records, n);
	log->tick += ticks;
	log->entries += ticks + transfers;
	if (ticks) {
		log->counted->cond = true;
		log->counted->cond_block = log->next - 1;
	}
	log->at.last = records[n - 1];
}

void branch_log_records(struct branch_log *log, const struct branch_log_record *records, size_t n)
{
	while (n) {
		struct block *b = block_at(log, log->next - 1);
		size_t piece;

		if (b->used == log->block_slots)
			b = new_block(log);
		piece = log->block_slots - b->used < n ? log->block_slots - b->used : n;
		memcpy(b->slots + b->used, records, piece * sizeof *records);
		check_records(log, b->slots + b->used, piece);
		b->used += piece;
		records += piece;
		n -= piece;
	}
}

static void put_end(struct branch_log *log, uint64_t bits, enum walk_goal goal, uint64_t pc)
{
	struct branch_log_record end[2] = {{.bits = bits, .segment = goal, .kind = SLOT_END}, {.bits = pc, .kind = SLOT_PC}};

	put(log, end, 2);
}

void branch_log_end(struct branch_log *log, uint64_t bits, uint64_t pc) { put_end(log, bits, WALK_WITHIN, pc); }

void branch_log_arrive(struct branch_log *log, uint64_t bits, enum branch_log_kind kind, uint64_t pc)
{
	put_end(log, bits, kind == BRANCH_LOG_INDIRECT ? WALK_INDIRECT : WALK_DIRECT, pc);
	log->entries += kind == BRANCH_LOG_INDIRECT;
}

void branch_log_break(struct branch_log *log, enum bt_gap_reason reason)
{
	put(log, &(struct branch_log_record){.segment = reason, .kind = SLOT_BREAK}, 1);
}

void branch_log_branch(struct branch_log *log, const struct bt_branch *b, bool tick)
{
	struct branch_log_record slots[2] = {{.bits = b->from, .segment = packed_branch(b, tick && b->kind == BT_BRANCH_JCC), .kind = SLOT_BRANCH},
					     {.bits = b->to, .kind = SLOT_TO}};

	put(log, slots, 2);
}

void branch_log_epoch(struct branch_log *log, uint32_t space, uint32_t epoch)
{
	if (space != log->at.space || epoch != log->at.epoch)
		put(log, &(struct branch_log_record){.bits = epoch, .segment = space, .kind = SLOT_EPOCH}, 1);
}

/* Looking at it */

bool branch_log_crowded(const struct branch_log *log)
{
	return log->next - log->oldest + log->max_blocks / 4 + 1 >= log->max_blocks && log->entries - block_at(log, log->oldest)->entries < log->limit;
}

static uint64_t shown_tick(const struct branch_log *log, uint64_t tick) { return log->tick_unknown ? BT_TICKS_UNKNOWN : tick; }

struct ring_state branch_log_now(const struct branch_log *log)
{
	count_up_to(log, log->next);
	return (struct ring_state){.tick = shown_tick(log, log->tick), .transfers = log->counted->transfers,
				   .space = log->at.space, .epoch = log->at.epoch};
}

uint32_t branch_log_oldest_generation(const struct branch_log *log, const struct segment_table *t)
{
	for (uint64_t n = log->oldest; n < log->next; n++) {
		const struct block *b = block_at(log, n);
		struct context c = b->context;

		if (c.stretch && c.table == t)
			return c.generation;
		for (size_t i = 0; i < b->used; i++) {
			context_pass(&c, &b->slots[i]);
			if (b->slots[i].kind == SLOT_BEGIN && c.table == t)
				return c.generation;
		}
	}
	return UINT32_MAX;
}

/* Settling */

struct settle {
	const struct branch_log *log;
	struct branch_ring *ring;
	bool adrift; /* the transfers since the last tick are not known: something was lost. Nothing is pushed until they are */
	uint64_t drifted; /* transfers met meanwhile */
	uint64_t tick;	  /* before what comes next */
	struct reader reader;
};

static void gap(struct settle *d, enum bt_gap_reason reason, uint64_t transfers)
{
	struct ring_state state = {.tick = shown_tick(d->log, d->tick), .transfers = transfers, .space = d->reader.context.space,
				   .epoch = d->reader.context.epoch};

	branch_ring_resume(d->ring, reason, &state);
}

static void deliver_one(struct settle *d, const struct bt_branch *b, bool tick)
{
	d->tick += tick;
	if (!d->adrift) {
		branch_ring_push(d->ring, b, tick);
	} else if (tick) {
		gap(d, BT_GAP_OVERWRITTEN, 0);
		d->adrift = false;
	} else {
		d->drifted += bt_branch_info[b->kind].transfer;
	}
}

static void deliver(void *arg, const struct bt_branch *entries, size_t n)
{
	struct settle *d = arg;

	for (size_t i = 0; i < n; i++)
		deliver_one(d, &entries[i], entries[i].kind == BT_BRANCH_JCC);
}

/* A leg with more branches than have room was counted; now they are delivered as it is walked again from `start`. */
static void deliver_long(struct settle *d, const struct unit *u, uint64_t start)
{
	struct branch_walk again = d->reader.walk;

	again.pc = start;
	again.segment = NULL;
	d->reader.out.take = deliver;
	d->reader.out.arg = d;
	(void)branch_walk(&again, &u->leg, &d->reader.out);
	deliver(d, d->reader.out.entries, d->reader.out.n);
	d->reader.out.take = NULL;
}

/* What is missing between the ring's state and that behind u. */
static void deliver_gap(struct settle *d, const struct unit *u, enum bt_gap_reason reason)
{
	d->tick += u->ticks;
	if (d->adrift && !u->ticks)
		return; /* part of a gap that will stand there anyway */
	if (d->adrift)
		gap(d, BT_GAP_OVERWRITTEN, 0);
	d->adrift = false;
	gap(d, reason, u->ticks ? 0 : d->ring->now.transfers);
}

static void settle_unit(struct settle *d, const struct unit *u, uint64_t start)
{
	if (!d->adrift && u->type != UNIT_NONE)
		branch_ring_epoch(d->ring, d->reader.context.space, d->reader.context.epoch);
	if (u->type == UNIT_BRANCH)
		deliver_one(d, d->reader.out.entries, u->tick);
	else if (u->type == UNIT_WALKED && d->reader.out.full)
		deliver_long(d, u, start);
	else if (u->type == UNIT_WALKED)
		deliver(d, d->reader.out.entries, d->reader.out.n);
	else if (u->type == UNIT_UNKNOWN)
		deliver_gap(d, u, BT_GAP_UNDECODED);
	else if (u->type == UNIT_BREAK)
		deliver_gap(d, u, u->reason);
}

static void settle_all(struct settle *d)
{
	const struct block *first = block_at(d->log, d->log->oldest);
	uint64_t start;
	struct unit u;

	reader_start(&d->reader, d->log, d->log->oldest, 0, &first->context);
	d->tick = first->tick;
	for (start = d->reader.walk.pc; reader_next(&d->reader, &u); start = d->reader.walk.pc)
		settle_unit(d, &u, start);
}

void branch_log_settle(struct branch_log *log, struct branch_ring *ring)
{
	struct settle d = {.log = log, .ring = ring, .adrift = log->lost};
	struct ring_state now = branch_log_now(log);
	const struct block *first = block_at(log, log->oldest);

	settle_all(&d);
	if (d.adrift) { /* no conditional in all that is left: count back from what is known now */
		d.adrift = false;
		d.tick = first->tick;
		d.reader.context = first->context;
		gap(&d, BT_GAP_OVERWRITTEN, now.transfers > d.drifted ? now.transfers - d.drifted : 0);
		settle_all(&d);
	}
	if (ring->now.transfers != now.transfers) { /* damaged records that were given up */
		d.reader.context = log->at;
		gap(&d, BT_GAP_UNDECODED, now.transfers);
	}
	branch_ring_epoch(ring, now.space, now.epoch);
	empty(log);
	log->lost = false;
	new_block(log);
	*log->counted = (struct counted){.block = log->oldest, .transfers = now.transfers, .context = log->at};
}
