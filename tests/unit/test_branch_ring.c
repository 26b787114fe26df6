/* SPDX-License-Identifier: MIT */
#include "tests/unit/scratch.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <unistd.h>

#include "collector/history/branch_ring.h"
#include "collector/record/record_observer.h"
#include "format/branch_entries.h"
#include "format/trace_cursor.h"

struct fixture {
	char dir[SCRATCH_PATH], path[80];
	struct trace_writer *writer;
	struct observer observer;
	struct branch_ring ring;
};

static const struct ring_state start = {.tick = 100, .transfers = 3, .space = 1, .epoch = 7};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);
	struct bt_record_header header = {.tick_classes = 7, .ring = 65536, .page_size = 4096};
	struct bt_error err;

	if (scratch_make(f->dir))
		return -1;
	snprintf(f->path, sizeof f->path, "%s/t", f->dir);
	if (trace_writer_open(&f->writer, f->path, &header, &err))
		return -1;
	f->observer = record_observer(f->writer);
	branch_ring_init(&f->ring, 1, &start);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	branch_ring_release(&f->ring);
	if (f->writer)
		trace_writer_close(f->writer);
	scratch_remove(f->path);
	scratch_remove(f->dir);
	free(f);
	return 0;
}

static void push(struct fixture *f, uint8_t kind, unsigned n)
{
	struct bt_branch b = {.kind = kind, .flags = BT_BRANCH_TAKEN, .from = 0x1000, .to = 0x2000};

	while (n--)
		branch_ring_push(&f->ring, &b, true);
}

static void resume(struct fixture *f, enum bt_gap_reason reason, uint64_t tick, uint64_t transfers)
{
	struct ring_state s = {.tick = tick,
			       .transfers = transfers,
			       .space = f->ring.now.space,
			       .epoch = f->ring.now.epoch};

	branch_ring_resume(&f->ring, reason, &s);
}

struct chunks {
	struct bt_record_branches at[8];
	struct bt_branch last[8]; /* entry of each */
	size_t count;
};

/* What is in the trace, chunk by chunk. */
static struct chunks written(struct fixture *f)
{
	struct chunks c = {0};
	struct trace_cursor cursor;
	struct bt_record rec;
	struct trace *t;
	struct bt_error err;

	branch_ring_flush(&f->ring, &f->observer, 1, SIZE_MAX);
	trace_writer_close(f->writer);
	f->writer = NULL;
	assert_int_equal(trace_open(&t, f->path, &err), 0);
	for (size_t i = 0; i < t->file_count; i++) {
		if (t->files[i].kind != BT_FILE_BRANCHES)
			continue;
		trace_cursor_init(&cursor, t, &t->files[i]);
		while (trace_cursor_next(&cursor, &rec, &err) == 1) {
			struct branch_entries entries;
			uint64_t n = 0;

			assert_true(c.count < 8);
			assert_int_equal(branch_entries_init(&entries, &rec), 0);
			while (branch_entries_next(&entries, &c.last[c.count]) == 1 &&
			       ++n < rec.u.branches.count)
				;
			branch_entries_release(&entries);
			assert_int_equal(n, rec.u.branches.count);
			c.at[c.count++] = rec.u.branches;
		}
		trace_cursor_release(&cursor);
	}
	trace_close(t);
	return c;
}

static void conditionals_and_transfers_are_counted(void **state)
{
	struct fixture *f = *state;

	push(f, BT_BRANCH_RET, 2);
	assert_int_equal(f->ring.now.transfers, 5);
	push(f, BT_BRANCH_JCC, 2);
	push(f, BT_BRANCH_SYSCALL, 1);
	assert_int_equal(f->ring.now.tick, 102);
	assert_int_equal(f->ring.now.transfers, 1);
}

static void counts_behind_a_gap_are_those_given(void **state)
{
	struct fixture *f = *state;

	push(f, BT_BRANCH_RET, 2);
	resume(f, BT_GAP_OVERWRITTEN, 500, 40);
	assert_int_equal(f->ring.now.tick, 500);
	assert_int_equal(f->ring.now.transfers, 40);
	push(f, BT_BRANCH_RET, 1);
	assert_int_equal(f->ring.now.transfers, 41);
	assert_int_equal(f->ring.next, 4);
}

