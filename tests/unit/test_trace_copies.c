/* SPDX-License-Identifier: MIT */
/* A library that is gone, and the trace's copy of it: what work with the copy may take, and what is
 * told when that is spent. */
#include "tests/unit/sample_library.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "decoder/symbols/symbols_private.h"
#include "decoder/values/frame_values.h"
#include "lib/array_size.h"

enum {
	STACK = 0x7ffc00001000,
	FRAMES = 16,
	MEMORY_MOST = 256 << 20,
};

/* A task at the first instruction of a function that the library's own code has called. */
static void add_moment(struct sample *p)
{
	const struct bt_point point = {.rip = p->total};
	const uint64_t words[] = {p->ret, 0, 0, 0};
	struct bt_record_thread t = {
		.snapshot = 1, .task = 1, .point = point, .epoch = 1, .regs.rip = p->total};

	t.regs.rsp = STACK;
	t.regs.rdi = 4711;
	maker_add(&p->k, 0, TASK, task, .task = 1, .unit = 1, .space = 1, .pid = 10, .tid = 10);
	maker_add(&p->k, 0, SNAPSHOT, snapshot, .snapshot = 1, .task = 1,
		  .kind = BT_SNAPSHOT_REQUEST, .point = point, .space = 1, .epoch = 1);
	t.seq = p->k.seq++;
	bt_record_encode(&p->k.records[MAKER_EVENTS], BT_RECORD_THREAD, &t);
	maker_add(&p->k, 0, MEMORY, memory, .snapshot = 1, .space = 1, .addr = STACK,
		  .bytes = slice_of(words, sizeof words));
}

/* The library is there no more; it is still loaded. */
static void make_copied(struct sample *p)
{
	static uint8_t copy[1 << 20];
	FILE *f;

	sample_build(p, "");
	sample_read_build_id(p);
	sample_load(p);
	sample_map(p);
	add_moment(p);
	f = fopen(p->lib, "r");
	assert_non_null(f);
	p->k.mapped = slice_of(copy, fread(copy, 1, sizeof copy, f));
	fclose(f);
	assert_int_equal(unlink(p->lib), 0);
	sample_open(p);
}

/* All time that there is for copies is spent. */
static void spend_time(struct sample *p)
{
	struct strange_time *t = symbols_strange_time(p->s);

	assert_non_null(t);
	strange_time_begin(t);
	strange_time_end(t);
	assert_true(t->spent > 0);
	assert_true(t->most > t->spent);
	t->most = t->spent - 1;
	assert_true(strange_time_is_over(t));
}

static void a_copy_tells_names_lines_and_inlined_frames(void **state)
{
	struct sample *p = *state;
	size_t count;

	make_copied(p);
	expect_entry(p);
	expect_lines(p);
	symbols_missing(p->s, &count);
	assert_int_equal(count, 0);
}

static void when_the_time_is_over_nothing_is_told_by_a_copy_and_that_is_said(void **state)
{
	struct sample *p = *state;
	struct image_module *module;
	struct location loc;
	Dwarf_Addr bias;

	make_copied(p);
	expect_entry(p);
	module = symbols_module(p->s, 1, 1, p->ret);
	assert_non_null(image_module_unit(module, p->ret, &bias));
	spend_time(p);
	assert_null(image_module_unit(module, p->ret, &bias));
	loc = sample_look(p, p->ret, true);
	assert_string_equal(loc.function, "");
	assert_string_equal(loc.file, "");
	assert_int_equal(loc.inlined_count, 0);
	assert_string_equal(loc.module, p->lib);
	expect_missing(p, MISSING_SLOW);
}

static size_t unwind(struct sample *p)
{
	struct stack_frame frames[FRAMES];
	const struct model_snapshot *snap = &p->m->snapshots[0];
	bool complete;

	return symbols_unwind(p->s, snap, snap->threads[0], frames, FRAMES, &complete);
}

static size_t count_values(struct sample *p)
{
	const struct model_snapshot *snap = &p->m->snapshots[0];
	struct thread_values *t;
	struct frame_values v;
	struct bt_error err;
	size_t count;

	assert_int_equal(thread_values_open(&t, p->s, snap, snap->threads[0], &err), 0);
	frame_values_get(t, 0, &v);
	count = v.count;
	frame_values_release(&v);
	thread_values_close(t);
	return count;
}

