/* SPDX-License-Identifier: MIT */
/* Writer and reader together, on disk and in memory. */
#define _GNU_SOURCE 1 /* unshare */
#include "tests/unit/scarce_disk.h"
#include "tests/unit/scratch.h"
#include "tests/unit/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/trace_reader.h"
#include "format/trace_writer.h"

struct fixture {
	char dir[SCRATCH_PATH];  /* of the test */
	char path[80]; /* of the trace in it */
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);

	if (scratch_make(f->dir))
		return -1;
	snprintf(f->path, sizeof f->path, "%s/t", f->dir);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	scratch_remove(f->path);
	scratch_remove(f->dir);
	free(f);
	return 0;
}

static const struct bt_record_header header = {
	.started = 1700000000000000000u,
	.argv = {.at = (const uint8_t *)"./app\0-x\0", .len = 9},
	.tick_classes = 7,
	.ring = 65536,
	.page_size = 4096,
};

static struct trace_writer *open_writer(const char *path)
{
	struct trace_writer *w = NULL;
	struct bt_error err;

	if (trace_writer_open(&w, path, &header, &err))
		fail_msg("%s", err.text);
	return w;
}

/* A trace with one event in each of three units, a chunk of branches and an object. */
static void write_small(const char *path)
{
	struct trace_writer *w = open_writer(path);
	struct bt_record_branches chunk = {.task = 1, .count = 0};
	struct bt_record_end end = {.kind = BT_EXIT_SIGNAL, .status = 11};

	for (uint32_t unit = 0; unit < 3; unit++) {
		struct bt_record_note note = {.seq = trace_writer_next_seq(w), .task = unit, .text = bt_str("a note")};

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
static int read_kinds(const struct trace *t, const char *name, uint16_t *kinds, size_t *count, struct bt_error *err)
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
static int read_events(const struct trace *t, struct event events[64], size_t *count, struct bt_error *err)
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
			events[(*count)++] = (struct event){.kind = rec.kind, .unit = c.unit, .seq = rec.u.end.seq};
		assert_true(*count < 64);
	}
	trace_cursor_release(&c);
	return first_error;
}

static void events_alone_are_read_without_the_rest(void **state)
{
	struct fixture *f = *state;
	struct event events[64], alone[64];
	struct trace *whole, *t;
	struct bt_error err;
	size_t n, m;

	write_small(f->path);
	assert_int_equal(trace_open(&whole, f->path, &err), 0);
	assert_int_equal(trace_open_events(&t, f->path, &err), 0);
	assert_int_equal(t->file_count, 1);
	assert_int_equal(read_events(whole, events, &n, &err), 0);
	assert_int_equal(read_events(t, alone, &m, &err), 0);
	assert_true(n && n == m);
	for (size_t i = 0; i < n; i++)
		assert_true(events[i].kind == alone[i].kind && events[i].unit == alone[i].unit && events[i].seq == alone[i].seq);
	trace_close(whole);
	trace_close(t);
}