static void a_record_ends_behind_a_gap_and_the_next_has_its_counts(void **state)
{
	struct fixture *f = *state;
	struct chunks c;

	push(f, BT_BRANCH_RET, 2);
	resume(f, BT_GAP_OVERWRITTEN, 500, 40);
	push(f, BT_BRANCH_JCC, 3);
	resume(f, BT_GAP_UNDECODED, 600, 0);
	push(f, BT_BRANCH_RET, 1);
	c = written(f);
	assert_int_equal(c.count, 3);
	assert_int_equal(c.at[0].tick, 100);
	assert_int_equal(c.at[0].transfers, 3);
	assert_int_equal(c.at[0].count, 3);
	assert_int_equal(c.last[0].kind, BT_BRANCH_GAP);
	assert_int_equal(c.last[0].from, 0); /* how many are missing is not known */
	assert_int_equal(c.last[0].to, BT_GAP_OVERWRITTEN);
	assert_int_equal(c.last[0].flags, 0);
	assert_int_equal(c.at[1].first, 3);
	assert_int_equal(c.at[1].tick, 500);
	assert_int_equal(c.at[1].transfers, 40);
	assert_int_equal(c.last[1].to, BT_GAP_UNDECODED);
	assert_int_equal(c.at[2].first, 7);
	assert_int_equal(c.at[2].tick, 600);
	assert_int_equal(c.at[2].transfers, 0);
}

static void gaps_that_meet_are_one(void **state)
{
	struct fixture *f = *state;

	resume(f, BT_GAP_UNDECODED, 500, 0);
	resume(f, BT_GAP_UNDECODED, 510, 7);
	assert_int_equal(f->ring.next, 1);
	assert_int_equal(f->ring.now.tick, 510);
	assert_int_equal(f->ring.now.transfers, 7);
	resume(f, BT_GAP_OVERWRITTEN, 520, 7); /* for another reason */
	assert_int_equal(f->ring.next, 2);
	branch_ring_gap(&f->ring, BT_GAP_OVERWRITTEN);
	resume(f, BT_GAP_OVERWRITTEN, 530, 0);
	assert_int_equal(f->ring.next, 4);
	assert_int_equal(f->ring.now.tick, 530);
}

static void a_gap_written_already_may_grow(void **state)
{
	struct fixture *f = *state;
	struct chunks c;

	resume(f, BT_GAP_UNDECODED, 500, 0);
	branch_ring_flush(&f->ring, &f->observer, 1, SIZE_MAX);
	resume(f, BT_GAP_UNDECODED, 510, 2);
	push(f, BT_BRANCH_JCC, 1);
	c = written(f);
	assert_int_equal(c.count, 2);
	assert_int_equal(c.at[1].first, 1);
	assert_int_equal(c.at[1].count, 1);
	assert_int_equal(c.at[1].tick, 510);
	assert_int_equal(c.at[1].transfers, 2);
}

static void another_space_behind_a_gap_is_an_entry(void **state)
{
	struct fixture *f = *state;
	struct ring_state s = {.tick = 5, .transfers = 6, .space = 9, .epoch = 2};
	struct chunks c;

	branch_ring_resume(&f->ring, BT_GAP_OVERWRITTEN, &s);
	assert_int_equal(f->ring.now.space, 9);
	assert_int_equal(f->ring.now.epoch, 2);
	assert_int_equal(f->ring.next, 2);
	c = written(f);
	assert_int_equal(c.count, 2);
	assert_int_equal(c.last[1].kind, BT_BRANCH_EPOCH);
	assert_int_equal(c.last[1].from, 9);
	assert_int_equal(c.last[1].to, 2);
}

