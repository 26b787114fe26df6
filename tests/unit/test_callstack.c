/* SPDX-License-Identifier: MIT */
#include "decoder/cause/callstack.h"

#include "lib/array_size.h"
#include "tests/unit/model_maker.h"
#include "tests/unit/unit.h"

enum {
	CODE = 0x1000, /* full of five-byte calls: one at every address that the tests call from */
};

struct world {
	struct maker k;
	struct model *m;
	struct symbols *s;
	struct callstack c;
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof *w);
	uint8_t calls[4096];
	struct bt_error err;

	assert_non_null(w);
	*state = w;
	for (size_t i = 0; i < sizeof calls; i++)
		calls[i] = i % 16 ? 0 : 0xe8;
	maker_init(&w->k);
	maker_add(&w->k, 0, SPACE, space, .space = 1);
	maker_add(&w->k, 0, MAP, map, .space = 1, .epoch = 1, .start = CODE, .end = CODE + 4096,
		  .prot = 5, .path = bt_str("/nonexistent/x"));
	maker_code(&w->k, 1, 1, CODE, 0, calls, sizeof calls);
	w->m = maker_load(&w->k);
	return symbols_open(&w->s, w->m, &err);
}

static int teardown(void **state)
{
	struct world *w = *state;

	callstack_release(&w->c);
	symbols_close(w->s);
	model_free(w->m);
	maker_release(&w->k);
	free(w);
	return 0;
}

#define WORLD_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

static struct history_entry entry(enum bt_branch_kind kind, uint64_t from, uint64_t to)
{
	return (struct history_entry){.kind = kind,
				      .from = from,
				      .to = to,
				      .space = 1,
				      .epoch = 1,
				      .flags = BT_BRANCH_TAKEN};
}

#define CALL(n)   entry(BT_BRANCH_CALL, CODE + 16 * (n), CODE + 16 * ((n) + 1))
#define RET_OF(n) entry(BT_BRANCH_RET, CODE + 0xff0, CODE + 16 * (n) + 5)
#define FRAME_OF(n)                                          \
	{                                                    \
		.pc = CODE + 16 * (n) + 5, .is_return = true \
	}
#define TRAMPOLINE                                        \
	{                                                 \
		.pc = CODE + 0x2f9, .is_trampoline = true \
	}

static void build(struct world *w, struct history_entry *entries, size_t n)
{
	struct history h = {.entries = entries, .count = n, .space = n ? entries[n - 1].space : 0};

	callstack_release(&w->c);
	callstack_build(&w->c, &h, w->s, n);
}

static void calls_that_returned_are_closed(void **state)
{
	struct world *w = *state;
	struct history_entry e[] = {CALL(0), CALL(1), RET_OF(1), CALL(2), CALL(3), RET_OF(3)};

	build(w, e, ARRAY_SIZE(e));
	assert_int_equal(w->c.count, 2);
	assert_int_equal(w->c.calls[0].ret, CODE + 5);
	assert_int_equal(w->c.calls[1].ret, CODE + 16 * 2 + 5);
	assert_int_equal(w->c.unmatched, 0);
}

static void a_return_past_several_calls_closes_them(void **state)
{
	struct world *w = *state;
	struct history_entry e[] = {CALL(0), CALL(1), CALL(2), RET_OF(0)};

	build(w, e, ARRAY_SIZE(e));
	assert_int_equal(w->c.count, 0);
}

static void a_gap_forgets_what_was_open(void **state)
{
	struct world *w = *state;
	struct history_entry e[] = {CALL(0), entry(BT_BRANCH_GAP, 0, BT_GAP_OVERWRITTEN), CALL(4),
				    RET_OF(7)};

	build(w, e, ARRAY_SIZE(e));
	assert_int_equal(w->c.count, 1);
	assert_int_equal(w->c.calls[0].from, CODE + 16 * 4);
}

static struct history_entry in_space(uint32_t space, struct history_entry e)
{
	e.space = space;
	return e;
}

