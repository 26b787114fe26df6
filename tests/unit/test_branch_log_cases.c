/* SPDX-License-Identifier: MIT */
/* What records say, in small programs by hand. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(laps_of_a_silent_cycle_are_counted),
		cmocka_unit_test(a_safe_point_behind_a_safe_point_is_a_lap_on),
		cmocka_unit_test(a_stretch_without_code_that_goes_nowhere_is_no_gap),
		cmocka_unit_test(an_indirect_jump_into_its_own_segment_is_an_arrival),
		cmocka_unit_test(a_safe_point_may_lie_in_the_middle_of_a_segment),
		cmocka_unit_test(an_indirect_branch_to_code_not_known_is_the_last_entry),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
