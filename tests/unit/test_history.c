/* SPDX-License-Identifier: MIT */
#include "decoder/model/history.h"

#include "lib/array_size.h"
#include "tests/unit/model_maker.h"
#include "tests/unit/unit.h"

/* n jumps whose addresses tell their numbers. */
static void jumps(struct maker *k, uint64_t first, size_t n)
{
	struct bt_branch b[200];

	for (size_t i = 0; i < n; i++)
		b[i] = branch(BT_BRANCH_JMP, first + i, first + i + 1);
	maker_branches(
		k,
		(struct bt_record_branches){.task = 1, .first = first, .tick = first, .space = 1},
		b, n);
}

static void expect_gap(const struct history_entry *e, uint64_t number, uint64_t missing,
		       enum bt_gap_reason reason)
{
	assert_int_equal(e->kind, BT_BRANCH_GAP);
	assert_int_equal(e->number, number);
	assert_int_equal(e->from, missing);
	assert_int_equal(e->to, reason);
}

static void a_task_without_branches_has_an_empty_history(void **state)
{
	struct made *t = *state;
	struct history_insn *insns;

	made_history(t, 5);
	assert_int_equal(t->h.count, 0);
	assert_int_equal(history_index(&t->h, 100), 0);
	assert_int_equal(history_straight(&t->h, t->m, 0, 0x1000, &insns), -BT_E_CORRUPT);
	assert_null(insns);
}

static void ticks_and_transfers_are_counted_from_the_chunk_on(void **state)
{
	struct made *t = *state;
	const struct bt_branch b[] = {
		branch(BT_BRANCH_CALL, 0x10, 0x20),  not_taken(0x20, 0x22),
		branch(BT_BRANCH_RET, 0x22, 0x15),   branch(BT_BRANCH_SYSCALL, 0x17, 0x19),
		branch(BT_BRANCH_ASYNC, 0x19, 0x40), branch(BT_BRANCH_JCC, 0x40, 0x30),
	};
	static const uint64_t ticks[] = {7, 8, 8, 8, 8, 9}, transfers[] = {4, 0, 1, 2, 3, 0};

	maker_branches(&t->k,
		       (struct bt_record_branches){
			       .task = 1, .tick = 7, .transfers = 3, .space = 4, .epoch = 2},
		       b, 6);
	made_history(t, 1);
	assert_int_equal(t->h.count, 6);
	for (size_t i = 0; i < 6; i++) {
		assert_int_equal(t->h.entries[i].number, i);
		assert_int_equal(t->h.entries[i].tick, ticks[i]);
		assert_int_equal(t->h.entries[i].transfers, transfers[i]);
		assert_int_equal(t->h.entries[i].kind, b[i].kind);
		assert_int_equal(t->h.entries[i].from, b[i].from);
		assert_int_equal(t->h.entries[i].to, b[i].to);
		assert_int_equal(t->h.entries[i].space, 4);
		assert_int_equal(t->h.entries[i].epoch, 2);
	}
	assert_false(t->h.entries[1].flags & BT_BRANCH_TAKEN);
}

static void a_graph_is_the_same_history(void **state)
{
	struct made *t = *state;
	const struct bt_branch b[] = {
		branch(BT_BRANCH_CALL, 0x10, 0x20),
		not_taken(0x20, 0x22),
		branch(BT_BRANCH_RET, 0x22, 0x15),
		{.kind = BT_BRANCH_EPOCH, .from = 5, .to = 3},
		branch(BT_BRANCH_JMP, 0x18, 0x10),
		branch(BT_BRANCH_CALL, 0x10, 0x20),
		branch(BT_BRANCH_JCC, 0x20, 0x22),
		{.kind = BT_BRANCH_GAP, .from = 0, .to = BT_GAP_UNDECODED},
		branch(BT_BRANCH_RET, 0x22, 0x15),
	};
	size_t n = ARRAY_SIZE(b);

	maker_branches(&t->k,
		       (struct bt_record_branches){
			       .task = 1, .tick = 7, .transfers = 3, .space = 4, .epoch = 2},
		       b, n);
	maker_graph(
		&t->k,
		(struct bt_record_branch_graph){
			.task = 1, .first = n, .tick = 7, .transfers = 3, .space = 4, .epoch = 2},
		b, n);
	made_history(t, 1);
	assert_int_equal(t->h.count, 2 * (n - 1));
	for (size_t i = 0; i < n - 1; i++) {
		assert_int_equal(t->h.entries[i + n - 1].number, t->h.entries[i].number + n);
		t->h.entries[i].number += n;
	}
	assert_memory_equal(t->h.entries + n - 1, t->h.entries, (n - 1) * sizeof *t->h.entries);
}