/* execve, from a function that was called: what follows is another program. */
static void calls_of_the_program_before_execve_are_not_open(void **state)
{
	struct world *w = *state;
	struct history_entry e[] = {CALL(0), CALL(1),
				    entry(BT_BRANCH_SYSCALL, CODE + 0x300, CODE + 0x302),
				    in_space(2, CALL(4)), in_space(2, RET_OF(7))};
	struct history h = {.entries = e, .count = ARRAY_SIZE(e), .space = 2};

	callstack_build(&w->c, &h, w->s, 5);
	assert_int_equal(w->c.count, 1);
	assert_int_equal(w->c.calls[0].from, CODE + 16 * 4);
	for (h.count = 3; h.count <= ARRAY_SIZE(e); h.count += 2) {
		callstack_release(&w->c);
		callstack_build(&w->c, &h, w->s,
				3); /* the new program stands at its first instruction */
		assert_int_equal(w->c.count, 0);
	}
	callstack_release(&w->c);
	callstack_build(&w->c, &h, w->s, 2);
	assert_int_equal(w->c.count, 2);
}

static void a_stack_that_the_history_made_agrees(void **state)
{
	struct world *w = *state;
	struct history_entry e[] = {CALL(0), CALL(1), CALL(2)};
	const struct stack_frame frames[] = {
		{.pc = CODE + 0x800}, FRAME_OF(2), FRAME_OF(1), FRAME_OF(0), FRAME_OF(30)};
	struct stack_check check;

	build(w, e, ARRAY_SIZE(e));
	check = callstack_check(&w->c, frames, ARRAY_SIZE(frames));
	assert_int_equal(check.verdict, STACK_AGREES);
	assert_int_equal(check.checked, 3);
	assert_int_equal(check.callers, 4);
	assert_int_equal(check.left, 0);
}

static void calls_left_by_longjmp_are_counted(void **state)
{
	struct world *w = *state;
	struct history_entry e[] = {CALL(0), CALL(1), CALL(2)};
	const struct stack_frame frames[] = {{.pc = CODE + 0x800}, FRAME_OF(0)};
	struct stack_check check;

	build(w, e, ARRAY_SIZE(e));
	check = callstack_check(&w->c, frames, ARRAY_SIZE(frames));
	assert_int_equal(check.verdict, STACK_AGREES);
	assert_int_equal(check.left, 2);
}

static void a_frame_that_nobody_called_disagrees(void **state)
{
	struct world *w = *state;
	struct history_entry e[] = {CALL(0), CALL(1), CALL(2)};
	const struct stack_frame frames[] = {
		{.pc = CODE + 0x800}, FRAME_OF(2), FRAME_OF(9), FRAME_OF(0)};
	struct stack_check check;

	build(w, e, ARRAY_SIZE(e));
	check = callstack_check(&w->c, frames, ARRAY_SIZE(frames));
	assert_int_equal(check.verdict, STACK_DISAGREES);
	assert_int_equal(check.frame, 2);
}

static void a_handler_is_not_taken_for_a_call(void **state)
{
	struct world *w = *state;
	/* called, interrupted, and the handler called too; then the same after the handler's
	 * sigreturn */
	struct history_entry e[] = {CALL(0), entry(BT_BRANCH_ASYNC, CODE + 16, CODE + 0x200),
				    CALL(5), RET_OF(5),
				    entry(BT_BRANCH_SYSCALL, CODE + 0x300, CODE + 16)};
	const struct stack_frame frames[] = {
		{.pc = CODE + 0x900}, FRAME_OF(5), TRAMPOLINE, {.pc = CODE + 16}, FRAME_OF(0)};
	struct stack_check check;

	build(w, e, 3);
	check = callstack_check(&w->c, frames, ARRAY_SIZE(frames));
	assert_int_equal(check.verdict, STACK_AGREES);
	assert_int_equal(check.callers, 2);
	assert_int_equal(check.checked, 2);
	build(w, e, ARRAY_SIZE(e));
	assert_int_equal(w->c.count, 1);
}

/* On an alternate stack: the memory that was kept ends behind what the handler interrupted, or
 * within the handler. */
