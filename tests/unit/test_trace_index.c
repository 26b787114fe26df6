/* SPDX-License-Identifier: MIT */
#include "format/trace_index.h"

#include <stdio.h>
#include <time.h>

#include "format/trace_cursor.h"
#include "lib/array_size.h"
#include "tests/unit/trace_maker.h"
#include "tests/unit/unit.h"

/* A trace being made and the index of it: a test's state. */
struct indexed {
	struct maker k;
	struct trace *t;
	struct arena arena;
	struct trace_events events;
	struct trace_index *x;
	size_t dangling;
};

static int setup(void **state)
{
	struct indexed *t = calloc(1, sizeof *t);

	if (!t)
		return -1;
	maker_init(&t->k);
	*state = t;
	return 0;
}

/* For another trace in the same test. */
static void indexed_clear(struct indexed *t)
{
	trace_index_free(t->x);
	trace_events_release(&t->events);
	arena_release(&t->arena);
	trace_close(t->t);
	maker_release(&t->k);
	*t = (struct indexed){0};
	maker_init(&t->k);
}

static int teardown(void **state)
{
	indexed_clear(*state);
	free(*state);
	return 0;
}

static void read_file(struct indexed *t, const struct trace_file *file)
{
	struct trace_cursor c;
	struct bt_record rec;

	trace_cursor_init(&c, t->t, file);
	while (trace_cursor_next(&c, &rec, NULL) == 1) {
		trace_events_add(&t->events, &t->arena, c.unit, &rec);
		if (rec.kind == BT_RECORD_OBJECT)
			trace_index_add_object(t->x, &rec.u.object);
	}
	trace_cursor_release(&c);
}

/* Nothing is recorded any more. */
static void indexed_build(struct indexed *t)
{
	t->t = maker_open(&t->k);
	arena_init(&t->arena, 1u << 29);
	t->x = trace_index_new(&t->arena);
	assert_non_null(t->x);
	for (size_t i = 0; i < t->t->file_count; i++)
		read_file(t, &t->t->files[i]);
	assert_true(trace_events_sort(&t->events));
	trace_index_begin(t->x, &t->events);
	for (size_t i = 0; i < t->events.count; i++)
		trace_index_apply(t->x, &t->events.at[i]->rec);
	t->dangling = trace_index_finish(t->x);
	assert_false(t->arena.failed);
}

static void map(struct maker *k, uint32_t space, uint32_t epoch, uint64_t start, uint64_t end,
		const char *path)
{
	maker_add(k, 0, MAP, map, .space = space, .epoch = epoch, .start = start, .end = end,
		  .prot = 5, .path = bt_str(path));
}

static void expect_map(const struct trace_index *x, uint32_t space, uint32_t epoch, uint64_t addr,
		       const char *path, uint64_t start)
{
	const struct space_map *map_at = trace_index_map_at(x, space, epoch, addr);

	assert_non_null(map_at);
	assert_string_equal(map_at->path, path);
	assert_int_equal(map_at->start, start);
	assert_true(map_at->first_epoch <= epoch && epoch < map_at->end_epoch);
}

static void a_mapping_over_another_splits_it_from_its_epoch_on(void **state)
{
	struct indexed *t = *state;
	const struct space_map **maps;

	maker_add(&t->k, 0, SPACE, space, .space = 1);
	map(&t->k, 1, 1, 0x1000, 0x9000, "a");
	map(&t->k, 1, 2, 0x3000, 0x5000, "b");
	indexed_build(t);
	expect_map(t->x, 1, 1, 0x4000, "a", 0x1000);
	expect_map(t->x, 1, 2, 0x2fff, "a", 0x1000);
	expect_map(t->x, 1, 2, 0x3000, "b", 0x3000);
	expect_map(t->x, 1, 2, 0x4fff, "b", 0x3000);
	expect_map(t->x, 1, 2, 0x5000, "a", 0x5000);
	assert_int_equal(trace_index_map_at(t->x, 1, 2, 0x5000)->offset, 0x4000);
	assert_int_equal(trace_index_map_at(t->x, 1, 2, 0x2000)->end, 0x3000);
	assert_null(trace_index_map_at(t->x, 1, 0, 0x4000));
	assert_null(trace_index_map_at(t->x, 1, 2, 0x9000));
	assert_null(trace_index_map_at(t->x, 1, 2, 0xfff));
	assert_null(trace_index_map_at(t->x, 2, 2, 0x4000));
	assert_int_equal(trace_index_maps(t->x, 1, 2, &maps), 3);
	assert_int_equal(maps[0]->start, 0x1000);
	assert_int_equal(maps[1]->start, 0x3000);
	assert_int_equal(maps[2]->start, 0x5000);
	free(maps);
}

