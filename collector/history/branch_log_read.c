/* SPDX-License-Identifier: MIT */
#include "collector/history/branch_log_private.h"

uint32_t branch_log_pack(const struct bt_branch *b, bool tick)
{
	return b->kind | (uint32_t)(b->flags & 7) << 8 | (uint32_t)tick << 15 |
	       (uint32_t)b->cycles << 16;
}

static struct bt_branch unpacked_branch(const struct branch_log_record *slot)
{
	return (struct bt_branch){.from = slot[0].bits,
				  .to = slot[1].bits,
				  .kind = (uint8_t)slot->segment,
				  .flags = slot->segment >> 8 & 7,
				  .cycles = (uint16_t)(slot->segment >> 16)};
}

static bool unpacked_tick(const struct branch_log_record *slot) { return slot->segment >> 15 & 1; }

/* How many ticks a slot holds. */
uint64_t branch_log_slot_ticks(const struct branch_log_record *slot)
{
	if (slot->kind == SLOT_COUNT || slot->kind == SLOT_REPEAT)
		return slot->bits;
	if (slot->kind == BRANCH_LOG_ROUNDS)
		return 0;
	if (slot->kind <= SLOT_BAD || slot->kind == SLOT_END)
		return branch_log_conditionals(slot->bits);
	return slot->kind == SLOT_BRANCH && unpacked_tick(slot);
}

void branch_log_pass(struct log_context *c, const struct branch_log_record *slot)
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
	case BRANCH_LOG_ROUNDS:
		break;
	default:
		if (slot->kind <= SLOT_BAD)
			c->last = *slot;
	}
}

static const struct segment *segment_number(const struct log_context *c, uint32_t number)
{
	const struct segment *s = c->table ? segment_get(c->table, number) : NULL;

	return s && segment_lived(s, c->generation) ? s : NULL;
}

/* Where execution was behind a record or SLOT_BEGIN, and how it came there. False where that makes
 * no sense. */
static bool leg_to(const struct log_context *c, const struct branch_log_record *slot,
		   struct walk_leg *leg)
{
	static const enum walk_goal goals[] = {
		[BRANCH_LOG_LOOP - BRANCH_LOG_LOOP] = WALK_LOOP,
		[BRANCH_LOG_DIRECT - BRANCH_LOG_LOOP] = WALK_DIRECT,
		[BRANCH_LOG_MISS - BRANCH_LOG_LOOP] = WALK_MISS,
	};
	const struct segment *s;

	*leg = (struct walk_leg){.bits = slot->bits, .pc = slot->bits};
	if (slot->kind == SLOT_BEGIN)
		return true;
	if (branch_log_is_indirect(slot)) {
		leg->goal = WALK_INDIRECT;
		leg->pc = slot->to;
		leg->segment = c->table ? segment_at(c->table, slot->to, c->generation) : NULL;
		return leg->segment;
	}
	s = slot->kind >= BRANCH_LOG_ROUNDS ? NULL : segment_number(c, slot->segment);
	if (!s)
		return false;
	leg->goal = goals[slot->kind - BRANCH_LOG_LOOP];
	leg->branch = s->from;
	leg->pc = leg->goal == WALK_LOOP ? s->to : s->pc;
	leg->segment = leg->goal == WALK_LOOP ? NULL : s;
	if (leg->goal == WALK_MISS)
		return segment_has_prediction(s);
	return leg->goal != WALK_LOOP || s->kind == BT_BRANCH_JMP || s->kind == BT_BRANCH_CALL ||
	       segment_has_prediction(s);
}

struct log_context branch_log_context(const struct branch_log *log, uint64_t block, size_t slot)
{
	const struct block *b = block_at(log, block);
	struct log_context c = b->context;

	for (size_t i = 0; i < slot; i++)
		branch_log_pass(&c, &b->slots[i]);
	return c;
}

void reader_start_inside(struct reader *r, const struct branch_log *log, uint64_t block,
			 size_t slot)
{
	const struct block *b = block_at(log, block);
	struct log_context c = b->context;
	size_t last = slot > 2 && b->slots[slot - 2].kind == SLOT_REPEAT ? slot - 2 : slot;

	while (last && b->slots[last - 1].kind == BRANCH_LOG_ROUNDS)
		last--;
	if (last && c.table && c.table == log->at.table && c.generation == log->at.generation) {
		c.stretch = true;
		c.last = b->slots[last - 1];
	} else {
		c = branch_log_context(log, block, slot);
	}
	reader_start(r, log, block, slot, &c);
}

void reader_start(struct reader *r, const struct branch_log *log, uint64_t block, size_t slot,
		  const struct log_context *context)
{
	uint64_t slots = (log->next - log->oldest) * log->block_slots;
	struct walk_leg leg;

	r->log = log;
	r->block = block;
	r->slot = slot;
	r->context = *context;
	r->known = false;
	r->walk = (struct branch_walk){.steps = 64 * slots +
						(log->at.table ? segment_count(log->at.table) : 0)};
	r->out.take = NULL;
	if (!context->stretch)
		return;
	r->known = leg_to(context, &context->last, &leg);
	r->walk.pc = leg.pc;
	r->walk.segment = leg.segment;
	r->walk.missed = r->known && leg.goal == WALK_MISS;
}

