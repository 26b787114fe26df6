/* SPDX-License-Identifier: MIT */
/* Which entries of a history the trace writer makes one record of, and in which layout. */
#include "format/branch_entries.h"
#include "tests/unit/trace_fixture.h"

enum {
	CHUNK = 65536,
	FEW = 1000,
};

struct written {
	struct fixture *f;
	struct trace_writer *w;
	struct bt_branch entries[5 * CHUNK];
	uint64_t count;
};

static struct bt_branch loop_entry(uint64_t number)
{
	struct bt_branch b = {
		.from = 0x1010, .to = 0x1000, .kind = BT_BRANCH_JCC, .flags = BT_BRANCH_TAKEN};

	if (number % 7 == 5)
		b = (struct bt_branch){.from = 0x1010, .to = 0x1012, .kind = BT_BRANCH_JCC};
	if (number % 7 == 6)
		b = (struct bt_branch){.from = 0x1014,
				       .to = 0x1000,
				       .kind = BT_BRANCH_JMP,
				       .flags = BT_BRANCH_TAKEN};
	return b;
}

/* Writes n more entries of a loop. change: made to each, or NULL. */
static void put_loop(struct written *t, uint64_t n, void (*change)(struct bt_branch *, uint64_t))
{
	struct bt_record_branches head = {.task = 1, .first = t->count, .count = n, .space = 1};

	for (uint64_t i = t->count; i < t->count + n; i++) {
		t->entries[i] = loop_entry(i);
		if (change)
			change(&t->entries[i], i);
	}
	trace_writer_history(t->w, &head, &t->entries[t->count]);
	t->count += n;
}

static int begin(void **state)
{
	struct written *t = calloc(1, sizeof *t);
	void *fixture;

	if (!t || fixture_setup(&fixture))
		return -1;
	t->f = fixture;
	t->w = open_writer(t->f->path);
	*state = t;
	return 0;
}

static int end(void **state)
{
	struct written *t = *state;
	void *fixture = t->f;

	free(t);
	return fixture_teardown(&fixture);
}

static void assert_entries(const struct written *t, const struct bt_record *rec)
{
	const struct bt_record_branches *r = branch_entries_record(rec);
	struct branch_entries entries;
	struct bt_branch b;

	assert_int_equal(branch_entries_most(rec), r->count);
	assert_int_equal(branch_entries_init(&entries, rec), 0);
	for (uint64_t i = r->first; i < r->first + r->count; i++) {
		assert_int_equal(branch_entries_next(&entries, &b), 1);
		assert_memory_equal(&b, &t->entries[i], sizeof b);
	}
	assert_int_equal(branch_entries_next(&entries, &b), 0);
	branch_entries_release(&entries);
}

/* The trace has these records, of so many entries, and they hold what was written. */
static void expect_records(struct written *t, size_t n, const enum bt_record_kind *kinds,
			   const uint64_t *counts)
{
	struct trace_cursor cursor;
	struct bt_record rec;
	struct bt_error err;
	struct trace *trace;
	size_t found = 0;

	trace_writer_close(t->w);
	assert_int_equal(trace_open(&trace, t->f->path, &err), 0);
	trace_cursor_init(&cursor, trace, trace_branch_file(trace, 1));
	while (trace_cursor_next(&cursor, &rec, &err) == 1) {
		assert_true(found < n);
		assert_int_equal(rec.kind, kinds[found]);
		assert_int_equal(rec.u.branches.count, counts[found++]);
		assert_entries(t, &rec);
	}
	assert_int_equal(found, n);
	trace_cursor_release(&cursor);
	trace_close(trace);
}

#define EXPECT(t, kinds, counts) expect_records(t, sizeof(kinds) / sizeof *(kinds), kinds, counts)

