/* SPDX-License-Identifier: MIT */
/* What records say of branches that have a prediction, in small programs by hand. */
#include "tests/unit/hand_log.h"

/* The program of what follows: a conditional at 1000; then a jump to a return, which is predicted
 * to lead to 3000, and a jump from there to another. */
static uint32_t guessed_returns(struct hand *h, uint64_t first, uint64_t second)
{
	hand_segment(h, 0x1000, BT_BRANCH_JCC, 0x2000);
	hand_segment(h, 0x1008, BT_BRANCH_JMP, 0x2000);
	hand_segment(h, 0x3000, BT_BRANCH_JMP, 0x4000);
	hand_segment(h, 0x4000, BT_BRANCH_RET, second);
	hand_segment(h, 0x5000, BT_BRANCH_RET, 0);
	return hand_segment(h, 0x2000, BT_BRANCH_RET, first);
}

static void a_branch_without_a_record_leads_where_it_is_predicted_to(void **state)
{
	struct hand h;

	(void)state;
	hand_init(&h, 100);
	guessed_returns(&h, 0x3000, 0x5000);
	hand_begin(&h, 0x1000);
	branch_log_end(h.log, 3, 0x5002); /* one conditional, not taken */
	assert_settled(&h, 11, 4, 5);
	assert_entry(&h, 0, BT_BRANCH_JCC, 0x1007, 0x1008);
	assert_entry(&h, 1, BT_BRANCH_JMP, 0x100f, 0x2000);
	assert_entry(&h, 2, BT_BRANCH_RET, 0x2007, 0x3000);
	assert_entry(&h, 3, BT_BRANCH_JMP, 0x3007, 0x4000);
	assert_entry(&h, 4, BT_BRANCH_RET, 0x4007, 0x5000);
	hand_release(&h);
}

static void a_miss_says_which_branch_led_elsewhere(void **state)
{
	for (int i = 0; i < 2; i++) {
		struct hand h;
		uint32_t first, second, to;

		(void)state;
		hand_init(&h, 100);
		first = guessed_returns(&h, 0x3000, 0x5000);
		second = hand_segment(&h, 0x4000, BT_BRANCH_RET, 0x5000);
		to = hand_segment(&h, 0x6000, BT_BRANCH_RET, 0);
		hand_begin(&h, 0x1000);
		hand_record(&h, 2, i ? second : first, BRANCH_LOG_MISS);
		hand_record(&h, 1, to, BRANCH_LOG_INDIRECT);
		branch_log_end(h.log, 1, 0x6000);
		assert_settled(&h, 11, i ? 3 : 1, i ? 4 : 2);
		assert_entry(&h, i ? 3 : 1, BT_BRANCH_RET, i ? 0x4007 : 0x2007, 0x6000);
		hand_release(&h);
	}
}

/* The branch may yet be left to the stepper, or lead where it was predicted to after all: its
 * operand is read again. */
static void behind_a_miss_execution_is_before_the_branch(void **state)
{
	struct hand h;
	uint32_t s;

	(void)state;
	hand_init(&h, 100);
	s = guessed_returns(&h, 0x3000, 0x5000);
	hand_begin(&h, 0x1000);
	hand_record(&h, 2, s, BRANCH_LOG_MISS);
	branch_log_end(h.log, 1, 0x2007);
	hand_begin(&h, 0x2007);
	s = segment_add(h.t, &(struct segment){.pc = 0x2007,
					       .from = 0x2007,
					       .end = 0x2008,
					       .to = 0x3000,
					       .kind = BT_BRANCH_RET});
	hand_record(&h, 1, s, BRANCH_LOG_MISS);
	branch_log_arrive(h.log, 1, BRANCH_LOG_INDIRECT, 0x3000);
	assert_settled(&h, 11, 1, 2);
	assert_entry(&h, 1, BT_BRANCH_RET, 0x2007, 0x3000);
	hand_release(&h);
}

