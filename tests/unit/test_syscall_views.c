/* SPDX-License-Identifier: MIT */
/* What parts of the recorder ask of the rows (syscalls/syscall_writes.def), against tables that are
 * written here a second time: where the arguments of transfers lie, how long a call waits, which
 * descriptor it writes to, which pages it remaps. A row that differs is told by its name. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "collector/space/map_syscalls.h"
#include "lib/array_size.h"
#include "syscalls/syscall_names.h"
#include "syscalls/syscall_ranges.h"
#include "tests/unit/unit.h"

enum {
	NUMBERS = 600, /* above that of every call */
};

/* Asks of every call. A call without a row of the test has the answer NULL, as "has none". */
static void compare_all(const char *const *wanted, size_t n,
			void (*describe)(uint64_t nr, const char *name, char *text, size_t size))
{
	char name[SYSCALL_NAME_MAX], text[96];

	for (uint64_t nr = 0; nr < NUMBERS; nr++) {
		const char *call = syscall_name(nr, name), *expected = "";
		size_t length = strlen(call);

		for (size_t i = 0; i < n; i++)
			if (!strncmp(wanted[i], call, length) && wanted[i][length] == ' ')
				expected = wanted[i];
		describe(nr, call, text, sizeof text);
		assert_string_equal(text, expected);
	}
}

static void describe_wait(uint64_t nr, const char *name, char *text, size_t size)
{
	static const char *const forms[] = {"timespec", "ms", "receive", "send"};
	struct syscall_wait w;

	*text = 0;
	if (syscall_longest_wait(nr, &w))
		snprintf(text, size, "%s %s %u %lld", name, forms[w.form], w.argument,
			 (long long)w.result);
}

static void calls_that_wait(void **state)
{
	static const char *const wanted[] = {
		"epoll_wait ms 3 0",         "epoll_pwait ms 3 0",
		"epoll_pwait2 timespec 3 0", "rt_sigtimedwait timespec 2 -11",
		"semtimedop timespec 3 -11", "io_getevents timespec 4 0",
		"read receive 0 -11",        "readv receive 0 -11",
		"recvfrom receive 0 -11",    "recvmsg receive 0 -11",
		"accept receive 0 -11",      "accept4 receive 0 -11",
		"write send 0 -11",          "writev send 0 -11",
		"sendto send 0 -11",         "sendmsg send 0 -11"};

	(void)state;
	assert_int_equal(EAGAIN, 11);
	compare_all(wanted, ARRAY_SIZE(wanted), describe_wait);
}

static void describe_fd(uint64_t nr, const char *name, char *text, size_t size)
{
	unsigned argument;

	*text = 0;
	if (syscall_written_fd(nr, &argument))
		snprintf(text, size, "%s %u", name, argument);
}

static void descriptors_that_are_written_to(void **state)
{
	static const char *const wanted[] = {"write 0",   "writev 0",         "pwrite64 0",
					     "pwritev 0", "pwritev2 0",       "sendfile 0",
					     "splice 2",  "copy_file_range 2"};

	(void)state;
	compare_all(wanted, ARRAY_SIZE(wanted), describe_fd);
}

static void describe_pages(uint64_t nr, const char *name, char *text, size_t size)
{
	unsigned start, length;

	*text = 0;
	if (syscall_changed_pages(nr, &start, &length))
		snprintf(text, size, "%s %u %u", name, start, length);
}

static void pages_that_are_changed(void **state)
{
	static const char *const wanted[] = {
		"munmap 0 1",           "mprotect 0 1",      "madvise 0 1", "mbind 0 1",
		"remap_file_pages 0 1", "pkey_mprotect 0 1", "mlock 0 1",   "munlock 0 1",
		"mlock2 0 1",           "mseal 0 1"};

	(void)state;
	compare_all(wanted, ARRAY_SIZE(wanted), describe_pages);
}

