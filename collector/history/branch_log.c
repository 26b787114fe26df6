/* SPDX-License-Identifier: MIT */
/* The log is a ring of blocks, and a block is a row of slots as large as a record. A slot is a
 * record as the cache's code wrote it, or one of ours (enum slot_kind): begin and end of a stretch,
 * a branch of the stepper's, an epoch, a table. Each block knows context, tick and entries before
 * its first slot, so the oldest one is dropped without reading it.
 *
 * Ticks are counted as slots come. Transfers are known only by decoding: count_up_to() decodes from
 * the newest conditional on, or from the place that it reached before, and keeps what it found.
 *
 * Records that are the same again and again are kept once, with a count (take_repeated()). A record
 * that code cannot have written is marked as SLOT_BAD.
 *
 * branch_log_read.c decodes slots, branch_log_settle.c brings the branches into the ring,
 * branch_log_tables.c holds the segment tables that slots refer to. */
#include "collector/history/branch_log_private.h"

#include <stdlib.h>
#include <string.h>

#include "collector/history/record_repeat.h"

/* The log is a row of slots as large as a record, in blocks. The oldest block gives way as one;
 * each knows what stood before it, so that nothing must be looked at to drop it. */
enum {
	BLOCK_MAX = 1024, /* slots: 16 KiB, read again from the first-level cache when a record is
			     checked */
	BLOCK_MIN = 16,
	SPARE_MAX = 4, /* blocks kept for the next time */
	REPEAT_SLOTS = 2,
	AGAIN_MOST = 16, /* records compared with the newest */
};

/* Counting transfers */

static uint64_t count_unit(const struct reader *r, const struct log_unit *u, uint64_t transfers)
{
	switch (u->type) {
	case UNIT_WALKED:
		return r->out.tick ? r->out.transfers : transfers + r->out.transfers;
	case UNIT_BRANCH:
		return u->tick ? 0 : transfers + bt_branch_info[r->out.entries[0].kind].transfer;
	case UNIT_UNKNOWN:
		return u->ticks ? 0 : transfers;
	case UNIT_COUNT:
		return u->ticks ? u->transfers : transfers + u->transfers;
	case UNIT_REPEAT:
		return u->ticks ? u->transfers : transfers + u->transfers * u->repeat.rounds;
	default:
		return transfers;
	}
}

/* Sets out in front of the newest slot with a conditional. */
static void start_at_newest_conditional(struct reader *r, const struct branch_log *log)
{
	const struct block *b = block_at(log, log->counted->cond_block);
	size_t slot = b->used;

	while (slot && !branch_log_slot_ticks(&b->slots[slot - 1]))
		slot--;
	reader_start_inside(r, log, log->counted->cond_block, slot ? slot - 1 : 0);
}

/* Brings *log->counted up to the start of a block, or to the log's end. */
static void count_up_to(const struct branch_log *log, uint64_t block)
{
	struct counted *c = log->counted;
	uint64_t transfers = c->transfers;
	struct reader r;
	struct log_unit u;

	if (c->cond)
		start_at_newest_conditional(&r, log);
	else
		reader_start(&r, log, c->block, c->slot, &c->context);
	while (reader_slot(&r) && r.block < block && reader_next(&r, &u))
		transfers = count_unit(&r, &u, transfers);
	*c = (struct counted){
		.block = r.block, .slot = r.slot, .transfers = transfers, .context = r.context};
}

/* Writing */

static void put_spare(struct branch_log *log, struct block *b)
{
	b->next_spare = log->spare;
	log->spare = b;
	log->spare_count++;
}

static struct block *take_spare(struct branch_log *log)
{
	struct block *b = log->spare;

	if (!b)
		return NULL;
	log->spare = b->next_spare;
	log->spare_count--;
	return b;
}

static void free_spares(struct branch_log *log, size_t but)
{
	while (log->spare_count > but)
		free(take_spare(log));
}

/* The oldest block gives way, to log->spare. */
static void drop_oldest_block(struct branch_log *log)
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
	log->oldest++;
	put_spare(log, b);
	branch_log_drop_tables(log);
}

static struct block *new_block(struct branch_log *log)
{
	struct block *b;

	while (log->next - log->oldest == log->max_blocks ||
	       (log->next - log->oldest > 1 &&
		log->entries - block_at(log, log->oldest + 1)->entries >= log->limit))
		drop_oldest_block(log);
	b = take_spare(log);
	if (!b)
		b = malloc(sizeof *b + log->block_slots * sizeof *b->slots);
	if (!b) {
		drop_oldest_block(log);
		b = take_spare(log);
	}
	b->context = log->at;
	b->tick = log->tick;
	b->entries = log->entries;
	b->used = 0;
	log->blocks[log->next++ % log->state_map] = b;
	return b;
}

