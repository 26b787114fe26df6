/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"

#include "collector/backend/pmu/lbr_bpf.h"
#include "collector/backend/pmu/lbr_stack.h"

enum {
	DEPTH = 8,
	BASE = 0x401000,
	STEP = 0x40,
	CORRECT = 3 << 24, /* PERF_BR_SPEC_CORRECT_PATH */
	WRONG = 1 << 24,
	ABORT = 8,
};

static const struct lbr_machine intel = {.depth = DEPTH, .tail_told = true}, amd = {.depth = DEPTH};

/* Code that leads everywhere forward, and nowhere back. */
static bool forward(void *arg, uint64_t start, uint64_t end)
{
	(void)arg;
	return start <= end;
}

/* Branch number n: each leads to where the next one is a little behind. */
static struct lbr_entry branch(unsigned n)
{
	return (struct lbr_entry){BASE + n * STEP + 0x10, BASE + (n + 1) * STEP, 2};
}

/* count branches, newest first, zeros behind. */
static void fill(struct lbr_entry e[LBR_DEPTH_MAX], unsigned count)
{
	memset(e, 0, LBR_DEPTH_MAX * sizeof *e);
	for (unsigned i = 0; i < count; i++)
		e[i] = branch(count - 1 - i);
}

static void read_n(struct lbr_run *run, const struct lbr_entry *e, int valid,
		   const struct lbr_machine *m)
{
	lbr_run_of_snapshot(run, e, DEPTH * sizeof *e, valid, m, forward, NULL);
}

/* The run is branches number first to end - 1. */
static void is_run(const struct lbr_run *run, unsigned first, unsigned end)
{
	assert_int_equal(run->count, end - first);
	for (unsigned n = first; n < end; n++) {
		assert_int_equal(run->entries[n - first].from, branch(n).from);
		assert_int_equal(run->entries[n - first].to, branch(n).to);
	}
}

static void what_fits_is_complete_and_oldest_first(void **state)
{
	struct lbr_entry e[LBR_DEPTH_MAX];
	struct lbr_run run;

	(void)state;
	for (unsigned count = 0; count <= DEPTH; count++) {
		fill(e, count);
		for (int valid = -1; valid <= (int)count; valid += (int)count + 1) {
			read_n(&run, e, valid, &intel);
			is_run(&run, 0, count);
			assert_int_equal(run.complete, count < DEPTH);
		}
	}
}

/* Of a record whose rest is of another time: three branches, the way from the kernel before them,
 * and what is behind. */
static bool is_complete_before(struct lbr_entry oldest, struct lbr_entry behind)
{
	struct lbr_entry e[LBR_DEPTH_MAX];
	struct lbr_run run;

	fill(e, DEPTH);
	for (unsigned i = 0; i < 3; i++)
		e[i] = branch(2 - i);
	e[3] = oldest;
	e[4] = behind;
	read_n(&run, e, 4, &amd);
	is_run(&run, 0, 3);
	assert_int_equal(run.began, run.complete ? oldest.to : 0);
	return run.complete;
}

static void with_an_old_tail_the_way_from_the_kernel_tells_of_completeness(void **state)
{
	const struct lbr_entry kernel = {0xffffffff81000000, BASE, 2}, none = {0, 0, 0},
			       cleared = {0, BASE, 2};
	struct lbr_entry e[LBR_DEPTH_MAX];
	struct lbr_run run;

	(void)state;
	assert_true(is_complete_before(kernel, branch(9)));
	assert_true(is_complete_before(kernel, none));
	/* The filter has left one out, and the record may have been full. */
	assert_false(is_complete_before(kernel, kernel));
	assert_false(is_complete_before(kernel, cleared));
	fill(e, 3);
	read_n(&run, e, 3, &amd);
	is_run(&run, 0, 3);
	assert_false(run.complete);
}

static void a_count_is_believed_and_what_lies_behind_is_not(void **state)
{
	struct lbr_entry e[LBR_DEPTH_MAX];
	struct lbr_run run;

	(void)state;
	fill(e, DEPTH);
	for (int valid = 0; valid <= DEPTH; valid++) {
		read_n(&run, e, valid, &amd);
		is_run(&run, DEPTH - (unsigned)valid, DEPTH);
	}
}

