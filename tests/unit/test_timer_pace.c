/* SPDX-License-Identifier: MIT */
/* How long signals of timers wait. */
#include "collector/task/timer_pace.h"

#include "tests/unit/unit.h"

enum {
	WORK = 1000, /* ns that the recorder needs for a signal */
};

static const siginfo_t alarm_info = {.si_signo = SIGALRM, .si_code = SI_KERNEL},
		       timer_info = {.si_signo = SIGUSR1, .si_code = SI_TIMER},
		       sent_info = {.si_signo = SIGALRM, .si_code = SI_USER},
		       fault_info = {.si_signo = SIGSEGV, .si_code = SEGV_MAPERR},
		       fault_timer_info = {.si_signo = SIGSEGV, .si_code = SI_TIMER};

/* A clock, the recorder's processor time, and the pace. */
struct course {
	struct timer_pace pace;
	uint64_t now, used;
};

static void come(struct course *c, const siginfo_t *info, unsigned depth)
{
	timer_pace_came(&c->pace, info, depth, c->now, c->used);
	c->used += WORK;
	c->now += WORK;
}

static uint64_t go_on(struct course *c, bool waits)
{
	return timer_pace_is_due(&c->pace) ? timer_pace_begin(&c->pace, waits, c->now, c->used) : 0;
}

/* A handler at this depth begins and ends, and nothing waits there. Returns how long signals wait
 * behind its end. */
static uint64_t serve(struct course *c, const siginfo_t *info, unsigned depth, bool waits)
{
	come(c, info, depth);
	timer_pace_entered(&c->pace);
	go_on(c, false);
	timer_pace_left(&c->pace, depth);
	return go_on(c, waits);
}

static void what_comes_at_once_waits_as_long_as_two_signals_take(void **state)
{
	struct course c = {.now = 100 * WORK};

	(void)state;
	assert_int_equal(serve(&c, &alarm_info, 0, true), 2 * WORK);
	assert_int_equal(c.pace.served, 1ull << (SIGALRM - 1));
}

static void a_slow_timer_is_left_alone(void **state)
{
	struct course c = {.now = 100 * WORK};

	(void)state;
	for (int i = 0; i < 10; i++) {
		assert_int_equal(serve(&c, &alarm_info, 0, false), 0);
		c.now += 10 * WORK;
	}
}

static void a_fast_one_waits_each_time(void **state)
{
	struct course c = {.now = 100 * WORK};

	(void)state;
	serve(&c, &alarm_info, 0, false);
	for (int i = 0; i < 10; i++) {
		c.now += 2 * WORK; /* as long as it waited */
		timer_pace_ended(&c.pace);
		assert_int_equal(serve(&c, &alarm_info, 0, false), 2 * WORK);
	}
}

static void nothing_waits_longer_than_that(void **state)
{
	struct course c = {.now = 1};

	(void)state;
	come(&c, &alarm_info, 0);
	c.used += 100ull * PACE_MOST;
	timer_pace_entered(&c.pace);
	assert_int_equal(go_on(&c, true), PACE_MOST);
}

static void it_waits_behind_the_entry_too(void **state)
{
	struct course c = {.now = 100 * WORK};

	(void)state;
	come(&c, &alarm_info, 0);
	timer_pace_entered(&c.pace);
	assert_int_equal(go_on(&c, true), 2 * WORK);
}

static void other_signals_change_nothing(void **state)
{
	struct course c = {.now = 100 * WORK};

	(void)state;
	assert_int_equal(serve(&c, &sent_info, 0, true), 0);
	assert_int_equal(serve(&c, &fault_info, 0, true), 0);
	assert_int_equal(serve(&c, &fault_timer_info, 0, true), 0);
	assert_int_equal(c.pace.served, 0);
	/* Faults in the handler, and behind it: it does not wait for their handlers' ends. */
	come(&c, &alarm_info, 0);
	timer_pace_entered(&c.pace);
	go_on(&c, false);
	assert_int_equal(serve(&c, &fault_info, 1, true), 0);
	timer_pace_left(&c.pace, 0);
	assert_int_not_equal(go_on(&c, true), 0);
	assert_int_equal(serve(&c, &fault_info, 0, true), 0);
}

static void only_what_has_come_waits(void **state)
{
	struct course c = {.now = 100 * WORK};

	(void)state;
	assert_int_equal(serve(&c, &timer_info, 0, true), 2 * WORK);
	assert_int_equal(c.pace.served, 1ull << (SIGUSR1 - 1));
	serve(&c, &alarm_info, 0, true);
	assert_int_equal(c.pace.served, 1ull << (SIGUSR1 - 1) | 1ull << (SIGALRM - 1));
	timer_pace_ended(&c.pace);
	assert_int_equal(c.pace.served, 0);
}

static void ends_of_nested_handlers_count_each(void **state)
{
	struct course c = {.now = 100 * WORK};

	(void)state;
	come(&c, &alarm_info, 0);
	timer_pace_entered(&c.pace);
	go_on(&c, false);
	assert_int_not_equal(serve(&c, &timer_info, 1, true), 0);
	timer_pace_left(&c.pace, 0);
	assert_int_not_equal(go_on(&c, true), 0);
}

static void a_handler_that_is_jumped_out_of_is_forgotten(void **state)
{
	struct course c = {.now = 100 * WORK};

	(void)state;
	come(&c, &alarm_info, 0);
	timer_pace_entered(&c.pace);
	go_on(&c, false);
	assert_int_equal(serve(&c, &fault_info, 0, true), 0);
}

static void a_mask_that_is_restored_in_a_handler_ends_it(void **state)
{
	struct course c = {.now = 100 * WORK};

	(void)state;
	timer_pace_unblocked(&c.pace, 0);
	assert_int_equal(go_on(&c, true), 0);
	come(&c, &alarm_info, 0);
	timer_pace_entered(&c.pace);
	go_on(&c, false);
	timer_pace_unblocked(&c.pace, 1);
	assert_int_equal(go_on(&c, true), 2 * WORK);
	timer_pace_unblocked(&c.pace, 0);
	assert_int_equal(go_on(&c, true), 0);
}

static void handlers_deeper_than_are_known_change_nothing(void **state)
{
	struct course c = {.now = 100 * WORK};

	(void)state;
	come(&c, &alarm_info, 64);
	timer_pace_entered(&c.pace);
	go_on(&c, false);
	timer_pace_left(&c.pace, 64);
	assert_int_equal(go_on(&c, true), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_comes_at_once_waits_as_long_as_two_signals_take),
		cmocka_unit_test(a_slow_timer_is_left_alone),
		cmocka_unit_test(a_fast_one_waits_each_time),
		cmocka_unit_test(nothing_waits_longer_than_that),
		cmocka_unit_test(it_waits_behind_the_entry_too),
		cmocka_unit_test(other_signals_change_nothing),
		cmocka_unit_test(only_what_has_come_waits),
		cmocka_unit_test(ends_of_nested_handlers_count_each),
		cmocka_unit_test(a_handler_that_is_jumped_out_of_is_forgotten),
		cmocka_unit_test(a_mask_that_is_restored_in_a_handler_ends_it),
		cmocka_unit_test(handlers_deeper_than_are_known_change_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
