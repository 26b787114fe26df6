/* SPDX-License-Identifier: MIT */
/* What records say, in small programs by hand. */
#include "lib/array_size.h"
#include "tests/unit/hand_log.h"

static void laps_of_a_silent_cycle_are_counted(void **state)
{
	struct hand h;
	uint32_t s;

	(void)state;
	hand_init(&h, 100);
	hand_segment(&h, 0x1000, BT_BRANCH_JMP, 0x2000);
	s = hand_segment(&h, 0x2000, BT_BRANCH_JMP, 0x2000);
	hand_begin(&h, 0x1000);
	for (int i = 0; i < 3; i++)
		hand_record(&h, 1, s, BRANCH_LOG_LOOP);
	branch_log_end(h.log, 1, 0x2003);
	assert_settled(&h, 10, 6, 4);
	assert_entry(&h, 0, BT_BRANCH_JMP, 0x1007, 0x2000);
	assert_entry(&h, 3, BT_BRANCH_JMP, 0x2007, 0x2000);
	hand_release(&h);
}

static void a_safe_point_behind_a_safe_point_is_a_lap_on(void **state)
{
	struct hand h;
	uint32_t s;

	(void)state;
	hand_init(&h, 100);
	s = hand_segment(&h, 0x2000, BT_BRANCH_JMP, 0x2000);
	hand_begin(&h, 0x2000);
	for (int i = 0; i < 3; i++)
		hand_record(&h, 1, s, BRANCH_LOG_DIRECT);
	branch_log_end(h.log, 1, 0x2000);
	assert_settled(&h, 10, 4, 2);
	hand_release(&h);
}

static void a_stretch_without_code_that_goes_nowhere_is_no_gap(void **state)
{
	struct hand h;

	(void)state;
	hand_init(&h, 100);
	hand_begin(&h, 0x5000);
	branch_log_end(h.log, 1, 0x5000);
	assert_settled(&h, 10, 2, 0);
	hand_begin(&h, 0x5000);
	branch_log_end(h.log, 1, 0x5001); /* how it came there is not known */
	assert_settled(&h, 10, 2, 1);
	assert_int_equal(count_gaps(&h.ring, BT_GAP_SCRIBBLED), 1);
	hand_release(&h);
}

static void an_indirect_jump_into_its_own_segment_is_an_arrival(void **state)
{
	struct hand h;

	(void)state;
	hand_init(&h, 100);
	hand_segment(&h, 0x1000, BT_BRANCH_IJMP, 0);
	hand_begin(&h, 0x1000);
	branch_log_end(h.log, 1, 0x1004); /* not yet there */
	hand_begin(&h, 0x1000);
	branch_log_arrive(h.log, 1, BRANCH_LOG_INDIRECT, 0x1004);
	assert_settled(&h, 10, 3, 1);
	assert_entry(&h, 0, BT_BRANCH_IJMP, 0x1007, 0x1004);
	hand_release(&h);
}

static void a_safe_point_may_lie_in_the_middle_of_a_segment(void **state)
{
	struct hand h;
	struct segment rest = {
		.pc = 0x1004, .from = 0x1007, .end = 0x1008, .to = 0x2000, .kind = BT_BRANCH_JMP};
	uint32_t middle;

	(void)state;
	hand_init(&h, 100);
	hand_segment(&h, 0x1000, BT_BRANCH_JMP, 0x2000);
	middle = segment_add(h.t, &rest);
	hand_begin(&h, 0x1000);
	hand_record(&h, 1, middle, BRANCH_LOG_DIRECT);
	branch_log_arrive(h.log, 1, BRANCH_LOG_DIRECT, 0x2000);
	hand_begin(&h, 0x1000);
	branch_log_arrive(h.log, 1, BRANCH_LOG_DIRECT, 0x1006); /* nothing begins there */
	assert_settled(&h, 10, 3, 1);
	assert_entry(&h, 0, BT_BRANCH_JMP, 0x1007, 0x2000);
	hand_release(&h);
}

static void an_indirect_branch_to_code_not_known_is_the_last_entry(void **state)
{
	struct hand h;

	(void)state;
	hand_init(&h, 100);
	hand_segment(&h, 0x1000, BT_BRANCH_RET, 0);
	hand_begin(&h, 0x1000);
	branch_log_end(h.log, 1, 0x123456789a);
	assert_settled(&h, 10, 3, 1);
	assert_entry(&h, 0, BT_BRANCH_RET, 0x1007, 0x123456789a);
	hand_release(&h);
}

/* Jumps in a row from 0x10000 on, 16 bytes apart, and then to `to`. Returns the last one's number.
 */
static uint32_t hand_jumps(struct hand *h, unsigned n, uint64_t to)
{
	uint32_t last = SEGMENT_NONE;

	for (unsigned i = 0; i < n; i++)
		last = hand_segment(h, 0x10000 + i * 16, BT_BRANCH_JMP,
				    i + 1 < n ? 0x10000 + (i + 1) * 16 : to);
	return last;
}