static void a_gap_that_gives_way_leaves_its_counts(void **state)
{
	struct fixture *f = *state;

	resume(f, BT_GAP_OVERWRITTEN, 500, 40);
	push(f, BT_BRANCH_RET, (unsigned)f->ring.limit);
	assert_int_equal(f->ring.oldest, 1);
	assert_int_equal(f->ring.before.tick, 500);
	assert_int_equal(f->ring.before.transfers, 40);
}

static void flags_of_the_ring_do_not_come_from_outside(void **state)
{
	struct fixture *f = *state;
	struct bt_branch b = {.kind = BT_BRANCH_JCC, .flags = 0xff, .from = 1, .to = 2};

	branch_ring_push(&f->ring, &b, true);
	assert_int_equal(f->ring.now.tick, 101);
	assert_int_equal(f->ring.entries[0].flags, 7);
}

static void a_place_is_found_by_its_counts(void **state)
{
	struct fixture *f = *state;

	push(f, BT_BRANCH_RET, 3);
	push(f, BT_BRANCH_JCC, 2);
	push(f, BT_BRANCH_RET, 2);
	assert_int_equal(branch_ring_find(&f->ring, 100, 6), 3);
	assert_int_equal(branch_ring_find(&f->ring, 101, 0), 4);
	assert_int_equal(branch_ring_find(&f->ring, 102, 2), 7);
	assert_true(branch_ring_find(&f->ring, 102, 3) == UINT64_MAX);
	branch_ring_flush(&f->ring, &f->observer, 1, SIZE_MAX);
	assert_true(branch_ring_find(&f->ring, 101, 0) == UINT64_MAX);
}

static void what_is_written_leaves_the_ring(void **state)
{
	struct fixture *f = *state;
	struct chunks c;

	push(f, BT_BRANCH_RET, 300);
	branch_ring_flush(&f->ring, &f->observer, 1,
			  256); /* some of it: the rest may still be wanted */
	assert_int_equal(f->ring.oldest, 0);
	push(f, BT_BRANCH_JCC, 5);
	branch_ring_flush(&f->ring, &f->observer, 1, SIZE_MAX);
	assert_int_equal(branch_ring_memory(&f->ring), 0);
	push(f, BT_BRANCH_JCC, 1);
	c = written(f);
	assert_int_equal(c.count, 4);
	assert_int_equal(c.at[0].first, 44);
	assert_int_equal(c.at[0].count, 256);
	assert_int_equal(c.at[1].first, 0);
	assert_int_equal(c.at[1].count, 44);
	assert_int_equal(c.at[2].first, 300);
	assert_int_equal(c.at[2].tick, 100);
	assert_int_equal(c.at[2].transfers, 303);
	assert_int_equal(c.at[3].first, 305);
	assert_int_equal(c.at[3].tick, 105);
	assert_int_equal(c.at[3].transfers, 0);
}

static void a_stream_of_entries_is_written_as_it_comes(void **state)
{
	struct fixture *f = *state;
	struct chunks c;

	branch_ring_release(&f->ring);
	branch_ring_init(&f->ring, 1 << 18, &start);
	push(f, BT_BRANCH_RET, 10);
	branch_ring_flush(&f->ring, &f->observer, 1, 4);
	branch_ring_stream(&f->ring, &f->observer, 1);
	push(f, BT_BRANCH_JCC, 3 << 16);
	assert_in_range(branch_ring_memory(&f->ring), 1, sizeof(struct bt_branch) << 16);
	branch_ring_flush(&f->ring, &f->observer, 1, SIZE_MAX);
	assert_int_equal(branch_ring_memory(&f->ring), 0);
	push(f, BT_BRANCH_JCC, 70000); /* no stream any more */
	assert_int_equal(f->ring.next - f->ring.oldest, 70000);
	c = written(f);
	assert_int_equal(c.count, 8);
	assert_int_equal(c.at[0].first, 6);
	assert_int_equal(c.at[1].first, 0);
	assert_int_equal(c.at[1].count, 6);
	assert_int_equal(c.at[2].first, 10);
	assert_int_equal(c.at[2].tick, 100);
	assert_int_equal(c.at[3].first, 1 << 16);
	assert_int_equal(c.at[3].tick, 100 + (1 << 16) - 10);
	assert_int_equal(c.at[5].first + c.at[5].count, (3 << 16) + 10);
}

