/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"

#include "tui/calls.h"

enum {
	MAIN = 0x1000,
	F = 0x2000,
	G = 0x3000,
	HANDLER = 0x4000,
};

static struct history_entry call(uint64_t from, uint64_t to)
{
	return (struct history_entry){
		.from = from, .to = to, .kind = BT_BRANCH_CALL, .flags = BT_BRANCH_TAKEN};
}

static struct history_entry ret(uint64_t from, uint64_t to)
{
	return (struct history_entry){
		.from = from, .to = to, .kind = BT_BRANCH_RET, .flags = BT_BRANCH_TAKEN};
}

static struct history_entry other(enum bt_branch_kind kind, uint64_t from, uint64_t to)
{
	return (struct history_entry){
		.from = from, .to = to, .kind = (uint8_t)kind, .flags = BT_BRANCH_TAKEN};
}

static void assert_depths(struct history_entry *entries, const uint32_t *depths, size_t n)
{
	struct history h = {.entries = entries, .count = n};
	struct calls c;

	assert_int_equal(calls_init(&c, &h, NULL, NULL), 0);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(c.depth[i], depths[i]);
	calls_release(&c);
}

static void calls_and_returns_nest(void **state)
{
	struct history_entry e[] = {call(MAIN, F), call(F, G), ret(G, F + 5), ret(F + 9, MAIN + 5),
				    other(BT_BRANCH_JMP, MAIN + 5, MAIN)};
	struct history h = {.entries = e, .count = 5};
	struct calls c;

	(void)state;
	assert_depths(e, (const uint32_t[]){0, 1, 2, 1, 0}, 5);
	assert_int_equal(calls_init(&c, &h, NULL, NULL), 0);
	assert_int_equal(c.partner[0], 3);
	assert_int_equal(c.partner[3], 0);
	assert_int_equal(c.partner[1], 2);
	assert_int_equal(c.partner[4], CALLS_NONE);
	assert_int_equal(c.caller[0], CALLS_NONE);
	assert_int_equal(c.caller[1], 0);
	assert_int_equal(c.caller[2], 1);
	assert_int_equal(c.caller[4], CALLS_NONE);
	calls_release(&c);
}

static void a_history_that_begins_deep_comes_up(void **state)
{
	struct history_entry e[] = {ret(G, F + 5), ret(F + 9, MAIN + 5), call(MAIN + 9, F)};

	(void)state;
	assert_depths(e, (const uint32_t[]){2, 1, 0}, 3);
}

static void the_program_behind_an_execve_was_called_by_nobody(void **state)
{
	struct history_entry e[] = {call(MAIN, F), other(BT_BRANCH_SYSCALL, F + 5, G),
				    call(G, HANDLER), ret(HANDLER, G + 5), ret(G + 9, MAIN + 5)};
	struct history h = {.entries = e, .count = 5, .space = 2};
	struct calls c;

	(void)state;
	for (size_t i = 0; i < 5; i++)
		e[i].space = i < 2 ? 1 : 2;
	assert_int_equal(calls_init(&c, &h, NULL, NULL), 0);
	assert_int_equal(c.caller[1], 0);
	assert_int_equal(c.caller[2], CALLS_NONE);
	assert_int_equal(c.partner[2], 3);
	assert_int_equal(c.partner[4], CALLS_NONE);
	calls_release(&c);
}

static void a_return_past_calls_closes_them(void **state)
{
	/* longjmp from G into MAIN, which returns from the call of F. */
	struct history_entry e[] = {call(MAIN, F), call(F, G), other(BT_BRANCH_IJMP, G, F + 7),
				    ret(F + 9, MAIN + 5), call(MAIN + 5, F)};

	(void)state;
	assert_depths(e, (const uint32_t[]){0, 1, 2, 2, 0}, 5);
}

