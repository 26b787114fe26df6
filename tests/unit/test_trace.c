/* SPDX-License-Identifier: MIT */
/* Writer and reader together, on disk and in memory. */
#define _GNU_SOURCE 1 /* unshare */
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

static void what_is_written_is_read(void **state)
{
	struct fixture *f = *state;
	struct trace *t;
	struct bt_error err;
	uint16_t kinds[64];
	size_t n;
	struct stat st;

	write_small(f->path);
	assert_int_equal(stat(f->path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(trace_open(&t, f->path, &err), 0);
	assert_int_equal(t->file_count, 6);
	assert_string_equal(t->files[0].name, "header");
	assert_string_equal(t->files[1].name, "events-0");
	assert_string_equal(t->files[3].name, "events-2");
	assert_string_equal(t->files[5].name, "objects");
	assert_true(t->header.started == header.started);
	assert_int_equal(t->header.argv.len, 9);
	assert_int_equal(t->header.tick_classes, 7);
	assert_int_equal(read_kinds(t, "events-0", kinds, &n, &err), 0);
	assert_int_equal(n, 2);
	assert_int_equal(kinds[0], BT_RECORD_NOTE);
	assert_int_equal(kinds[1], BT_RECORD_END);
	assert_int_equal(read_kinds(t, "branches-1", kinds, &n, &err), 0);
	assert_int_equal(n, 1);
	assert_int_equal(read_kinds(t, "objects", kinds, &n, &err), 0);
	assert_int_equal(n, 2);
	trace_close(t);
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
	assert_int_equal(files, 6); /* the reserve is gone */
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
	struct bt_error err;
	uint16_t kinds[64];
	struct trace *t;
	size_t n;

	trace_writer_event(w, 0, BT_RECORD_NOTE, &note);
	trace_writer_flush(w);
	trace_writer_event(w, 0, BT_RECORD_NOTE, &note);
	assert_int_equal(trace_open(&t, f->path, &err), 0);
	assert_int_equal(read_kinds(t, "events-0", kinds, &n, &err), 0);
	assert_int_equal(n, 1);
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

static size_t get_file(const char *dir, const char *name, uint8_t *bytes, size_t max)
{
	int d = open(dir, O_RDONLY | O_DIRECTORY), fd = openat(d, name, O_RDONLY);
	ssize_t n = read(fd, bytes, max);

	assert_true(n >= 0);
	close(fd);
	close(d);
	return (size_t)n;
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

static void open_errors_are_distinct_and_have_their_offset(void **state)
{
	struct fixture *f = *state;
	uint8_t bytes[4096], changed[4096];
	char file[128];
	size_t n;

	snprintf(file, sizeof file, "%s/none", f->dir);
	assert_open_fails(file, BT_E_NO_TRACE, 0);
	assert_open_fails("/dev/null", BT_E_NOT_TRACE, 0);
	assert_open_fails(f->dir, BT_E_NOT_TRACE, 0);
	write_small(f->path);
	n = get_file(f->path, "header", bytes, sizeof bytes);

	put_file(f->path, "header", "This is a text file of some other program.", 42);
	assert_open_fails(f->path, BT_E_NOT_TRACE, 0);

	memcpy(changed, bytes, n);
	changed[8] = 2;
	put_file(f->path, "header", changed, n);
	assert_open_fails(f->path, BT_E_VERSION, 8);

	for (size_t cut = 0; cut < n; cut++) {
		put_file(f->path, "header", bytes, cut);
		assert_open_fails(f->path, BT_E_TRUNCATED, cut < BT_FILE_HEADER_SIZE ? cut : BT_FILE_HEADER_SIZE);
	}
	for (size_t i = BT_FILE_HEADER_SIZE; i < n; i++) {
		memcpy(changed, bytes, n);
		changed[i] ^= 1;
		put_file(f->path, "header", changed, n);
		assert_open_fails(f->path, BT_E_CORRUPT, BT_FILE_HEADER_SIZE);
	}
	memcpy(changed, bytes, n);
	changed[20] ^= 1; /* in the uuid */
	put_file(f->path, "header", changed, n);
	assert_open_fails(f->path, BT_E_CORRUPT, 0);
	put_file(f->path, "header", bytes, n);
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

/* Cut or flipped anywhere, a stream gives an error or fewer records, and the trace still opens. */
static void a_damaged_stream_gives_what_is_around_the_damage(void **state)
{
	struct fixture *f = *state;
	struct bt_record_note note = {.text = bt_str("one of three")};
	struct trace_writer *w = open_writer(f->path);
	size_t n = 0, first = 0, second = 0, count;
	uint8_t bytes[4096], changed[4096];
	uint16_t kinds[64];
	struct bt_error err;

	for (int i = 0; i < 3; i++) {
		note.seq = trace_writer_next_seq(w);
		trace_writer_event(w, 0, BT_RECORD_NOTE, &note);
		trace_writer_flush(w);
		n = get_file(f->path, "events-0", bytes, sizeof bytes);
		first = i == 0 ? n : first;
		second = i == 1 ? n : second;
	}
	trace_writer_close(w);
	for (size_t i = 0; i < n; i++) {
		struct trace *t;
		int rc;

		memcpy(changed, bytes, n);
		changed[i] ^= 4;
		put_file(f->path, "events-0", changed, n);
		assert_int_equal(trace_open(&t, f->path, &err), 0);
		rc = read_kinds(t, "events-0", kinds, &count, &err);
		assert_true(rc < 0);
		assert_int_equal(count, i < BT_FILE_HEADER_SIZE ? 0 : 2);
		if (i >= BT_FILE_HEADER_SIZE) {
			assert_int_equal(rc, -BT_E_CORRUPT);
			assert_int_equal(err.offset, i < first ? BT_FILE_HEADER_SIZE : i < second ? first : second);
		}
		trace_close(t);
	}
	for (size_t cut = 0; cut <= n; cut++) {
		bool whole = cut == first || cut == second || cut == n || cut == BT_FILE_HEADER_SIZE;
		struct trace *t;

		put_file(f->path, "events-0", bytes, cut);
		assert_int_equal(trace_open(&t, f->path, &err), 0);
		assert_int_equal(read_kinds(t, "events-0", kinds, &count, &err), whole ? 0 : -BT_E_TRUNCATED);
		assert_int_equal(count, cut < first ? 0 : cut < second ? 1 : cut < n ? 2 : 3);
		trace_close(t);
	}
	put_file(f->path, "events-0", bytes, n);
}

static void a_missing_block_is_reported_and_the_rest_is_read(void **state)
{
	struct fixture *f = *state;
	struct bt_record_note note = {.text = bt_str("x")};
	struct trace_writer *w = open_writer(f->path);
	uint8_t bytes[4096];
	size_t sizes[4] = {BT_FILE_HEADER_SIZE}, count;
	uint16_t kinds[64];
	struct bt_error err;
	struct trace *t;

	for (int i = 0; i < 3; i++) {
		trace_writer_event(w, 0, BT_RECORD_NOTE, &note);
		trace_writer_flush(w);
		sizes[i + 1] = get_file(f->path, "events-0", bytes, sizeof bytes);
	}
	trace_writer_close(w);
	memmove(bytes + sizes[1], bytes + sizes[2], sizes[3] - sizes[2]);
	put_file(f->path, "events-0", bytes, sizes[3] - (sizes[2] - sizes[1]));
	assert_int_equal(trace_open(&t, f->path, &err), 0);
	assert_int_equal(read_kinds(t, "events-0", kinds, &count, &err), -BT_E_CORRUPT);
	assert_int_equal(err.offset, sizes[1]);
	assert_int_equal(count, 2);
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
	n = get_file(f->path, "events-1", bytes, sizeof bytes);
	scratch_remove(f->path);
	write_small(f->path);
	put_file(f->path, "events-1", bytes, n);
	assert_int_equal(trace_open(&t, f->path, &err), 0);
	assert_int_equal(read_kinds(t, "events-1", kinds, &n, &err), -BT_E_CORRUPT);
	assert_int_equal(n, 0);
	assert_int_equal(read_kinds(t, "events-2", kinds, &n, &err), 0);
	trace_close(t);
}

static void memory_reads_as_the_disk_does(void **state)
{
	struct fixture *f = *state;
	static const char *const names[] = {"events-0", "header", "something else", "events-01", "events-99999999999"};
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
	assert_int_equal(read_kinds(t, "events-0", kinds, &n, &err), 0);
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
	struct stat st;
	char file[128];
	size_t n;

	assert_int_equal(trace_writer_object(w, "bytes", 5), 1);
	snprintf(file, sizeof file, "%s/events-0", f->path);
	while (stat(file, &st)) /* before any flush */
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
	struct bt_error err;
	uint16_t kinds[16];
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
	assert_int_equal(read_kinds(t, "events-1", kinds, &n, &err), 0);
	assert_int_equal(n, 3);
	assert_int_equal(read_kinds(t, "events-0", kinds, &n, &err), 0);
	assert_int_equal(n, 2);
	assert_int_equal(kinds[0], BT_RECORD_NOTE);
	assert_int_equal(kinds[1], BT_RECORD_NOTE);
	assert_int_equal(read_kinds(t, "objects", kinds, &n, &err), 0);
	assert_int_equal(n, 1);
	trace_close(t);
	free(bytes);
}

/* Writes until writing stops; the trace must say so and hold everything before. */
static void fill_until_stopped(const char *path, size_t limit)
{
	struct bt_record_note note = {.seq = 1, .text = bt_str("before")};
	struct trace_writer *w = open_writer(path);
	static uint8_t noise[65536];
	uint64_t seed = 6;
	uint16_t kinds[64];
	struct bt_error err;
	struct trace *t;
	size_t n;
	int stopped;

	trace_writer_event(w, 0, BT_RECORD_NOTE, &note);
	trace_writer_flush(w);
	for (size_t written = 0; !trace_writer_stopped(w) && written < limit; written += sizeof noise) {
		for (size_t i = 0; i < sizeof noise; i++)
			noise[i] = (uint8_t)unit_random(&seed);
		assert_true(trace_writer_object(w, noise, sizeof noise) > 0);
		trace_writer_flush(w);
	}
	stopped = trace_writer_stopped(w);
	assert_true(stopped == ENOSPC || stopped == EFBIG);
	trace_writer_event(w, 0, BT_RECORD_NOTE, &note); /* succeeds and does nothing */
	assert_int_equal(trace_writer_object(w, "more", 4), 0);
	trace_writer_flush(w);
	trace_writer_close(w);
	assert_int_equal(trace_open(&t, path, &err), 0);
	assert_int_equal(read_kinds(t, "events-0", kinds, &n, &err), 0);
	assert_int_equal(n, 2);
	assert_int_equal(kinds[0], BT_RECORD_NOTE);
	assert_int_equal(kinds[1], BT_RECORD_STOPPED);
	assert_int_equal(read_kinds(t, "objects", kinds, &n, &err), 0); /* no half block */
	assert_true(n > 0);
	trace_close(t);
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
	fill_until_stopped(f->path, 8 << 20);
	scratch_remove(f->path);
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
	fill_until_stopped(f->path, 8 << 20);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
}

int main(void)
{
#define WITH_DIR(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		WITH_DIR(what_is_written_is_read),
		WITH_DIR(files_are_private_and_nothing_else_stays),
		WITH_DIR(writer_refuses_an_existing_directory),
		WITH_DIR(what_was_flushed_is_there_without_a_close),
		WITH_DIR(open_errors_are_distinct_and_have_their_offset),
		WITH_DIR(no_permission_is_said),
		WITH_DIR(a_damaged_stream_gives_what_is_around_the_damage),
		WITH_DIR(a_missing_block_is_reported_and_the_rest_is_read),
		WITH_DIR(a_file_of_another_trace_is_refused),
		WITH_DIR(memory_reads_as_the_disk_does),
		WITH_DIR(big_streams_go_out_in_blocks),
		WITH_DIR(code_that_is_written_again_and_again_is_packed),
		WITH_DIR(objects_go_out_before_events_that_may_name_them),
		WITH_DIR(what_no_block_can_hold_is_left_out_and_said),
		WITH_DIR(a_file_size_limit_is_recorded),
		WITH_DIR(a_full_disk_is_recorded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
