/* SPDX-License-Identifier: MIT */
/* System calls of a trace: those at stops and those in the cache, and which of them may be the
 * cause of an end with failure. */
#include "decoder/cause/failed_calls.h"

#include <string.h>

#include "format/syscall_codec.h"
#include "format/syscall_details.h"
#include "lib/error.h"
#include "syscalls/syscall_names.h"
#include "tests/unit/model_maker.h"
#include "tests/unit/unit.h"

static struct bt_syscall_details path_of(const char *path)
{
	return (struct bt_syscall_details){
		.count = 4,
		.args = {0xffffff9c, 0x1000, 0, 0},
		.pointed_count = 1,
		.pointed = {{.arg = 1, .bytes = slice_of(path, strlen(path))}},
	};
}

/* Failing openat calls of task 1 in one record, between two of getpid. */
static void add_failing(struct maker *k, const char *const *paths, size_t n)
{
	struct bt_syscall pid = {.tick = 5, .nr = SYSCALL_NR_getpid, .result = 7},
			  open = {.tick = 6, .nr = SYSCALL_NR_openat, .result = (uint64_t)-2};
	struct bt_syscall_codec codec = {5};
	struct bt_details_codec details_codec = {0};
	struct buf calls = {0}, details = {0};

	bt_syscall_encode(&codec, &calls, &pid);
	for (size_t i = 0; i < n; i++) {
		struct bt_syscall_details d = path_of(paths[i]);

		bt_syscall_encode(&codec, &calls, &open);
		bt_details_encode(&details_codec, &details, i + 1, &d);
	}
	pid.tick = 6;
	bt_syscall_encode(&codec, &calls, &pid);
	maker_add(k, 1, CALLS, calls, .task = 1, .tick = 5, .count = n + 2,
		  .calls = slice_of(calls.data, calls.len),
		  .details = slice_of(details.data, details.len));
	buf_release(&calls);
	buf_release(&details);
}

static void add_at_stop(struct maker *k, uint32_t task, uint64_t nr, const char *path)
{
	struct bt_pointed p = {.arg = 0, .bytes = slice_of(path, strlen(path))};
	struct buf pointed = {0};

	bt_pointed_encode(&pointed, &p, 1);
	maker_add(k, 1, SYSCALL_ENTER, syscall_enter, .task = task, .nr = nr, .arg0 = 0x2000,
		  .point = {.tick = 9}, .pointed = slice_of(pointed.data, pointed.len));
	buf_release(&pointed);
}

static void leave(struct maker *k, uint32_t task, uint64_t nr, int64_t result)
{
	maker_add(k, 1, SYSCALL_EXIT, syscall_exit, .task = task, .nr = nr,
		  .result = (uint64_t)result);
}

static void expect_text(const struct system_call *call, const char *wanted)
{
	struct buf text = {0};

	syscall_put_call(&text, &call->known);
	syscall_put_result(&text, &call->known);
	buf_u8(&text, 0);
	assert_string_equal((const char *)text.data, wanted);
	buf_release(&text);
}

static void add_task(struct maker *k, uint32_t task, uint32_t pid)
{
	maker_add(k, 1, TASK, task, .task = task, .unit = 1, .space = 1, .pid = pid, .tid = task);
}

static void all_calls_of_a_task_in_their_order(void **state)
{
	static const char *const paths[] = {"/a", "/b"};
	struct made *t = *state;
	struct system_calls_wanted wanted = {.task = 1, .until = UINT64_MAX, .most = 100};
	struct system_calls c;
	struct bt_error err;

	add_task(&t->k, 1, 10);
	add_task(&t->k, 2, 10);
	add_failing(&t->k, paths, 2);
	add_at_stop(&t->k, 1, SYSCALL_NR_mkdir, "/tmp/d");
	add_at_stop(&t->k, 2, SYSCALL_NR_rmdir, "/other");
	leave(&t->k, 1, SYSCALL_NR_mkdir, -17);
	leave(&t->k, 2, SYSCALL_NR_rmdir, 0);
	add_at_stop(&t->k, 1, SYSCALL_NR_chdir, "/x");
	made_load(t);
	assert_int_equal(system_calls_find(&c, t->m, &wanted, &err), 0);
	assert_int_equal(c.count, 6);
	expect_text(&c.at[0], "getpid() = 7");
	expect_text(&c.at[1], "openat(AT_FDCWD, \"/a\", O_RDONLY) = -1 ENOENT (No such file or "
			      "directory)");
	expect_text(&c.at[2], "openat(AT_FDCWD, \"/b\", O_RDONLY) = -1 ENOENT (No such file or "
			      "directory)");
	expect_text(&c.at[3], "getpid() = 7");
	expect_text(&c.at[4], "mkdir(\"/tmp/d\", 0) = -1 EEXIST (File exists)");
	expect_text(&c.at[5], "chdir(\"/x\") = ?");
	system_calls_release(&c);
	for (wanted.most = 1; wanted.most < 8; wanted.most++) {
		assert_int_equal(system_calls_find(&c, t->m, &wanted, &err), 0);
		assert_int_equal(c.count, wanted.most < 6 ? wanted.most : 6);
		assert_int_equal(c.before, 6 - c.count);
		expect_text(&c.at[c.count - 1], "chdir(\"/x\") = ?");
		for (size_t i = 1; i < c.count; i++)
			assert_true(c.at[i - 1].seq <= c.at[i].seq);
		system_calls_release(&c);
	}
	wanted = (struct system_calls_wanted){
		.pid = 10, .until = UINT64_MAX, .failed = true, .most = 100};
	assert_int_equal(system_calls_find(&c, t->m, &wanted, &err), 0);
	assert_int_equal(c.count, 3);
	system_calls_release(&c);
}

