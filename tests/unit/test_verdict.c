/* SPDX-License-Identifier: MIT */
#include "decoder/model/verdict.h"

#include "lib/array_size.h"
#include "tests/unit/model_maker.h"
#include "tests/unit/unit.h"

/* 1000: nop; nop; jne 1008; nop; jmp 1010; int3; 1008: nop; jmp 1010 ... 1010: call 1020; 1015:
 * syscall; nop; nop; jmp 1000; 1020: mov; ret */
static const uint8_t code[] = {
	0x90, 0x90, 0x75, 0x04, 0x90, 0xeb, 0x09, 0xcc,
	0x90, 0xeb, 0x05, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, /* 1000 */
	0xe8, 0x0b, 0x00, 0x00, 0x00, 0x0f, 0x05, 0x90,
	0x90, 0xeb, 0xe5, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, /* 1010 */
	0x48, 0x89, 0xe5, 0xc3,                         /* 1020 */
};

enum {
	ROUND = 6,
	ROUNDS = 3,
	BRANCHES = ROUND * ROUNDS,
};

/* Rounds through all of the code: jne, jmp, call, ret, syscall, jmp. */
static void make_rounds(struct bt_branch *b)
{
	for (size_t i = 0; i < ROUNDS; i++, b += ROUND) {
		bool taken = i % 2;

		b[0] = taken ? branch(BT_BRANCH_JCC, 0x1002, 0x1008) : not_taken(0x1002, 0x1004);
		b[1] = branch(BT_BRANCH_JMP, taken ? 0x1009 : 0x1005, 0x1010);
		b[2] = branch(BT_BRANCH_CALL, 0x1010, 0x1020);
		b[3] = branch(BT_BRANCH_RET, 0x1023, 0x1015);
		b[4] = branch(BT_BRANCH_SYSCALL, 0x1015, 0x1017);
		b[5] = branch(BT_BRANCH_JMP, 0x1019, 0x1000);
	}
}

static struct verdict judge(struct made *t, const struct bt_branch *b, size_t n,
			    const struct bt_record_thread *thread)
{
	struct verdict v;
	struct bt_error err;

	if (!t->k.header.source.len)
		t->k.header.source = bt_str("bits");
	maker_code(&t->k, 1, 0, 0x1000, 0, code, sizeof code);
	maker_branches(&t->k, (struct bt_record_branches){.task = 1, .space = 1}, b, n);
	made_history(t, 1);
	assert_int_equal(verdict_find(&v, &t->h, t->h.count, t->m, thread, &err), 0);
	return v;
}

static void expect_contradiction(struct verdict v, enum verdict_reason reason, size_t from)
{
	assert_int_equal(v.state, VERDICT_INCONSISTENT);
	assert_int_equal(v.reason, reason);
	assert_int_equal(v.from, from);
	assert_true(*verdict_text(reason));
}

static void what_the_code_leads_through_is_consistent(void **state)
{
	struct made *t = *state;
	struct bt_branch b[BRANCHES];
	struct verdict v;

	make_rounds(b);
	v = judge(t, b, BRANCHES, NULL);
	assert_int_equal(v.state, VERDICT_CONSISTENT);
	assert_int_equal(v.count, BRANCHES);
	assert_int_equal(v.checked, BRANCHES - 1);
}

/* Every entry in turn, scribbled on in each of its parts: it is found, there or (a ret that goes
 * elsewhere) behind it. */
static void a_scribble_anywhere_is_found_where_it_is(void **state)
{
	struct made *t = *state;

	for (size_t i = 0; i < BRANCHES; i++)
		for (unsigned part = 0; part < 4; part++) {
			struct bt_branch b[BRANCHES];
			struct verdict v;

			make_rounds(b);
			if (part == 0)
				b[i].from ^= 1;
			else if (part == 1)
				b[i].to += 0x40;
			else if (part == 2)
				b[i].kind =
					b[i].kind == BT_BRANCH_JMP ? BT_BRANCH_IJMP : BT_BRANCH_JMP;
			else
				b[i] = b[(i + 1) % BRANCHES];
			v = judge(t, b, BRANCHES, NULL);
			if (v.state != VERDICT_INCONSISTENT)
				fail_msg("entry %zu, part %u: not found", i, part);
			assert_in_range(v.from, i, i + 1);
			made_clear(t);
		}
}

