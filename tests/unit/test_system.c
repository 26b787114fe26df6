/* SPDX-License-Identifier: MIT */
#include "decoder/model/system.h"

#include "tests/unit/model_maker.h"
#include "tests/unit/unit.h"

struct fixture {
	struct made *t;
	struct system_view v;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);

	if (!f || made_setup((void **)&f->t))
		return -1;
	maker_add(&f->t->k, 1, TASK, task, .task = 1, .unit = 1);
	maker_add(&f->t->k, 1, TASK, task, .task = 2, .unit = 1);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	system_release(&f->v);
	made_teardown((void **)&f->t);
	free(f);
	return 0;
}

#define SYSTEM_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

/* cpu: its number, -1 unknown; position: -1 unknown. */
static void sched(struct fixture *f, uint32_t task, uint64_t time, int cpu, enum bt_sched what,
		  int position)
{
	maker_add(&f->t->k, 1, SCHED, sched, .task = task, .time = time, .cpu = (uint32_t)(cpu + 1),
		  .what = (uint8_t)what, .position = (uint64_t)(position + 1));
}

static void sample(struct fixture *f, uint32_t task, uint64_t time, int cpu, uint64_t position)
{
	maker_add(&f->t->k, 1, SNAPSHOT, snapshot, .task = task, .time = time,
		  .cpu = (uint32_t)(cpu + 1), .position = position, .kind = BT_SNAPSHOT_IMPORT);
}

static void build(struct fixture *f)
{
	struct bt_error err;

	made_load(f->t);
	assert_int_equal(system_build(&f->v, f->t->m, &err), 0);
}

static void expect_stretch(const struct fixture *f, size_t i, struct system_stretch want)
{
	const struct system_stretch *got;

	assert_true(i < f->v.count);
	got = &f->v.at[i];
	assert_int_equal(got->task, want.task);
	assert_int_equal(got->cpu, want.cpu);
	assert_int_equal(got->start, want.start);
	assert_int_equal(got->end, want.end);
	assert_int_equal(got->first, want.first);
	assert_int_equal(got->last, want.last);
	assert_int_equal(got->samples, want.samples);
	assert_int_equal(got->how, want.how);
}

static void streams_are_merged_by_cpu_and_time(void **state)
{
	struct fixture *f = *state;

	sched(f, 1, 100, 3, BT_SCHED_IN, 0);
	sched(f, 2, 110, 1, BT_SCHED_IN, 0);
	sched(f, 2, 120, 1, BT_SCHED_OUT, 7);
	sched(f, 1, 150, 3, BT_SCHED_PREEMPT, 40);
	sched(f, 2, 151, 3, BT_SCHED_IN, 7);
	sched(f, 1, 160, 1, BT_SCHED_IN, 40);
	sched(f, 2, 170, 3, BT_SCHED_OUT, 9);
	sched(f, 1, 180, 1, BT_SCHED_OUT, 41);
	build(f);
	assert_int_equal(f->v.count, 4);
	expect_stretch(f, 0,
		       (struct system_stretch){.task = 2,
					       .cpu = 1,
					       .start = 110,
					       .end = 120,
					       .first = 0,
					       .last = 7,
					       .how = SYSTEM_BLOCKED});
	expect_stretch(f, 1,
		       (struct system_stretch){.task = 1,
					       .cpu = 1,
					       .start = 160,
					       .end = 180,
					       .first = 40,
					       .last = 41,
					       .how = SYSTEM_BLOCKED});
	expect_stretch(f, 2,
		       (struct system_stretch){.task = 1,
					       .cpu = 3,
					       .start = 100,
					       .end = 150,
					       .first = 0,
					       .last = 40,
					       .how = SYSTEM_PREEMPTED});
	expect_stretch(f, 3,
		       (struct system_stretch){.task = 2,
					       .cpu = 3,
					       .start = 151,
					       .end = 170,
					       .first = 7,
					       .last = 9,
					       .how = SYSTEM_BLOCKED});
	assert_int_equal(system_cpu_end(&f->v, 0), 2);
	assert_int_equal(system_cpu_end(&f->v, 2), 4);
}

static void samples_say_how_far_a_task_had_come(void **state)
{
	struct fixture *f = *state;

	sched(f, 1, 100, 0, BT_SCHED_IN, -1);
	sample(f, 1, 110, 0, 5);
	sample(f, 1, 120, 0, 9);
	sched(f, 1, 130, 0, BT_SCHED_OUT, -1);
	sample(f, 2, 140, 0, 3);
	sample(f, 2, 150, 1, 6);
	build(f);
	assert_int_equal(f->v.count, 3);
	expect_stretch(f, 0,
		       (struct system_stretch){.task = 1,
					       .cpu = 0,
					       .start = 100,
					       .end = 130,
					       .last = 9,
					       .samples = 2,
					       .how = SYSTEM_BLOCKED});
	expect_stretch(f, 1,
		       (struct system_stretch){.task = 2,
					       .cpu = 0,
					       .start = SYSTEM_UNKNOWN,
					       .end = 140,
					       .last = 3,
					       .samples = 1,
					       .how = SYSTEM_SAMPLED});
	expect_stretch(f, 2,
		       (struct system_stretch){.task = 2,
					       .cpu = 1,
					       .start = SYSTEM_UNKNOWN,
					       .end = 150,
					       .first = 3,
					       .last = 6,
					       .samples = 1,
					       .how = SYSTEM_SAMPLED});
}