static void a_lowered_ring_says_what_it_lost(void **state)
{
	struct fixture *f = *state;
	struct chunks c;

	branch_ring_release(&f->ring);
	branch_ring_init(&f->ring, 4096, &start);
	push(f, BT_BRANCH_RET, 10);
	push(f, BT_BRANCH_JCC, 3000);
	branch_ring_lower(&f->ring,
			  2048); /* room that is not in use: some of it goes all the same */
	branch_ring_lower(&f->ring, 1024);
	assert_int_equal(branch_ring_memory(&f->ring), 1024 * sizeof(struct bt_branch));
	c = written(f);
	assert_int_equal(c.count, 2);
	assert_int_equal(c.at[0].first, 1986);
	assert_int_equal(c.at[0].count, 1);
	assert_int_equal(c.last[0].kind, BT_BRANCH_GAP);
	assert_int_equal(c.last[0].to, BT_GAP_LIMIT);
	assert_int_equal(c.at[1].first, 1987);
	assert_int_equal(c.at[1].count, 1023);
	assert_int_equal(c.at[1].tick, 100 + 1987 - 10);
}

static void a_lowered_ring_whose_loss_is_in_the_trace_has_no_gap(void **state)
{
	struct fixture *f = *state;
	struct chunks c;

	branch_ring_release(&f->ring);
	branch_ring_init(&f->ring, 4096, &start);
	push(f, BT_BRANCH_JCC, 2000);
	branch_ring_flush(&f->ring, &f->observer, 1, SIZE_MAX);
	push(f, BT_BRANCH_JCC, 1000);
	branch_ring_lower(&f->ring, 1024);
	c = written(f);
	assert_int_equal(c.count, 2);
	assert_int_equal(c.at[1].first, 2000);
	assert_int_equal(c.at[1].count, 1000);
}

static void a_ring_of_no_entries_counts(void **state)
{
	struct fixture *f = *state;

	branch_ring_release(&f->ring);
	branch_ring_init(&f->ring, 0, &start);
	push(f, BT_BRANCH_RET, 2);
	branch_ring_count(&f->ring, 0, 4);
	assert_int_equal(f->ring.now.transfers, 9);
	branch_ring_count(&f->ring, 50, 2);
	push(f, BT_BRANCH_SYSCALL, 1);
	branch_ring_skip(&f->ring, BT_GAP_CODE_32, 0, 2);
	assert_int_equal(f->ring.now.tick, 150);
	assert_int_equal(f->ring.now.transfers, 5);
	branch_ring_skip(&f->ring, BT_GAP_CODE_32, 1, 3);
	assert_int_equal(f->ring.now.tick, 151);
	assert_int_equal(f->ring.now.transfers, 3);
	assert_int_equal(branch_ring_memory(&f->ring), 0);
	assert_int_equal(written(f).count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(conditionals_and_transfers_are_counted, setup,
						teardown),
		cmocka_unit_test_setup_teardown(counts_behind_a_gap_are_those_given, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			a_record_ends_behind_a_gap_and_the_next_has_its_counts, setup, teardown),
		cmocka_unit_test_setup_teardown(gaps_that_meet_are_one, setup, teardown),
		cmocka_unit_test_setup_teardown(a_gap_written_already_may_grow, setup, teardown),
		cmocka_unit_test_setup_teardown(another_space_behind_a_gap_is_an_entry, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_gap_that_gives_way_leaves_its_counts, setup,
						teardown),
		cmocka_unit_test_setup_teardown(flags_of_the_ring_do_not_come_from_outside, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_place_is_found_by_its_counts, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_written_leaves_the_ring, setup, teardown),
		cmocka_unit_test_setup_teardown(a_stream_of_entries_is_written_as_it_comes, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_lowered_ring_says_what_it_lost, setup, teardown),
		cmocka_unit_test_setup_teardown(a_ring_of_no_entries_counts, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_lowered_ring_whose_loss_is_in_the_trace_has_no_gap, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