/* The recorder has no system call in this trace: nothing before was out of the program's reach. */
static void nonsense_where_the_program_can_write_is_told(void **state)
{
	struct made *t = *state;
	struct bt_branch b[BRANCHES];

	make_rounds(b);
	b[10] = (struct bt_branch){.kind = BT_BRANCH_GAP, .to = BT_GAP_UNDECODED};
	assert_int_equal(judge(t, b, BRANCHES, NULL).state, VERDICT_CONSISTENT);
	made_clear(t);
	b[10].to = BT_GAP_SCRIBBLED;
	expect_contradiction(judge(t, b, BRANCHES, NULL), VERDICT_SCRIBBLED, 0);
}

/* At a system call the recorder has taken what there was, up to that entry. */
static void nonsense_is_told_from_the_system_call_before_it_on(void **state)
{
	static const struct {
		uint32_t task;
		struct bt_point at;
		size_t from;
	} calls[] = {{1, {.tick = 2, .transfers = 3}, 10}, {1, {.tick = 2, .transfers = 2}, 9},
		     {1, {.tick = 1, .transfers = 5}, 6},  {2, {.tick = 2, .transfers = 3}, 0},
		     {1, {.tick = 2, .transfers = 4}, 0},  {1, {.tick = 3}, 0}};
	struct made *t = *state;
	struct bt_branch b[BRANCHES];

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		make_rounds(b);
		b[10] = (struct bt_branch){.kind = BT_BRANCH_GAP, .to = BT_GAP_SCRIBBLED};
		maker_add(&t->k, 0, SYSCALL_ENTER, syscall_enter, .task = calls[i].task,
			  .point = calls[i].at);
		expect_contradiction(judge(t, b, BRANCHES, NULL), VERDICT_SCRIBBLED, calls[i].from);
		made_clear(t);
	}
}

static void entries_that_are_missing_are_found(void **state)
{
	struct made *t = *state;

	for (size_t i = 1; i < BRANCHES - 1; i++) {
		struct bt_branch b[BRANCHES];

		make_rounds(b);
		memmove(b + i, b + i + 1, (BRANCHES - i - 1) * sizeof *b);
		expect_contradiction(judge(t, b, BRANCHES - 1, NULL), VERDICT_NO_WAY, i);
		made_clear(t);
	}
}

static void a_direct_branch_goes_where_its_instruction_says(void **state)
{
	struct made *t = *state;
	struct bt_branch b[] = {branch(BT_BRANCH_CALL, 0x1010, 0x1021),
				branch(BT_BRANCH_RET, 0x1023, 0x1015)};

	expect_contradiction(judge(t, b, 2, NULL), VERDICT_WRONG_WAY, 0);
}

static void behind_a_gap_the_branch_itself_is_checked(void **state)
{
	struct made *t = *state;
	struct bt_branch good[] = {
		branch(BT_BRANCH_RET, 0x1023, 0x1015), branch(BT_BRANCH_GAP, 5, BT_GAP_NOT_KEPT),
		branch(BT_BRANCH_CALL, 0x1010, 0x1020), branch(BT_BRANCH_RET, 0x1023, 0x1015)};
	struct bt_branch bad[] = {branch(BT_BRANCH_RET, 0x1023, 0x1015),
				  branch(BT_BRANCH_GAP, 5, BT_GAP_NOT_KEPT),
				  branch(BT_BRANCH_RET, 0x1010, 0x1020)};
	struct verdict v = judge(t, good, 4, NULL);

	assert_int_equal(v.state, VERDICT_CONSISTENT);
	assert_int_equal(v.count, 3);
	assert_int_equal(v.checked, 1);
	made_clear(t);
	expect_contradiction(judge(t, bad, 3, NULL), VERDICT_NO_BRANCH, 2);
}

