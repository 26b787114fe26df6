/* SPDX-License-Identifier: MIT */
/* The writer of traces: its files, what goes into which block and when; read back where that says
 * more than the bytes. */
#include "lib/array_size.h"
#include "tests/unit/trace_fixture.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

/* As in the worked example of doc/FORMAT.md. */
static void the_header_can_be_read_in_a_hex_dump(void **state)
{
	struct fixture *f = *state;
	uint8_t bytes[4096];

	write_small(f->path);
	assert_true(get_file(f->path, "events", bytes, sizeof bytes) >
		    BT_FILE_HEADER_SIZE + BT_BLOCK_HEADER_SIZE);
	assert_int_equal(bytes[BT_FILE_HEADER_SIZE + 4],
			 0); /* not packed, though its zeros could be */
}

static void files_are_private_and_nothing_else_stays(void **state)
{
	struct fixture *f = *state;
	struct dirent *e;
	struct stat st;
	DIR *d;
	int files = 0;

	write_small(f->path);
	d = opendir(f->path);
	while ((e = readdir(d))) {
		if (*e->d_name == '.')
			continue;
		assert_int_equal(fstatat(dirfd(d), e->d_name, &st, 0), 0);
		assert_int_equal(st.st_mode & 07777, 0600);
		files++;
	}
	closedir(d);
	assert_int_equal(files, 3); /* the reserve is gone */
}

static void writer_refuses_an_existing_directory(void **state)
{
	struct fixture *f = *state;
	struct trace_writer *w = NULL;
	struct bt_error err;
	char deep[128];

	assert_int_equal(trace_writer_open(&w, f->dir, &header, &err), -BT_E_EXISTS);
	assert_non_null(strstr(err.text, f->dir));
	snprintf(deep, sizeof deep, "%s/no/such", f->dir);
	assert_int_equal(trace_writer_open(&w, deep, &header, &err), -BT_E_IO);
	assert_int_equal(err.os_errno, ENOENT);
	assert_null(w);
}

static void what_was_flushed_is_there_without_a_close(void **state)
{
	struct fixture *f = *state;
	struct bt_record_note note = {.seq = 1, .text = bt_str("kept")};
	struct trace_writer *w = open_writer(f->path);
	struct event events[64];
	struct bt_error err;
	struct trace *t;
	size_t n;

	trace_writer_event(w, 1, BT_RECORD_NOTE, &note);
	trace_writer_flush(w);
	trace_writer_event(w, 2, BT_RECORD_NOTE, &note);
	assert_int_equal(trace_open(&t, f->path, &err), 0);
	assert_true(t->being_written);
	assert_int_equal(read_events(t, events, &n, &err), 0);
	assert_int_equal(n, 1);
	assert_int_equal(events[0].unit, 1);
	trace_close(t);
	trace_writer_close(w);
}

static void big_streams_go_out_in_blocks(void **state)
{
	struct fixture *f = *state;
	struct trace_writer *w = open_writer(f->path);
	uint8_t *noise = malloc(300000);
	uint64_t seed = 5;
	struct bt_error err;
	uint16_t kinds[64];
	struct trace *t;
	struct stat st;
	char file[128];
	size_t n;

	for (uint64_t i = 0; i < 10; i++) {
		for (size_t k = 0; k < 300000; k++)
			noise[k] = (uint8_t)unit_random(&seed);
		assert_int_equal(trace_writer_object(w, noise, 300000), i + 1);
	}
	snprintf(file, sizeof file, "%s/objects", f->path);
	assert_int_equal(stat(file, &st), 0); /* before any flush */
	assert_true(st.st_size > 2000000);
	trace_writer_close(w);
	assert_int_equal(trace_open(&t, f->path, &err), 0);
	assert_int_equal(read_kinds(t, "objects", kinds, &n, &err), 0);
	assert_int_equal(n, 10);
	trace_close(t);
	free(noise);
}

/* A page that a program rewrites without end; the first of them are what programs start with, which
 * is not packed. */
static void code_that_is_written_again_and_again_is_packed(void **state)
{
	struct fixture *f = *state;
	struct trace_writer *w = open_writer(f->path);
	const size_t pages = 20000; /* 80 MB */
	uint8_t page[4096];
	uint64_t seed = 7;
	struct stat st;
	char file[128];

	for (size_t i = 0; i < sizeof page; i++)
		page[i] = (uint8_t)unit_random(&seed);
	for (size_t i = 0; i < pages; i++) {
		memcpy(page + i % 500 * 8, &i, sizeof i);
		assert_true(trace_writer_code(w, page, sizeof page) > 0);
	}
	trace_writer_close(w);
	snprintf(file, sizeof file, "%s/objects", f->path);
	assert_int_equal(stat(file, &st), 0);
	assert_true(st.st_size > 16 << 20);
	assert_true(st.st_size < 24 << 20);
}