static void a_stack_cut_short_behind_a_handler_goes_on_outside_it(void **state)
{
	struct world *w = *state;
	struct history_entry e[] = {CALL(0), CALL(1),
				    entry(BT_BRANCH_ASYNC, CODE + 0x28, CODE + 0x200), CALL(5)};
	static const uint64_t whole[] = {CODE + 0x900, CODE + 16 * 5 + 5, CODE + 0x2f9,
					 CODE + 0x28,  CODE + 16 + 5,     CODE + 5};
	struct stack_frame frames[8] = {
		{.pc = CODE + 0x900}, FRAME_OF(5), TRAMPOLINE, {.pc = CODE + 0x28}};
	struct stack_check check;

	build(w, e, ARRAY_SIZE(e));
	for (size_t n = 4; n >= 3; n--) {
		check = callstack_check(&w->c, frames, n);
		assert_int_equal(check.verdict, STACK_AGREES);
		assert_int_equal(check.callers, 1);
		assert_int_equal(check.checked, 1);
		assert_int_equal(callstack_extend(&w->c, &check, frames, n, ARRAY_SIZE(frames)),
				 ARRAY_SIZE(whole));
		for (size_t i = 0; i < ARRAY_SIZE(whole); i++)
			assert_int_equal(frames[i].pc, whole[i]);
		assert_false(frames[3].is_return);
	}
}

static void handlers_of_handlers_are_passed_one_by_one(void **state)
{
	struct world *w = *state;
	struct history_entry e[] = {CALL(0), entry(BT_BRANCH_ASYNC, CODE + 0x18, CODE + 0x200),
				    entry(BT_BRANCH_ASYNC, CODE + 0x200, CODE + 0x400)};
	struct stack_frame frames[8] = {
		{.pc = CODE + 0x404}, TRAMPOLINE, {.pc = CODE + 0x200}, TRAMPOLINE};
	struct stack_check check;

	build(w, e, ARRAY_SIZE(e));
	check = callstack_check(&w->c, frames, 4);
	assert_int_equal(check.callers, 0);
	assert_int_equal(callstack_extend(&w->c, &check, frames, 4, ARRAY_SIZE(frames)), 6);
	assert_int_equal(frames[4].pc, CODE + 0x18);
	assert_int_equal(frames[5].pc, CODE + 5);
	check = callstack_check(&w->c, frames, 2);
	assert_int_equal(check.outer, 3);
}

/* Position-independent code asks so where it is. */
static void a_call_of_its_own_return_address_is_not_open(void **state)
{
	struct world *w = *state;
	struct history_entry e[] = {CALL(0), entry(BT_BRANCH_CALL, CODE + 16, CODE + 16 + 5),
				    CALL(2)};

	build(w, e, ARRAY_SIZE(e));
	assert_int_equal(w->c.count, 2);
	assert_int_equal(w->c.calls[0].from, CODE);
	assert_int_equal(w->c.calls[1].from, CODE + 16 * 2);
}

static void a_stack_cut_short_goes_on_by_the_history(void **state)
{
	struct world *w = *state;
	struct history_entry e[] = {CALL(0), CALL(1), CALL(2)};
	struct stack_frame frames[8] = {{.pc = CODE + 0x800}, FRAME_OF(2)};
	struct stack_check check;

	build(w, e, ARRAY_SIZE(e));
	check = callstack_check(&w->c, frames, 2);
	assert_int_equal(check.outer, 2);
	assert_int_equal(callstack_extend(&w->c, &check, frames, 2, 8), 4);
	assert_int_equal(frames[2].pc, CODE + 16 + 5);
	assert_true(frames[2].is_return);
	assert_int_equal(frames[3].pc, CODE + 5);
	assert_int_equal(callstack_extend(&w->c, &check, frames, 2, 3), 3);
	frames[1].pc++;
	check = callstack_check(&w->c, frames, 2);
	assert_int_equal(callstack_extend(&w->c, &check, frames, 2, 8), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(calls_that_returned_are_closed),
		WORLD_TEST(a_return_past_several_calls_closes_them),
		WORLD_TEST(a_gap_forgets_what_was_open),
		WORLD_TEST(calls_of_the_program_before_execve_are_not_open),
		WORLD_TEST(a_stack_that_the_history_made_agrees),
		WORLD_TEST(calls_left_by_longjmp_are_counted),
		WORLD_TEST(a_frame_that_nobody_called_disagrees),
		WORLD_TEST(a_handler_is_not_taken_for_a_call),
		WORLD_TEST(a_stack_cut_short_behind_a_handler_goes_on_outside_it),
		WORLD_TEST(handlers_of_handlers_are_passed_one_by_one),
		WORLD_TEST(a_call_of_its_own_return_address_is_not_open),
		WORLD_TEST(a_stack_cut_short_goes_on_by_the_history),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