static void a_handler_is_entered_between_instructions_only(void **state)
{
	struct made *t = *state;
	struct bt_branch b[] = {
		branch(BT_BRANCH_SYSCALL, 0x1015, 0x1017), branch(BT_BRANCH_ASYNC, 0x1018, 0x1020),
		branch(BT_BRANCH_RET, 0x1023, 0x1010), branch(BT_BRANCH_ASYNC, 0x1012, 0x1020)};

	assert_int_equal(judge(t, b, 3, NULL).state, VERDICT_CONSISTENT);
	made_clear(t);
	expect_contradiction(judge(t, b, 4, NULL), VERDICT_NO_WAY, 3);
}

static void the_last_branch_leads_to_the_moment(void **state)
{
	struct made *t = *state;
	struct bt_record_thread at = {.task = 1,
				      .point = {.tick = 1, .transfers = 3, .rip = 0x1015}};
	struct bt_branch b[BRANCHES];

	make_rounds(b);
	assert_int_equal(judge(t, b, 4, &at).state, VERDICT_CONSISTENT);
	made_clear(t);
	/* In a system call that has not returned. */
	at.point.rip = 0x1017;
	assert_int_equal(judge(t, b, 4, &at).state, VERDICT_CONSISTENT);
	made_clear(t);
	/* Before it is made again, when it has its entry. */
	at.point = (struct bt_point){.tick = 1, .transfers = 4, .rip = 0x1015};
	assert_int_equal(judge(t, b, 5, &at).state, VERDICT_CONSISTENT);
	made_clear(t);
	at.point.transfers = 3;
	at.point.rip = 0x1016;
	expect_contradiction(judge(t, b, 4, &at), VERDICT_NOT_THERE, 4);
	made_clear(t);
	at.point.rip = 0x1018;
	expect_contradiction(judge(t, b, 4, &at), VERDICT_NOT_THERE, 4);
}

static void a_round_too_few_is_found_by_the_counts(void **state)
{
	struct made *t = *state;
	struct bt_record_thread at = {
		.task = 1, .point = {.tick = ROUNDS, .transfers = ROUND - 1, .rip = 0x1000}};
	struct bt_branch b[BRANCHES];

	make_rounds(b);
	assert_int_equal(judge(t, b, BRANCHES, &at).state, VERDICT_CONSISTENT);
	made_clear(t);
	expect_contradiction(judge(t, b, BRANCHES - ROUND, &at), VERDICT_COUNTS, 0);
	for (int more = -1; more <= 1; more += 2) { /* transfers since the same conditional */
		made_clear(t);
		at.point.transfers = (uint64_t)(ROUND - 1 + more);
		expect_contradiction(judge(t, b, BRANCHES, &at), VERDICT_COUNTS, 0);
	}
}