static void expect_failed(struct made *t, uint32_t status, size_t count, const char *last)
{
	struct focus focus = {0};
	struct failed_calls f;
	struct bt_error err;

	maker_add(&t->k, 1, EXIT, exit, .task = 1, .kind = BT_EXIT_STATUS, .status = status,
		  .last = 1);
	made_load(t);
	focus.task = model_task(t->m, 1);
	assert_int_equal(failed_calls_find(&f, t->m, &focus, &err), 0);
	assert_int_equal(f.count, count);
	if (count)
		expect_text(f.shown[count - 1], last);
	failed_calls_release(&f);
}

static void what_every_program_asks_is_no_cause(void **state)
{
	static const char *const paths[] = {"/etc/app.conf", "/etc/ld.so.preload",
					    "/usr/lib/locale/locale-archive", "/usr/lib/libx.so.1"};
	struct made *t = *state;

	add_task(&t->k, 1, 10);
	add_failing(&t->k, paths, 4);
	expect_failed(t, 1, 1,
		      "openat(AT_FDCWD, \"/etc/app.conf\", O_RDONLY) = -1 ENOENT (No such "
		      "file or directory)");
}

static void a_library_is_one_if_nothing_else_is(void **state)
{
	static const char *const paths[] = {"/usr/lib/libx.so.1", "/etc/ld.so.preload"};
	struct made *t = *state;

	add_task(&t->k, 1, 10);
	add_failing(&t->k, paths, 2);
	expect_failed(t, 127, 1,
		      "openat(AT_FDCWD, \"/usr/lib/libx.so.1\", O_RDONLY) = -1 ENOENT (No "
		      "such file or directory)");
}

static void of_many_the_last_and_each_once(void **state)
{
	static const char *const paths[] = {"/1", "/2", "/3", "/4", "/4", "/4", "/5", "/6", "/6"};
	struct made *t = *state;

	add_task(&t->k, 1, 10);
	add_failing(&t->k, paths, 9);
	expect_failed(t, 1, 4,
		      "openat(AT_FDCWD, \"/6\", O_RDONLY) = -1 ENOENT (No such file or "
		      "directory)");
}

static void who_ended_well_has_none(void **state)
{
	static const char *const paths[] = {"/etc/app.conf"};
	struct made *t = *state;

	add_task(&t->k, 1, 10);
	add_failing(&t->k, paths, 1);
	expect_failed(t, 0, 0, NULL);
}

/* Whatever the bytes are, decoding ends, and what is given lies in them. */
static void any_bytes_can_be_decoded(void **state)
{
	struct bt_syscall_details d = path_of("/etc/app.conf");
	struct bt_details_codec codec = {0};
	struct buf good = {0};
	uint64_t call;

	(void)state;
	bt_details_encode(&codec, &good, 3, &d);
	for (size_t cut = 0; cut <= good.len; cut++) {
		struct slice in = slice_of(good.data, cut);

		codec = (struct bt_details_codec){0};
		assert_int_equal(bt_details_decode(&codec, &in, &call, &d), cut == good.len ? 1
									    : cut ? -BT_E_CORRUPT
										  : 0);
	}
	assert_int_equal(call, 3);
	assert_int_equal(d.pointed[0].bytes.len, 13);
	for (size_t i = 0; i < good.len * 256; i++) {
		uint8_t was = good.data[i / 256];
		struct slice in = slice_of(good.data, good.len);

		good.data[i / 256] = (uint8_t)i;
		codec = (struct bt_details_codec){0};
		if (bt_details_decode(&codec, &in, &call, &d) == 1)
			for (unsigned k = 0; k < d.pointed_count; k++)
				assert_true(d.pointed[k].arg < BT_SYSCALL_ARGS &&
					    d.pointed[k].bytes.at >= good.data &&
					    d.pointed[k].bytes.at + d.pointed[k].bytes.len <=
						    good.data + good.len);
		good.data[i / 256] = was;
	}
	buf_release(&good);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MADE_TEST(all_calls_of_a_task_in_their_order),
		MADE_TEST(what_every_program_asks_is_no_cause),
		MADE_TEST(a_library_is_one_if_nothing_else_is),
		MADE_TEST(of_many_the_last_and_each_once),
		MADE_TEST(who_ended_well_has_none),
		cmocka_unit_test(any_bytes_can_be_decoded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