static void consecutive_entries_are_one_graph(void **state)
{
	static const enum bt_record_kind kinds[] = {BT_RECORD_BRANCH_GRAPH};
	static const uint64_t counts[] = {3 * CHUNK + FEW};
	struct written *t = *state;

	for (unsigned i = 0; i < 3; i++)
		put_loop(t, CHUNK, NULL);
	put_loop(t, FEW, NULL);
	EXPECT(t, kinds, counts);
}

static void few_entries_are_written_one_by_one(void **state)
{
	static const enum bt_record_kind kinds[] = {BT_RECORD_BRANCHES, BT_RECORD_BRANCHES};
	static const uint64_t counts[] = {FEW, FEW};
	struct written *t = *state;

	put_loop(t, FEW, NULL);
	put_loop(t, FEW, NULL);
	EXPECT(t, kinds, counts);
}

static void a_flush_ends_a_graph(void **state)
{
	static const enum bt_record_kind kinds[] = {BT_RECORD_BRANCH_GRAPH, BT_RECORD_BRANCHES};
	static const uint64_t counts[] = {CHUNK, FEW};
	struct written *t = *state;

	put_loop(t, CHUNK, NULL);
	trace_writer_flush(t->w);
	put_loop(t, FEW, NULL);
	EXPECT(t, kinds, counts);
}

static void missing_numbers_end_a_graph(void **state)
{
	static const enum bt_record_kind kinds[] = {BT_RECORD_BRANCH_GRAPH, BT_RECORD_BRANCHES};
	static const uint64_t counts[] = {CHUNK, FEW};
	struct written *t = *state;

	put_loop(t, CHUNK, NULL);
	t->count++;
	put_loop(t, FEW, NULL);
	EXPECT(t, kinds, counts);
}

static void make_gap(struct bt_branch *b, uint64_t number)
{
	if (number == CHUNK - 1)
		*b = (struct bt_branch){.to = BT_GAP_LOST, .kind = BT_BRANCH_GAP};
}

/* What the counts behind it are the head of the next record says. */
static void a_gap_ends_a_graph(void **state)
{
	static const enum bt_record_kind kinds[] = {BT_RECORD_BRANCH_GRAPH, BT_RECORD_BRANCH_GRAPH};
	static const uint64_t counts[] = {CHUNK, CHUNK};
	struct written *t = *state;

	put_loop(t, CHUNK, make_gap);
	put_loop(t, CHUNK, NULL);
	EXPECT(t, kinds, counts);
}

static void add_cycles(struct bt_branch *b, uint64_t number) { b->cycles = 1 + number % 9; }

/* Each of them would be a literal. */
static void entries_with_cycles_are_written_one_by_one(void **state)
{
	static const enum bt_record_kind kinds[] = {BT_RECORD_BRANCHES};
	static const uint64_t counts[] = {CHUNK};
	struct written *t = *state;

	put_loop(t, CHUNK, add_cycles);
	EXPECT(t, kinds, counts);
}

static void scatter(struct bt_branch *b, uint64_t number)
{
	if (number >= CHUNK) {
		b->from = number * 0x123456789abcdefu;
		b->to = ~b->from;
	}
}

/* A record must fit a block. */
static void a_graph_that_grows_large_ends(void **state)
{
	static const enum bt_record_kind kinds[] = {BT_RECORD_BRANCH_GRAPH, BT_RECORD_BRANCHES};
	static const uint64_t counts[] = {4 * CHUNK, CHUNK};
	struct written *t = *state;

	for (unsigned i = 0; i < 5; i++)
		put_loop(t, CHUNK, scatter);
	EXPECT(t, kinds, counts);
}

#define WITH_WRITER(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_WRITER(consecutive_entries_are_one_graph),
		WITH_WRITER(few_entries_are_written_one_by_one),
		WITH_WRITER(a_flush_ends_a_graph),
		WITH_WRITER(missing_numbers_end_a_graph),
		WITH_WRITER(a_gap_ends_a_graph),
		WITH_WRITER(entries_with_cycles_are_written_one_by_one),
		WITH_WRITER(a_graph_that_grows_large_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