/* Appends n slots that stay together. */
static void put_slots(struct branch_log *log, const struct branch_log_record *slots, size_t n)
{
	struct block *b = block_at(log, log->next - 1);
	uint64_t ticks = branch_log_slot_ticks(slots);

	if (b->used + n > log->block_slots)
		b = new_block(log);
	memcpy(b->slots + b->used, slots, n * sizeof *slots);
	b->used += n;
	log->tick += ticks;
	log->entries += slots->kind == SLOT_BRANCH || slots->kind == SLOT_COUNT ? 1 : ticks;
	if (ticks) {
		log->counted->cond = true;
		log->counted->cond_block = log->next - 1;
	}
	branch_log_pass(&log->at, slots);
}

struct branch_log *branch_log_new(size_t limit, const struct ring_state *start,
				  const struct processor *processor)
{
	struct branch_log *log = calloc(1, sizeof *log);
	struct block *first;

	if (!log)
		return NULL;
	log->limit = limit;
	log->copy = record_copy_best(processor);
	log->block_slots = BLOCK_MIN;
	while (log->block_slots < BLOCK_MAX && log->block_slots < limit / 16)
		log->block_slots *= 2;
	log->max_blocks = log->state_map = limit / log->block_slots + 2;
	log->blocks = calloc(log->state_map, sizeof *log->blocks);
	log->counted = calloc(1, sizeof *log->counted);
	first = malloc(sizeof *first + log->block_slots * sizeof *first->slots);
	if (first)
		put_spare(log, first);
	if (!log->blocks || !log->counted || !first) {
		branch_log_free(log);
		return NULL;
	}
	log->at.space = start->space;
	log->at.epoch = start->epoch;
	log->tick_unknown = start->tick == BT_TICKS_UNKNOWN;
	log->tick = log->tick_unknown ? 0 : start->tick;
	log->counted->transfers = start->transfers;
	new_block(log);
	return log;
}

/* All blocks become spare ones. */
static void release_blocks(struct branch_log *log)
{
	while (log->oldest < log->next)
		put_spare(log, block_at(log, log->oldest++));
}

static void leave_table(struct branch_log *log)
{
	branch_log_change_table(log, NULL);
	log->at.table = NULL;
}

void branch_log_empty(struct branch_log *log)
{
	uint64_t transfers = branch_log_now(log).transfers;

	release_blocks(log);
	free_spares(log, SPARE_MAX);
	log->lost = false;
	if (!log->at.stretch)
		leave_table(log);
	branch_log_drop_tables(log);
	new_block(log);
	*log->counted =
		(struct counted){.block = log->oldest, .transfers = transfers, .context = log->at};
}

void branch_log_free(struct branch_log *log)
{
	if (!log)
		return;
	release_blocks(log);
	free_spares(log, 0);
	leave_table(log);
	branch_log_drop_tables(log);
	free(log->blocks);
	free(log->counted);
	free(log);
}

void branch_log_begin(struct branch_log *log, struct segment_table *t, uint64_t pc, uint32_t space,
		      uint32_t epoch)
{
	if (t != log->at.table) {
		branch_log_change_table(log, t);
		put_slots(log,
			  &(struct branch_log_record){.bits = (uintptr_t)t, .kind = SLOT_TABLE}, 1);
	}
	branch_log_epoch(log, space, epoch);
	put_slots(log,
		  &(struct branch_log_record){
			  .bits = pc, .segment = segment_generation(t), .kind = SLOT_BEGIN},
		  1);
}

/* Returns how many ticks they hold. */
static uint64_t mark_bad_records(struct branch_log_record *records, size_t n)
{
	uint64_t ticks = 0;

	for (size_t i = 0; i < n; i++) {
		if (records[i].kind != BRANCH_LOG_ROUNDS &&
		    (branch_log_bits_are_wrong(records[i].bits) ||
		     records[i].kind > BRANCH_LOG_MISS))
			records[i].kind = SLOT_BAD;
		ticks += branch_log_slot_ticks(&records[i]);
	}
	return ticks;
}

/* Returns what they hold; what is said of arrivals is of no use where some are bad. */
static struct record_sums copy_records(struct branch_log *log, struct branch_log_record *to,
				       const struct branch_log_record *records, size_t n)
{
	struct record_sums s = log->copy(to, records, n);

	if (s.bad)
		s.ticks = mark_bad_records(to, n);
	log->tick += s.ticks;
	log->entries += s.ticks + s.arrivals;
	if (s.ticks) {
		log->counted->cond = true;
		log->counted->cond_block = log->next - 1;
	}
	for (size_t last = n; last--;)
		if (to[last].kind != BRANCH_LOG_ROUNDS) {
			log->at.last = to[last];
			break;
		}
	return s;
}

/* The newest records of the newest block, in which there is room, are of sums s: so many times
 * more. */