/* Half a megabyte of code, of which each page packs to little. */
static void put_small_code(struct trace_writer *w)
{
	uint8_t page[4096] = {0};

	for (unsigned i = 0; i < 128; i++) {
		memcpy(page, &i, sizeof i);
		assert_true(trace_writer_code(w, page, sizeof page) > 0);
	}
}

static void code_that_nothing_needs_makes_no_file(void **state)
{
	struct fixture *f = *state;
	struct trace_writer *w = open_writer(f->path);
	struct bt_record_end end = {.seq = 1};
	char file[128];

	put_small_code(w);
	snprintf(file, sizeof file, "%s/objects", f->path);
	assert_int_equal(access(file, F_OK), -1);
	assert_true(trace_writer_leave_code_out(w));
	trace_writer_flush(w);
	assert_int_equal(access(file, F_OK), -1);
	assert_true(trace_writer_leave_code_out(w));
	end.code_left_out = 1;
	trace_writer_event(w, 0, BT_RECORD_END, &end);
	trace_writer_close(w);
	assert_int_equal(access(file, F_OK), -1);
}

static void little_code_is_packed_for_a_moment(void **state)
{
	struct fixture *f = *state;
	struct bt_record_snapshot moment = {.seq = 1, .snapshot = 1};
	struct trace_writer *w = open_writer(f->path);
	struct stat st;
	char file[128];

	put_small_code(w);
	trace_writer_event(w, 0, BT_RECORD_SNAPSHOT, &moment);
	assert_false(trace_writer_leave_code_out(w));
	trace_writer_close(w);
	snprintf(file, sizeof file, "%s/objects", f->path);
	assert_int_equal(stat(file, &st), 0);
	assert_in_range(st.st_size, 1, 128 * 4096 / 8);
}

/* Whoever finds END knows that all else was written, whenever the recorder was killed. */
static void the_end_goes_out_when_all_else_has(void **state)
{
	struct fixture *f = *state;
	struct trace_writer *w = open_writer(f->path);
	struct bt_record_end end = {.seq = 2};
	struct bt_record_note note = {.seq = 1};
	uint16_t kinds[64];
	struct stat before, after;
	struct bt_error err;
	struct trace *t;
	char file[128], *long_text = calloc(1, 1 << 20);
	size_t n;

	memset(long_text, 'x', (1 << 20) - 48); /* with END there is enough for a block */
	note.text = bt_str(long_text);
	snprintf(file, sizeof file, "%s/events", f->path);
	trace_writer_event(w, 0, BT_RECORD_NOTE, &note);
	assert_int_equal(stat(file, &before), 0);
	trace_writer_event(w, 0, BT_RECORD_END, &end);
	assert_int_equal(stat(file, &after), 0);
	assert_int_equal(after.st_size, before.st_size);
	trace_writer_close(w);
	assert_int_equal(trace_open(&t, f->path, &err), 0);
	assert_int_equal(read_kinds(t, "events", kinds, &n, &err), 0);
	assert_int_equal(kinds[n - 1], BT_RECORD_END);
	trace_close(t);
	free(long_text);
}

/* Writes events until they go out by themselves, before any flush. */
static void fill_events(struct trace_writer *w, const char *path)
{
	const struct bt_record_note note = {
		.seq = 1, .text = bt_str("a long line of text, of which there are many")};
	struct stat begun, st;
	char file[128];

	snprintf(file, sizeof file, "%s/events", path);
	assert_int_equal(stat(file, &begun), 0);
	while (!stat(file, &st) && st.st_size == begun.st_size)
		trace_writer_event(w, 0, BT_RECORD_NOTE, &note);
}

/* A recorder that is killed leaves no record that names an object which is not there. */
static void objects_go_out_before_events_that_may_name_them(void **state)
{
	struct fixture *f = *state;
	struct trace_writer *w = open_writer(f->path);
	uint16_t kinds[64];
	struct bt_error err;
	struct trace *t;
	size_t n;

	assert_int_equal(trace_writer_object(w, "bytes", 5), 1);
	fill_events(w, f->path);
	assert_int_equal(trace_open(&t, f->path, &err), 0);
	assert_int_equal(read_kinds(t, "objects", kinds, &n, &err), 0);
	assert_int_equal(n, 1);
	trace_close(t);
	trace_writer_close(w);
}