/* As code has them that its size limit has cut. */
static void a_record_may_name_the_end_of_a_segment(void **state)
{
	struct hand h;
	uint32_t loop, miss;

	(void)state;
	hand_init(&h, 100);
	hand_segment(&h, 0x1000, BT_BRANCH_JMP, 0x1000);
	loop = segment_add(h.t, &(struct segment){.pc = 0x1003,
						  .from = 0x1007,
						  .end = 0x1008,
						  .to = 0x1000,
						  .kind = BT_BRANCH_JMP});
	hand_begin(&h, 0x1000);
	hand_record(&h, 1, loop, BRANCH_LOG_LOOP);
	hand_record(&h, 1, loop, BRANCH_LOG_LOOP);
	branch_log_end(h.log, 1, 0x1003);
	hand_segment(&h, 0x2000, BT_BRANCH_RET, 0x1000);
	miss = segment_add(h.t, &(struct segment){.pc = 0x2004,
						  .from = 0x2007,
						  .end = 0x2008,
						  .to = 0x1000,
						  .kind = BT_BRANCH_RET});
	hand_begin(&h, 0x2000);
	hand_record(&h, 1, miss, BRANCH_LOG_MISS);
	branch_log_arrive(h.log, 1, BRANCH_LOG_INDIRECT, 0x7000);
	assert_settled(&h, 10, 5, 3);
	assert_entry(&h, 2, BT_BRANCH_RET, 0x2007, 0x7000);
	hand_release(&h);
}

/* Of a branch that has no prediction; with conditionals between it and where the branch led; with
 * more of them than lead there. */
static void a_miss_that_cannot_be_is_a_gap(void **state)
{
	for (int i = 0; i < 3; i++) {
		struct hand h;
		uint32_t first, none, arrived;

		(void)state;
		hand_init(&h, 100);
		first = guessed_returns(&h, 0x3000, 0x5000);
		none = hand_segment(&h, 0x1008, BT_BRANCH_JMP, 0x2000);
		arrived = hand_segment(&h, 0x5000, BT_BRANCH_RET, 0);
		hand_begin(&h, 0x1000);
		hand_record(&h, i == 2 ? 4 : 2, i == 0 ? none : first, BRANCH_LOG_MISS);
		hand_record(&h, i == 1 ? 2 : 1, arrived, BRANCH_LOG_INDIRECT);
		branch_log_end(h.log, 1, 0x5000);
		branch_log_settle(h.log, &h.ring);
		assert_int_equal(count_gaps(&h.ring, BT_GAP_SCRIBBLED), 1);
		hand_release(&h);
	}
}

/* A cycle of a jump and a return that is predicted right, from 2000 on, so many times, LAPS times;
 * then the return leads to 5000, and a jump back. */
static void assert_rounds(uint64_t rounds, size_t limit)
{
	enum { LAPS = 700 };
	uint64_t in_lap = 2 * rounds + 2, entries = LAPS * in_lap + 1,
		 wanted = limit < entries ? limit : entries;
	uint32_t head, arrived;
	struct hand h;

	hand_init(&h, limit);
	hand_segment(&h, 0x1000, BT_BRANCH_JMP, 0x2000);
	head = hand_segment(&h, 0x2000, BT_BRANCH_RET, 0x1000);
	arrived = hand_segment(&h, 0x5000, BT_BRANCH_JMP, 0x2000);
	hand_begin(&h, 0x1000);
	for (int i = 0; i < LAPS; i++) {
		hand_record(&h, 1, head, BRANCH_LOG_DIRECT);
		if (i % 2)
			hand_record(&h, rounds, head, BRANCH_LOG_ROUNDS);
		else /* as at a stop */
			branch_log_rounds(h.log, rounds);
		hand_record(&h, 1, head, BRANCH_LOG_MISS);
		hand_record(&h, 1, arrived, BRANCH_LOG_INDIRECT);
	}
	branch_log_end(h.log, 1, 0x5004);
	assert_int_equal(branch_log_now(h.log).transfers, 2 + entries - 1);
	branch_log_settle(h.log, &h.ring);
	assert_int_equal(h.ring.now.tick, 10);
	assert_int_equal(h.ring.now.transfers, 2 + entries - 1);
	assert_int_equal(count_gaps(&h.ring, BT_GAP_SCRIBBLED), 0);
	for (uint64_t i = 1; i < wanted - 1; i++) {
		uint64_t of_lap = (i - 1) % in_lap, at = h.ring.next - i;

		if (of_lap == 0)
			assert_entry(&h, at, BT_BRANCH_RET, 0x2007, 0x5000);
		else if (of_lap == in_lap - 1)
			assert_entry(&h, at, BT_BRANCH_JMP, i + 1 < entries - 1 ? 0x5007 : 0x1007,
				     0x2000);
		else if (of_lap % 2)
			assert_entry(&h, at, BT_BRANCH_JMP, 0x1007, 0x2000);
		else
			assert_entry(&h, at, BT_BRANCH_RET, 0x2007, 0x1000);
	}
	hand_release(&h);
}