static void a_leg_of_many_branches_is_whole(void **state)
{
	enum { JUMPS = 1000 };
	struct hand h;
	uint32_t last;

	(void)state;
	hand_init(&h, 5000);
	hand_segment(&h, 0x1000, BT_BRANCH_JCC, 0x10000);
	last = hand_jumps(&h, JUMPS, 0x10000);
	hand_begin(&h, 0x1000);
	hand_record(&h, 2, last, BRANCH_LOG_LOOP);
	hand_record(&h, 1, last, BRANCH_LOG_LOOP);
	branch_log_end(h.log, 1, 0x10020);
	assert_settled(&h, 11, 2 * JUMPS + 2, 2 * JUMPS + 3);
	assert_entry(&h, 0, BT_BRANCH_JCC, 0x1007, 0x10000);
	for (uint64_t i = 0; i < 2 * JUMPS; i++)
		assert_entry(&h, 1 + i, BT_BRANCH_JMP, 0x10000 + i % JUMPS * 16 + 7,
			     0x10000 + (i + 1) % JUMPS * 16);
	hand_release(&h);
}

static void a_leg_of_many_branches_to_another_place_is_whole(void **state)
{
	struct hand h;
	uint32_t target;

	(void)state;
	hand_init(&h, 5000);
	hand_jumps(&h, 1000, 0x2000);
	hand_segment(&h, 0x2000, BT_BRANCH_RET, 0);
	target = hand_segment(&h, 0x3000, BT_BRANCH_RET, 0);
	hand_begin(&h, 0x10000);
	hand_record(&h, 1, target, BRANCH_LOG_INDIRECT);
	branch_log_end(h.log, 1, 0x3000);
	assert_settled(&h, 10, 2 + 1001, 1001);
	assert_entry(&h, 0, BT_BRANCH_JMP, 0x10007, 0x10010);
	assert_entry(&h, 1000, BT_BRANCH_RET, 0x2007, 0x3000);
	hand_release(&h);
}

static void many_jumps_on_each_lap_of_a_loop_are_whole(void **state)
{
	enum { JUMPS = 60, LAPS = 40 };
	struct hand h;
	uint32_t head;

	(void)state;
	hand_init(&h, 100);
	head = hand_segment(&h, 0x9000, BT_BRANCH_JMP, 0x10000);
	hand_jumps(&h, JUMPS, 0x3000);
	hand_segment(&h, 0x3000, BT_BRANCH_JCC, 0x9000);
	hand_begin(&h, 0x9000);
	hand_record(&h, 1ull << LAPS, head, BRANCH_LOG_DIRECT); /* all taken */
	branch_log_end(h.log, 1, 0x9000);
	branch_log_settle(h.log, &h.ring);
	assert_int_equal(h.ring.now.tick, 10 + LAPS);
	assert_int_equal(count_gaps(&h.ring, BT_GAP_SCRIBBLED), 0);
	assert_true(h.ring.next - h.ring.oldest >= 100);
	hand_release(&h);
}

static void damaged_records_use_up_the_long_legs_but_no_short_ones(void **state)
{
	struct hand h;
	uint32_t jumps, place, other;

	(void)state;
	hand_init(&h, 2000);
	jumps = hand_jumps(&h, 1000, 0x9000); /* nothing is there */
	place = hand_segment(&h, 0x2000, BT_BRANCH_JMP, 0x10000);
	other = hand_segment(&h, 0x2800, BT_BRANCH_JMP, 0x10000);
	hand_segment(&h, 0x3000, BT_BRANCH_JCC, 0x10000);
	hand_begin(&h, 0x2000);
	for (int i = 0; i < 50; i++)
		hand_record(&h, 1, i % 2 ? place : other, BRANCH_LOG_INDIRECT);
	branch_log_end(h.log, 1, 0x2000);
	hand_begin(&h, 0x3000);
	branch_log_end(h.log, 2, 0x10000 + 16 * 999); /* would be too long now */
	hand_begin(&h, 0x3000);
	branch_log_end(h.log, 2, 0x10000 + 16 * 100);
	assert_settled(&h, 12, 100, 1 + 101);
	assert_int_equal(count_gaps(&h.ring, BT_GAP_SCRIBBLED), 1);
	hand_begin(&h, 0x3000);
	hand_record(&h, 2, jumps, BRANCH_LOG_DIRECT);
	branch_log_end(h.log, 1, 0x10000 + 16 * 999); /* not in another settle */
	assert_settled(&h, 13, 999, 1 + 101 + 1000);
	hand_release(&h);
}

static void a_silent_cycle_in_vain_costs_one_lap(void **state)
{
	struct hand h;
	uint32_t last;

	(void)state;
	hand_init(&h, 5000);
	last = hand_jumps(&h, 1000, 0x10000);
	hand_begin(&h, 0x10000);
	branch_log_end(h.log, 1, 0x9000);
	hand_begin(&h, 0x10000);
	branch_log_end(h.log, 1, 0x9000);
	hand_begin(&h, 0x10000);
	hand_record(&h, 1, last, BRANCH_LOG_LOOP);
	branch_log_end(h.log, 1, 0x10000);
	assert_settled(&h, 10, 1002, 1001);
	hand_release(&h);
}

/* Laps of a cycle of 1000 jumps, far more than are wanted. With a conditional in each record, or
 * none. */
