/* SPDX-License-Identifier: MIT */
/* How much of a long history a report takes. */
#include "decoder/cause/focus.h"

#include "tests/unit/model_maker.h"

enum {
	LONG = (1 << 21) + 1, /* entries */
	PART = 1 << 20,
};

/* Two moments of a task with that many branches, the first one far from the end. */
static struct model *make_long(struct made *t, size_t count)
{
	struct bt_branch *branches = calloc(count, sizeof *branches);

	assert_non_null(branches);
	for (size_t i = 0; i < count; i++)
		branches[i] = branch(BT_BRANCH_JCC, 0x10, 0x10);
	maker_add(&t->k, 0, TASK, task, .task = 1, .space = 1);
	maker_add(&t->k, 0, SNAPSHOT, snapshot, .snapshot = 1, .task = 1,
		  .kind = BT_SNAPSHOT_REQUEST, .space = 1, .position = 1000);
	maker_add(&t->k, 0, SNAPSHOT, snapshot, .snapshot = 2, .task = 1, .kind = BT_SNAPSHOT_EXIT,
		  .space = 1, .position = count);
	maker_graph(&t->k, (struct bt_record_branch_graph){.task = 1, .space = 1}, branches, count);
	free(branches);
	t->m = maker_load(&t->k);
	return t->m;
}

static void expect_history(struct made *t, const struct report_options *o, size_t missing,
			   size_t count, size_t end)
{
	struct bt_error err;
	struct focus f;

	assert_int_equal(focus_open(&f, t->m, o, &err), 0);
	assert_int_equal(f.history.is_part, missing > 0);
	assert_int_equal(f.history.count, count);
	assert_int_equal(f.end, end);
	if (missing)
		assert_int_equal(f.history.entries[0].from, missing);
	focus_close(&f);
}

static void of_a_long_history_a_summary_takes_the_newest_million(void **state)
{
	struct made *t = *state;

	make_long(t, LONG);
	expect_history(t, &(struct report_options){.summary = true}, LONG - PART, PART + 1,
		       PART + 1);
	expect_history(t, &(struct report_options){.summary = false}, 0, LONG, LONG);
}

static void the_summary_of_an_older_moment_takes_all(void **state)
{
	struct made *t = *state;

	make_long(t, LONG);
	expect_history(t, &(struct report_options){.summary = true, .snapshot = 1}, 0, LONG, 1000);
}

static void a_summary_takes_all_of_a_shorter_history(void **state)
{
	struct made *t = *state;

	make_long(t, LONG - 1);
	expect_history(t, &(struct report_options){.summary = true}, 0, LONG - 1, LONG - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MADE_TEST(of_a_long_history_a_summary_takes_the_newest_million),
		MADE_TEST(the_summary_of_an_older_moment_takes_all),
		MADE_TEST(a_summary_takes_all_of_a_shorter_history),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