static void unmapping_ends_a_range_only(void **state)
{
	struct indexed *t = *state;

	map(&t->k, 1, 1, 0x1000, 0x3000, "a");
	map(&t->k, 1, 1, 0x3000, 0x5000, "b");
	map(&t->k, 1, 1, 0x5000, 0x7000, "c");
	maker_add(&t->k, 0, UNMAP, unmap, .space = 1, .epoch = 4, .start = 0x2000, .end = 0x6000);
	indexed_build(t);
	expect_map(t->x, 1, 3, 0x3000, "b", 0x3000);
	expect_map(t->x, 1, 4, 0x1fff, "a", 0x1000);
	assert_null(trace_index_map_at(t->x, 1, 4, 0x2000));
	assert_null(trace_index_map_at(t->x, 1, 4, 0x4000));
	expect_map(t->x, 1, 4, 0x6000, "c", 0x6000);
}

static void a_copied_space_has_the_mappings_of_its_parent_then(void **state)
{
	struct indexed *t = *state;

	map(&t->k, 1, 1, 0x1000, 0x2000, "old");
	map(&t->k, 1, 2, 0x1000, 0x2000, "new");
	maker_add(&t->k, 0, SPACE, space, .space = 2, .parent = 1, .parent_epoch = 1);
	maker_add(&t->k, 0, SPACE, space, .space = 3, .parent = 1, .parent_epoch = 2);
	map(&t->k, 1, 3, 0x1000, 0x2000, "newest");
	map(&t->k, 3, 5, 0x1000, 0x2000, "own");
	indexed_build(t);
	expect_map(t->x, 2, 0, 0x1000, "old", 0x1000);
	expect_map(t->x, 3, 4, 0x1000, "new", 0x1000);
	expect_map(t->x, 3, 5, 0x1000, "own", 0x1000);
	expect_map(t->x, 1, 9, 0x1000, "newest", 0x1000);
}

static void an_epoch_that_runs_backwards_counts_as_the_newest(void **state)
{
	struct indexed *t = *state;

	map(&t->k, 1, 5, 0x1000, 0x2000, "a");
	map(&t->k, 1, 2, 0x1000, 0x2000, "b");
	map(&t->k, 1, UINT32_MAX, 0x4000, 0x5000, "c");
	map(&t->k, 1, 6, 0x5000, 0x5000, "empty");
	map(&t->k, 1, 6, 0x6000, 0x5000, "inside out");
	indexed_build(t);
	assert_null(trace_index_map_at(t->x, 1, 4, 0x1000));
	expect_map(t->x, 1, 5, 0x1000, "b", 0x1000);
	expect_map(t->x, 1, UINT32_MAX - 1, 0x4000, "c", 0x4000);
	assert_null(trace_index_map_at(t->x, 1, UINT32_MAX - 1, 0x5000));
}

/* The plain way: the last operation at or before the epoch that covers the address. */
struct operation {
	uint64_t start, end;
	uint32_t epoch;
	bool mapped;
};

static long expected_at(const struct operation *ops, size_t n, uint32_t epoch, uint64_t addr)
{
	long found = -1;

	for (size_t i = 0; i < n; i++)
		if (ops[i].epoch <= epoch && ops[i].start <= addr && addr < ops[i].end)
			found = ops[i].mapped ? (long)i : -1;
	return found;
}

