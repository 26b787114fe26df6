/* SPDX-License-Identifier: MIT */
/* Stop points and requests as supervisor and recording serve them, over a made backend: its one
 * task, which is this process, stops where a test says. Some backends stop a task behind its stop
 * point (REACH_BEHIND). */
#include "collector/record/recording.h"
#include "collector/supervisor/supervised.h"
#include "collector/supervisor/supervisor_private.h"
#include "format/trace_reader.h"
#include "lib/array_size.h"
#include "tests/unit/trace_fixture.h"

enum {
	MOST = 4, /* stop points of a test */
};

/* The backend's shared part. */
struct made {
	enum backend_reach reach[MOST]; /* of each stop point that is set, in turn */
	unsigned set;
	unsigned asked, resumed; /* calls of stop_soon() and of resume() */
};

struct run {
	struct made made;
	struct recording recording;
	struct supervisor sup;
	struct task *task;
};

static int made_task_init(struct backend *b, struct task *task)
{
	(void)b;
	(void)task;
	return 0;
}

static void made_task_release(struct backend *b, struct task *task)
{
	(void)b;
	(void)task;
}

static int made_resume(struct backend *b, struct task *task, int signo,
		       enum bt_signal_action action)
{
	struct made *made = b->shared;

	(void)task;
	(void)signo;
	(void)action;
	made->resumed++;
	return 0;
}

static enum backend_reach made_stop_at(struct backend *b, struct task *task,
				       const struct stop_point *point)
{
	struct made *made = b->shared;

	task->stop_point = point;
	return point ? made->reach[made->set++] : REACH_EXACT;
}

static void made_stop_soon(struct backend *b, struct task *task)
{
	struct made *made = b->shared;

	(void)task;
	made->asked++;
}

static enum backend_stop made_stopped(struct backend *b, struct task *task,
				      const struct wait_event *ev, siginfo_t *info)
{
	(void)b;
	(void)task;
	(void)ev;
	(void)info;
	return BACKEND_SLICE;
}

static const struct backend_ops made_ops = {
	.name = "made",
	.source = "none",
	.tick_classes = 7,
	.task_init = made_task_init,
	.task_release = made_task_release,
	.resume = made_resume,
	.stop_at = made_stop_at,
	.stop_soon = made_stop_soon,
	.stopped = made_stopped,
};

/* Begins a recording to the trace at path; the task runs. */
static void run_begin(struct run *run, const char *path, const struct backend_ops *ops,
		      const struct stop_point *points, size_t count)
{
	const struct recording_options recording = {.history = 64,
						    .history_memory = 1 << 20,
						    .stop_points = points,
						    .stop_point_count = count};
	const struct supervisor_options options = {.unbound = true};
	struct bt_error err;

	recording_init(&run->recording, open_writer(path), &recording);
	supervisor_init(&run->sup, &run->recording.session, &run->recording.observer,
			run->recording.clock, ops, &options);
	run->sup.backend.shared = &run->made;
	if (supervisor_adopt(&run->sup, getpid(), false, &err))
		fail_msg("%s", err.text);
	run->task = run->sup.tasks.first;
	run->task->supervised->started = true;
	supervisor_make_ready(&run->sup, run->task);
	assert_int_equal(run->made.resumed, 1);
}

/* The task stops at that tick, and is told of to the supervisor. */
static void run_stop_at(struct run *run, uint64_t tick)
{
	task_count(run->task, tick - task_tick(run->task), 0);
	supervisor_on_backend_stop(&run->sup, run->task, &(struct wait_event){0});
}

static void run_end(struct run *run)
{
	supervisor_release(&run->sup);
	recording_close(&run->recording, &run->sup.outcome);
}

struct expected {
	enum bt_record_kind kind; /* SNAPSHOT or NOTE */
	const char *text;         /* the label, the whole note */
	uint64_t tick;            /* of a snapshot */
};

/* Compares the trace's snapshots and notes, in their order. */
static void assert_told(const char *path, const struct expected *expected, size_t count)
{
	struct trace_cursor c;
	struct bt_record rec;
	struct bt_error err;
	struct trace *t;
	size_t n = 0;
	int rc;

	assert_int_equal(trace_open(&t, path, &err), 0);
	trace_cursor_init(&c, t, &t->files[0]);
	while ((rc = trace_cursor_next(&c, &rec, &err))) {
		bool snapshot = rec.kind == BT_RECORD_SNAPSHOT;
		struct slice text;

		assert_true(rc > 0);
		if (!snapshot && rec.kind != BT_RECORD_NOTE)
			continue;
		assert_true(n < count);
		assert_int_equal(rec.kind, expected[n].kind);
		text = snapshot ? rec.u.snapshot.label : rec.u.note.text;
		assert_int_equal(text.len, strlen(expected[n].text));
		assert_memory_equal(text.at, expected[n].text, text.len);
		if (snapshot)
			assert_int_equal(rec.u.snapshot.point.tick, expected[n].tick);
		n++;
	}
	trace_cursor_release(&c);
	trace_close(t);
	assert_int_equal(n, count);
}

static const struct stop_point points[] = {
	{.task = 1, .at = {.tick = 10}},
	{.task = 1, .at = {.tick = 11}},
	{.task = 1, .at = {.tick = 12}},
	{.task = 1, .at = {.tick = 30}},
};

