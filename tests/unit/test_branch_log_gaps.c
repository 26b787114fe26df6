/* SPDX-License-Identifier: MIT */
/* What a log does not know: damaged records, branches that were only counted. */
#include "lib/array_size.h"
#include "tests/unit/hand_log.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_conditional_that_has_no_bit_is_no_way),
		cmocka_unit_test(given_up_damage_leaves_the_counts_of_now),
		cmocka_unit_test(transfers_behind_an_unknown_conditional_are_counted_from_it),
		cmocka_unit_test(records_outside_a_stretch_are_a_gap),
		cmocka_unit_test(a_lowered_log_keeps_its_newest_and_says_why_not_more),
		cmocka_unit_test(what_was_only_counted_is_a_gap_and_counts_go_on),
		cmocka_unit_test(what_is_skipped_is_one_gap_of_its_reason),
		cmocka_unit_test(a_log_of_counts_alone_keeps_them),
		cmocka_unit_test(a_cycle_that_leaves_no_record_ends),
		cmocka_unit_test(a_record_that_cannot_be_is_a_gap),
		cmocka_unit_test(a_broken_stretch_is_a_gap_and_ticks_go_on),
		cmocka_unit_test(ticks_that_are_not_known_stay_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