static void put_repeat(struct branch_log *log, size_t records, struct record_sums s, uint64_t times)
{
	const struct branch_log_record repeat[REPEAT_SLOTS] = {
		{.bits = s.ticks * times, .segment = (uint32_t)records, .kind = SLOT_REPEAT},
		{.bits = times, .kind = SLOT_PC},
	};
	uint64_t arrivals;

	put_slots(log, repeat, REPEAT_SLOTS);
	/* More than the limit are as many: none before them is wanted. */
	log->entries +=
		__builtin_mul_overflow(s.arrivals, times, &arrivals) || arrivals > log->limit
			? log->limit
			: arrivals;
}

static bool has_rounds(const struct branch_log_record *records, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (records[i].kind == BRANCH_LOG_ROUNDS)
			return true;
	return false;
}

/* Where many records are the same ones again and again, takes those once, and how often. Returns
 * how many of them that were: a cycle without a conditional writes millions in a second, each of
 * which would have to be decoded to count transfers. */
static size_t take_repeated(struct branch_log *log, const struct branch_log_record *records,
			    size_t n)
{
	const struct record_repeat r =
		record_repeat_find(records, n, log->block_slots - REPEAT_SLOTS);
	struct block *b = block_at(log, log->next - 1);
	struct record_sums s;

	if (!r.times || has_rounds(records, r.records))
		return 0;
	if (b->used + r.records + REPEAT_SLOTS > log->block_slots)
		b = new_block(log);
	s = copy_records(log, b->slots + b->used, records, r.records);
	b->used += r.records;
	put_repeat(log, r.records, s, r.times);
	return r.records * (1 + r.times);
}

/* Whether a slot is what was written as the record. */
static bool is_written_record(const struct branch_log_record *slot,
			      const struct branch_log_record *written)
{
	return slot->bits == branch_log_bits(written->bits) && slot->to == written->to &&
	       slot->kind <= BRANCH_LOG_MISS;
}

/* Whether transfers have been counted as far as behind a slot of the newest block. */
static bool is_counted(const struct branch_log *log, size_t slot)
{
	const struct counted *c = log->counted;

	return !c->cond && c->block == log->next - 1 && c->slot > slot;
}

/* So many records, few, that are the same as the newest ones come one time more. False where they
 * are others. A loop of system calls has its records taken one round at a time. */
static bool take_again(struct branch_log *log, const struct branch_log_record *records, size_t n)
{
	struct block *b = block_at(log, log->next - 1);
	size_t end = b->used > REPEAT_SLOTS && b->slots[b->used - REPEAT_SLOTS].kind == SLOT_REPEAT
			     ? b->used - REPEAT_SLOTS
			     : b->used;
	struct branch_log_record *repeat = end < b->used ? &b->slots[end] : NULL;
	struct record_sums s = {0};

	if (end < n || (repeat ? repeat->segment != n || is_counted(log, end)
			       : b->used + REPEAT_SLOTS > log->block_slots))
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct branch_log_record *slot = &b->slots[end - n + i];

		if (!is_written_record(slot, &records[i]))
			return false;
		s.ticks += branch_log_slot_ticks(slot);
		s.arrivals += slot->kind <= BRANCH_LOG_LOOP;
	}
	if (!repeat) {
		put_repeat(log, n, s, 1);
		return true;
	}
	repeat[0].bits += s.ticks;
	repeat[1].bits++;
	log->tick += s.ticks;
	log->entries += s.ticks + s.arrivals;
	if (s.ticks) {
		log->counted->cond = true;
		log->counted->cond_block = log->next - 1;
	}
	return true;
}

static size_t take_piece(struct branch_log *log, const struct branch_log_record *records, size_t n)
{
	struct block *b = block_at(log, log->next - 1);
	size_t piece;

	if (b->used == log->block_slots)
		b = new_block(log);
	piece = log->block_slots - b->used < n ? log->block_slots - b->used : n;
	(void)copy_records(log, b->slots + b->used, records, piece);
	b->used += piece;
	return piece;
}

void branch_log_records(struct branch_log *log, const struct branch_log_record *records, size_t n)
{
	if (n && n <= AGAIN_MOST && take_again(log, records, n))
		return;
	for (size_t taken; n; records += taken, n -= taken) {
		taken = take_repeated(log, records, n);
		if (!taken)
			taken = take_piece(log, records, n);
	}
}

void branch_log_rounds(struct branch_log *log, uint64_t rounds)
{
	const struct branch_log_record again = {
		.bits = rounds, .segment = log->at.last.segment, .kind = BRANCH_LOG_ROUNDS};

	if (!rounds)
		return;
	put_slots(log, &again, 1);
	log->entries += rounds < log->limit ? rounds : log->limit; /* as of put_repeat() */
}

