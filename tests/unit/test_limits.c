/* SPDX-License-Identifier: MIT */
#include "collector/task/limits.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/unit.h"

#define MB  (1ul << 20)
#define INF RLIM_INFINITY

static const struct limits_share share = {
	.bytes = {[LIMITED_AS] = 70 * MB, [LIMITED_DATA] = 5 * MB}};
static const struct limits_share smaller = {
	.bytes = {[LIMITED_AS] = 60 * MB, [LIMITED_DATA] = 4 * MB}};

/* A process that waits to be killed, with these limits; hard ones are none where they may be. */
static pid_t process_with(rlim_t address_space, rlim_t data)
{
	struct rlimit as, d;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid)
		for (;;)
			pause();
	assert_int_equal(prlimit(pid, RLIMIT_AS, NULL, &as), 0);
	assert_int_equal(prlimit(pid, RLIMIT_DATA, NULL, &d), 0);
	as.rlim_cur = address_space;
	d.rlim_cur = data;
	if (as.rlim_max != INF || d.rlim_max != INF || prlimit(pid, RLIMIT_AS, &as, NULL) ||
	    prlimit(pid, RLIMIT_DATA, &d, NULL)) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		skip(); /* the tests themselves run below hard limits */
	}
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void assert_soft(pid_t pid, rlim_t address_space, rlim_t data)
{
	struct rlimit now;

	assert_true(limits_get(pid, RLIMIT_AS, &now));
	assert_true(now.rlim_cur == address_space && now.rlim_max == INF);
	assert_true(limits_get(pid, RLIMIT_DATA, &now));
	assert_true(now.rlim_cur == data && now.rlim_max == INF);
}

static void a_share_is_added_once_and_taken_back(void **state)
{
	pid_t pid = process_with(500 * MB, 400 * MB);
	struct limits l = {0};

	(void)state;
	for (int i = 0; i < 2; i++) {
		limits_raise(&l, pid, &share);
		assert_soft(pid, 570 * MB, 405 * MB);
		assert_true(l.of[LIMITED_AS].own.rlim_cur == 500 * MB &&
			    l.of[LIMITED_DATA].own.rlim_cur == 400 * MB);
	}
	limits_raise(&l, pid, &smaller);
	assert_soft(pid, 560 * MB, 404 * MB);
	limits_restore(&l, pid);
	assert_soft(pid, 500 * MB, 400 * MB);
	assert_null(l.share);
	limits_restore(&l, pid);
	assert_soft(pid, 500 * MB, 400 * MB);
	end(pid);
}

static void a_copy_of_a_forked_process_knows_what_was_added(void **state)
{
	pid_t pid = process_with(500 * MB, 400 * MB);
	struct limits l = {0}, child;

	(void)state;
	limits_raise(&l, pid, &share);
	child = l;
	limits_raise(&child, pid, &share);
	assert_soft(pid, 570 * MB, 405 * MB);
	limits_restore(&child, pid);
	assert_soft(pid, 500 * MB, 400 * MB);
	end(pid);
}

static void no_limit_stays_none_and_a_limit_never_becomes_none(void **state)
{
	pid_t pid = process_with(INF, INF - 1);
	struct limits l = {0};

	(void)state;
	limits_raise(&l, pid, &share);
	assert_soft(pid, INF, INF - 1);
	limits_restore(&l, pid);
	assert_soft(pid, INF, INF - 1);
	end(pid);
	pid = process_with(INF - 70 * MB, 0); /* QUIRK data-limit-zero */
	limits_raise(&l, pid, &share);
	assert_soft(pid, INF - 1, 0);
	limits_restore(&l, pid);
	assert_soft(pid, INF - 70 * MB, 0);
	end(pid);
}

static void what_somebody_else_has_set_stays(void **state)
{
	pid_t pid = process_with(500 * MB, 400 * MB);
	struct rlimit other = {300 * MB, INF};
	struct limits l = {0};

	(void)state;
	limits_raise(&l, pid, &share);
	assert_int_equal(prlimit(pid, RLIMIT_AS, &other, NULL), 0);
	limits_restore(&l, pid);
	assert_soft(pid, 300 * MB, 400 * MB);
	end(pid);
}

static void a_process_that_is_gone_is_no_error(void **state)
{
	pid_t pid = process_with(500 * MB, 400 * MB);
	struct limits l = {0};
	struct rlimit now;

	(void)state;
	end(pid);
	limits_raise(&l, pid, &share);
	assert_null(l.share);
	limits_restore(&l, pid);
	assert_false(limits_get(pid, RLIMIT_AS, &now));
}

/* In a process of its own, which says by its end whether all was well. */
static void own_limits_are_lifted_and_put_back(void **state)
{
	struct rlimit were[RLIM_NLIMITS], now, before;
	int status;
	pid_t pid = fork();

	(void)state;
	if (!pid) {
		if (getrlimit(RLIMIT_NOFILE, &before))
			_exit(1);
		before.rlim_cur = 10;
		if (setrlimit(RLIMIT_NOFILE, &before))
			_exit(2);
		limits_lift_own(were);
		if (were[RLIMIT_NOFILE].rlim_cur != 10 || getrlimit(RLIMIT_NOFILE, &now) ||
		    now.rlim_cur < before.rlim_max)
			_exit(3);
		limits_put_back(were);
		_exit(getrlimit(RLIMIT_NOFILE, &now) || now.rlim_cur != 10 ||
				      now.rlim_max != before.rlim_max
			      ? 4
			      : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_share_is_added_once_and_taken_back),
		cmocka_unit_test(a_copy_of_a_forked_process_knows_what_was_added),
		cmocka_unit_test(no_limit_stays_none_and_a_limit_never_becomes_none),
		cmocka_unit_test(what_somebody_else_has_set_stays),
		cmocka_unit_test(a_process_that_is_gone_is_no_error),
		cmocka_unit_test(own_limits_are_lifted_and_put_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