static void assert_newest_laps(unsigned bits)
{
	enum { LAPS = 1500 };
	struct hand h;
	uint32_t last;
	uint64_t ticks = bits == 1 ? 0 : LAPS;

	hand_init(&h, 1000);
	last = hand_jumps(&h, 1000, bits == 1 ? 0x10000 : 0x9000);
	hand_segment(&h, 0x9000, BT_BRANCH_JCC, 0x10000);
	hand_begin(&h, 0x10000);
	for (int i = 0; i < LAPS; i++)
		hand_record(&h, bits, bits == 1 ? last : 0,
			    bits == 1 ? BRANCH_LOG_LOOP : BRANCH_LOG_DIRECT);
	branch_log_end(h.log, 1, 0x10000 + 16 * 10);
	branch_log_settle(h.log, &h.ring);
	assert_in_range(h.ring.next, 1010, 20000); /* of a million and a half */
	assert_int_equal(count_gaps(&h.ring, BT_GAP_SCRIBBLED), 0);
	assert_int_equal(h.ring.now.tick, 10 + ticks);
	assert_int_equal(h.ring.now.transfers, bits == 1 ? 2 + 1000 * LAPS + 10 : 10);
	for (unsigned i = 1; i <= 10; i++)
		assert_entry(&h, h.ring.next - i, BT_BRANCH_JMP, 0x10000 + (10 - i) * 16 + 7,
			     0x10000 + (11 - i) * 16);
	assert_entry(&h, h.ring.next - 11, bits == 1 ? BT_BRANCH_JMP : BT_BRANCH_JCC,
		     bits == 1 ? 0x10000 + 999 * 16 + 7 : 0x9007, 0x10000);
	hand_release(&h);
}

static void of_far_too_many_branches_the_newest_are_decoded(void **state)
{
	(void)state;
	assert_newest_laps(1);
	assert_newest_laps(2);
}

/* Rounds of these records, as the cache's code writes them: rooms full of them, which begin
 * anywhere in a round. */
static void hand_rounds(struct hand *h, const struct branch_log_record *round, size_t n,
			size_t rounds)
{
	enum { ROOM = 65536 };
	struct branch_log_record *room = calloc(ROOM, sizeof *room);
	size_t used = 0;

	assert_non_null(room);
	for (size_t i = 0; i < rounds * n; i++) {
		room[used] = round[i % n];
		room[used++].bits = branch_log_written(round[i % n].bits);
		if (used == ROOM || i + 1 == rounds * n) {
			branch_log_records(h->log, room, used);
			used = 0;
		}
	}
	free(room);
}

/* A cycle of three segments, ROUNDS times. bits: what its records have. */
static void assert_rounds(size_t limit, uint64_t bits)
{
	enum { ROUNDS = 300001 };
	struct hand h;
	uint32_t one, three;
	uint64_t ticks = bits == 1 ? 0 : ROUNDS, wanted = limit < 3 * ROUNDS ? limit : 3 * ROUNDS;

	hand_init(&h, limit);
	one = hand_segment(&h, 0x1000, BT_BRANCH_RET, 0);
	hand_segment(&h, 0x2000, BT_BRANCH_CALL, 0x3000);
	three = hand_segment(&h, 0x3000, bits == 1 ? BT_BRANCH_JMP : BT_BRANCH_JCC, 0x1000);
	hand_begin(&h, 0x1000);
	hand_rounds(&h,
		    (struct branch_log_record[]){
			    {.bits = 1, .to = 0x2000},
			    {.bits = bits,
			     .segment = bits == 1 ? three : one,
			     .kind = bits == 1 ? BRANCH_LOG_LOOP : BRANCH_LOG_DIRECT}},
		    2, ROUNDS);
	branch_log_end(h.log, 1, 0x1004);
	assert_in_range(branch_log_memory(h.log), 1, 200000); /* of more than nine million bytes */
	assert_true(branch_log_entries(h.log) <= limit);
	branch_log_settle(h.log, &h.ring);
	assert_int_equal(h.ring.now.tick, 10 + ticks);
	assert_int_equal(h.ring.now.transfers, bits == 1 ? 2 + 3 * ROUNDS : 0);
	assert_int_equal(count_gaps(&h.ring, BT_GAP_SCRIBBLED), 0);
	assert_in_range(h.ring.next, wanted, 6 * wanted + 70000);
	for (uint64_t i = 1; i <= wanted / 3; i++) {
		assert_entry(&h, h.ring.next - 3 * i, BT_BRANCH_RET, 0x1007, 0x2000);
		assert_entry(&h, h.ring.next - 3 * i + 1, BT_BRANCH_CALL, 0x2007, 0x3000);
		assert_entry(&h, h.ring.next - 3 * i + 2, bits == 1 ? BT_BRANCH_JMP : BT_BRANCH_JCC,
			     0x3007, 0x1000);
	}
	hand_release(&h);
}

static void records_that_repeat_take_no_room(void **state)
{
	(void)state;
	assert_rounds(1 << 20, 1);
	assert_rounds(1 << 20, 2);
	assert_rounds(5000, 1);
	assert_rounds(5000, 2);
}