/* Code that changes again and again: what is remembered of one epoch is not taken for another's. */
static void each_branch_is_judged_by_the_code_of_its_epoch(void **state)
{
	enum { EPOCHS = 300 };
	/* jmp 1010, or nop; jmp 1010. 1010: jmp 1000 */
	uint8_t even[18] = {0xeb, 0x0e, [16] = 0xeb, [17] = 0xee},
		odd[18] = {0x90, 0xeb, 0x0d, [16] = 0xeb, [17] = 0xee};
	struct made *t = *state;
	struct bt_error err;
	struct verdict v;

	t->k.header.source = bt_str("bits");
	for (uint32_t i = 0; i < EPOCHS; i++) {
		const struct bt_branch b[] = {branch(BT_BRANCH_JMP, 0x1000 + i % 2, 0x1010),
					      branch(BT_BRANCH_JMP, 0x1010, 0x1000)};
		uint32_t epoch = 5 * i * i; /* not in a row, which a hash may tell apart for long */

		maker_code(&t->k, 1, epoch, 0x1000, 0, i % 2 ? odd : even, sizeof even);
		maker_branches(&t->k,
			       (struct bt_record_branches){.task = 1,
							   .first = 2 * i,
							   .transfers = 2 * i,
							   .space = 1,
							   .epoch = epoch},
			       b, 2);
	}
	made_history(t, 1);
	assert_int_equal(verdict_find(&v, &t->h, t->h.count, t->m, NULL, &err), 0);
	assert_int_equal(v.state, VERDICT_CONSISTENT);
	assert_int_equal(v.checked, 2 * EPOCHS - 1);
}

static void without_code_nothing_is_said(void **state)
{
	struct made *t = *state;
	struct bt_branch b[] = {branch(BT_BRANCH_JMP, 0x5000, 0x5100),
				branch(BT_BRANCH_JMP, 0x5180, 0x5200)};
	struct verdict v = judge(t, b, 2, NULL);

	assert_int_equal(v.state, VERDICT_UNCHECKED);
	assert_int_equal(v.count, 2);
	assert_int_equal(v.checked, 0);
}

static void a_source_that_leaves_branches_out_is_not_judged(void **state)
{
	struct made *t = *state;
	struct bt_branch b[] = {branch(BT_BRANCH_CALL, 0x1010, 0x1020),
				branch(BT_BRANCH_CALL, 0x1010, 0x1020)};

	t->k.header.source = bt_str("lbr");
	assert_int_equal(judge(t, b, 2, NULL).state, VERDICT_UNCHECKED);
}

/* A megabyte of nops, entered everywhere: what it costs is bounded. */
static void endless_code_is_not_followed_for_ever(void **state)
{
	struct made *t = *state;
	static struct bt_branch b[2000];
	struct bt_error err;
	struct verdict v;
	uint8_t nops[4096];
	uint64_t object;

	memset(nops, 0x90, sizeof nops);
	t->k.header.source = bt_str("bits");
	object = maker_object(&t->k, nops, sizeof nops);
	for (uint64_t page = 0; page < 256; page++)
		maker_add(&t->k, 0, CODE, code, .space = 1, .addr = page * 4096, .object = object);
	for (uint64_t i = 0; i < 2000; i++)
		b[i] = branch(BT_BRANCH_IJMP, 0x100000, i);
	maker_branches(&t->k, (struct bt_record_branches){.task = 1, .space = 1}, b, 2000);
	made_history(t, 1);
	assert_int_equal(verdict_find(&v, &t->h, t->h.count, t->m, NULL, &err), 0);
	assert_int_equal(v.state, VERDICT_UNCHECKED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MADE_TEST(what_the_code_leads_through_is_consistent),
		MADE_TEST(a_scribble_anywhere_is_found_where_it_is),
		MADE_TEST(nonsense_where_the_program_can_write_is_told),
		MADE_TEST(nonsense_is_told_from_the_system_call_before_it_on),
		MADE_TEST(entries_that_are_missing_are_found),
		MADE_TEST(a_direct_branch_goes_where_its_instruction_says),
		MADE_TEST(behind_a_gap_the_branch_itself_is_checked),
		MADE_TEST(a_handler_is_entered_between_instructions_only),
		MADE_TEST(the_last_branch_leads_to_the_moment),
		MADE_TEST(a_round_too_few_is_found_by_the_counts),
		MADE_TEST(each_branch_is_judged_by_the_code_of_its_epoch),
		MADE_TEST(without_code_nothing_is_said),
		MADE_TEST(a_source_that_leaves_branches_out_is_not_judged),
		MADE_TEST(endless_code_is_not_followed_for_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