/* Nor one that names branch entries which are not there: snapshots do. */
static void branches_go_out_before_events_that_may_name_them(void **state)
{
	struct fixture *f = *state;
	struct trace_writer *w = open_writer(f->path);
	struct bt_record_branches chunk = {.task = 7};
	uint16_t kinds[64];
	struct bt_error err;
	struct trace *t;
	size_t n;

	trace_writer_branches(w, &chunk);
	fill_events(w, f->path);
	assert_int_equal(trace_open(&t, f->path, &err), 0);
	assert_int_equal(read_kinds(t, "branches-7", kinds, &n, &err), 0);
	assert_int_equal(n, 1);
	trace_close(t);
	trace_writer_close(w);
}

static void what_no_block_can_hold_is_left_out_and_said(void **state)
{
	struct fixture *f = *state;
	struct trace_writer *w = open_writer(f->path);
	uint8_t *bytes = calloc(1, BT_BLOCK_MAX + 100);
	struct bt_record_memory memory = {.bytes = slice_of(bytes, 500000)};
	struct event events[64];
	struct bt_error err;
	uint16_t kinds[64];
	struct trace *t;
	size_t n;

	/* With the half megabyte before it too much for a block, by itself not. */
	trace_writer_event(w, 1, BT_RECORD_MEMORY, &memory);
	memory.bytes.len = BT_BLOCK_MAX - 1000;
	trace_writer_event(w, 1, BT_RECORD_MEMORY, &memory);
	memory.bytes.len = BT_BLOCK_MAX;
	trace_writer_event(w, 1, BT_RECORD_MEMORY, &memory);
	memory.bytes.len = 10;
	trace_writer_event(w, 1, BT_RECORD_MEMORY, &memory);
	assert_int_equal(trace_writer_object(w, bytes, BT_BLOCK_MAX + 100), 0);
	assert_int_equal(trace_writer_object(w, bytes, BT_BLOCK_MAX - 64), 1);
	trace_writer_close(w);
	assert_int_equal(trace_open(&t, f->path, &err), 0);
	assert_int_equal(read_events(t, events, &n, &err), 0);
	assert_int_equal(n, 5);
	for (size_t i = 0; i < n; i++) {
		bool said = i == 2 || i == 4;

		assert_int_equal(events[i].kind, said ? BT_RECORD_NOTE : BT_RECORD_MEMORY);
		assert_int_equal(events[i].unit, said ? 0 : 1);
	}
	assert_int_equal(read_kinds(t, "objects", kinds, &n, &err), 0);
	assert_int_equal(n, 1);
	trace_close(t);
	free(bytes);
}

/* Events of several units in one block and over its borders: what a block begins with is of unit 0
 * where nothing else is said. */
static void events_of_units_stand_in_the_order_of_their_writing(void **state)
{
	static const uint32_t units[] = {0,          3, 3,
					 0,          7, /* flushed */ 7,
					 3,          0, /* flushed */ 0,
					 UINT32_MAX, 7, /* flushed */ 7,
					 7};
	static const struct {
		size_t behind, unit_records;
	} blocks[] = {{5, 3}, {8, 3}, {11, 2}, {13, 1}};
	struct fixture *f = *state;
	struct trace_writer *w = open_writer(f->path);
	struct event events[64];
	struct bt_error err;
	uint16_t kinds[64];
	struct trace *t;
	size_t n, unit_records = 0, at = 0;

	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++) {
		for (; at < blocks[i].behind; at++) {
			struct bt_record_note note = {.seq = trace_writer_next_seq(w)};

			trace_writer_event(w, units[at], BT_RECORD_NOTE, &note);
		}
		trace_writer_flush(w);
		unit_records += blocks[i].unit_records;
	}
	trace_writer_close(w);
	assert_int_equal(trace_open(&t, f->path, &err), 0);
	assert_int_equal(read_events(t, events, &n, &err), 0);
	assert_int_equal(n, ARRAY_SIZE(units));
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(events[i].seq, i + 1);
		assert_int_equal(events[i].unit, units[i]);
	}
	assert_int_equal(read_kinds(t, "events", kinds, &at, &err), 0);
	assert_int_equal(at, 1 + n + unit_records);
	trace_close(t);
}

/* An event that does not fit goes to the next block with what says its unit, whether that is the
 * unit of the one before or not. */