/* As a loop of system calls has its records taken. */
static void records_that_are_taken_one_round_at_a_time_take_no_room_either(void **state)
{
	for (int counted = 0; counted < 2; counted++) {
		enum { ROUNDS = 100000 };
		struct hand h;
		uint32_t one, two;

		(void)state;
		hand_init(&h, 5000);
		one = hand_segment(&h, 0x1000, BT_BRANCH_RET, 0);
		two = hand_segment(&h, 0x2000, BT_BRANCH_RET, 0);
		hand_begin(&h, 0x1000);
		for (int i = 0; i < ROUNDS; i++) {
			const struct branch_log_record round[2] = {
				{.bits = branch_log_written(1), .to = 0x2000},
				{.bits = branch_log_written(1), .to = 0x1000}};

			branch_log_records(h.log, round, 2);
			if (counted && i % 1000 == 0) /* what has been counted stays as it is */
				assert_int_equal(branch_log_now(h.log).transfers, 2 + 2 * (i + 1));
		}
		hand_record(&h, 1, one, BRANCH_LOG_INDIRECT); /* another round than those */
		hand_record(&h, 1, two, BRANCH_LOG_INDIRECT);
		branch_log_end(h.log, 1, 0x2004);
		assert_in_range(branch_log_memory(h.log), 1, 20000);
		branch_log_settle(h.log, &h.ring);
		assert_int_equal(h.ring.now.transfers, 2 + 2 * ROUNDS + 2);
		assert_int_equal(count_gaps(&h.ring, BT_GAP_SCRIBBLED), 0);
		assert_entry(&h, h.ring.next - 1, BT_BRANCH_RET, 0x1007, 0x2000);
		assert_entry(&h, h.ring.next - 2, BT_BRANCH_RET, 0x1007, 0x1000);
		for (uint64_t i = 3; i < 4000; i += 2) {
			assert_entry(&h, h.ring.next - i, BT_BRANCH_RET, 0x2007, 0x1000);
			assert_entry(&h, h.ring.next - i - 1, BT_BRANCH_RET, 0x1007, 0x2000);
		}
		hand_release(&h);
	}
}

struct looked {
	uint64_t count;
	struct bt_branch newest;
};

static void take_looked(void *arg, const struct bt_branch *entries, size_t n)
{
	struct looked *l = arg;

	l->count += n;
	if (n)
		l->newest = entries[n - 1];
}

/* Not more than are asked for, by much, whatever lies between them that is no branch, and of what
 * repeats its newest. */
static void a_look_finds_the_newest(void **state)
{
	enum { VISITS = 200, EACH = 10 };
	struct hand h;

	(void)state;
	hand_init(&h, 5000);
	hand_segment(&h, 0x1000, BT_BRANCH_RET, 0);
	for (uint64_t i = 0; i < VISITS; i++) {
		uint32_t to = hand_segment(&h, 0x2000 + 16 * i, BT_BRANCH_RET, 0);

		hand_begin(&h, 0x1000);
		for (int k = 0; k < EACH; k++) /* the last ones are the same again and again */
			hand_record(&h, 1, to, BRANCH_LOG_INDIRECT);
		branch_log_end(h.log, 1, 0x2000 + 16 * i);
		for (int k = 0; k < 3; k++) { /* nothing is done */
			hand_begin(&h, 0x1000);
			branch_log_end(h.log, 1, 0x1000);
		}
	}
	for (uint64_t wanted = 1; wanted < 30; wanted++) {
		struct looked l = {0};

		branch_log_look(h.log, wanted, take_looked, &l);
		assert_in_range(l.count, wanted, wanted + 2 * EACH);
		assert_int_equal(l.newest.to, 0x2000 + 16 * (VISITS - 1));
	}
	hand_release(&h);
}

static void one_leg_longer_than_the_limit_is_no_loss(void **state)
{
	struct hand h;

	(void)state;
	hand_init(&h, 100);
	hand_jumps(&h, 3000, 0x9000);
	hand_begin(&h, 0x10000);
	branch_log_end(h.log, 1, 0x9000);
	branch_log_settle(h.log, &h.ring);
	assert_int_equal(h.ring.next, 3000);
	assert_int_equal(h.ring.now.transfers, 3002);
	hand_release(&h);
}

static void a_conditional_that_has_no_bit_is_no_way(void **state)
{
	struct hand h;
	struct segment s = {
		.pc = 0x1000, .from = 0x1007, .end = 0x1008, .to = 0x2000, .kind = BT_BRANCH_JCC};

	(void)state;
	hand_init(&h, 100);
	segment_add(h.t, &s);
	hand_begin(&h, 0x1000);
	branch_log_end(h.log, 2, 0x2000);
	assert_settled(&h, 11, 0, 1);
	assert_int_equal(count_gaps(&h.ring, BT_GAP_SCRIBBLED), 1);
	hand_release(&h);
}

static void given_up_damage_leaves_the_counts_of_now(void **state)
{
	struct hand h;
	uint32_t place, other;

	(void)state;
	hand_init(&h, 2000);
	hand_jumps(&h, 1000, 0x9000);
	place = hand_segment(&h, 0x2000, BT_BRANCH_JMP, 0x10000);
	other = hand_segment(&h, 0x2800, BT_BRANCH_JMP, 0x10000);
	hand_segment(&h, 0x3000, BT_BRANCH_JCC, 0x10000);
	hand_begin(&h, 0x2000);
	for (int i = 0; i < 50; i++)
		hand_record(&h, 1, i % 2 ? place : other, BRANCH_LOG_INDIRECT);
	branch_log_end(h.log, 1, 0x2000);
	hand_begin(&h, 0x3000);
	branch_log_end(h.log, 2, 0x10000 + 16 * 999); /* found when looked for alone */
	assert_settled(&h, 11, 999, 1);
	hand_release(&h);
}