/* It says that it has more entries than it has. */
static void a_graph_that_ends_early_is_damage(void **state)
{
	struct made *t = *state;
	const struct bt_branch b[] = {branch(BT_BRANCH_JMP, 0x10, 0x20),
				      branch(BT_BRANCH_JMP, 0x20, 0x30)};

	maker_graph(&t->k, (struct bt_record_branch_graph){.task = 1, .count = 10, .space = 1}, b,
		    2);
	made_history(t, 1);
	assert_int_equal(t->h.count, 3);
	expect_gap(&t->h.entries[2], 2, 8, BT_GAP_DAMAGED);
}

static void unknown_ticks_stay_unknown(void **state)
{
	struct made *t = *state;
	const struct bt_branch b[] = {branch(BT_BRANCH_JCC, 0x10, 0x20),
				      branch(BT_BRANCH_JMP, 0x10, 0x20)};

	maker_branches(&t->k, (struct bt_record_branches){.task = 1, .tick = BT_TICKS_UNKNOWN}, b,
		       2);
	made_history(t, 1);
	assert_true(t->h.entries[0].tick == BT_TICKS_UNKNOWN &&
		    t->h.entries[1].tick == BT_TICKS_UNKNOWN);
}

static void only_counted_classes_are_ticks(void **state)
{
	struct made *t = *state;
	static const uint8_t code[] = {0x75, 0x00, 0xe3, 0x00, 0x67, 0xe3, 0x00, 0xe2, 0xf7};
	const struct bt_branch b[] = {
		not_taken(0x1000, 0x1002), not_taken(0x1002, 0x1004), not_taken(0x1004, 0x1007),
		branch(BT_BRANCH_JCC, 0x1007, 0x1000), branch(BT_BRANCH_JCC, 0x9000, 0x1000)};

	t->k.header.tick_classes = BT_TICK_JCC | BT_TICK_LOOP;
	maker_code(&t->k, 1, 0, 0x1000, 0, code, sizeof code);
	maker_branches(&t->k, (struct bt_record_branches){.task = 1, .space = 1}, b, 5);
	made_history(t, 1);
	assert_int_equal(t->h.entries[0].tick, 1);
	assert_int_equal(t->h.entries[1].tick, 1);
	assert_int_equal(t->h.entries[2].tick, 1);
	assert_int_equal(t->h.entries[3].tick, 2);
	/* Code that is not there: most likely a Jcc. */
	assert_int_equal(t->h.entries[4].tick, 3);
}

static void epochs_are_folded_into_the_entries_behind_them(void **state)
{
	struct made *t = *state;
	const struct bt_branch b[] = {branch(BT_BRANCH_JMP, 1, 2), branch(BT_BRANCH_EPOCH, 0, 7),
				      branch(BT_BRANCH_JMP, 2, 3), branch(BT_BRANCH_EPOCH, 9, 1),
				      branch(BT_BRANCH_JMP, 3, 4), branch(BT_BRANCH_EPOCH, 0, 2)};
	static const uint32_t spaces[] = {5, 5, 9}, epochs[] = {6, 7, 1}, numbers[] = {10, 12, 14};

	jumps(&t->k, 0, 10);
	maker_branches(&t->k,
		       (struct bt_record_branches){.task = 1, .first = 10, .space = 5, .epoch = 6},
		       b, 6);
	made_history(t, 1);
	assert_int_equal(t->h.count, 13);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(t->h.entries[10 + i].number, numbers[i]);
		assert_int_equal(t->h.entries[10 + i].space, spaces[i]);
		assert_int_equal(t->h.entries[10 + i].epoch, epochs[i]);
	}
	assert_int_equal(t->h.space, 9);
	assert_int_equal(t->h.epoch, 2);
	/* Positions count EPOCH entries too. */
	assert_int_equal(history_index(&t->h, 11), 11);
	assert_int_equal(history_index(&t->h, 12), 11);
	assert_int_equal(history_index(&t->h, 13), 12);
	assert_int_equal(history_index(&t->h, 16), 13);
}

/* execve leads to another program's code, in the middle of a chunk, between two, and at the end. */
static void the_target_of_execve_lies_in_the_new_space(void **state)
{
	struct made *t = *state;
	const struct bt_branch b[] = {
		branch(BT_BRANCH_SYSCALL, 1, 3), branch(BT_BRANCH_EPOCH, 2, 7),
		branch(BT_BRANCH_SYSCALL, 3, 5), branch(BT_BRANCH_EPOCH, 0, 8),
		branch(BT_BRANCH_JMP, 5, 6),     branch(BT_BRANCH_SYSCALL, 6, 8)};
	const struct bt_branch more[] = {branch(BT_BRANCH_JMP, 8, 9),
					 branch(BT_BRANCH_SYSCALL, 9, 11),
					 branch(BT_BRANCH_EPOCH, 4, 1)};
	static const struct {
		uint32_t space, epoch;
	} expected[] = {{2, 7}, {2, 7}, {2, 8}, {3, 1}, {3, 1}, {4, 1}};

	maker_branches(&t->k, (struct bt_record_branches){.task = 1, .space = 1, .epoch = 6}, b, 6);
	maker_branches(&t->k,
		       (struct bt_record_branches){.task = 1, .first = 6, .space = 3, .epoch = 1},
		       more, 3);
	made_history(t, 1);
	assert_int_equal(t->h.count, 6);
	for (size_t i = 0; i < 6; i++) {
		uint32_t space, epoch;

		history_target(&t->h, &t->h.entries[i], &space, &epoch);
		assert_int_equal(space, expected[i].space);
		assert_int_equal(epoch, expected[i].epoch);
	}
}