static void mappings_agree_with_a_plain_account(void **state)
{
	struct indexed *t = *state;

	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct operation ops[120];
		uint64_t random = seed;
		uint32_t epoch = 0;

		for (size_t i = 0; i < 120; i++) {
			uint64_t start = unit_random(&random) % 64,
				 len = 1 + unit_random(&random) % 20;
			char path[16];

			epoch += unit_random(&random) % 3 == 0;
			ops[i] = (struct operation){start, start + len, epoch,
						    unit_random(&random) % 4 != 0};
			snprintf(path, sizeof path, "%zu", i);
			if (ops[i].mapped)
				map(&t->k, 1, epoch, start, start + len, path);
			else
				maker_add(&t->k, 0, UNMAP, unmap, .space = 1, .epoch = epoch,
					  .start = start, .end = start + len);
		}
		indexed_build(t);
		for (uint32_t e = 0; e <= epoch + 1; e++) {
			const struct space_map **maps;
			size_t count = trace_index_maps(t->x, 1, e, &maps), at = 0;

			for (uint64_t addr = 0; addr < 90; addr++) {
				const struct space_map *got = trace_index_map_at(t->x, 1, e, addr);
				long want = expected_at(ops, 120, e, addr);

				while (at < count && maps[at]->end <= addr)
					at++;
				assert_ptr_equal(got, at < count && maps[at]->start <= addr
							      ? maps[at]
							      : NULL);
				if (want < 0) {
					assert_null(got);
					continue;
				}
				assert_non_null(got);
				assert_int_equal(strtol(got->path, NULL, 10), want);
				assert_int_equal(got->offset, got->start - ops[want].start);
			}
			free(maps);
		}
		indexed_clear(t);
	}
}

static void many_mappings_stay_fast(void **state)
{
	struct indexed *t = *state;
	enum { COUNT = 30000 };
	clock_t begin;

	/* All alive, in an order that is bad for a sorted array; then each cut in two, then one
	 * over all, again and again. */
	for (uint64_t i = COUNT; i-- > 0;)
		map(&t->k, 1, 1, i * 0x10000, i * 0x10000 + 0x4000, "a");
	for (uint64_t i = 0; i < COUNT; i++)
		map(&t->k, 1, 2 + (uint32_t)i, i * 0x10000 + 0x1000, i * 0x10000 + 0x2000, "b");
	for (uint32_t i = 0; i < COUNT; i++)
		map(&t->k, 1, 40000 + i, 0, (uint64_t)COUNT * 0x10000, "c");
	for (uint32_t i = 0; i < 1000; i++)
		maker_add(&t->k, 0, SPACE, space, .space = i + 2, .parent = 1,
			  .parent_epoch = 39999);
	begin = clock();
	indexed_build(t);
	for (uint64_t i = 0; i < COUNT; i++) {
		expect_map(t->x, 1, 39999, i * 0x10000 + 0x1000, "b", i * 0x10000 + 0x1000);
		expect_map(t->x, 1, 40000 + (uint32_t)i, i * 0x10000 + 0x8000, "c", 0);
	}
	/* Only a blow-up by orders of magnitude fails here. */
	assert_true(clock() - begin < 60 * CLOCKS_PER_SEC);
}

static void code_is_that_of_its_epoch(void **state)
{
	struct indexed *t = *state;
	uint8_t out[32];

	maker_code(&t->k, 1, 3, 0x1000, 0, "three", 5);
	maker_code(&t->k, 1, 7, 0x1000, 0, "seven", 5);
	maker_add(&t->k, 0, SPACE, space, .space = 2, .parent = 1, .parent_epoch = 5);
	maker_code(&t->k, 2, 2, 0x1000, 0, "child", 5);
	indexed_build(t);
	assert_int_equal(trace_index_code(t->x, 1, 1, 0x1000, out, 5), 5);
	assert_memory_equal(out, "three", 5);
	assert_int_equal(trace_index_code(t->x, 1, 6, 0x1000, out, 5), 5);
	assert_memory_equal(out, "three", 5);
	assert_int_equal(trace_index_code(t->x, 1, 7, 0x1002, out, 3), 3);
	assert_memory_equal(out, "ven", 3);
	assert_int_equal(trace_index_code(t->x, 2, 1, 0x1000, out, 5), 5);
	assert_memory_equal(out, "three", 5);
	assert_int_equal(trace_index_code(t->x, 2, 2, 0x1000, out, 5), 5);
	assert_memory_equal(out, "child", 5);
}

static void expect_code(const struct trace_index *x, uint32_t space, uint32_t epoch, uint64_t addr,
			const char *code)
{
	uint8_t out[8];
	size_t n = trace_index_code(x, space, epoch, addr, out, 4);

	assert_int_equal(n, code ? 4 : 0);
	if (code)
		assert_memory_equal(out, code, 4);
}

static void unmap(struct maker *k, uint32_t space, uint32_t epoch, uint64_t start, uint64_t end)
{
	maker_add(k, 0, UNMAP, unmap, .space = space, .epoch = epoch, .start = start, .end = end);
}

