/* SPDX-License-Identifier: MIT */
/* A branch log of small programs that are written by hand, and its expected entries. */
#ifndef BT_UNIT_HAND_LOG_H
#define BT_UNIT_HAND_LOG_H

#include "tests/unit/unit.h"

#include "collector/history/branch_log.h"
#include "lib/processor.h"

static inline size_t count_gaps(const struct branch_ring *r, enum bt_gap_reason reason)
{
	size_t n = 0;

	for (uint64_t i = r->oldest; i < r->next; i++) {
		const struct bt_branch *b = &r->entries[i & (r->cap - 1)];

		n += b->kind == BT_BRANCH_GAP && (b->to & 0xff) == reason;
	}
	return n;
}

struct hand {
	struct segment_table *t;
	struct branch_log *log;
	struct branch_ring ring;
};

static const struct ring_state hand_start = {.tick = 10, .transfers = 2, .space = 1};

static inline void hand_init(struct hand *h, size_t limit)
{
	h->t = segment_table_new();
	h->log = branch_log_new(limit, &hand_start, &(struct processor){0});
	branch_ring_init(&h->ring, limit, &hand_start);
}

static inline void hand_release(struct hand *h)
{
	branch_log_free(h->log);
	branch_ring_release(&h->ring);
	segment_table_put(h->t);
}

/* Eight bytes, the last of them a branch. */
static inline uint32_t hand_segment(struct hand *h, uint64_t pc, uint8_t kind, uint64_t to)
{
	struct segment s = {.pc = pc,
			    .from = pc + 7,
			    .end = pc + 8,
			    .to = to,
			    .kind = kind,
			    .tick = kind == BT_BRANCH_JCC};

	return segment_add(h->t, &s);
}

/* Jumps in a row from 0x10000 on, 16 bytes apart, and then to `to`. Returns the last one's number.
 */
static inline uint32_t hand_jumps(struct hand *h, unsigned n, uint64_t to)
{
	uint32_t last = SEGMENT_NONE;

	for (unsigned i = 0; i < n; i++)
		last = hand_segment(h, 0x10000 + i * 16, BT_BRANCH_JMP,
				    i + 1 < n ? 0x10000 + (i + 1) * 16 : to);
	return last;
}

static inline void hand_begin(struct hand *h, uint64_t pc)
{
	branch_log_begin(h->log, h->t, pc, 1, 0);
}

/* An indirect one leads to the segment, or to where nothing is. */
static inline void hand_record(struct hand *h, uint64_t bits, uint32_t segment, uint32_t kind)
{
	struct branch_log_record r = {
		.bits = branch_log_written(bits), .segment = segment, .kind = kind};
	const struct segment *to = segment_get(h->t, segment);

	if (kind == BRANCH_LOG_INDIRECT)
		r.to = to ? to->pc : 0x123456;
	branch_log_records(h->log, &r, 1);
}

/* Settles; then the counts are these, and so many entries are in the ring. */
static inline void assert_settled(struct hand *h, uint64_t tick, uint64_t transfers,
				  uint64_t entries)
{
	struct ring_state now = branch_log_now(h->log);

	branch_log_settle(h->log, &h->ring);
	assert_int_equal(now.tick, tick);
	assert_int_equal(now.transfers, transfers);
	assert_int_equal(h->ring.now.tick, tick);
	assert_int_equal(h->ring.now.transfers, transfers);
	assert_int_equal(h->ring.next - h->ring.oldest, entries);
}

static inline void assert_entry(const struct hand *h, uint64_t number, uint8_t kind, uint64_t from,
				uint64_t to)
{
	const struct bt_branch *b = &h->ring.entries[number & (h->ring.cap - 1)];

	assert_int_equal(b->kind, kind);
	assert_int_equal(b->from, from);
	assert_int_equal(b->to, to);
}

#endif