const struct branch_log_record *reader_slot(struct reader *r)
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

/* Whether what led here can be told or not: where a record says that execution is, there reading
 * goes on. Behind a bad record nobody knows until the next. As this depends on nothing older,
 * reading can start anywhere. */
static void read_log_record(struct reader *r, const struct branch_log_record *slot,
			    struct log_unit *u, uint32_t kind_before)
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
	r->walk.missed = u->leg.goal == WALK_MISS;
}

static void read_end(struct reader *r, const struct branch_log_record *slot, struct log_unit *u)
{
	u->type = UNIT_UNKNOWN;
	u->leg = (struct walk_leg){
		.goal = (enum walk_goal)slot[0].segment, .bits = slot[0].bits, .pc = slot[1].bits};
	if (r->known && slot->bits && reader_walk(r, &u->leg))
		u->type = UNIT_WALKED;
	r->known = false;
}

void reader_again(struct reader *r, const struct log_unit *u)
{
	r->block = u->repeat.block;
	r->slot = u->repeat.first;
}

void reader_pass_repeat(struct reader *r, const struct log_unit *u) { r->slot = u->repeat.behind; }

/* One round is read: execution is at its end, as it was before it, so that the others are the same.
 */
static void read_repeat(struct reader *r, const struct branch_log_record *slot, struct log_unit *u)
{
	bool known = true;
	struct log_unit one;

	u->type = UNIT_REPEAT;
	u->repeat.rounds = slot[1].bits;
	u->repeat.block = r->block;
	u->repeat.end = r->slot;
	u->repeat.first = r->slot - slot->segment;
	u->repeat.behind = r->slot + 2;
	reader_again(r, u);
	while (r->slot < u->repeat.end && reader_next(r, &one)) {
		known &= one.type == UNIT_WALKED;
		u->repeat.branches += r->out.total;
		u->transfers = (one.ticks ? 0 : u->transfers) + r->out.transfers;
	}
	reader_pass_repeat(r, u);
	if (!known || !u->repeat.branches)
		u->type = UNIT_UNKNOWN;
}

/* So does the DIRECT before the slot, at whose place execution is. */
static void read_repeated_rounds(struct reader *r, const struct branch_log_record *slot,
				 struct log_unit *u)
{
	const struct branch_log_record *direct = &r->context.last;

	u->type = UNIT_UNKNOWN;
	u->repeat.rounds = slot->bits;
	u->repeat.block = r->block;
	u->repeat.first = r->slot;
	u->repeat.end = u->repeat.behind = r->slot + 1;
	reader_pass_repeat(r, u);
	r->known = r->known && r->context.stretch && direct->kind == BRANCH_LOG_DIRECT &&
		   leg_to(&r->context, direct, &u->leg);
	u->leg.bits = 1;
	u->leg.onward = true;
	if (!r->known || !reader_walk(r, &u->leg))
		return;
	r->walk.segment = u->leg.segment;
	u->repeat.branches = r->out.total;
	u->transfers = r->out.transfers;
	if (r->out.total && r->out.total == r->out.n)
		u->type = UNIT_REPEAT;
}

bool reader_next(struct reader *r, struct log_unit *u)
{
	const struct branch_log_record *slot = reader_slot(r);
	uint32_t kind_before = r->context.last.kind;

	if (!slot)
		return false;
	*u = (struct log_unit){.type = UNIT_NONE, .ticks = branch_log_slot_ticks(slot)};
	if (slot->kind == SLOT_REPEAT) {
		read_repeat(r, slot, u);
		return true;
	}
	if (slot->kind == BRANCH_LOG_ROUNDS) {
		read_repeated_rounds(r, slot, u);
		return true;
	}
	r->slot += slot->kind == SLOT_END || slot->kind == SLOT_BRANCH || slot->kind == SLOT_COUNT
			   ? 2
			   : 1;
	branch_log_pass(&r->context, slot);
	if (slot->kind <= SLOT_BAD) {
		read_log_record(r, slot, u, kind_before);
	} else if (slot->kind == SLOT_END) {
		read_end(r, slot, u);
	} else if (slot->kind == SLOT_BEGIN) {
		r->walk.pc = slot->bits;
		r->walk.segment = NULL;
		r->walk.missed = false;
		r->known = true;
	} else if (slot->kind == SLOT_BRANCH) {
		u->type = UNIT_BRANCH;
		u->tick = unpacked_tick(slot);
		r->out.entries[0] = unpacked_branch(slot);
		r->out.n = 1;
	} else if (slot->kind == SLOT_COUNT) {
		u->type = UNIT_COUNT;
		u->transfers = slot[1].bits;
		u->reason = (enum bt_gap_reason)slot->segment;
	} else if (slot->kind == SLOT_BREAK) {
		u->type = UNIT_BREAK;
		u->reason = (enum bt_gap_reason)slot->segment;
		r->known = false;
	}
	return true;
}
