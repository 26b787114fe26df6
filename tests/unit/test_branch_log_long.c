/* SPDX-License-Identifier: MIT */
/* Records that stand for many branches, and many records: what is decoded of them, and what room
 * they take. */
#include "tests/unit/hand_log.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