static void a_record_that_does_not_fit_keeps_its_unit(void **state)
{
	enum {
		HEAD = 36, /* of a MEMORY record without bytes */
		UNIT = 12
	};
	static const struct {
		uint32_t unit;
		size_t len;
		uint16_t kind; /* that is read, of that unit or of 0 */
	} written[] = {
		{5, 1000, BT_RECORD_MEMORY},
		{5, BT_BLOCK_MAX - 2000, BT_RECORD_MEMORY}, /* with the one before too much */
		{6, 1000, BT_RECORD_MEMORY},
		{7, BT_BLOCK_MAX - 2000, BT_RECORD_MEMORY},
		{7, BT_BLOCK_MAX - HEAD - UNIT, BT_RECORD_MEMORY}, /* all that goes into a block */
		{7, BT_BLOCK_MAX - HEAD - UNIT + 1, BT_RECORD_NOTE},
		{7, 1000, BT_RECORD_MEMORY},
		{7, BT_BLOCK_MAX - HEAD - UNIT + 1, BT_RECORD_NOTE},
		{0, BT_BLOCK_MAX - HEAD, BT_RECORD_MEMORY},
		{0, BT_BLOCK_MAX - HEAD + 1, BT_RECORD_NOTE},
		{8, 1000, BT_RECORD_MEMORY},
	};
	enum { COUNT = ARRAY_SIZE(written) };
	struct fixture *f = *state;
	struct trace_writer *w = open_writer(f->path);
	uint8_t *bytes = calloc(1, BT_BLOCK_MAX);
	struct event events[64];
	struct bt_error err;
	struct trace *t;
	size_t n;

	for (size_t i = 0; i < COUNT; i++) {
		struct bt_record_memory memory = {.seq = trace_writer_next_seq(w),
						  .bytes = slice_of(bytes, written[i].len)};

		trace_writer_event(w, written[i].unit, BT_RECORD_MEMORY, &memory);
	}
	trace_writer_close(w);
	assert_int_equal(trace_open(&t, f->path, &err), 0);
	assert_int_equal(read_events(t, events, &n, &err), 0);
	assert_int_equal(n, COUNT);
	for (size_t i = 0; i < COUNT; i++) {
		assert_int_equal(events[i].kind, written[i].kind);
		assert_int_equal(events[i].unit,
				 written[i].kind == BT_RECORD_NOTE ? 0 : written[i].unit);
	}
	trace_close(t);
	free(bytes);
}

/* A block is full long before that, and the next one is of the same unit. */
static void full_blocks_go_on_in_their_unit(void **state)
{
	struct fixture *f = *state;
	struct trace_writer *w = open_writer(f->path);
	uint8_t *bytes = calloc(1, 300000);
	struct event events[64];
	struct bt_error err;
	struct trace *t;
	struct stat st;
	char file[128];
	size_t n;
	off_t begun;

	snprintf(file, sizeof file, "%s/events", f->path);
	assert_int_equal(stat(file, &st), 0);
	begun = st.st_size;
	for (int i = 0; i < 20; i++) {
		struct bt_record_memory memory = {.seq = trace_writer_next_seq(w),
						  .bytes = slice_of(bytes, 300000)};

		trace_writer_event(w, 4, BT_RECORD_MEMORY, &memory);
	}
	assert_int_equal(stat(file, &st), 0);
	assert_true(st.st_size > begun); /* before any flush */
	trace_writer_close(w);
	assert_int_equal(trace_open(&t, f->path, &err), 0);
	assert_int_equal(read_events(t, events, &n, &err), 0);
	assert_int_equal(n, 20);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(events[i].unit, 4);
	trace_close(t);
	free(bytes);
}

static void nothing_is_left_of_a_discarded_trace(void **state)
{
	struct fixture *f = *state;
	struct trace_writer *w = open_writer(f->path);
	struct bt_record_note note = {.seq = 1};
	struct bt_record_branches chunk = {.task = 2};

	trace_writer_event(w, 1, BT_RECORD_NOTE, &note);
	trace_writer_branches(w, &chunk);
	assert_int_equal(trace_writer_object(w, "bytes", 5), 1);
	trace_writer_flush(w);
	trace_writer_discard(w, f->path);
	assert_int_equal(access(f->path, F_OK), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_DIR(the_header_can_be_read_in_a_hex_dump),
		WITH_DIR(files_are_private_and_nothing_else_stays),
		WITH_DIR(writer_refuses_an_existing_directory),
		WITH_DIR(what_was_flushed_is_there_without_a_close),
		WITH_DIR(big_streams_go_out_in_blocks),
		WITH_DIR(code_that_is_written_again_and_again_is_packed),
		WITH_DIR(code_that_nothing_needs_makes_no_file),
		WITH_DIR(little_code_is_packed_for_a_moment),
		WITH_DIR(the_end_goes_out_when_all_else_has),
		WITH_DIR(objects_go_out_before_events_that_may_name_them),
		WITH_DIR(branches_go_out_before_events_that_may_name_them),
		WITH_DIR(what_no_block_can_hold_is_left_out_and_said),
		WITH_DIR(events_of_units_stand_in_the_order_of_their_writing),
		WITH_DIR(a_record_that_does_not_fit_keeps_its_unit),
		WITH_DIR(full_blocks_go_on_in_their_unit),
		WITH_DIR(nothing_is_left_of_a_discarded_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