/* The execve is among what is missing. */
static void before_a_gap_a_target_is_in_its_own_space(void **state)
{
	struct made *t = *state;
	const struct bt_branch b[] = {branch(BT_BRANCH_EPOCH, 0, 7),
				      branch(BT_BRANCH_SYSCALL, 3, 5)},
			       more[] = {branch(BT_BRANCH_JMP, 8, 9)};
	uint32_t space, epoch;

	maker_branches(&t->k, (struct bt_record_branches){.task = 1, .space = 1, .epoch = 6}, b, 2);
	maker_branches(&t->k,
		       (struct bt_record_branches){.task = 1, .first = 40, .space = 3, .epoch = 1},
		       more, 1);
	made_history(t, 1);
	assert_int_equal(t->h.count, 3);
	assert_int_equal(t->h.entries[1].kind, BT_BRANCH_GAP);
	assert_int_equal(t->h.entries[1].space, 1);
	assert_int_equal(t->h.entries[1].epoch, 7);
	assert_int_equal(t->h.entries[2].space, 3);
	history_target(&t->h, &t->h.entries[0], &space, &epoch);
	assert_int_equal(space, 1);
	assert_int_equal(epoch, 7);
}

static void chunks_are_put_in_order_and_overlaps_trimmed(void **state)
{
	struct made *t = *state;

	jumps(&t->k, 50, 50);
	jumps(&t->k, 20, 40);
	jumps(&t->k, 0, 25);
	jumps(&t->k, 30, 5);
	made_history(t, 1);
	assert_int_equal(t->h.count, 100);
	for (uint64_t i = 0; i < 100; i++) {
		assert_int_equal(t->h.entries[i].number, i);
		assert_int_equal(t->h.entries[i].from, i);
	}
	assert_int_equal(t->h.entries[26].transfers, 7);
}

/* Those of a file are mostly in order, and go where they belong at once; the same ones in any order
 * give the same. */
static void the_order_in_the_file_does_not_matter(void **state)
{
	static const struct {
		uint64_t first;
		size_t count;
	} pieces[] = {{3, 5}, {8, 40}, {40, 20}, {41, 4}, {70, 30}, {101, 1}, {102, 50}};
	enum { PIECES = ARRAY_SIZE(pieces), ORDERS = 20 };
	struct made *t = *state;
	struct history_entry *wanted = NULL;
	size_t count = 0;

	for (size_t order = 0; order < ORDERS; order++) {
		t->k.header.ring = 5;
		for (size_t i = 0; i < PIECES; i++) {
			size_t at = (i * (order % (PIECES - 1) + 1) + order) %
				    PIECES; /* 7 is prime: each once; first as they stand */

			jumps(&t->k, pieces[at].first, pieces[at].count);
		}
		made_history(t, 1);
		if (!order) {
			count = t->h.count;
			assert_int_equal(count, 1 + 57 + 1 + 30 + 1 + 51);
			expect_gap(&t->h.entries[0], 0, 3, BT_GAP_OVERWRITTEN);
			expect_gap(&t->h.entries[58], 60, 10, BT_GAP_OVERWRITTEN);
			expect_gap(&t->h.entries[89], 100, 1, BT_GAP_OVERWRITTEN);
			wanted = malloc(count * sizeof *wanted);
			assert_non_null(wanted);
			memcpy(wanted, t->h.entries, count * sizeof *wanted);
		}
		assert_int_equal(t->h.count, count);
		assert_memory_equal(t->h.entries, wanted, count * sizeof *wanted);
		made_clear(t);
	}
	free(wanted);
}