static void when_the_time_is_over_no_frame_and_no_value_is_told_by_a_copy(void **state)
{
	struct sample *p = *state;

	make_copied(p);
	assert_true(unwind(p) > 1);
	assert_int_equal(count_values(p), 1);
	spend_time(p);
	assert_int_equal(unwind(p), 1);
	assert_int_equal(count_values(p), 0);
}

/* Variables that are told, of which the first `most` take all the time. */
struct telling {
	struct sample *p;
	size_t told, most;
};

static void tell(void *arg, const struct frame_variable *v)
{
	struct telling *t = arg;

	(void)v;
	if (++t->told == t->most)
		spend_time(t->p);
}

static size_t tell_variables(struct sample *p, size_t most)
{
	const struct model_snapshot *snap = &p->m->snapshots[0];
	struct telling telling = {.p = p, .most = most};
	struct thread_values *t;
	struct bt_error err;

	assert_int_equal(thread_values_open(&t, p->s, snap, snap->threads[0], &err), 0);
	frame_variables_each(t, 1, p->ret - 1, tell, &telling);
	thread_values_close(t);
	return telling.told;
}

static void while_variables_are_looked_for_the_time_may_be_over(void **state)
{
	struct sample *p = *state;

	make_copied(p);
	assert_true(tell_variables(p, SIZE_MAX) >= 3); /* of three functions, two of them inlined */
	assert_int_equal(tell_variables(p, 2), 2);
}

/* Bytes of private memory that this process may have more. */
static bool has_room(size_t bytes)
{
	void *room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (room == MAP_FAILED)
		return false;
	munmap(room, bytes);
	return true;
}

static bool refuse(void *arg, int fd, const char *path)
{
	(void)arg, (void)fd, (void)path;
	return false;
}

/* Exit status 0: memory is limited from the first copy on. */
static int limit_memory(struct sample *p, uint64_t most)
{
	struct trace_copies c;
	struct rlimit before, behind;
	int bad = 0;

	trace_copies_init(&c);
	c.memory_most = most;
	getrlimit(RLIMIT_DATA, &before);
	bad |= !has_room(2 * MEMORY_MOST);
	trace_copies_offer(&c, p->m->trace, "", refuse, NULL);
	getrlimit(RLIMIT_DATA, &behind);
	bad |= (c.count != 1) << 1;
	bad |= (has_room(2 * MEMORY_MOST) != (most > MEMORY_MOST)) << 2;
	bad |= !has_room(MEMORY_MOST / 2) << 3;
	bad |= (behind.rlim_max != before.rlim_max) << 4;
	trace_copies_release(&c);
	return bad;
}

/* Each in a process of its own: the limit stays. */
static int status_of_limit(struct sample *p, uint64_t most)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(limit_memory(p, most));
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void the_first_copy_limits_the_memory_of_this_process(void **state)
{
	struct sample *p = *state;

	make_copied(p);
	assert_int_equal(status_of_limit(p, MEMORY_MOST), 0);
	assert_int_equal(status_of_limit(p, UINT64_C(16) * MEMORY_MOST), 0);
}

static void without_copies_the_memory_is_not_limited(void **state)
{
	struct sample *p = *state;
	struct rlimit before, behind;

	getrlimit(RLIMIT_DATA, &before);
	sample_make(p, "");
	expect_entry(p);
	getrlimit(RLIMIT_DATA, &behind);
	assert_int_equal(behind.rlim_cur, before.rlim_cur);
	assert_null(symbols_strange_time(p->s));
}

static void a_minute_and_4_gb_are_usual(void **state)
{
	struct trace_copies c;

	(void)state;
	trace_copies_init(&c);
	assert_int_equal(c.memory_most, UINT64_C(4) << 30);
	assert_int_equal(c.time.most, UINT64_C(60000000000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_minute_and_4_gb_are_usual),
		SAMPLE_TEST(without_copies_the_memory_is_not_limited),
		SAMPLE_TEST(a_copy_tells_names_lines_and_inlined_frames),
		SAMPLE_TEST(when_the_time_is_over_nothing_is_told_by_a_copy_and_that_is_said),
		SAMPLE_TEST(when_the_time_is_over_no_frame_and_no_value_is_told_by_a_copy),
		SAMPLE_TEST(while_variables_are_looked_for_the_time_may_be_over),
		SAMPLE_TEST(the_first_copy_limits_the_memory_of_this_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