static void put_end(struct branch_log *log, uint64_t bits, enum walk_goal goal, uint64_t pc)
{
	struct branch_log_record end[2] = {
		{.bits = bits, .segment = goal, .kind = SLOT_END},
		{.bits = pc, .kind = SLOT_PC},
	};

	put_slots(log, end, 2);
}

void branch_log_end(struct branch_log *log, uint64_t bits, uint64_t pc)
{
	put_end(log, bits, WALK_WITHIN, pc);
}

void branch_log_arrive(struct branch_log *log, uint64_t bits, enum branch_log_kind kind,
		       uint64_t pc)
{
	put_end(log, bits, kind == BRANCH_LOG_INDIRECT ? WALK_INDIRECT : WALK_DIRECT, pc);
	log->entries += kind == BRANCH_LOG_INDIRECT;
}

void branch_log_break(struct branch_log *log, enum bt_gap_reason reason)
{
	put_slots(log, &(struct branch_log_record){.segment = reason, .kind = SLOT_BREAK}, 1);
}

void branch_log_skip(struct branch_log *log, enum bt_gap_reason reason, uint64_t ticks,
		     uint64_t transfers)
{
	const struct branch_log_record count[2] = {
		{.bits = ticks, .segment = reason, .kind = SLOT_COUNT},
		{.bits = transfers, .kind = SLOT_PC},
	};

	put_slots(log, count, 2);
}

void branch_log_count(struct branch_log *log, uint64_t ticks, uint64_t transfers)
{
	if (ticks || transfers)
		branch_log_skip(log, BT_GAP_OFF, ticks, transfers);
}

void branch_log_branch(struct branch_log *log, const struct bt_branch *b, bool tick)
{
	struct branch_log_record slots[2] = {
		{.bits = b->from,
		 .segment = branch_log_pack(b, tick && b->kind == BT_BRANCH_JCC),
		 .kind = SLOT_BRANCH},
		{.bits = b->to, .kind = SLOT_TO},
	};

	put_slots(log, slots, 2);
}

void branch_log_epoch(struct branch_log *log, uint32_t space, uint32_t epoch)
{
	if (space != log->at.space || epoch != log->at.epoch)
		put_slots(log,
			  &(struct branch_log_record){
				  .bits = epoch, .segment = space, .kind = SLOT_EPOCH},
			  1);
}

void branch_log_lower(struct branch_log *log, size_t limit)
{
	if (limit >= log->limit)
		return;
	log->limit = limit;
	log->limited = true;
	log->max_blocks = limit / log->block_slots + 2;
	while (log->next - log->oldest > log->max_blocks ||
	       (log->next - log->oldest > 1 &&
		log->entries - block_at(log, log->oldest + 1)->entries >= log->limit))
		drop_oldest_block(log);
	free_spares(log, 0);
}

size_t branch_log_memory(const struct branch_log *log)
{
	size_t blocks = (size_t)(log->next - log->oldest) + log->spare_count;

	return blocks * (sizeof(struct block) +
			 log->block_slots * sizeof(struct branch_log_record)) +
	       branch_log_table_memory(log);
}

/* Looking at it */

bool branch_log_crowded(const struct branch_log *log)
{
	uint64_t full = log->next - log->oldest - 1,
		 entries = block_at(log, log->next - 1)->entries -
			   block_at(log, log->oldest)->entries;

	if (log->table_count == TABLES_MAX)
		return true;
	/* With as many entries in each block as there are now in those that are full, would all
	 * have enough? */
	return full + log->max_blocks / 4 + 2 >= log->max_blocks &&
	       entries * (log->max_blocks - 1) < log->limit * full;
}

uint64_t branch_log_passed(const struct branch_log *log) { return log->entries; }

uint64_t branch_log_entries(const struct branch_log *log)
{
	uint64_t entries = log->entries - block_at(log, log->oldest)->entries;

	return entries < log->limit ? entries : log->limit;
}

struct ring_state branch_log_now(const struct branch_log *log)
{
	count_up_to(log, log->next);
	return (struct ring_state){.tick = shown_tick(log, log->tick),
				   .transfers = log->counted->transfers,
				   .space = log->at.space,
				   .epoch = log->at.epoch};
}

uint64_t branch_log_tick(const struct branch_log *log) { return shown_tick(log, log->tick); }

uint32_t branch_log_oldest_generation(const struct branch_log *log, const struct segment_table *t)
{
	for (uint64_t n = log->oldest; n < log->next; n++) {
		const struct block *b = block_at(log, n);
		struct log_context c = b->context;

		if (c.stretch && c.table == t)
			return c.generation;
		for (size_t i = 0; i < b->used; i++) {
			branch_log_pass(&c, &b->slots[i]);
			if (b->slots[i].kind == SLOT_BEGIN && c.table == t)
				return c.generation;
		}
	}
	return UINT32_MAX;
}