static void of_calls_alone_conditionals_and_direct_jumps_are_left_out(void **state)
{
	struct bt_branch b[] = {branch(BT_BRANCH_CALL, 1, 10), branch(BT_BRANCH_JCC, 11, 12),
				branch(BT_BRANCH_RET, 13, 2),  branch(BT_BRANCH_JMP, 3, 4),
				branch(BT_BRANCH_IJMP, 5, 6),  branch(BT_BRANCH_ICALL, 7, 20)};
	static const enum bt_branch_kind kept[] = {BT_BRANCH_GAP, BT_BRANCH_CALL, BT_BRANCH_RET,
						   BT_BRANCH_IJMP, BT_BRANCH_ICALL};
	static const uint64_t numbers[] = {0, 9, 11, 13, 14};
	struct made *t = *state;
	struct history calls;
	struct bt_error err;

	t->k.header.tick_classes = BT_TICK_JCC | BT_TICK_JRCXZ | BT_TICK_LOOP;
	maker_branches(&t->k,
		       (struct bt_record_branches){.task = 1, .first = 9, .tick = 100, .space = 1},
		       b, 6);
	made_history(t, 1);
	assert_int_equal(history_load_calls(&calls, t->m, 1, NULL, &err), 0);
	assert_int_equal(calls.count, ARRAY_SIZE(kept));
	for (size_t i = 0; i < calls.count; i++) {
		const struct history_entry *all = &t->h.entries[history_index(&t->h, numbers[i])];

		assert_int_equal(calls.entries[i].kind, kept[i]);
		assert_memory_equal(&calls.entries[i], all, sizeof *all);
	}
	assert_int_equal(calls.entries[4].tick, 101);
	assert_int_equal(calls.next, t->h.next);
	assert_int_equal(history_index(&calls, 12), 3);
	history_release(&calls);
}

static void holes_are_gaps(void **state)
{
	struct made *t = *state;

	t->k.header.ring = 5;
	jumps(&t->k, 300, 5);
	jumps(&t->k, 100, 10);
	made_history(t, 1);
	assert_int_equal(t->h.count, 17);
	expect_gap(&t->h.entries[0], 0, 100, BT_GAP_OVERWRITTEN);
	assert_int_equal(t->h.entries[0].tick, 100);
	assert_int_equal(t->h.entries[1].number, 100);
	expect_gap(&t->h.entries[11], 110, 190, BT_GAP_OVERWRITTEN);
	assert_int_equal(t->h.entries[11].tick, 300);
	assert_int_equal(t->h.entries[11].space, 1);
	assert_int_equal(t->h.entries[12].number, 300);
	assert_int_equal(history_index(&t->h, 100), 1);
	assert_int_equal(history_index(&t->h, 110), 11);
	assert_int_equal(history_index(&t->h, 300), 12);
}

static void what_was_still_in_the_ring_was_not_overwritten(void **state)
{
	struct made *t = *state;

	t->k.header.ring = 100;
	jumps(&t->k, 100, 10);
	jumps(&t->k, 300, 10);
	jumps(&t->k, 350, 10);
	made_history(t, 1);
	assert_int_equal(t->h.count, 33);
	expect_gap(&t->h.entries[0], 0, 100, BT_GAP_OVERWRITTEN);
	expect_gap(&t->h.entries[11], 110, 190, BT_GAP_NOT_KEPT);
	expect_gap(&t->h.entries[22], 310, 40, BT_GAP_NOT_KEPT);
}

/* Where histories have to be shortened, that is said, and by nothing else. */
static void only_a_gap_of_the_limit_stands_for_what_is_missing_before_it(void **state)
{
	struct made *t = *state;
	struct bt_branch b[] = {branch(BT_BRANCH_GAP, 0, BT_GAP_LIMIT),
				branch(BT_BRANCH_JCC, 0x10, 0x20)};

	jumps(&t->k, 0, 10);
	maker_branches(&t->k, (struct bt_record_branches){.task = 1, .first = 100, .space = 3}, b,
		       2);
	made_history(t, 1);
	assert_int_equal(t->h.count, 12);
	expect_gap(&t->h.entries[10], 10, 0, BT_GAP_LIMIT);
	assert_int_equal(t->h.entries[10].space, 1);
	assert_int_equal(t->h.entries[11].number, 101);
	made_clear(t);
	b[0].to = BT_GAP_UNDECODED;
	jumps(&t->k, 0, 10);
	maker_branches(&t->k, (struct bt_record_branches){.task = 1, .first = 100, .space = 3}, b,
		       2);
	made_history(t, 1);
	assert_int_equal(t->h.count, 13);
	expect_gap(&t->h.entries[10], 10, 90, BT_GAP_NOT_KEPT);
	expect_gap(&t->h.entries[11], 100, 0, BT_GAP_UNDECODED);
}

static void gaps_that_were_recorded_are_kept(void **state)
{
	struct made *t = *state;
	const struct bt_branch b[] = {
		branch(BT_BRANCH_GAP, 0, BT_GAP_START), branch(BT_BRANCH_JCC, 0x10, 0x20),
		branch(BT_BRANCH_GAP, 40, BT_GAP_NOT_KEPT), branch(BT_BRANCH_JCC, 0x10, 0x20)};

	maker_branches(&t->k, (struct bt_record_branches){.task = 1}, b, 4);
	made_history(t, 1);
	assert_int_equal(t->h.count, 4);
	expect_gap(&t->h.entries[0], 0, 0, BT_GAP_START);
	assert_int_equal(t->h.entries[1].tick, 1);
	expect_gap(&t->h.entries[2], 2, 40, BT_GAP_NOT_KEPT);
	assert_true(t->h.entries[3].tick == BT_TICKS_UNKNOWN);
}