static void rounds_of_a_cycle_are_one_record(void **state)
{
	(void)state;
	assert_rounds(0, 1 << 20);
	assert_rounds(1, 1 << 20);
	assert_rounds(300, 1 << 20);
	assert_rounds(300, 5000);
	assert_rounds(1 << 30, 5000);
}

/* As the program may scribble them. */
static void rounds_beyond_all_counts_are_decoded_as_far_as_there_is_room(void **state)
{
	struct hand h;
	uint32_t head;

	(void)state;
	hand_init(&h, 1000);
	hand_segment(&h, 0x1000, BT_BRANCH_JMP, 0x2000);
	head = hand_segment(&h, 0x2000, BT_BRANCH_RET, 0x1000);
	hand_begin(&h, 0x1000);
	for (int i = 0; i < 100; i++) {
		hand_record(&h, 1, head, BRANCH_LOG_DIRECT);
		hand_record(&h, UINT64_MAX >> i % 3, head, BRANCH_LOG_ROUNDS);
		hand_record(&h, 1, head, BRANCH_LOG_LOOP);
	}
	branch_log_end(h.log, 1, 0x1000);
	branch_log_settle(h.log, &h.ring);
	assert_in_range(h.ring.next - h.ring.oldest, 1, 2000);
	hand_release(&h);
}

static void segments_of_other_generations_have_other_predictions(void **state)
{
	struct hand h;

	(void)state;
	hand_init(&h, 100);
	guessed_returns(&h, 0x3000, 0x5000);
	hand_begin(&h, 0x1000);
	branch_log_end(h.log, 2, 0x3000);
	segment_kill(h.t, 0x2007, 0x2008);
	hand_segment(&h, 0x2000, BT_BRANCH_RET, 0x5000);
	hand_begin(&h, 0x1000);
	branch_log_end(h.log, 2, 0x5000);
	assert_settled(&h, 12, 1, 4);
	assert_entry(&h, 1, BT_BRANCH_RET, 0x2007, 0x3000);
	assert_entry(&h, 3, BT_BRANCH_RET, 0x2007, 0x5000);
	hand_release(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_branch_without_a_record_leads_where_it_is_predicted_to),
		cmocka_unit_test(a_miss_says_which_branch_led_elsewhere),
		cmocka_unit_test(behind_a_miss_execution_is_before_the_branch),
		cmocka_unit_test(a_record_may_name_the_end_of_a_segment),
		cmocka_unit_test(a_miss_that_cannot_be_is_a_gap),
		cmocka_unit_test(rounds_of_a_cycle_are_one_record),
		cmocka_unit_test(rounds_beyond_all_counts_are_decoded_as_far_as_there_is_room),
		cmocka_unit_test(segments_of_other_generations_have_other_predictions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