static void transfers_behind_an_unknown_conditional_are_counted_from_it(void **state)
{
	struct hand h;
	uint32_t ret;

	(void)state;
	hand_init(&h, 100);
	ret = hand_segment(&h, 0x1000, BT_BRANCH_RET, 0);
	hand_begin(&h, 0x1000);
	hand_record(&h, 8, ret, BRANCH_LOG_INDIRECT);
	hand_record(&h, 1, ret, BRANCH_LOG_INDIRECT);
	branch_log_end(h.log, 1, 0x1000);
	assert_settled(&h, 13, 1, 2);
	hand_release(&h);
}

static void records_outside_a_stretch_are_a_gap(void **state)
{
	struct hand h;
	uint32_t ret;

	(void)state;
	hand_init(&h, 100);
	ret = hand_segment(&h, 0x1000, BT_BRANCH_RET, 0);
	hand_begin(&h, 0x1000);
	branch_log_end(h.log, 1, 0x1000);
	hand_record(&h, 1, ret, BRANCH_LOG_INDIRECT);
	hand_record(&h, 1, ret, BRANCH_LOG_INDIRECT);
	branch_log_end(h.log, 1, 0x1000);
	assert_settled(&h, 10, 2, 1);
	assert_int_equal(count_gaps(&h.ring, BT_GAP_SCRIBBLED), 1);
	hand_release(&h);
}

static void a_cycle_that_leaves_no_record_ends(void **state)
{
	struct hand h;

	(void)state;
	hand_init(&h, 100);
	hand_segment(&h, 0x1000, BT_BRANCH_JMP, 0x2000);
	hand_segment(&h, 0x2000, BT_BRANCH_CALL, 0x1000);
	hand_begin(&h, 0x1000);
	branch_log_end(h.log, 1, 0x9000);
	assert_settled(&h, 10, 2, 1);
	assert_int_equal(count_gaps(&h.ring, BT_GAP_SCRIBBLED), 1);
	hand_release(&h);
}