static void damage_is_told_from_overwriting(void **state)
{
	struct made *t = *state;

	size_t at[3];

	for (uint64_t i = 0; i < 3; i++) {
		jumps(&t->k, i * 100, 100);
		at[i] = maker_flush(&t->k, MAKER_BRANCHES + 1);
	}
	t->k.files[MAKER_BRANCHES + 1].data[at[1] + BT_BLOCK_HEADER_SIZE + 3] ^= 1;
	made_history(t, 1);
	assert_int_equal(t->h.count, 201);
	expect_gap(&t->h.entries[100], 100, 100, BT_GAP_DAMAGED);
}

static void a_chunk_that_promises_too_much_is_damaged(void **state)
{
	struct made *t = *state;
	struct bt_branch b = branch(BT_BRANCH_JMP, 1, 2);

	maker_branches(&t->k, (struct bt_record_branches){.task = 1, .first = 0, .count = 50}, &b,
		       1);
	maker_branches(&t->k,
		       (struct bt_record_branches){.task = 1, .first = 20, .count = UINT64_MAX}, &b,
		       1);
	maker_branches(&t->k, (struct bt_record_branches){.task = 1, .first = UINT64_MAX}, &b, 1);
	made_history(t, 1);
	assert_int_equal(t->h.count, 4);
	expect_gap(&t->h.entries[1], 1, 19, BT_GAP_DAMAGED);
	expect_gap(&t->h.entries[3], 21, 0, BT_GAP_DAMAGED);
}

static void a_file_that_is_all_damage_is_one_gap(void **state)
{
	struct made *t = *state;

	jumps(&t->k, 0, 100);
	maker_flush(&t->k, MAKER_BRANCHES + 1);
	memset(t->k.files[MAKER_BRANCHES + 1].data, 7, t->k.files[MAKER_BRANCHES + 1].len);
	made_history(t, 1);
	assert_int_equal(t->h.count, 1);
	expect_gap(&t->h.entries[0], 0, 0, BT_GAP_DAMAGED);
}

/* Snapshots have counted more entries than the file of a recorder that was cut off holds. */
static void what_moments_counted_behind_the_end_is_a_gap(void **state)
{
	static const struct {
		bool closed;
		uint64_t entries, snapshot, thread, missing;
	} rows[] = {
		{false, 100, 100, 80, 0}, {false, 100, 150, 0, 50}, {false, 100, 90, 130, 30},
		{false, 0, 70, 70, 70},   {true, 100, 150, 0, 50},
	};
	struct made *t = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		maker_add(&t->k, 0, TASK, task, .task = 1);
		maker_add(&t->k, 0, SNAPSHOT, snapshot, .snapshot = 1, .task = 1,
			  .position = rows[i].snapshot);
		maker_add(&t->k, 0, SNAPSHOT, snapshot, .snapshot = 2, .task = 2, .position = 1000);
		maker_add(&t->k, 0, THREAD, thread, .snapshot = 2, .task = 1,
			  .position = rows[i].thread);
		if (rows[i].closed)
			maker_add(&t->k, 0, END, end, .status = 0);
		if (rows[i].entries)
			jumps(&t->k, 0, rows[i].entries);
		made_history(t, 1);
		assert_int_equal(t->h.next, rows[i].entries);
		assert_int_equal(t->h.count, rows[i].entries + (rows[i].missing > 0));
		if (rows[i].missing)
			expect_gap(&t->h.entries[rows[i].entries], rows[i].entries, rows[i].missing,
				   rows[i].closed ? BT_GAP_DAMAGED : BT_GAP_CUT_OFF);
		made_clear(t);
	}
}

/* 1000: nop; nop; jne 1008; nop; jmp 1010 ... 1010: call 1020; 1015: syscall; 1017: nop; 1018: ud2
 */
static const uint8_t code[] = {
	0x90, 0x90, 0x75, 0x04, 0x90, 0xeb, 0x09, 0xcc,
	0x90, 0xeb, 0x05, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, /* 1000 */
	0xe8, 0x0b, 0x00, 0x00, 0x00, 0x0f, 0x05, 0x90,
	0x0f, 0x0b, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, /* 1010 */
	0x48, 0x89, 0xe5, 0xc3,                         /* 1020 */
};