static void a_point_that_an_exact_backend_passes_is_missed(void **state)
{
	static const struct expected expected[] = {
		{BT_RECORD_NOTE, "--snap-at 1:10+0: the task was never there", 0},
		{BT_RECORD_SNAPSHOT, "1:11+0", 11},
	};
	const struct fixture *f = *state;
	struct run run = {0};

	run_begin(&run, f->path, &made_ops, points, 2);
	assert_ptr_equal(run.task->stop_point, &points[0]);
	run_stop_at(&run, 11);
	assert_null(run.task->stop_point);
	assert_int_equal(run.recording.stop_points_kept, 1);
	run_end(&run);
	assert_told(f->path, expected, ARRAY_SIZE(expected));
}

static void a_point_that_is_overshot_is_kept_where_the_task_is(void **state)
{
	static const struct expected expected[] = {{BT_RECORD_SNAPSHOT, "1:10+0", 15}};
	const struct fixture *f = *state;
	struct run run = {.made.reach = {REACH_BEHIND}};

	run_begin(&run, f->path, &made_ops, points, 1);
	run_stop_at(&run, 9);
	assert_int_equal(run.recording.stop_points_kept, 0);
	run_stop_at(&run, 15);
	assert_int_equal(run.recording.stop_points_kept, 1);
	assert_int_equal(run.made.resumed, 3);
	run_end(&run);
	assert_told(f->path, expected, ARRAY_SIZE(expected));
}

static void all_points_that_one_stop_overshoots_are_kept(void **state)
{
	static const struct expected expected[] = {{BT_RECORD_SNAPSHOT, "1:10+0", 15},
						   {BT_RECORD_SNAPSHOT, "1:11+0", 15},
						   {BT_RECORD_SNAPSHOT, "1:12+0", 15},
						   {BT_RECORD_SNAPSHOT, "1:30+0", 30}};
	const struct fixture *f = *state;
	struct run run = {.made.reach = {REACH_BEHIND, REACH_BEHIND, REACH_BEHIND, REACH_BEHIND}};

	run_begin(&run, f->path, &made_ops, points, 4);
	run_stop_at(&run, 15);
	assert_ptr_equal(run.task->stop_point, &points[3]);
	assert_int_equal(run.made.resumed, 2);
	run_stop_at(&run, 30);
	run_end(&run);
	assert_told(f->path, expected, ARRAY_SIZE(expected));
}

static void the_reach_is_that_of_each_point(void **state)
{
	static const struct expected expected[] = {
		{BT_RECORD_SNAPSHOT, "1:10+0", 15},
		{BT_RECORD_NOTE, "--snap-at 1:11+0: the task was never there", 0},
		{BT_RECORD_SNAPSHOT, "1:12+0", 15},
	};
	const struct fixture *f = *state;
	struct run run = {.made.reach = {REACH_BEHIND, REACH_EXACT, REACH_BEHIND}};

	run_begin(&run, f->path, &made_ops, points, 3);
	run_stop_at(&run, 15);
	run_end(&run);
	assert_told(f->path, expected, ARRAY_SIZE(expected));
}

/* The task is halted for a snapshot of another. */
static void a_frozen_task_is_served_before_it_goes_on(void **state)
{
	static const struct expected expected[] = {{BT_RECORD_SNAPSHOT, "1:10+0", 15}};
	const struct fixture *f = *state;
	struct run run = {.made.reach = {REACH_BEHIND}};

	run_begin(&run, f->path, &made_ops, points, 1);
	supervisor_freeze(&run.sup);
	run_stop_at(&run, 15);
	assert_int_equal(run.recording.stop_points_kept, 0);
	assert_int_equal(run.made.resumed, 1);
	supervisor_thaw(&run.sup);
	assert_int_equal(run.recording.stop_points_kept, 1);
	assert_int_equal(run.made.resumed, 2);
	run_end(&run);
	assert_told(f->path, expected, ARRAY_SIZE(expected));
}

static void a_backend_that_counts_no_ticks_stops_at_no_point(void **state)
{
	const struct fixture *f = *state;
	struct backend_ops ops = made_ops;
	struct run run = {0};

	ops.stop_at = NULL;
	run_begin(&run, f->path, &ops, points, 3);
	run_stop_at(&run, 15);
	assert_int_equal(run.recording.stop_points_kept, 0);
	run_end(&run);
	assert_told(f->path, NULL, 0);
}

static void a_running_process_is_asked_to_stop_for_a_request(void **state)
{
	static const struct expected expected[] = {{BT_RECORD_SNAPSHOT, "btrec snap", 7}};
	const struct fixture *f = *state;
	struct run run = {0};

	run_begin(&run, f->path, &made_ops, NULL, 0);
	assert_int_equal(recording_request(&run.recording, &run.sup, getpid()), 1);
	assert_int_equal(run.made.asked, 1);
	assert_int_equal(recording_due(&run.recording, &run.sup), 1);
	run_stop_at(&run, 7);
	assert_int_equal(recording_due(&run.recording, &run.sup), 0);
	assert_int_equal(run.recording.request_kept, 1);
	run_stop_at(&run, 8);
	run_end(&run);
	assert_told(f->path, expected, ARRAY_SIZE(expected));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_DIR(a_point_that_an_exact_backend_passes_is_missed),
		WITH_DIR(a_point_that_is_overshot_is_kept_where_the_task_is),
		WITH_DIR(all_points_that_one_stop_overshoots_are_kept),
		WITH_DIR(the_reach_is_that_of_each_point),
		WITH_DIR(a_frozen_task_is_served_before_it_goes_on),
		WITH_DIR(a_backend_that_counts_no_ticks_stops_at_no_point),
		WITH_DIR(a_running_process_is_asked_to_stop_for_a_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