static void a_count_beyond_what_was_given_is_not_believed(void **state)
{
	struct lbr_entry e[LBR_DEPTH_MAX];
	struct lbr_run run;

	(void)state;
	fill(e, DEPTH);
	read_n(&run, e, 1000, &intel);
	is_run(&run, 0, DEPTH);
	lbr_run_of_snapshot(&run, e, 0, -1, &intel, forward, NULL);
	assert_int_equal(run.count, 0);
	assert_false(run.complete);
	lbr_run_of_snapshot(&run, e, SIZE_MAX, DEPTH, &intel, forward, NULL);
	is_run(&run, 0, DEPTH);
}

/* As intel_pmu_lbr_filter leaves it when it takes `removed` entries out of a full stack. */
static void a_stale_tail_is_cut(void **state)
{
	struct lbr_entry e[LBR_DEPTH_MAX];
	struct lbr_run run;

	(void)state;
	for (unsigned removed = 1; removed < DEPTH; removed++) {
		fill(e, DEPTH - removed);
		for (unsigned i = DEPTH - removed; i < DEPTH; i++)
			e[i] = branch(0);
		read_n(&run, e, -1, &intel);
		is_run(&run, 0, DEPTH - removed);
		assert_false(run.complete);
		read_n(&run, e, (int)(DEPTH - removed), &intel);
		is_run(&run, 0, DEPTH - removed);
		assert_false(run.complete);
	}
}

/* The oldest one was itself the kernel's: cleared, but for where it led. */
static void a_cleared_tail_is_cut_and_not_complete(void **state)
{
	struct lbr_entry e[LBR_DEPTH_MAX];
	struct lbr_run run;

	(void)state;
	fill(e, 5);
	for (unsigned i = 5; i < DEPTH; i++)
		e[i].to = BASE;
	read_n(&run, e, -1, &intel);
	is_run(&run, 0, 5);
	assert_false(run.complete);
}

static void the_kernels_entries_are_left_out(void **state)
{
	struct lbr_entry e[LBR_DEPTH_MAX];
	struct lbr_run run;

	(void)state;
	fill(e, 4);
	memmove(e + 3, e + 2, 2 * sizeof *e);
	e[2] = (struct lbr_entry){0xffffffff81000000, BASE, 0};
	read_n(&run, e, -1, &intel);
	is_run(&run, 0, 4);
	assert_true(run.complete);
	e[2] = (struct lbr_entry){BASE, 0xffffffff81000000, 0};
	read_n(&run, e, -1, &intel);
	is_run(&run, 0, 4);
}

static void wrong_paths_are_left_out_and_other_words_about_them_stay(void **state)
{
	struct lbr_entry e[LBR_DEPTH_MAX];
	struct lbr_run run;

	(void)state;
	fill(e, 4);
	for (unsigned i = 0; i < 4; i++)
		e[i].flags |= CORRECT;
	memmove(e + 2, e + 1, 3 * sizeof *e);
	e[1] = (struct lbr_entry){BASE + 5, BASE + 7, WRONG};
	read_n(&run, e, 5, &amd);
	is_run(&run, 0, 4);
	assert_int_equal(run.entries[0].flags, 2 | CORRECT);
}

static void a_duplicate_goes_only_where_code_makes_it_impossible(void **state)
{
	struct lbr_entry e[LBR_DEPTH_MAX];
	struct lbr_run run;

	(void)state;
	fill(e, 3);
	memmove(e + 1, e, 3 * sizeof *e);
	read_n(&run, e, -1, &intel);
	is_run(&run, 0, 3);
	e[0].to = e[1].to = e[0].from - 4; /* a loop */
	read_n(&run, e, -1, &intel);
	assert_int_equal(run.count, 4);
	lbr_run_of_sample(&run, e, 4, forward, NULL);
	assert_int_equal(run.count, 4);
}

static void an_abort_says_nothing_of_completeness(void **state)
{
	struct lbr_entry e[LBR_DEPTH_MAX];
	struct lbr_run run;

	(void)state;
	fill(e, 3);
	e[1].flags |= ABORT;
	read_n(&run, e, 3, &intel);
	is_run(&run, 0, 3);
	assert_false(run.complete);
}