static void straight_line_code_is_every_instruction(void **state)
{
	struct made *t = *state;
	const struct bt_branch b[] = {
		branch(BT_BRANCH_JMP, 0x5000, 0x1000),   not_taken(0x1002, 0x1004),
		branch(BT_BRANCH_JMP, 0x1005, 0x1010),   branch(BT_BRANCH_CALL, 0x1010, 0x1020),
		branch(BT_BRANCH_RET, 0x1023, 0x1015),   branch(BT_BRANCH_SYSCALL, 0x1015, 0x1017),
		branch(BT_BRANCH_ASYNC, 0x1018, 0x1020),
	};
	static const long counts[] = {-BT_E_CORRUPT, 3, 2, 1, 2, 1, 1};
	struct history_insn *insns;

	maker_code(&t->k, 1, 0, 0x1000, 0, code, sizeof code);
	maker_branches(&t->k, (struct bt_record_branches){.task = 1, .space = 1}, b, 7);
	made_history(t, 1);
	for (size_t i = 0; i < 7; i++) {
		assert_int_equal(history_straight(&t->h, t->m, i, 0, &insns), counts[i]);
		free(insns);
	}
	assert_int_equal(history_straight(&t->h, t->m, 1, 0, &insns), 3);
	assert_int_equal(insns[0].addr, 0x1000);
	assert_int_equal(insns[2].addr, 0x1002);
	assert_int_equal(insns[2].len, 2);
	assert_memory_equal(insns[2].bytes, "\x75\x04", 2);
	free(insns);
	assert_int_equal(history_straight(&t->h, t->m, 7, 0x1023, &insns), 1);
	assert_int_equal(insns[0].addr, 0x1020);
	free(insns);
	assert_int_equal(history_straight(&t->h, t->m, 7, 0x1020, &insns), 0);
	free(insns);
}

static void a_system_call_that_has_not_returned_is_the_last_instruction(void **state)
{
	struct made *t = *state;
	const struct bt_branch b = branch(BT_BRANCH_RET, 0x1023, 0x1015);
	struct history_insn *insns;

	maker_code(&t->k, 1, 0, 0x1000, 0, code, sizeof code);
	maker_branches(&t->k, (struct bt_record_branches){.task = 1, .space = 1}, &b, 1);
	made_history(t, 1);
	assert_int_equal(history_straight(&t->h, t->m, 1, 0x1017, &insns), 1);
	assert_int_equal(insns[0].addr, 0x1015);
	free(insns);
	assert_int_equal(history_straight(&t->h, t->m, 1, 0x1018, &insns), -BT_E_CORRUPT);
}

static void a_restarted_system_call_is_executed_again(void **state)
{
	struct made *t = *state;
	const struct bt_branch b[] = {
		branch(BT_BRANCH_SYSCALL, 0x1015, 0x1017),
		branch(BT_BRANCH_SYSCALL, 0x1015, 0x1017), branch(BT_BRANCH_ASYNC, 0x1015, 0x1020),
		branch(BT_BRANCH_RET, 0x1023, 0x1015), branch(BT_BRANCH_SYSCALL, 0x1015, 0x1017)};
	static const long counts[] = {1, 0, 2, 1};
	struct history_insn *insns;

	maker_code(&t->k, 1, 0, 0x1000, 0, code, sizeof code);
	maker_branches(&t->k, (struct bt_record_branches){.task = 1, .space = 1}, b, 5);
	made_history(t, 1);
	for (size_t i = 1; i < 5; i++) {
		assert_int_equal(history_straight(&t->h, t->m, i, 0, &insns), counts[i - 1]);
		free(insns);
	}
}

static void a_restarted_system_call_lacks_its_prefixes(void **state)
{
	struct made *t = *state;
	const struct bt_branch b[] = {
		branch(BT_BRANCH_SYSCALL, 0x1013, 0x1017),
		branch(BT_BRANCH_SYSCALL, 0x1015, 0x1017), branch(BT_BRANCH_JMP, 0x1020, 0x1010),
		branch(BT_BRANCH_SYSCALL, 0x1013, 0x1017), branch(BT_BRANCH_ASYNC, 0x1015, 0x1020)};
	struct history_insn *insns;

	maker_code(&t->k, 1, 0, 0x1000, 0, code, sizeof code);
	maker_branches(&t->k, (struct bt_record_branches){.task = 1, .space = 1}, b, 5);
	made_history(t, 1);
	assert_int_equal(history_straight(&t->h, t->m, 1, 0, &insns), 1);
	assert_true(insns[0].addr == 0x1015);
	free(insns);
	assert_int_equal(history_straight(&t->h, t->m, 4, 0, &insns), 0);
	free(insns);
}

static void before_a_gap_code_goes_up_to_the_stop(void **state)
{
	struct made *t = *state;
	const struct bt_branch b[] = {branch(BT_BRANCH_RET, 0x1023, 0x1000),
				      branch(BT_BRANCH_GAP, 5, BT_GAP_NOT_KEPT)};
	struct history_insn *insns;

	maker_code(&t->k, 1, 0, 0x1000, 0, code, sizeof code);
	maker_branches(&t->k, (struct bt_record_branches){.task = 1, .space = 1}, b, 2);
	made_history(t, 1);
	assert_int_equal(history_straight(&t->h, t->m, 1, 0x1002, &insns), 2);
	assert_int_equal(insns[1].addr, 0x1001);
	free(insns);
	assert_int_equal(history_straight(&t->h, t->m, 1, 0, &insns), -BT_E_CORRUPT);
	assert_int_equal(history_straight(&t->h, t->m, 2, 0x1002, &insns), -BT_E_CORRUPT);
}