static void a_return_used_as_a_jump_changes_nothing(void **state)
{
	struct history_entry e[] = {call(MAIN, F), ret(F, G), other(BT_BRANCH_JMP, G, G + 9),
				    ret(G + 9, MAIN + 5), call(MAIN + 5, F)};

	(void)state;
	assert_depths(e, (const uint32_t[]){0, 1, 1, 1, 0}, 5);
}

static void sigreturn_ends_its_handler(void **state)
{
	struct history_entry e[] = {call(MAIN, F),
				    other(BT_BRANCH_ASYNC, F + 1, HANDLER),
				    other(BT_BRANCH_SYSCALL, HANDLER + 7, HANDLER + 9),
				    other(BT_BRANCH_SYSCALL, HANDLER + 20, F + 1),
				    ret(F + 2, MAIN + 5),
				    call(MAIN + 5, F)};
	struct history h = {.entries = e, .count = 6};
	struct calls c;

	(void)state;
	assert_depths(e, (const uint32_t[]){0, 1, 2, 2, 1, 0}, 6);
	assert_int_equal(calls_init(&c, &h, NULL, NULL), 0);
	assert_int_equal(c.partner[1], 3);
	calls_release(&c);
}

static void an_empty_history_has_none(void **state)
{
	struct history h = {0};
	struct calls c;

	(void)state;
	assert_int_equal(calls_init(&c, &h, NULL, NULL), 0);
	assert_int_equal(c.count, 0);
	calls_release(&c);
}

static void random_entries_nest_soundly(void **state)
{
	static struct history_entry e[1000];
	struct history h = {.entries = e, .count = 1000};
	uint64_t seed = 5;
	struct calls c;

	(void)state;
	for (size_t i = 0; i < 1000; i++)
		e[i] = other(unit_random(&seed) % BT_BRANCH_KINDS, unit_random(&seed) % 64,
			     unit_random(&seed) % 64);
	assert_int_equal(calls_init(&c, &h, NULL, NULL), 0);
	for (size_t i = 0; i < 1000; i++) {
		assert_true(c.caller[i] == CALLS_NONE || c.caller[i] < i);
		if (c.partner[i] != CALLS_NONE)
			assert_int_equal(c.partner[c.partner[i]], i);
		if (c.caller[i] != CALLS_NONE)
			assert_true(c.depth[i] > c.depth[c.caller[i]]);
	}
	calls_release(&c);
}

/* Who waits for some questions, and then stops it. */
static bool is_patient(void *arg, size_t done, size_t total)
{
	size_t *left = arg;

	assert_true(done <= total);
	return *left && (*left)--;
}

static void what_is_stopped_leaves_nothing(void **state)
{
	enum { COUNT = 3 * 4096 };
	static struct history_entry e[COUNT];
	struct history h = {.entries = e, .count = COUNT};
	size_t left;
	const struct history_watch watch = {.goes_on = is_patient, .arg = &left};
	struct calls c;

	(void)state;
	for (size_t i = 0; i < COUNT; i++)
		e[i] = i % 2 ? ret(F, MAIN + 5) : call(MAIN, F);
	for (size_t n = 0; n < 3; n++) {
		left = n;
		assert_int_equal(calls_init(&c, &h, &watch, NULL), 1);
		assert_null(c.depth);
		assert_int_equal(c.count, 0);
	}
	left = 3;
	assert_int_equal(calls_init(&c, &h, &watch, NULL), 0);
	assert_int_equal(c.partner[COUNT - 2], COUNT - 1);
	calls_release(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_stopped_leaves_nothing),
		cmocka_unit_test(calls_and_returns_nest),
		cmocka_unit_test(a_history_that_begins_deep_comes_up),
		cmocka_unit_test(the_program_behind_an_execve_was_called_by_nobody),
		cmocka_unit_test(a_return_past_calls_closes_them),
		cmocka_unit_test(a_return_used_as_a_jump_changes_nothing),
		cmocka_unit_test(sigreturn_ends_its_handler),
		cmocka_unit_test(an_empty_history_has_none),
		cmocka_unit_test(random_entries_nest_soundly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