/* dlclose, then dlopen of another library that comes to lie at the same place. */
static void code_of_a_file_is_not_that_of_the_next_one_there(void **state)
{
	struct indexed *t = *state;

	map(&t->k, 1, 1, 0x10000, 0x20000, "/nowhere/a.so");
	maker_code(&t->k, 1, 1, 0x10000, 0, "of a", 4);
	unmap(&t->k, 1, 2, 0x10000, 0x20000);
	map(&t->k, 1, 3, 0x10000, 0x20000, "/nowhere/b.so");
	maker_code(&t->k, 1, 5, 0x11000, 0, "of b", 4);
	maker_code(&t->k, 1, 1, 0x11000, 0, "of a", 4);
	unmap(&t->k, 1, 6, 0x10000, 0x20000);
	map(&t->k, 1, 7, 0x10000, 0x20000, "/nowhere/a.so (deleted)");
	map(&t->k, 1, 8, 0xf000, 0x20000, "/nowhere/a.so");
	indexed_build(t);
	expect_code(t->x, 1, 1, 0x10000, "of a");
	expect_code(t->x, 1, 2, 0x10000, NULL);
	expect_code(t->x, 1, 3, 0x10000, NULL);
	expect_code(t->x, 1, 1, 0x11000, "of a");
	expect_code(t->x, 1, 3, 0x11000, "of b"); /* that was read when it ran first */
	expect_code(t->x, 1, 5, 0x11000, "of b");
	expect_code(t->x, 1, 6, 0x11000, NULL);
	expect_code(t->x, 1, 7, 0x10000, "of a");
	expect_code(t->x, 1, 8, 0x10000, NULL); /* another place of the file */
}

/* A change of protection splits mappings and joins them; every record of it tells them anew. */
static void code_stays_where_mappings_are_told_anew(void **state)
{
	static const char *const paths[] = {"/lib/a.so", "", "[heap]"};
	struct indexed *t = *state;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		map(&t->k, 1, 1, 0x10000, 0x20000, paths[i]);
		maker_code(&t->k, 1, 1, 0x14000, 0, "same", 4);
		map(&t->k, 1, 2, 0x1f000, 0x20000, "/else");
		/* As recorders write it: first all that goes, then what is there. */
		unmap(&t->k, 1, 3, 0x10000, 0x1f000);
		map(&t->k, 1, 3, 0x10000, 0x13000, paths[i]);
		maker_add(&t->k, 0, MAP, map, .space = 1, .epoch = 3, .start = 0x13000,
			  .end = 0x1f000, .prot = 7, .path = bt_str(paths[i]),
			  .offset = *paths[i] == '/' ? 0x3000 : 0);
		maker_add(&t->k, 0, SPACE, space, .space = 2, .parent = 1, .parent_epoch = 3);
		map(&t->k, 2, 4, 0x10000, 0x1f000, paths[i]);
		unmap(&t->k, 2, 5, 0x14000, 0x15000);
		indexed_build(t);
		for (uint32_t epoch = 1; epoch < 6; epoch++)
			expect_code(t->x, 1, epoch, 0x14000, "same");
		expect_code(t->x, 2, 3, 0x14000, "same");
		expect_code(t->x, 2, 4, 0x14000, "same");
		expect_code(t->x, 2, 5, 0x14000, NULL);
		indexed_clear(t);
	}
}

static void code_of_memory_is_gone_with_it(void **state)
{
	struct indexed *t = *state;

	map(&t->k, 1, 1, 0x10000, 0x20000, "");
	maker_code(&t->k, 1, 1, 0x10000, 0, "code", 4);
	maker_add(&t->k, 0, SPACE, space, .space = 2, .parent = 1, .parent_epoch = 1);
	unmap(&t->k, 1, 2, 0x10000, 0x20000);
	map(&t->k, 1, 3, 0x10000, 0x20000, "");
	maker_add(&t->k, 0, SPACE, space, .space = 3, .parent = 1, .parent_epoch = 3);
	indexed_build(t);
	expect_code(t->x, 1, 3, 0x10000, NULL);
	expect_code(t->x, 3, 3, 0x10000, NULL);
	expect_code(t->x, 2, 1, 0x10000, "code");
}