static void code_that_does_not_lead_there_is_an_error(void **state)
{
	struct made *t = *state;
	const struct bt_branch b[] = {
		branch(BT_BRANCH_JMP, 0x5000, 0x1000), /* to nop; nop; jne */
		branch(BT_BRANCH_JMP, 0x1005, 0x1010), /* the jne is missing */
		branch(BT_BRANCH_RET, 0x1010, 0x1011), /* that is a call; and 1011 is in its middle
							*/
		branch(BT_BRANCH_JMP, 0x1005, 0x9000), /* runs backwards */
		branch(BT_BRANCH_JMP, 0x9005, 0x1000), /* no code at all */
		branch(BT_BRANCH_GAP, 5, BT_GAP_NOT_KEPT), branch(BT_BRANCH_JMP, 0x1005, 0x1000),
	};
	struct history_insn *insns;

	maker_code(&t->k, 1, 0, 0x1000, 0, code, sizeof code);
	maker_branches(&t->k, (struct bt_record_branches){.task = 1, .space = 1}, b, 7);
	made_history(t, 1);
	for (size_t i = 0; i < 9; i++) {
		assert_int_equal(history_straight(&t->h, t->m, i, 0x1003, &insns), -BT_E_CORRUPT);
		assert_null(insns);
	}
}

static void code_is_read_in_the_epoch_of_the_entry(void **state)
{
	struct made *t = *state;
	const struct bt_branch b[] = {
		branch(BT_BRANCH_JMP, 0x5000, 0x1000), branch(BT_BRANCH_JMP, 0x1001, 0x1000),
		branch(BT_BRANCH_EPOCH, 2, 5), branch(BT_BRANCH_JMP, 0x1002, 0x1000),
		branch(BT_BRANCH_EPOCH, 0, 6)};
	struct history_insn *insns;

	maker_code(&t->k, 1, 0, 0x1000, 0, "\x90\xeb\xfd", 3);
	maker_code(&t->k, 2, 5, 0x1000, 0, "\x90\x90\xeb\xfc", 4);
	maker_code(&t->k, 2, 6, 0x1000, 0, "\x90\x90\x90\x90\x90", 5);
	maker_branches(&t->k, (struct bt_record_branches){.task = 1, .space = 1}, b, 5);
	made_history(t, 1);
	assert_int_equal(t->h.count, 3);
	assert_int_equal(history_straight(&t->h, t->m, 1, 0, &insns), 2);
	free(insns);
	assert_int_equal(history_straight(&t->h, t->m, 2, 0, &insns), 3);
	free(insns);
	assert_int_equal(history_straight(&t->h, t->m, 3, 0x1005, &insns), 5);
	free(insns);
}

static void endless_code_is_not_followed_for_ever(void **state)
{
	struct made *t = *state;
	struct bt_branch b = branch(BT_BRANCH_JMP, 1, 0);
	struct history_insn *insns;
	uint8_t nops[4096];
	uint64_t object;

	memset(nops, 0x90, sizeof nops);
	object = maker_object(&t->k, nops, sizeof nops);
	for (uint64_t page = 0; page < 1000; page++)
		maker_add(&t->k, 0, CODE, code, .space = 1, .addr = page * 4096, .object = object);
	maker_branches(&t->k, (struct bt_record_branches){.task = 1, .space = 1}, &b, 1);
	made_history(t, 1);
	assert_int_equal(history_straight(&t->h, t->m, 1, 1000 * 4096 - 1, &insns), -BT_E_CORRUPT);
	assert_int_equal(history_straight(&t->h, t->m, 1, 100 * 4096, &insns), 100 * 4096);
	free(insns);
}

/* For a first look at a long history: its newest entries, with a gap for the others. */
static void the_newest_entries_can_be_loaded_alone(void **state)
{
	struct made *t = *state;
	struct history part;
	struct bt_error err;

	maker_add(&t->k, 0, TASK, task, .task = 1);
	for (uint64_t first = 0; first < 2000; first += 100)
		jumps(&t->k, first, 100);
	made_history(t, 1);
	assert_int_equal(t->h.count, 2000);
	assert_false(t->h.is_part);
	for (size_t most = 99; most <= 201; most++) {
		const struct history_entry *first = &t->h.entries[2000 - most];

		assert_int_equal(history_load_newest(&part, t->m, 1, most, 1999, &err), 0);
		assert_true(part.is_part);
		assert_int_equal(part.count, most + 1);
		expect_gap(&part.entries[0], 0, 2000 - most, BT_GAP_NOT_KEPT);
		assert_int_equal(part.entries[0].tick, first->tick);
		assert_int_equal(part.entries[0].transfers, first->transfers - 1);
		assert_memory_equal(part.entries + 1, first, most * sizeof *part.entries);
		history_release(&part);
	}
	/* Not worth it. */
	assert_int_equal(history_load_newest(&part, t->m, 1, 150, 2000, &err), 0);
	assert_false(part.is_part);
	assert_int_equal(part.count, 2000);
	history_release(&part);
}