static void what_is_written_is_read(void **state)
{
	static const uint16_t written[] = {BT_RECORD_HEADER, BT_RECORD_NOTE, BT_RECORD_UNIT, BT_RECORD_NOTE, BT_RECORD_UNIT, BT_RECORD_NOTE,
					   BT_RECORD_UNIT,   BT_RECORD_END};
	struct fixture *f = *state;
	struct event events[64];
	struct trace *t;
	struct bt_error err;
	uint16_t kinds[64];
	size_t n;
	struct stat st;

	write_small(f->path);
	assert_int_equal(stat(f->path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(trace_open(&t, f->path, &err), 0);
	assert_int_equal(t->file_count, 3);
	assert_string_equal(t->files[0].name, "events");
	assert_string_equal(t->files[1].name, "branches-1");
	assert_string_equal(t->files[2].name, "objects");
	assert_true(t->header.started == header.started);
	assert_int_equal(t->header.argv.len, 9);
	assert_int_equal(t->header.tick_classes, 7);
	assert_int_equal(read_kinds(t, "events", kinds, &n, &err), 0);
	assert_int_equal(n, sizeof written / sizeof written[0]);
	assert_memory_equal(kinds, written, sizeof written);
	assert_int_equal(read_events(t, events, &n, &err), 0);
	assert_int_equal(n, 4);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(events[i].seq, i + 1);
		assert_int_equal(events[i].unit, i % 3);
	}
	assert_int_equal(read_kinds(t, "branches-1", kinds, &n, &err), 0);
	assert_int_equal(n, 1);
	assert_int_equal(read_kinds(t, "objects", kinds, &n, &err), 0);
	assert_int_equal(n, 2);
	trace_close(t);
}

static size_t get_file(const char *dir, const char *name, uint8_t *bytes, size_t max)
{
	int d = open(dir, O_RDONLY | O_DIRECTORY), fd = openat(d, name, O_RDONLY);
	ssize_t n = read(fd, bytes, max);

	assert_true(n >= 0);
	close(fd);
	close(d);
	return (size_t)n;
}

/* As in the worked example of doc/FORMAT.md. */
static void the_header_can_be_read_in_a_hex_dump(void **state)
{
	struct fixture *f = *state;
	uint8_t bytes[4096];

	write_small(f->path);
	assert_true(get_file(f->path, "events", bytes, sizeof bytes) > BT_FILE_HEADER_SIZE + BT_BLOCK_HEADER_SIZE);
	assert_int_equal(bytes[BT_FILE_HEADER_SIZE + 4], 0); /* not packed, though its zeros could be */
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

static void put_file(const char *dir, const char *name, const void *bytes, size_t n)
{
	int d = open(dir, O_RDONLY | O_DIRECTORY), fd = openat(d, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_int_equal(write(fd, bytes, n), n);
	close(fd);
	close(d);
}

static void assert_open_fails(const char *path, int code, uint64_t offset)
{
	struct trace *t = NULL;
	struct bt_error err = {0};

	assert_int_equal(trace_open(&t, path, &err), -code);
	assert_null(t);
	assert_int_equal(err.code, code);
	assert_int_equal(err.offset, offset);
	assert_non_null(strstr(err.text, path));
}

/* Where the block with the trace's header ends. */
static size_t header_end(const uint8_t *events, size_t len)
{
	struct slice rest = slice_of(events + BT_FILE_HEADER_SIZE, len - BT_FILE_HEADER_SIZE);
	struct buf raw = {0};
	uint64_t ordinal;

	assert_int_equal(bt_block_decode(&rest, BT_FILE_HEADER_SIZE, &raw, &ordinal, NULL), 1);
	buf_release(&raw);
	return len - rest.len;
}

static void open_errors_are_distinct_and_have_their_offset(void **state)
{
	struct fixture *f = *state;
	uint8_t bytes[4096], changed[4096];
	struct bt_error err;
	struct trace *t;
	char file[128];
	size_t n, end;

	snprintf(file, sizeof file, "%s/none", f->dir);
	assert_open_fails(file, BT_E_NO_TRACE, 0);
	assert_open_fails("/dev/null", BT_E_NOT_TRACE, 0);
	assert_open_fails(f->dir, BT_E_NOT_TRACE, 0);
	write_small(f->path);
	n = get_file(f->path, "events", bytes, sizeof bytes);
	end = header_end(bytes, n);
	assert_true(end < n);

	put_file(f->path, "events", "This is a text file of some other program.", 42);
	assert_open_fails(f->path, BT_E_NOT_TRACE, 0);

	memcpy(changed, bytes, n);
	changed[8] = 2;
	put_file(f->path, "events", changed, n);
	assert_open_fails(f->path, BT_E_VERSION, 8);

	for (size_t cut = 0; cut < end; cut++) {
		put_file(f->path, "events", bytes, cut);
		assert_open_fails(f->path, BT_E_TRUNCATED, cut < BT_FILE_HEADER_SIZE ? cut : BT_FILE_HEADER_SIZE);
	}
	for (size_t i = BT_FILE_HEADER_SIZE; i < end; i++) {
		memcpy(changed, bytes, n);
		changed[i] ^= 1;
		put_file(f->path, "events", changed, n);
		assert_open_fails(f->path, BT_E_CORRUPT, BT_FILE_HEADER_SIZE);
	}
	memcpy(changed, bytes, n);
	changed[20] ^= 1; /* in the uuid */
	put_file(f->path, "events", changed, n);
	assert_open_fails(f->path, BT_E_CORRUPT, 0);

	/* The block with the header gone, and the file one of another kind. */
	memmove(changed + BT_FILE_HEADER_SIZE, bytes + end, n - end);
	memcpy(changed, bytes, BT_FILE_HEADER_SIZE);
	put_file(f->path, "events", changed, n - (end - BT_FILE_HEADER_SIZE));
	assert_open_fails(f->path, BT_E_CORRUPT, BT_FILE_HEADER_SIZE);
	put_file(f->path, "events", changed, get_file(f->path, "objects", changed, sizeof changed));
	assert_open_fails(f->path, BT_E_CORRUPT, 12);

	put_file(f->path, "events", bytes, end);
	assert_int_equal(trace_open(&t, f->path, &err), 0);
	trace_close(t);
	assert_int_equal(truncate(f->path, 0), -1);
}

static void no_permission_is_said(void **state)
{
	struct fixture *f = *state;
	pid_t child;
	int status;

	write_small(f->path);
	chmod(f->dir, 0755);
	child = fork();
	if (!child) {
		struct trace *t;
		struct bt_error err;

		if (geteuid() == 0 && (setgid(65534) || setuid(65534)))
			_exit(3);
		if (geteuid() != 65534)
			chmod(f->path, 0);
		_exit(trace_open(&t, f->path, &err) == -BT_E_PERMISSION ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	chmod(f->path, 0700);
	assert_int_equal(status, 0);
}

/* Writes a block of events for each of n units, of which the last is 0. ends[0 .. n]: where the header's block ends, and each of them. */
static size_t write_blocks(const char *path, uint32_t n, uint8_t *bytes, size_t max, size_t *ends)
{
	struct bt_record_note note = {.text = bt_str("one of some")};
	struct trace_writer *w = open_writer(path);

	ends[0] = get_file(path, "events", bytes, max);
	for (uint32_t i = 1; i <= n; i++) {
		note.seq = trace_writer_next_seq(w);
		trace_writer_event(w, n - i, BT_RECORD_NOTE, &note);
		trace_writer_flush(w);
		ends[i] = get_file(path, "events", bytes, max);
	}
	trace_writer_close(w);
	return ends[n];
}

/* Cut or flipped anywhere behind its header, a trace opens and gives an error and all events of the other blocks. */
static void damaged_events_give_what_is_around_the_damage(void **state)
{
	struct fixture *f = *state;
	uint8_t bytes[4096], changed[4096];
	size_t ends[4], n = write_blocks(f->path, 3, bytes, sizeof bytes, ends), count;
	struct event events[64];
	struct bt_error err;

	for (size_t i = ends[0]; i < n; i++) {
		size_t block = i < ends[1] ? 0 : i < ends[2] ? 1 : 2;
		struct trace *t;

		memcpy(changed, bytes, n);
		changed[i] ^= 4;
		put_file(f->path, "events", changed, n);
		assert_int_equal(trace_open(&t, f->path, &err), 0);
		assert_int_equal(read_events(t, events, &count, &err), -BT_E_CORRUPT);
		assert_int_equal(err.offset, ends[block]);
		assert_int_equal(count, 2);
		for (size_t k = 0; k < 2; k++) {
			assert_int_equal(events[k].seq, k < block ? k + 1 : k + 2);
			assert_int_equal(events[k].unit, 3 - events[k].seq);
		}
		trace_close(t);
	}
	for (size_t cut = ends[0]; cut <= n; cut++) {
		bool whole = cut == ends[0] || cut == ends[1] || cut == ends[2] || cut == n;
		struct trace *t;

		put_file(f->path, "events", bytes, cut);
		assert_int_equal(trace_open(&t, f->path, &err), 0);
		assert_int_equal(read_events(t, events, &count, &err), whole ? 0 : -BT_E_TRUNCATED);
		assert_int_equal(count, cut < ends[1] ? 0 : cut < ends[2] ? 1 : cut < n ? 2 : 3);
		trace_close(t);
	}
	put_file(f->path, "events", bytes, n);
}

/* The same of a file without which the trace opens: its own header, too. */
static void a_damaged_file_leaves_the_others(void **state)
{
	struct fixture *f = *state;
	uint8_t bytes[4096], changed[4096];
	uint16_t kinds[64];
	struct bt_error err;
	size_t n, count;

	write_small(f->path);
	n = get_file(f->path, "objects", bytes, sizeof bytes);
	for (size_t i = 0; i < n; i++) {
		struct trace *t;

		memcpy(changed, bytes, n);
		changed[i] ^= 4;
		put_file(f->path, "objects", changed, n);
		assert_int_equal(trace_open(&t, f->path, &err), 0);
		assert_true(read_kinds(t, "objects", kinds, &count, &err) < 0);
		assert_int_equal(count, 0);
		assert_int_equal(read_kinds(t, "events", kinds, &count, &err), 0);
		trace_close(t);
		put_file(f->path, "objects", bytes, i);
		assert_int_equal(trace_open(&t, f->path, &err), 0);
		assert_int_equal(read_kinds(t, "objects", kinds, &count, &err), i == BT_FILE_HEADER_SIZE ? 0 : -BT_E_TRUNCATED);
		assert_int_equal(count, 0);
		trace_close(t);
	}
}

static void a_missing_block_is_reported_and_the_rest_is_read(void **state)
{
	struct fixture *f = *state;
	uint8_t bytes[4096];
	size_t ends[4], n = write_blocks(f->path, 3, bytes, sizeof bytes, ends), count;
	struct event events[64];
	struct bt_error err;
	struct trace *t;

	memmove(bytes + ends[1], bytes + ends[2], n - ends[2]);
	put_file(f->path, "events", bytes, n - (ends[2] - ends[1]));
	assert_int_equal(trace_open(&t, f->path, &err), 0);
	assert_int_equal(read_events(t, events, &count, &err), -BT_E_CORRUPT);
	assert_int_equal(err.offset, ends[1]);
	assert_int_equal(count, 2);
	assert_int_equal(events[0].unit, 2);
	assert_int_equal(events[1].unit, 0);
	trace_close(t);
}

static void a_file_of_another_trace_is_refused(void **state)
{
	struct fixture *f = *state;
	uint8_t bytes[4096];
	uint16_t kinds[64];
	struct bt_error err;
	struct trace *t;
	size_t n;

	write_small(f->path);
	n = get_file(f->path, "branches-1", bytes, sizeof bytes);
	scratch_remove(f->path);
	write_small(f->path);
	put_file(f->path, "branches-1", bytes, n);
	assert_int_equal(trace_open(&t, f->path, &err), 0);
	assert_int_equal(read_kinds(t, "branches-1", kinds, &n, &err), -BT_E_CORRUPT);
	assert_int_equal(n, 0);
	assert_int_equal(read_kinds(t, "objects", kinds, &n, &err), 0);
	trace_close(t);
}

static void memory_reads_as_the_disk_does(void **state)
{
	struct fixture *f = *state;
	static const char *const names[] = {"objects", "events", "something else", "branches-01", "branches-99999999999"};
	struct trace_file files[5] = {{{0}, 0, 0, {0}}};
	uint8_t bytes[5][4096];
	uint16_t kinds[64];
	struct bt_error err;
	struct trace *t;
	size_t n;

	write_small(f->path);
	for (size_t i = 0; i < 5; i++) {
		snprintf(files[i].name, sizeof files[i].name, "%s", names[i]);
		if (i < 2)
			files[i].bytes = slice_of(bytes[i], get_file(f->path, names[i], bytes[i], sizeof bytes[i]));
	}
	assert_int_equal(trace_open_memory(&t, files, 5, &err), 0);
	assert_int_equal(t->file_count, 2); /* other names are nothing of a trace's */
	assert_int_equal(read_kinds(t, "events", kinds, &n, &err), 0);
	assert_int_equal(n, 8);
	assert_int_equal(read_kinds(t, "objects", kinds, &n, &err), 0);
	assert_int_equal(n, 2);
	trace_close(t);
	assert_int_equal(trace_open_memory(&t, files, 1, &err), -BT_E_NOT_TRACE);
	assert_int_equal(trace_open_memory(&t, NULL, 0, &err), -BT_E_NOT_TRACE);
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

/* A page that a program rewrites without end; the first of them are what programs start with, which is not packed. */
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

/* A recorder that is killed leaves no record that names an object which is not there. */
static void objects_go_out_before_events_that_may_name_them(void **state)
{
	struct fixture *f = *state;
	struct trace_writer *w = open_writer(f->path);
	struct bt_record_note note = {.seq = 1, .text = bt_str("a long line of text, of which there are many")};
	uint16_t kinds[64];
	struct bt_error err;
	struct trace *t;
	struct stat begun, st;
	char file[128];
	size_t n;

	assert_int_equal(trace_writer_object(w, "bytes", 5), 1);
	snprintf(file, sizeof file, "%s/events", f->path);
	assert_int_equal(stat(file, &begun), 0);
	while (!stat(file, &st) && st.st_size == begun.st_size) /* before any flush */
		trace_writer_event(w, 0, BT_RECORD_NOTE, &note);
	assert_int_equal(trace_open(&t, f->path, &err), 0);
	assert_int_equal(read_kinds(t, "objects", kinds, &n, &err), 0);
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

/* Events of several units in one block and over its borders: what a block begins with is of unit 0 where nothing else is said. */
static void events_of_units_stand_in_the_order_of_their_writing(void **state)
{
	static const uint32_t units[] = {0, 3, 3, 0, 7, /* flushed */ 7, 3, 0, /* flushed */ 0, UINT32_MAX, 7, /* flushed */ 7, 7};
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

	for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
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
	assert_int_equal(n, sizeof units / sizeof units[0]);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(events[i].seq, i + 1);
		assert_int_equal(events[i].unit, units[i]);
	}
	assert_int_equal(read_kinds(t, "events", kinds, &at, &err), 0);
	assert_int_equal(at, 1 + n + unit_records);
	trace_close(t);
}

/* An event that does not fit goes to the next block with what says its unit, whether that is the unit of the one before or not. */
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
	enum {
		COUNT = sizeof written / sizeof written[0]
	};
	struct fixture *f = *state;
	struct trace_writer *w = open_writer(f->path);
	uint8_t *bytes = calloc(1, BT_BLOCK_MAX);
	struct event events[64];
	struct bt_error err;
	struct trace *t;
	size_t n;

	for (size_t i = 0; i < COUNT; i++) {
		struct bt_record_memory memory = {.seq = trace_writer_next_seq(w), .bytes = slice_of(bytes, written[i].len)};

		trace_writer_event(w, written[i].unit, BT_RECORD_MEMORY, &memory);
	}
	trace_writer_close(w);
	assert_int_equal(trace_open(&t, f->path, &err), 0);
	assert_int_equal(read_events(t, events, &n, &err), 0);
	assert_int_equal(n, COUNT);
	for (size_t i = 0; i < COUNT; i++) {
		assert_int_equal(events[i].kind, written[i].kind);
		assert_int_equal(events[i].unit, written[i].kind == BT_RECORD_NOTE ? 0 : written[i].unit);
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
		struct bt_record_memory memory = {.seq = trace_writer_next_seq(w), .bytes = slice_of(bytes, 300000)};

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

/* What fills the disk. */
enum filling {
	FILL_OBJECTS,
	FILL_EVENTS,
	FILLINGS
};

static void write_noise(struct trace_writer *w, enum filling what, uint64_t *seed, size_t len)
{
	static uint8_t noise[65536];
	struct bt_record_memory memory = {.bytes = slice_of(noise, len)};

	for (size_t i = 0; i < len; i++)
		noise[i] = (uint8_t)unit_random(seed);
	memory.seq = trace_writer_next_seq(w);
	if (what == FILL_EVENTS)
		trace_writer_event(w, 4, BT_RECORD_MEMORY, &memory);
	else
		assert_true(trace_writer_object(w, noise, len) > 0);
	trace_writer_flush(w);
}

/* Writes until writing stops; the trace must say so and hold everything before. */
static void fill_until_stopped(const char *path, enum filling what, uint64_t seed)
{
	struct bt_record_note note = {.text = bt_str("before")};
	struct trace_writer *w = open_writer(path);
	size_t n, written = 0, len = what == FILL_OBJECTS ? 65536 : 40000 + unit_random(&seed) % 5000;
	struct event events[64];
	uint16_t kinds[64];
	struct bt_error err;
	struct trace *t;
	int stopped;

	note.seq = trace_writer_next_seq(w);
	trace_writer_event(w, 3, BT_RECORD_NOTE, &note);
	trace_writer_flush(w);
	for (; !trace_writer_stopped(w) && written < 60; written++)
		write_noise(w, what, &seed, len);
	stopped = trace_writer_stopped(w);
	assert_true(stopped == ENOSPC || stopped == EFBIG);
	trace_writer_event(w, 0, BT_RECORD_NOTE, &note); /* succeeds and does nothing */
	assert_int_equal(trace_writer_object(w, "more", 4), 0);
	trace_writer_flush(w);
	trace_writer_close(w);
	assert_int_equal(trace_open(&t, path, &err), 0);
	assert_int_equal(read_events(t, events, &n, &err), 0); /* no half block */
	assert_int_equal(n, what == FILL_OBJECTS ? 2 : 1 + written - 1 + 1);
	assert_int_equal(events[0].kind, BT_RECORD_NOTE);
	assert_int_equal(events[0].unit, 3);
	for (size_t i = 1; i + 1 < n; i++) {
		assert_int_equal(events[i].kind, BT_RECORD_MEMORY);
		assert_int_equal(events[i].unit, 4);
	}
	assert_int_equal(events[n - 1].kind, BT_RECORD_STOPPED);
	assert_int_equal(events[n - 1].unit, 0);
	if (what == FILL_OBJECTS) {
		assert_int_equal(read_kinds(t, "objects", kinds, &n, &err), 0);
		assert_true(n > 0);
	}
	trace_close(t);
}

/* With all that can be behind the end of events, on file systems of every kind. */
static void fill_in_every_way(const struct fixture *f)
{
	static const struct disk disks[] = {
		{.kind = DISK_AS_IS}, {.kind = DISK_KEEPS_BLOCKS}, {.kind = DISK_COPIES}, {.kind = DISK_COPIES, .failure = EOPNOTSUPP}};

	for (size_t i = 0; i < sizeof disks / sizeof disks[0]; i++)
		for (enum filling what = 0; what < FILLINGS; what++)
			for (uint64_t seed = 0; seed < 20; seed++) {
				disk = disks[i];
				fill_until_stopped(f->path, what, seed);
				scratch_remove(f->path);
			}
	disk = (struct disk){0};
}

/* A real full disk where we may mount one (in a namespace of our own), otherwise the limit on a file's size. */
static void a_full_disk_is_recorded(void **state)
{
	struct fixture *f = *state;

	if (geteuid() || unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("tmpfs", f->dir, "tmpfs", 0, "size=512k")) {
		print_message("no mount here: the disk-full test runs with a file size limit only\n");
		return;
	}
	fill_in_every_way(f);
	assert_int_equal(umount(f->dir), 0);
}

static void a_file_size_limit_is_recorded(void **state)
{
	struct fixture *f = *state;
	struct rlimit before, small;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = (struct rlimit){.rlim_cur = 400000, .rlim_max = before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	fill_in_every_way(f);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
}

/* Without disk for the header there is no trace, and nothing of one. */
static void a_disk_without_room_is_an_error(void **state)
{
	struct fixture *f = *state;
	struct trace_writer *w = NULL;
	struct bt_error err;

	disk = (struct disk){.kind = DISK_COPIES, .failure = ENOSPC};
	assert_int_equal(trace_writer_open(&w, f->path, &header, &err), -BT_E_IO);
	assert_int_equal(err.os_errno, ENOSPC);
	assert_null(w);
	assert_int_equal(access(f->path, F_OK), -1);
	disk = (struct disk){0};
}

static void a_closed_trace_has_no_disk_behind_its_events(void **state)
{
	struct fixture *f = *state;
	char file[128];
	struct stat st;

	snprintf(file, sizeof file, "%s/events", f->path);
	for (enum disk_kind kind = DISK_AS_IS; kind <= DISK_COPIES; kind++) {
		disk = (struct disk){.kind = kind};
		write_small(f->path);
		assert_int_equal(stat(file, &st), 0);
		assert_true(st.st_blocks * 512 < 3 * 8192);
		scratch_remove(f->path);
	}
	disk = (struct disk){0};
}

int main(void)
{
#define WITH_DIR(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		WITH_DIR(what_is_written_is_read),
		WITH_DIR(events_alone_are_read_without_the_rest),
		WITH_DIR(the_header_can_be_read_in_a_hex_dump),
		WITH_DIR(files_are_private_and_nothing_else_stays),
		WITH_DIR(writer_refuses_an_existing_directory),
		WITH_DIR(what_was_flushed_is_there_without_a_close),
		WITH_DIR(open_errors_are_distinct_and_have_their_offset),
		WITH_DIR(no_permission_is_said),
		WITH_DIR(damaged_events_give_what_is_around_the_damage),
		WITH_DIR(a_damaged_file_leaves_the_others),
		WITH_DIR(a_missing_block_is_reported_and_the_rest_is_read),
		WITH_DIR(a_file_of_another_trace_is_refused),
		WITH_DIR(memory_reads_as_the_disk_does),
		WITH_DIR(big_streams_go_out_in_blocks),
		WITH_DIR(code_that_is_written_again_and_again_is_packed),
		WITH_DIR(objects_go_out_before_events_that_may_name_them),
		WITH_DIR(what_no_block_can_hold_is_left_out_and_said),
		WITH_DIR(events_of_units_stand_in_the_order_of_their_writing),
		WITH_DIR(a_record_that_does_not_fit_keeps_its_unit),
		WITH_DIR(full_blocks_go_on_in_their_unit),
		WITH_DIR(nothing_is_left_of_a_discarded_trace),
		WITH_DIR(a_disk_without_room_is_an_error),
		WITH_DIR(a_closed_trace_has_no_disk_behind_its_events),
		WITH_DIR(a_file_size_limit_is_recorded),
		WITH_DIR(a_full_disk_is_recorded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