/* Those that the recorder makes again (cut_transfer.c). */
static void transfers_have_a_buffer_and_a_count(void **state)
{
	static const struct {
		uint64_t nr;
		struct syscall_moved moved;
	} wanted[] = {
		{SYSCALL_NR_read, {1, 2, true}},       {SYSCALL_NR_write, {1, 2, true}},
		{SYSCALL_NR_sendto, {1, 2, true}},     {SYSCALL_NR_recvfrom, {1, 2, true}},
		{SYSCALL_NR_getrandom, {0, 1, true}},  {SYSCALL_NR_pread64, {1, 2, true}},
		{SYSCALL_NR_sendfile, {0, 3, false}},  {SYSCALL_NR_splice, {0, 4, false}},
		{SYSCALL_NR_readlinkat, {2, 3, true}},
	};
	struct syscall_moved m;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		assert_true(syscall_moved_bytes(wanted[i].nr, &m));
		assert_int_equal(m.count, wanted[i].moved.count);
		assert_int_equal(m.buffer, wanted[i].moved.buffer);
		assert_int_equal(m.has_buffer, wanted[i].moved.has_buffer);
	}
	assert_false(syscall_moved_bytes(SYSCALL_NR_epoll_wait, &m)); /* its result counts events */
	assert_false(syscall_moved_bytes(SYSCALL_NR_getpid, &m));
	assert_false(syscall_moved_bytes(UINT64_MAX, &m));
}

/* Calls that the rows say change mappings, which map_syscalls.c need not follow. */
static const char *reason_not_to_follow(uint64_t nr)
{
	static const struct {
		uint64_t nr;
		const char *reason;
	} rows[] = {
		{SYSCALL_NR_execve, "told as an event"},
		{SYSCALL_NR_execveat, "told as an event"},
		{SYSCALL_NR_exit, "told as an event"},
		{SYSCALL_NR_exit_group, "told as an event"},
		{SYSCALL_NR_madvise, "contents alone change"},
		{SYSCALL_NR_process_madvise, "contents alone change"},
		{SYSCALL_NR_mlock, "neither place nor protection changes"},
		{SYSCALL_NR_munlock, "neither place nor protection changes"},
		{SYSCALL_NR_mlock2, "neither place nor protection changes"},
		{SYSCALL_NR_mlockall, "neither place nor protection changes"},
		{SYSCALL_NR_munlockall, "neither place nor protection changes"},
		{SYSCALL_NR_mbind, "neither place nor protection changes"},
		{SYSCALL_NR_mseal, "neither place nor protection changes"},
		{SYSCALL_NR_personality, "later mappings alone change"},
		{SYSCALL_NR_prctl, "some operations, tested by test_map_syscalls"},
		{SYSCALL_NR_arch_prctl, "some operations, tested by test_map_syscalls"},
		{SYSCALL_NR_io_setup, "the mapping has no code"},
		{SYSCALL_NR_io_destroy, "the mapping has no code"},
		{SYSCALL_NR_map_shadow_stack, "the mapping has no code"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].nr == nr)
			return rows[i].reason;
	return NULL;
}

static void calls_that_change_mappings_are_followed_or_have_a_reason(void **state)
{
	char name[SYSCALL_NAME_MAX];

	(void)state;
	for (uint64_t nr = 0; nr < NUMBERS; nr++) {
		const struct syscall_facts *facts = syscall_facts(nr);
		bool changes = facts && facts->changes & SYSCALL_CHANGES_MAPS, followed;
		const struct tracee_syscall call = {.nr = nr, .args = {0x10000, 0x3000, 0x2000, 0}};
		struct address_space space = {.heap_end = 0x5000};
		struct map_change change;

		followed = map_syscall_changes(&space, &call, 0x20000, &change);
		if (map_syscall_changes_rights(&call))
			continue; /* whether mappings can still be read, not the mappings */
		if (followed != (changes && !reason_not_to_follow(nr)))
			fail_msg("%s: its row says that it %s mappings, and it is%s followed",
				 syscall_name(nr, name), changes ? "changes" : "leaves",
				 followed ? "" : " not");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_that_wait),
		cmocka_unit_test(descriptors_that_are_written_to),
		cmocka_unit_test(pages_that_are_changed),
		cmocka_unit_test(transfers_have_a_buffer_and_a_count),
		cmocka_unit_test(calls_that_change_mappings_are_followed_or_have_a_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
