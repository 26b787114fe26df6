/* SPDX-License-Identifier: MIT */
/* The importers when memory runs out, at every single place where it can, and the queue that puts
 * records in order. Linked with
 * --wrap, so that each allocation goes through here. What the importers make of captures:
 * tests/e2e/import_made.py. */
#include <unistd.h>

#include "import/capture.h"
#include "import/perf_private.h"

#include "tests/fuzz/generate_captures.h"
#include "tests/unit/scarce_memory.h"
#include "tests/unit/unit.h"

/* One import without a trace. Returns its error; *samples is set on success. */
static int import(const struct buf *capture, uint64_t *samples, struct bt_error *err)
{
	struct importer *im;
	int rc = importer_new(&im, NULL, err);

	if (rc)
		return rc;
	rc = capture_import(im, slice_of(capture->data, capture->len), err);
	*samples = importer_samples(im);
	if (!rc)
		return importer_close(im, err);
	importer_discard(im);
	return rc;
}

static void survives(struct buf *capture, uint64_t wanted)
{
	struct bt_error err = {0};
	uint64_t samples = 0;
	bool ran_out = true;
	long n;

	assert_false(capture->failed);
	for (n = 0; ran_out; n++) {
		int rc;

		assert_true(n < 1000);
		allocations_left = n;
		rc = import(capture, &samples, &err);
		ran_out = !allocations_left;
		allocations_left = -1;
		assert_int_equal(rc, ran_out && rc ? -BT_E_NO_MEMORY : 0);
		/* Without memory less is known of the code or of build-ids, but no sample is lost
		 * without an error. */
		if (!rc)
			assert_int_equal(samples, wanted);
	}
	assert_true(n > 5);
	buf_release(capture);
}

static void every_failed_allocation_of_an_import_is_survived(void **state)
{
	struct buf b = {0};
	(void)state;

	capture_pipe(&b, false);
	survives(&b, 2);
	capture_pipe(&b, true);
	survives(&b, 2);
	capture_tracepoint(&b);
	survives(&b, 1);
	capture_aux(&b, 1);
	survives(&b, 2);
	capture_aux(&b, 2);
	survives(&b, 2);
	capture_file(&b);
	survives(&b, 2);
	capture_core(&b);
	survives(&b, 0);
	capture_core_stacks(&b);
	survives(&b, 0);
	capture_text(&b);
	survives(&b, 3);
	capture_text_columns(&b);
	survives(&b, 2);
}

static void records_come_by_time_and_those_of_one_time_in_their_order(void **state)
{
	struct perf_queue q = {.at = NULL};
	uint64_t seed = 7, time = 0, order = 0;
	(void)state;

	for (unsigned i = 0; i < 1000; i++) {
		struct perf_record r = {.offset = i, .body = bt_str("body")};

		assert_true(perf_queue_put(&q, unit_random(&seed) % 100, &r, i % 2));
	}
	assert_int_equal(q.bytes, 500 * 4);
	while (q.count) {
		struct perf_queued item = perf_queue_take(&q);

		assert_true(item.time >= time && (item.time > time || !item.record.offset ||
						  item.record.offset > order));
		time = item.time;
		order = item.record.offset;
		assert_memory_equal(item.record.body.at, "body", 4);
		if (item.owned)
			free((void *)(uintptr_t)item.record.body.at);
	}
	assert_int_equal(q.bytes, 0);
	perf_queue_release(&q);
}

/* What a pipe holds that begins like a capture. */
static int open_pipe_of(const char *bytes, size_t len, uint64_t most, struct capture *c,
			struct bt_error *err)
{
	char path[32];
	int fds[2], rc;

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], bytes, len), len);
	close(fds[1]);
	snprintf(path, sizeof path, "/dev/fd/%d", fds[0]);
	rc = capture_open(c, path, most, err);
	close(fds[0]);
	return rc;
}

static void a_capture_that_does_not_end_is_refused(void **state)
{
	static const char text[] = "0x1/0x2/P/-/-/0 0x3/0x4/P/-/-/0\n";
	struct bt_error err = {0};
	struct capture c;
	(void)state;

	assert_int_equal(open_pipe_of(text, sizeof text - 1, sizeof text - 1, &c, &err), 0);
	assert_int_equal(c.bytes.len, sizeof text - 1);
	capture_close(&c);
	assert_int_equal(open_pipe_of(text, sizeof text - 1, sizeof text - 2, &c, &err),
			 -BT_E_NOT_CAPTURE);
	assert_non_null(strstr(err.text, "has no end within"));
	assert_int_equal(open_pipe_of("text", 4, 1 << 20, &c, &err), -BT_E_NOT_CAPTURE);
	assert_non_null(strstr(err.text, "no capture that can be imported"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_failed_allocation_of_an_import_is_survived),
		cmocka_unit_test(a_capture_that_does_not_end_is_refused),
		cmocka_unit_test(records_come_by_time_and_those_of_one_time_in_their_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
