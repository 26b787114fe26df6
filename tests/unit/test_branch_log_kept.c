/* SPDX-License-Identifier: MIT */
/* What a log keeps while its records need it: generations, segment tables; and when it is crowded.
 */
#include "tests/unit/hand_log.h"

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
		cmocka_unit_test(the_generation_of_a_stretch_outlives_its_begin),
		cmocka_unit_test(the_oldest_generation_is_that_of_the_oldest_stretch),
		cmocka_unit_test(many_short_stretches_crowd_the_log_before_it_loses_any),
		cmocka_unit_test(arrivals_alone_do_not_crowd_the_log),
		cmocka_unit_test(records_outlive_the_cache_that_made_them),
		cmocka_unit_test(a_table_goes_with_its_last_record),
		cmocka_unit_test(many_tables_crowd_the_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