/* Each of these records cannot be; what they count is counted, and the next record is whole. */
static void a_record_that_cannot_be_is_a_gap(void **state)
{
	static const struct {
		uint64_t bits;
		uint32_t segment, kind;
		unsigned ticks;
	} rows[] = {
		{0, 1, BRANCH_LOG_INDIRECT, 0},         {4, 1, BRANCH_LOG_MISS, 2},
		{4, 1, BRANCH_LOG_ROUNDS + 1, 2},       {4, 1, UINT32_MAX, 2},
		{1, 99, BRANCH_LOG_INDIRECT, 0},        {1, SEGMENT_NONE, BRANCH_LOG_LOOP, 0},
		{8, 1, BRANCH_LOG_INDIRECT, 3},         {1, 1, BRANCH_LOG_LOOP, 0},
		{1, 1, BRANCH_LOG_DIRECT, 0},           {4, 0, BRANCH_LOG_LOOP - 1, 2},
		{UINT64_MAX, 1, BRANCH_LOG_DIRECT, 63}, {1, 2, BRANCH_LOG_INDIRECT, 0}, /* dead */
		{4, 1, BRANCH_LOG_ROUNDS, 0},           {0, 1, BRANCH_LOG_ROUNDS, 0},
		{UINT64_MAX, 99, BRANCH_LOG_ROUNDS, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct hand h;
		uint32_t ret, jcc;
		struct bt_branch stepped = {
			.kind = BT_BRANCH_SYSCALL, .flags = BT_BRANCH_TAKEN, .from = 1, .to = 3};
		size_t gaps;

		hand_init(&h, 100);
		ret = hand_segment(&h, 0x1000, BT_BRANCH_RET, 0);
		jcc = hand_segment(&h, 0x2000, BT_BRANCH_JCC, 0x1000);
		hand_segment(&h, 0x3000, BT_BRANCH_RET, 0);
		segment_kill(h.t, 0x3000, 0x3001);
		hand_begin(&h, 0x1000);
		hand_record(&h, 1, ret, BRANCH_LOG_INDIRECT);
		hand_record(&h, rows[i].bits, rows[i].segment, rows[i].kind);
		hand_record(&h, 1, ret, BRANCH_LOG_INDIRECT); /* perhaps part of the gap */
		hand_record(&h, 1, ret, BRANCH_LOG_INDIRECT);
		hand_record(&h, 1, jcc, BRANCH_LOG_INDIRECT);
		branch_log_end(h.log, 2, 0x1004);
		branch_log_branch(h.log, &stepped, false);
		branch_log_settle(h.log, &h.ring);
		gaps = count_gaps(&h.ring, BT_GAP_SCRIBBLED);
		assert_int_equal(gaps, 1);
		assert_int_equal(h.ring.now.tick, 11 + rows[i].ticks);
		assert_int_equal(h.ring.now.transfers, 1);
		assert_entry(&h, h.ring.next - 4, BT_BRANCH_RET, 0x1007, 0x1000);
		assert_entry(&h, h.ring.next - 3, BT_BRANCH_RET, 0x1007, 0x2000);
		assert_entry(&h, h.ring.next - 2, BT_BRANCH_JCC, 0x2007, 0x1000);
		assert_entry(&h, h.ring.next - 1, BT_BRANCH_SYSCALL, 1, 3);
		hand_release(&h);
	}
}

static void a_broken_stretch_is_a_gap_and_ticks_go_on(void **state)
{
	struct hand h;
	uint32_t jcc;

	(void)state;
	hand_init(&h, 100);
	jcc = hand_segment(&h, 0x2000, BT_BRANCH_JCC, 0x2000);
	hand_begin(&h, 0x2000);
	hand_record(&h, 4, jcc, BRANCH_LOG_DIRECT);
	branch_log_break(h.log, BT_GAP_DAMAGED);
	hand_begin(&h, 0x2000);
	branch_log_end(h.log, 2, 0x2000);
	assert_settled(&h, 13, 0, 4);
	assert_int_equal(count_gaps(&h.ring, BT_GAP_DAMAGED), 1);
	hand_release(&h);
}

static void ticks_that_are_not_known_stay_so(void **state)
{
	static const struct ring_state unknown = {.tick = BT_TICKS_UNKNOWN, .transfers = 5};
	struct hand h;
	uint32_t jcc;

	(void)state;
	h.t = segment_table_new();
	h.log = branch_log_new(20, &unknown, &(struct processor){0});
	branch_ring_init(&h.ring, 20, &unknown);
	jcc = hand_segment(&h, 0x2000, BT_BRANCH_JCC, 0x2000);
	assert_true(branch_log_now(h.log).tick == BT_TICKS_UNKNOWN);
	assert_int_equal(branch_log_now(h.log).transfers, 5);
	hand_begin(&h, 0x2000);
	for (int i = 0; i < 1000; i++)
		hand_record(&h, i % 2 ? 4 : 2, jcc, BRANCH_LOG_DIRECT);
	branch_log_end(h.log, 1, 0x2000);
	branch_log_settle(h.log, &h.ring);
	assert_true(h.ring.now.tick == BT_TICKS_UNKNOWN);
	assert_int_equal(count_gaps(&h.ring, BT_GAP_OVERWRITTEN), 1);
	assert_in_range(h.ring.next, 20, 200);
	hand_release(&h);
}

static void a_lowered_log_keeps_its_newest_and_says_why_not_more(void **state)
{
	struct hand h;
	size_t before;
	uint32_t ret, other;

	(void)state;
	hand_init(&h, 1 << 16);
	ret = hand_segment(&h, 0x1000, BT_BRANCH_RET, 0);
	other = hand_segment(&h, 0x3000, BT_BRANCH_RET, 0);
	hand_begin(&h, 0x1000);
	for (int i = 0; i < 50000; i++)
		hand_record(&h, 1, i % 2 ? ret : other, BRANCH_LOG_INDIRECT);
	before = branch_log_memory(h.log);
	assert_int_equal(branch_log_entries(h.log), 50000);
	branch_log_lower(h.log, 4096);
	assert_in_range(branch_log_entries(h.log), 4096, 3 * 4096);
	assert_in_range(branch_log_memory(h.log), 1, before / 4);
	for (int i = 0; i < 100; i++)
		hand_record(&h, 1, i % 2 ? ret : other, BRANCH_LOG_INDIRECT);
	branch_log_end(h.log, 1, 0x1000);
	branch_log_settle(h.log, &h.ring);
	assert_int_equal(branch_log_entries(h.log), 0);
	assert_int_equal(count_gaps(&h.ring, BT_GAP_LIMIT), 1);
	assert_int_equal(count_gaps(&h.ring, BT_GAP_OVERWRITTEN), 0);
	assert_in_range(h.ring.next, 4096, 3 * 4096);
	assert_int_equal(h.ring.now.transfers, 2 + 50100);
	hand_release(&h);
}

static void what_was_only_counted_is_a_gap_and_counts_go_on(void **state)
{
	struct hand h;
	uint32_t ret, jcc;

	(void)state;
	hand_init(&h, 100);
	ret = hand_segment(&h, 0x1000, BT_BRANCH_RET, 0);
	jcc = hand_segment(&h, 0x2000, BT_BRANCH_JCC, 0x1000);
	branch_log_count(h.log, 0, 3); /* behind the conditionals before */
	assert_int_equal(branch_log_now(h.log).transfers, 5);
	branch_log_count(h.log, 1000, 4);
	branch_log_count(h.log, 0, 0);
	assert_int_equal(branch_log_now(h.log).tick, 1010);
	assert_int_equal(branch_log_now(h.log).transfers, 4);
	hand_begin(&h, 0x1000);
	hand_record(&h, 1, ret, BRANCH_LOG_INDIRECT);
	hand_record(&h, 1, jcc, BRANCH_LOG_INDIRECT);
	branch_log_arrive(h.log, 2, BRANCH_LOG_DIRECT, 0x1000);
	branch_log_count(h.log, 7, 0);
	branch_log_branch(
		h.log,
		&(struct bt_branch){.kind = BT_BRANCH_SYSCALL, .flags = 1, .from = 1, .to = 3},
		false);
	assert_settled(&h, 10 + 1000 + 1 + 7, 1, 6);
	assert_int_equal(count_gaps(&h.ring, BT_GAP_OFF), 2);
	assert_entry(&h, 1, BT_BRANCH_RET, 0x1007, 0x1000);
	assert_entry(&h, 3, BT_BRANCH_JCC, 0x2007, 0x1000);
	hand_release(&h);
}

static void what_is_skipped_is_one_gap_of_its_reason(void **state)
{
	struct hand h;

	(void)state;
	hand_init(&h, 100);
	branch_log_branch(
		h.log, &(struct bt_branch){.kind = BT_BRANCH_ICALL, .flags = 1, .from = 1, .to = 3},
		false);
	branch_log_skip(h.log, BT_GAP_CODE_32, 0, 0);
	branch_log_skip(h.log, BT_GAP_CODE_32, 1, 0);
	branch_log_skip(h.log, BT_GAP_CODE_32, 0, 1);
	branch_log_branch(
		h.log,
		&(struct bt_branch){.kind = BT_BRANCH_SYSCALL, .flags = 1, .from = 5, .to = 7},
		false);
	branch_log_skip(h.log, BT_GAP_CODE_32, 0, 0); /* nothing was counted, but something ran */
	assert_settled(&h, 11, 2, 4);
	assert_int_equal(count_gaps(&h.ring, BT_GAP_CODE_32), 2);
	assert_entry(&h, 0, BT_BRANCH_ICALL, 1, 3);
	assert_entry(&h, 2, BT_BRANCH_SYSCALL, 5, 7);
	hand_release(&h);
}

static void a_log_of_counts_alone_keeps_them(void **state)
{
	struct hand h;

	(void)state;
	hand_init(&h, 20);
	for (unsigned i = 0; i < 1000; i++)
		branch_log_count(h.log, i & 3, 5); /* more than there is room for */
	assert_settled(&h, 10 + 1500, 5, 2);
	hand_release(&h);
}

static void the_generation_of_a_stretch_outlives_its_begin(void **state)
{
	struct hand h;
	uint32_t ret;

	(void)state;
	hand_init(&h, 20);
	ret = hand_segment(&h, 0x1000, BT_BRANCH_RET, 0);
	hand_begin(&h, 0x1000);
	for (int i = 0; i < 1000; i++)
		hand_record(&h, 1, ret, BRANCH_LOG_INDIRECT);
	branch_log_end(h.log, 1, 0x1000);
	segment_kill(h.t, 1, 2);
	hand_begin(&h, 0x1000);
	branch_log_end(h.log, 1, 0x1000);
	assert_int_equal(branch_log_oldest_generation(h.log, h.t), 0);
	hand_release(&h);
}

static void the_oldest_generation_is_that_of_the_oldest_stretch(void **state)
{
	struct hand h;
	struct segment_table *other = segment_table_new();

	(void)state;
	hand_init(&h, 100);
	assert_int_equal(branch_log_oldest_generation(h.log, h.t), UINT32_MAX);
	segment_kill(h.t, 1, 2);
	segment_kill(h.t, 1, 2);
	hand_begin(&h, 0x1000);
	branch_log_end(h.log, 1, 0x1000);
	segment_kill(h.t, 1, 2);
	hand_begin(&h, 0x1000);
	branch_log_end(h.log, 1, 0x1000);
	assert_int_equal(branch_log_oldest_generation(h.log, h.t), 2);
	assert_int_equal(branch_log_oldest_generation(h.log, other), UINT32_MAX);
	branch_log_settle(h.log, &h.ring);
	assert_int_equal(branch_log_oldest_generation(h.log, h.t), UINT32_MAX);
	segment_table_put(other);
	hand_release(&h);
}

static void many_short_stretches_crowd_the_log_before_it_loses_any(void **state)
{
	struct hand h;
	struct bt_branch b = {
		.kind = BT_BRANCH_SYSCALL, .flags = BT_BRANCH_TAKEN, .from = 0x1000, .to = 0x1002};

	(void)state;
	hand_init(&h, 1000);
	for (int i = 0; i < 5000; i++) {
		hand_begin(&h, 0x1000);
		branch_log_end(h.log, 1, 0x1000);
		branch_log_branch(h.log, &b, false);
		if (branch_log_crowded(h.log))
			branch_log_settle(h.log, &h.ring);
	}
	branch_log_settle(h.log, &h.ring);
	assert_int_equal(h.ring.next, 5000);
	assert_int_equal(h.ring.now.transfers, 5002);
	hand_release(&h);
}

/* A record each is what there is room for. */
static void arrivals_alone_do_not_crowd_the_log(void **state)
{
	struct hand h;
	uint32_t ret;

	(void)state;
	hand_init(&h, 1000);
	ret = hand_segment(&h, 0x1000, BT_BRANCH_RET, 0);
	hand_begin(&h, 0x1000);
	for (int i = 0; i < 5000; i++) {
		assert_false(branch_log_crowded(h.log));
		hand_record(&h, 1, ret, BRANCH_LOG_INDIRECT);
	}
	branch_log_end(h.log, 1, 0x1000);
	branch_log_settle(h.log, &h.ring);
	assert_in_range(h.ring.next - h.ring.oldest, 1000, 5000);
	hand_release(&h);
}

/* An execve: the next stretch is of another table, and the cache of the old one goes. */
static void records_outlive_the_cache_that_made_them(void **state)
{
	struct hand h;
	uint32_t jcc;

	(void)state;
	hand_init(&h, 1000);
	jcc = hand_segment(&h, 0x1000, BT_BRANCH_JCC, 0x1000);
	hand_begin(&h, 0x1000);
	hand_record(&h, 4, jcc, BRANCH_LOG_DIRECT); /* twice taken */
	branch_log_end(h.log, 1, 0x1000);
	segment_table_put(h.t);
	h.t = segment_table_new();
	hand_segment(&h, 0x1000, BT_BRANCH_JCC, 0x2000);
	hand_segment(&h, 0x2000, BT_BRANCH_RET, 0);
	hand_begin(&h, 0x1000);
	branch_log_end(h.log, 2, 0x2000);
	assert_int_equal(segment_table_holders(h.t), 2);
	assert_settled(&h, 13, 0, 3);
	assert_entry(&h, 0, BT_BRANCH_JCC, 0x1007, 0x1000);
	assert_entry(&h, 1, BT_BRANCH_JCC, 0x1007, 0x1000);
	assert_entry(&h, 2, BT_BRANCH_JCC, 0x1007, 0x2000);
	assert_int_equal(segment_table_holders(h.t), 1);
	hand_release(&h);
}

/* Dropped blocks take the tables along that only they needed. */
static void a_table_goes_with_its_last_record(void **state)
{
	struct segment_table *first;
	struct hand h;
	uint32_t ret, other;

	(void)state;
	hand_init(&h, 100);
	hand_segment(&h, 0x1000, BT_BRANCH_RET, 0);
	hand_begin(&h, 0x1000);
	branch_log_end(h.log, 1, 0x1000);
	first = h.t;
	assert_true(branch_log_holds(h.log, first));
	h.t = segment_table_new();
	ret = hand_segment(&h, 0x1000, BT_BRANCH_RET, 0);
	other = hand_segment(&h, 0x3000, BT_BRANCH_RET, 0);
	hand_begin(&h, 0x1000);
	assert_true(branch_log_holds(h.log, first));
	for (int i = 0; i < 1000; i++)
		hand_record(&h, 1, i % 2 ? ret : other, BRANCH_LOG_INDIRECT);
	assert_false(branch_log_holds(h.log, first));
	assert_int_equal(segment_table_holders(first), 1);
	branch_log_end(h.log, 1, 0x1000);
	segment_table_put(first);
	hand_release(&h);
}

static void many_tables_crowd_the_log(void **state)
{
	struct hand h;

	(void)state;
	hand_init(&h, 1000);
	for (int i = 0; i < 20; i++) {
		segment_table_put(h.t);
		h.t = segment_table_new();
		hand_begin(&h, 0x1000);
		branch_log_end(h.log, 1, 0x1000);
		if (branch_log_crowded(h.log))
			branch_log_settle(h.log, &h.ring);
	}
	assert_settled(&h, 10, 2, 0);
	hand_release(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(laps_of_a_silent_cycle_are_counted),
		cmocka_unit_test(a_safe_point_behind_a_safe_point_is_a_lap_on),
		cmocka_unit_test(a_stretch_without_code_that_goes_nowhere_is_no_gap),
		cmocka_unit_test(an_indirect_jump_into_its_own_segment_is_an_arrival),
		cmocka_unit_test(a_safe_point_may_lie_in_the_middle_of_a_segment),
		cmocka_unit_test(an_indirect_branch_to_code_not_known_is_the_last_entry),
		cmocka_unit_test(a_leg_of_many_branches_is_whole),
		cmocka_unit_test(a_leg_of_many_branches_to_another_place_is_whole),
		cmocka_unit_test(many_jumps_on_each_lap_of_a_loop_are_whole),
		cmocka_unit_test(damaged_records_use_up_the_long_legs_but_no_short_ones),
		cmocka_unit_test(a_silent_cycle_in_vain_costs_one_lap),
		cmocka_unit_test(of_far_too_many_branches_the_newest_are_decoded),
		cmocka_unit_test(records_that_repeat_take_no_room),
		cmocka_unit_test(records_that_are_taken_one_round_at_a_time_take_no_room_either),
		cmocka_unit_test(a_look_finds_the_newest),
		cmocka_unit_test(one_leg_longer_than_the_limit_is_no_loss),
		cmocka_unit_test(a_conditional_that_has_no_bit_is_no_way),
		cmocka_unit_test(given_up_damage_leaves_the_counts_of_now),
		cmocka_unit_test(transfers_behind_an_unknown_conditional_are_counted_from_it),
		cmocka_unit_test(records_outside_a_stretch_are_a_gap),
		cmocka_unit_test(a_lowered_log_keeps_its_newest_and_says_why_not_more),
		cmocka_unit_test(what_was_only_counted_is_a_gap_and_counts_go_on),
		cmocka_unit_test(what_is_skipped_is_one_gap_of_its_reason),
		cmocka_unit_test(a_log_of_counts_alone_keeps_them),
		cmocka_unit_test(the_generation_of_a_stretch_outlives_its_begin),
		cmocka_unit_test(a_cycle_that_leaves_no_record_ends),
		cmocka_unit_test(a_record_that_cannot_be_is_a_gap),
		cmocka_unit_test(a_broken_stretch_is_a_gap_and_ticks_go_on),
		cmocka_unit_test(ticks_that_are_not_known_stay_so),
		cmocka_unit_test(the_oldest_generation_is_that_of_the_oldest_stretch),
		cmocka_unit_test(many_short_stretches_crowd_the_log_before_it_loses_any),
		cmocka_unit_test(arrivals_alone_do_not_crowd_the_log),
		cmocka_unit_test(records_outlive_the_cache_that_made_them),
		cmocka_unit_test(a_table_goes_with_its_last_record),
		cmocka_unit_test(many_tables_crowd_the_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