static void what_is_lost_is_unknown(void **state)
{
	struct fixture *f = *state;

	sched(f, 1, 100, 0, BT_SCHED_OUT, 4); /* no arrival */
	sched(f, 1, 200, 1, BT_SCHED_IN, 6);  /* no departure; 4 to 6 nowhere */
	sched(f, 1, 300, 2, BT_SCHED_IN, 8);
	sample(f, 1, 350, 3, 9);             /* on another CPU than it arrived on */
	sched(f, 2, 400, 5, BT_SCHED_IN, 2); /* and never departs */
	build(f);
	assert_int_equal(f->v.count, 5);
	expect_stretch(f, 0,
		       (struct system_stretch){.task = 1,
					       .cpu = 0,
					       .start = SYSTEM_UNKNOWN,
					       .end = 100,
					       .last = 4,
					       .how = SYSTEM_BLOCKED});
	expect_stretch(f, 1,
		       (struct system_stretch){.task = 1,
					       .cpu = 1,
					       .start = 200,
					       .end = SYSTEM_UNKNOWN,
					       .first = 6,
					       .last = 6,
					       .how = SYSTEM_LOST});
	expect_stretch(f, 2,
		       (struct system_stretch){.task = 1,
					       .cpu = 2,
					       .start = 300,
					       .end = SYSTEM_UNKNOWN,
					       .first = 8,
					       .last = 8,
					       .how = SYSTEM_LOST});
	expect_stretch(f, 3,
		       (struct system_stretch){.task = 1,
					       .cpu = 3,
					       .start = SYSTEM_UNKNOWN,
					       .end = 350,
					       .first = 8,
					       .last = 9,
					       .samples = 1,
					       .how = SYSTEM_SAMPLED});
	expect_stretch(f, 4,
		       (struct system_stretch){.task = 2,
					       .cpu = 5,
					       .start = 400,
					       .end = SYSTEM_UNKNOWN,
					       .first = 2,
					       .last = UINT64_MAX,
					       .how = SYSTEM_LOST});
}

static void unknown_cpus_come_last(void **state)
{
	struct fixture *f = *state;

	sched(f, 1, 100, -1, BT_SCHED_IN, 0);
	sched(f, 1, 200, -1, BT_SCHED_OUT, 1);
	sched(f, 2, 300, 4, BT_SCHED_IN, 0);
	sched(f, 2, 400, -1, BT_SCHED_OUT, 1);
	build(f);
	assert_int_equal(f->v.count, 2);
	expect_stretch(f, 0,
		       (struct system_stretch){.task = 2,
					       .cpu = 4,
					       .start = 300,
					       .end = 400,
					       .last = 1,
					       .how = SYSTEM_BLOCKED});
	expect_stretch(f, 1,
		       (struct system_stretch){.task = 1,
					       .cpu = SYSTEM_UNKNOWN_CPU,
					       .start = 100,
					       .end = 200,
					       .last = 1,
					       .how = SYSTEM_BLOCKED});
}

static void an_end_is_a_departure(void **state)
{
	struct fixture *f = *state;

	sched(f, 1, 100, 2, BT_SCHED_IN, 0);
	sample(f, 1, 110, 2, 6);
	maker_add(&f->t->k, 1, EXIT, exit, .task = 1, .time = 120);
	build(f);
	assert_int_equal(f->v.count, 1);
	expect_stretch(f, 0,
		       (struct system_stretch){.task = 1,
					       .cpu = 2,
					       .start = 100,
					       .end = 120,
					       .last = 6,
					       .samples = 1,
					       .how = SYSTEM_EXITED});
}

static void without_times_and_cpus_there_is_nothing(void **state)
{
	struct fixture *f = *state;

	sched(f, 1, 0, 2, BT_SCHED_IN, 0);
	sched(f, 1, 0, 2, BT_SCHED_OUT, 5);
	sample(f, 2, 700, -1, 6);
	sched(f, 9, 100, 2, BT_SCHED_IN, 0); /* no such task */
	build(f);
	assert_int_equal(f->v.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SYSTEM_TEST(streams_are_merged_by_cpu_and_time),
		SYSTEM_TEST(samples_say_how_far_a_task_had_come),
		SYSTEM_TEST(what_is_lost_is_unknown),
		SYSTEM_TEST(unknown_cpus_come_last),
		SYSTEM_TEST(an_end_is_a_departure),
		SYSTEM_TEST(without_times_and_cpus_there_is_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