static void code_goes_on_across_pages_until_one_is_missing(void **state)
{
	struct indexed *t = *state;
	uint8_t out[8192];

	maker_code(&t->k, 1, 0, 0x1000, 4090, "first!", 6);
	maker_code(&t->k, 1, 0, 0x2000, 0, "second", 6);
	maker_add(&t->k, 0, CODE, code, .space = 1, .addr = 0x4000,
		  .object = maker_object(&t->k, "short", 5));
	indexed_build(t);
	assert_int_equal(trace_index_code(t->x, 1, 0, 0x1ffa, out, 12), 12);
	assert_memory_equal(out, "first!second", 12);
	assert_int_equal(trace_index_code(t->x, 1, 0, 0x2ffe, out, 12), 2);
	assert_int_equal(trace_index_code(t->x, 1, 0, 0x1000, out, 8192), 8192);
	assert_int_equal(trace_index_code(t->x, 1, 0, 0x4001, out, 12), 4);
	assert_memory_equal(out, "hort", 4);
	assert_int_equal(trace_index_code(t->x, 1, 0, 0x4005, out, 12), 0);
	assert_int_equal(trace_index_code(t->x, 1, 0, 0xfff, out, 12), 0);
	assert_int_equal(trace_index_code(t->x, 1, 0, UINT64_MAX, out, 12), 0);
}

static void code_without_its_bytes_is_counted(void **state)
{
	struct indexed *t = *state;
	uint8_t out[4];

	maker_add(&t->k, 0, CODE, code, .space = 1, .addr = 0x1000, .object = 99);
	indexed_build(t);
	assert_int_equal(trace_index_code(t->x, 1, 0, 0x1000, out, 4), 0);
	assert_int_equal(t->dangling, 1);
}

static void an_index_of_nothing_finds_nothing(void **state)
{
	struct indexed *t = *state;
	const struct space_map **maps;
	uint8_t byte;

	indexed_build(t);
	assert_null(trace_index_map_at(t->x, 1, 0, 0));
	assert_int_equal(trace_index_maps(t->x, 1, 0, &maps), 0);
	assert_int_equal(trace_index_code(t->x, 1, 0, 0x1000, &byte, 1), 0);
	free(maps);
}

/* Without room for one mapping nothing is mapped, and the arena says why. */
static void what_goes_past_the_budget_is_left_out(void **state)
{
	static const struct bt_record rec = {.kind = BT_RECORD_MAP,
					     .u.map = {.space = 1,
						       .start = 0x1000,
						       .end = 0x2000,
						       .path = {(const uint8_t *)"a", 1, false}}};
	struct trace_event event = {.rec = rec}, *at = &event;
	struct trace_events events = {.at = &at, .count = 1};
	struct arena arena;
	struct trace_index *x;

	(void)state;
	arena_init(&arena, 300);
	x = trace_index_new(&arena);
	trace_index_begin(x, &events);
	assert_false(arena.over);
	trace_index_apply(x, &rec);
	assert_int_equal(trace_index_finish(x), 0);
	assert_true(arena.over && !arena.failed);
	assert_null(trace_index_map_at(x, 1, 1, 0x1000));
	trace_index_free(x);
	arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_mapping_over_another_splits_it_from_its_epoch_on,
						setup, teardown),
		cmocka_unit_test_setup_teardown(unmapping_ends_a_range_only, setup, teardown),
		cmocka_unit_test_setup_teardown(a_copied_space_has_the_mappings_of_its_parent_then,
						setup, teardown),
		cmocka_unit_test_setup_teardown(an_epoch_that_runs_backwards_counts_as_the_newest,
						setup, teardown),
		cmocka_unit_test_setup_teardown(mappings_agree_with_a_plain_account, setup,
						teardown),
		cmocka_unit_test_setup_teardown(many_mappings_stay_fast, setup, teardown),
		cmocka_unit_test_setup_teardown(code_is_that_of_its_epoch, setup, teardown),
		cmocka_unit_test_setup_teardown(code_of_a_file_is_not_that_of_the_next_one_there,
						setup, teardown),
		cmocka_unit_test_setup_teardown(code_stays_where_mappings_are_told_anew, setup,
						teardown),
		cmocka_unit_test_setup_teardown(code_of_memory_is_gone_with_it, setup, teardown),
		cmocka_unit_test_setup_teardown(code_goes_on_across_pages_until_one_is_missing,
						setup, teardown),
		cmocka_unit_test_setup_teardown(code_without_its_bytes_is_counted, setup, teardown),
		cmocka_unit_test_setup_teardown(an_index_of_nothing_finds_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(what_goes_past_the_budget_is_left_out, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