static void a_sample_has_the_right_count_and_is_never_complete(void **state)
{
	struct lbr_entry e[LBR_DEPTH_MAX];
	struct lbr_run run;

	(void)state;
	fill(e, 5);
	lbr_run_of_sample(&run, e, 5, forward, NULL);
	is_run(&run, 0, 5);
	assert_false(run.complete);
	lbr_run_of_sample(&run, e, LBR_DEPTH_MAX, forward, NULL); /* with empty slots behind */
	is_run(&run, 0, 5);
}

/* ---- The windows that the BPF programs keep ---- */

static void put_window(struct lbr_task *t, uint64_t mark)
{
	struct lbr_window *w = &t->windows[t->kept & (LBR_WINDOWS - 1)];

	*w = (struct lbr_window){
		.bytes = mark ? 24 : 0, .valid = -1, .users = -1, .entries = {{mark, mark, 0}}};
	lbr_task_switched(t, w);
}

static void windows_come_oldest_first_and_empty_ones_not_at_all(void **state)
{
	struct lbr_task t = {0};
	struct snap_read out;
	uint64_t read = 0;

	(void)state;
	for (uint64_t n = 1; n <= 5; n++) {
		put_window(&t, n * 16);
		put_window(&t, 0);
	}
	lbr_task_read(&t, &read, &out);
	assert_int_equal(out.count, 5);
	assert_int_equal(out.lost, 0);
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(out.windows[i]->entries[0].from, (i + 1) * 16);
		assert_int_equal(out.windows[i]->number, 2 * i + 1);
	}
	lbr_task_read(&t, &read, &out);
	assert_int_equal(out.count, 0);
}

static void what_was_overwritten_is_counted(void **state)
{
	struct lbr_task t = {0};
	struct snap_read out;
	uint64_t read = 0;

	(void)state;
	for (uint64_t n = 1; n <= 20; n++)
		put_window(&t, n);
	put_window(&t, 0); /* an empty one has clobbered the next place */
	lbr_task_read(&t, &read, &out);
	assert_int_equal(out.count, LBR_WINDOWS - 1);
	assert_int_equal(out.lost, 20 - (LBR_WINDOWS - 1));
	assert_int_equal(out.windows[0]->entries[0].from, 20 - (LBR_WINDOWS - 1) + 1);
	assert_int_equal(out.windows[out.count - 1]->entries[0].from, 20);
}

static void a_window_that_failed_or_was_not_in_use_is_kept(void **state)
{
	struct lbr_task t = {0};
	struct lbr_window *w = t.windows;

	(void)state;
	w->bytes = -2;
	w->users = -1;
	lbr_task_switched(&t, w);
	assert_int_equal(t.kept, 1);
	w[1].bytes = 192;
	w[1].users = 0;
	lbr_task_switched(&t, w + 1);
	assert_int_equal(t.kept, 2);
	/* Nothing is valid, and what stands there is of another time. */
	w[2].bytes = 192;
	w[2].users = 1;
	w[2].valid = 0;
	w[2].entries[0] = branch(1);
	lbr_task_switched(&t, w + 2);
	assert_int_equal(t.kept, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_fits_is_complete_and_oldest_first),
		cmocka_unit_test(with_an_old_tail_the_way_from_the_kernel_tells_of_completeness),
		cmocka_unit_test(a_count_is_believed_and_what_lies_behind_is_not),
		cmocka_unit_test(a_count_beyond_what_was_given_is_not_believed),
		cmocka_unit_test(a_stale_tail_is_cut),
		cmocka_unit_test(a_cleared_tail_is_cut_and_not_complete),
		cmocka_unit_test(the_kernels_entries_are_left_out),
		cmocka_unit_test(wrong_paths_are_left_out_and_other_words_about_them_stay),
		cmocka_unit_test(a_duplicate_goes_only_where_code_makes_it_impossible),
		cmocka_unit_test(an_abort_says_nothing_of_completeness),
		cmocka_unit_test(a_sample_has_the_right_count_and_is_never_complete),
		cmocka_unit_test(windows_come_oldest_first_and_empty_ones_not_at_all),
		cmocka_unit_test(what_was_overwritten_is_counted),
		cmocka_unit_test(a_window_that_failed_or_was_not_in_use_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