/* A graph has millions of entries. */
static void the_newest_entries_of_one_record_can_be_loaded_alone(void **state)
{
	struct made *t = *state;
	static struct bt_branch b[2000];
	struct history part;
	struct bt_error err;

	for (size_t i = 0; i < ARRAY_SIZE(b); i++)
		b[i] = branch(BT_BRANCH_JCC, 0x10, 0x10);
	maker_add(&t->k, 0, TASK, task, .task = 1);
	maker_graph(&t->k, (struct bt_record_branch_graph){.task = 1, .space = 1}, b,
		    ARRAY_SIZE(b));
	made_history(t, 1);
	assert_int_equal(history_load_newest(&part, t->m, 1, 150, 1999, &err), 0);
	assert_true(part.is_part);
	assert_int_equal(part.count, 151);
	expect_gap(&part.entries[0], 0, 1850, BT_GAP_NOT_KEPT);
	assert_int_equal(part.entries[0].tick, 1850);
	assert_memory_equal(part.entries + 1, t->h.entries + 1850, 150 * sizeof *part.entries);
	history_release(&part);
}

/* Goes on for `left` answers. */
struct patience {
	size_t left, done, total;
};

static bool is_patient(void *arg, size_t done, size_t total)
{
	struct patience *p = arg;

	p->done = done;
	p->total = total;
	return p->left && p->left--;
}

static void a_load_that_is_stopped_leaves_nothing(void **state)
{
	struct made *t = *state;
	struct patience p = {0};
	const struct history_watch watch = {.goes_on = is_patient, .arg = &p};
	struct bt_error err;
	struct history h;

	for (uint64_t i = 0; i < 3; i++)
		jumps(&t->k, 100 * i, 100);
	made_history(t, 1);
	/* Each of the three chunks is met twice: its head, then its entries. */
	for (size_t n = 0; n < 6; n++) {
		p.left = n;
		assert_int_equal(history_load_watched(&h, t->m, 1, &watch, &err), 1);
		assert_int_equal(h.count, 0);
		assert_null(h.entries);
		assert_int_equal(p.total, n < 3 ? 0 : 300);
	}
	p.left = 6;
	assert_int_equal(history_load_watched(&h, t->m, 1, &watch, &err), 0);
	assert_int_equal(p.done, 300);
	assert_int_equal(h.count, t->h.count);
	assert_memory_equal(h.entries, t->h.entries, h.count * sizeof *h.entries);
	history_release(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MADE_TEST(a_task_without_branches_has_an_empty_history),
		MADE_TEST(ticks_and_transfers_are_counted_from_the_chunk_on),
		MADE_TEST(a_graph_is_the_same_history),
		MADE_TEST(a_graph_that_ends_early_is_damage),
		MADE_TEST(unknown_ticks_stay_unknown),
		MADE_TEST(only_counted_classes_are_ticks),
		MADE_TEST(epochs_are_folded_into_the_entries_behind_them),
		MADE_TEST(the_target_of_execve_lies_in_the_new_space),
		MADE_TEST(before_a_gap_a_target_is_in_its_own_space),
		MADE_TEST(chunks_are_put_in_order_and_overlaps_trimmed),
		MADE_TEST(the_order_in_the_file_does_not_matter),
		MADE_TEST(of_calls_alone_conditionals_and_direct_jumps_are_left_out),
		MADE_TEST(holes_are_gaps),
		MADE_TEST(what_was_still_in_the_ring_was_not_overwritten),
		MADE_TEST(only_a_gap_of_the_limit_stands_for_what_is_missing_before_it),
		MADE_TEST(gaps_that_were_recorded_are_kept),
		MADE_TEST(damage_is_told_from_overwriting),
		MADE_TEST(a_chunk_that_promises_too_much_is_damaged),
		MADE_TEST(a_file_that_is_all_damage_is_one_gap),
		MADE_TEST(what_moments_counted_behind_the_end_is_a_gap),
		MADE_TEST(straight_line_code_is_every_instruction),
		MADE_TEST(a_system_call_that_has_not_returned_is_the_last_instruction),
		MADE_TEST(a_restarted_system_call_is_executed_again),
		MADE_TEST(a_restarted_system_call_lacks_its_prefixes),
		MADE_TEST(before_a_gap_code_goes_up_to_the_stop),
		MADE_TEST(code_that_does_not_lead_there_is_an_error),
		MADE_TEST(code_is_read_in_the_epoch_of_the_entry),
		MADE_TEST(endless_code_is_not_followed_for_ever),
		MADE_TEST(the_newest_entries_can_be_loaded_alone),
		MADE_TEST(the_newest_entries_of_one_record_can_be_loaded_alone),
		MADE_TEST(a_load_that_is_stopped_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
