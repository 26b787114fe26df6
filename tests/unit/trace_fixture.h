/* SPDX-License-Identifier: MIT */
/* Traces on disk in a directory of a test's own: writes them, and reads back records to compare. */
#ifndef BT_UNIT_TRACE_FIXTURE_H
#define BT_UNIT_TRACE_FIXTURE_H

#include "tests/unit/scratch.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "format/trace_cursor.h"
#include "format/trace_writer.h"

struct fixture {
	char dir[SCRATCH_PATH]; /* of the test */
	char path[80];          /* of the trace in it */
};

static inline int fixture_setup(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);

	if (scratch_make(f->dir))
		return -1;
	snprintf(f->path, sizeof f->path, "%s/t", f->dir);
	*state = f;
	return 0;
}

static inline int fixture_teardown(void **state)
{
	struct fixture *f = *state;

	scratch_remove(f->path);
	scratch_remove(f->dir);
	free(f);
	return 0;
}

#define WITH_DIR(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

static const struct bt_record_header header = {
	.started = 1700000000000000000u,
	.argv = {.at = (const uint8_t *)"./app\0-x\0", .len = 9},
	.tick_classes = 7,
	.ring = 65536,
	.page_size = 4096,
};

static inline struct trace_writer *open_writer(const char *path)
{
	struct trace_writer *w = NULL;
	struct bt_error err;

	if (trace_writer_open(&w, path, &header, &err))
		fail_msg("%s", err.text);
	return w;
}

/* A trace with one event in each of three units, a chunk of branches and an object. */
static inline void write_small(const char *path)
{
	struct trace_writer *w = open_writer(path);
	struct bt_record_branches chunk = {.task = 1, .count = 0};
	struct bt_record_end end = {.kind = BT_EXIT_SIGNAL, .status = 11};

	for (uint32_t unit = 0; unit < 3; unit++) {
		struct bt_record_note note = {
			.seq = trace_writer_next_seq(w), .task = unit, .text = bt_str("a note")};

		trace_writer_event(w, unit, BT_RECORD_NOTE, &note);
	}
	assert_int_equal(trace_writer_object(w, "bytes", 5), 1);
	assert_int_equal(trace_writer_object(w, "other", 5), 2);
	assert_int_equal(trace_writer_object(w, "bytes", 5), 1);
	trace_writer_branches(w, &chunk);
	end.seq = trace_writer_next_seq(w);
	trace_writer_event(w, 0, BT_RECORD_END, &end);
	trace_writer_close(w);
}

/* The kinds of all records of a file, and how it ended: 0, or the first error. */
static inline int read_kinds(const struct trace *t, const char *name, uint16_t *kinds,
			     size_t *count, struct bt_error *err)
{
	struct bt_record rec;
	int first_error = 0, rc;

	*count = 0;
	for (size_t i = 0; i < t->file_count; i++) {
		struct trace_cursor c;

		if (strcmp(t->files[i].name, name))
			continue;
		trace_cursor_init(&c, t, &t->files[i]);
		while ((rc = trace_cursor_next(&c, &rec, first_error ? NULL : err))) {
			if (rc > 0)
				kinds[(*count)++] = rec.kind;
			else if (!first_error)
				first_error = rc;
			assert_true(*count < 64);
		}
		trace_cursor_release(&c);
		return first_error;
	}
	fail_msg("no file %s", name);
	return 0;
}

struct event {
	uint16_t kind;
	uint32_t unit;
	uint64_t seq;
};

/* The same of the events, each with its unit. */
static inline int read_events(const struct trace *t, struct event events[64], size_t *count,
			      struct bt_error *err)
{
	int first_error = 0, rc;
	struct trace_cursor c;
	struct bt_record rec;

	*count = 0;
	assert_string_equal(t->files[0].name, "events");
	trace_cursor_init(&c, t, &t->files[0]);
	while ((rc = trace_cursor_next(&c, &rec, first_error ? NULL : err))) {
		if (rc < 0)
			first_error = first_error ? first_error : rc;
		else if (rec.kind != BT_RECORD_HEADER && rec.kind != BT_RECORD_UNIT)
			events[(*count)++] = (struct event){
				.kind = rec.kind, .unit = c.unit, .seq = rec.u.end.seq};
		assert_true(*count < 64);
	}
	trace_cursor_release(&c);
	return first_error;
}

static inline size_t get_file(const char *dir, const char *name, uint8_t *bytes, size_t max)
{
	int d = open(dir, O_RDONLY | O_DIRECTORY), fd = openat(d, name, O_RDONLY);
	ssize_t n = read(fd, bytes, max);

	assert_true(n >= 0);
	close(fd);
	close(d);
	return (size_t)n;
}

#endif
