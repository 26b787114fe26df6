/* SPDX-License-Identifier: MIT */
/* The reader of traces: whole, damaged and cut, on disk and in memory. */
#include "lib/array_size.h"
#include "lib/branch_graph.h"
#include "tests/unit/trace_fixture.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/wait.h>

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
		assert_true(events[i].kind == alone[i].kind && events[i].unit == alone[i].unit &&
			    events[i].seq == alone[i].seq);
	trace_close(whole);
	trace_close(t);
}

static void what_is_written_is_read(void **state)
{
	static const uint16_t written[] = {BT_RECORD_HEADER, BT_RECORD_NOTE, BT_RECORD_UNIT,
					   BT_RECORD_NOTE,   BT_RECORD_UNIT, BT_RECORD_NOTE,
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
	assert_int_equal(n, ARRAY_SIZE(written));
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

static void put_file(const char *dir, const char *name, const void *bytes, size_t n)
{
	int d = open(dir, O_RDONLY | O_DIRECTORY),
	    fd = openat(d, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

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
	uint64_t at = BT_FILE_HEADER_SIZE, ordinal;
	struct file_window w;
	struct buf raw = {0};

	file_window_init_memory(&w, slice_of(events, len));
	assert_int_equal(bt_block_decode(&w, &at, &raw, &ordinal, NULL), 1);
	buf_release(&raw);
	return (size_t)at;
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
		assert_open_fails(f->path, BT_E_TRUNCATED,
				  cut < BT_FILE_HEADER_SIZE ? cut : BT_FILE_HEADER_SIZE);
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

/* Writes a block of events for each of n units, of which the last is 0. ends[0 .. n]: where the
 * header's block ends, and each of them. */
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

/* Cut or flipped anywhere behind its header, a trace opens and gives an error and all events of the
 * other blocks. */
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
		assert_int_equal(read_kinds(t, "objects", kinds, &count, &err),
				 i == BT_FILE_HEADER_SIZE ? 0 : -BT_E_TRUNCATED);
		assert_int_equal(count, 0);
		trace_close(t);
	}
}

/* Makes a file of the trace longer, by a hole. False where the file system makes none, or none so
 * long. */
static bool extend(const char *dir, const char *name, off_t size)
{
	int d = open(dir, O_RDONLY | O_DIRECTORY), fd = openat(d, name, O_WRONLY);
	bool done = !ftruncate(fd, size) && lseek(fd, size - 1, SEEK_DATA) < 0;

	close(fd);
	close(d);
	return done;
}

static void a_file_made_long_by_a_hole_is_read_up_to_it(void **state)
{
	static const char *const names[] = {"events", "branches-1", "objects"};
	struct fixture *f = *state;
	struct bt_error err;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		uint16_t kinds[64], whole[64];
		size_t n, all;
		struct trace *t;

		scratch_remove(f->path);
		write_small(f->path);
		assert_int_equal(trace_open(&t, f->path, &err), 0);
		assert_int_equal(read_kinds(t, names[i], whole, &all, &err), 0);
		trace_close(t);
		if (!extend(f->path, names[i], (off_t)1 << 42))
			skip();
		assert_int_equal(trace_open(&t, f->path, &err), 0);
		assert_true(t->files[i].size + t->files[i].unread == UINT64_C(1) << 42);
		assert_true(t->files[i].size <= 2 * BT_BLOCK_MAX);
		assert_int_equal(read_kinds(t, names[i], kinds, &n, &err), -BT_E_CORRUPT);
		assert_int_equal(n, all);
		assert_memory_equal(kinds, whole, n * sizeof *kinds);
		trace_close(t);
	}
}

static void a_short_hole_is_damage_like_any_zeros(void **state)
{
	enum { HOLE = 1 << 20 };
	struct fixture *f = *state;
	static uint8_t bytes[4096 + HOLE];
	size_t ends[4], n = write_blocks(f->path, 3, bytes, 4096, ends), count;
	char events[SCRATCH_PATH + 32];
	struct event found[64];
	struct bt_error err;
	struct trace *t;
	int fd;

	snprintf(events, sizeof events, "%s/events", f->path);
	fd = open(events, O_WRONLY | O_TRUNC);
	assert_int_equal(pwrite(fd, bytes, ends[1], 0), ends[1]);
	assert_int_equal(pwrite(fd, bytes + ends[1], n - ends[1], (off_t)ends[1] + HOLE),
			 n - ends[1]);
	close(fd);
	assert_int_equal(trace_open(&t, f->path, &err), 0);
	assert_int_equal(t->files[0].size, n + HOLE);
	assert_int_equal(t->files[0].unread, 0);
	assert_int_equal(read_events(t, found, &count, &err), -BT_E_CORRUPT);
	assert_int_equal(count, 3);
	trace_close(t);
}

static void what_is_no_file_is_called_what_it_is(void **state)
{
	static const char *const names[] = {"events", "branches-1", "objects"};
	struct fixture *f = *state;
	char path[SCRATCH_PATH + 32];

	for (size_t i = 0; i < 3; i++)
		for (size_t kind = 0; kind < 3; kind++) {
			static const char *const words[] = {"is a FIFO", "is a directory",
							    "is a device"};
			struct trace *t;
			struct bt_error err = {0};

			scratch_remove(f->path);
			write_small(f->path);
			snprintf(path, sizeof path, "%s/%s", f->path, names[i]);
			unlink(path);
			assert_int_equal(!kind       ? mkfifo(path, 0600)
					 : kind == 1 ? mkdir(path, 0700)
						     : symlink("/dev/full", path),
					 0);
			assert_int_equal(trace_open(&t, f->path, &err), -BT_E_NOT_TRACE);
			assert_non_null(strstr(err.text, path));
			assert_non_null(strstr(err.text, words[kind]));
			if (kind == 1)
				rmdir(path);
		}
}

static void a_link_that_leads_nowhere_is_named(void **state)
{
	struct fixture *f = *state;
	char path[SCRATCH_PATH + 32];
	struct bt_error err = {0};
	struct trace *t;

	write_small(f->path);
	snprintf(path, sizeof path, "%s/branches-9", f->path);
	assert_int_equal(symlink("nowhere", path), 0);
	assert_int_equal(trace_open(&t, f->path, &err), -BT_E_IO);
	assert_non_null(strstr(err.text, path));
	assert_int_equal(err.os_errno, ENOENT);
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

/* A tight loop's: some bytes stand for millions of entries, and nobody who reads records decodes
 * them all. */
static void histories_of_any_length_are_read(void **state)
{
	enum { RECORDS = 1000, BLOCKS = 2 };
	struct fixture *f = *state;
	struct bt_record_branches graph = {.count = BRANCH_GRAPH_MOST, .entries = bt_str("loop")};
	struct trace_file files[2] = {{.name = "events"}, {.name = "branches-1"}};
	uint8_t events[4096], branches[4096];
	struct buf records = {0}, file = {0};
	struct trace_cursor c;
	struct bt_record rec;
	struct bt_error err;
	struct trace *t;
	int seen = 0;

	write_small(f->path);
	files[0].bytes = slice_of(events, get_file(f->path, "events", events, sizeof events));
	get_file(f->path, "branches-1", branches, sizeof branches);
	buf_put(&file, branches, BT_FILE_HEADER_SIZE);
	for (uint64_t block = 0; block < BLOCKS; block++) {
		buf_reset(&records);
		for (int i = 0; i < RECORDS; i++) {
			bt_record_encode(&records, BT_RECORD_BRANCH_GRAPH, &graph);
			graph.first += graph.count;
		}
		assert_int_equal(bt_block_encode(&file, block, slice_of(records.data, records.len),
						 BT_BLOCK_FULL),
				 0);
	}
	files[1].bytes = slice_of(file.data, file.len);
	assert_int_equal(trace_open_memory(&t, files, 2, &err), 0);
	trace_cursor_init(&c, t, &t->files[1]);
	while (trace_cursor_next(&c, &rec, &err) == 1)
		seen += rec.kind == BT_RECORD_BRANCH_GRAPH;
	assert_int_equal(seen, RECORDS * BLOCKS);
	trace_cursor_release(&c);
	trace_close(t);
	buf_release(&records);
	buf_release(&file);
}

enum { BLOCKS_OF_ZEROS = 100, PIECE_OF_ZEROS = 1 << 20 };

/* Kilobytes that unpack to more than a gigabyte. The file has a header; the blocks' ordinals are
 * those that they should have, or all 0. */
static void put_zeros(struct buf *file, enum bt_record_kind kind, const void *piece, bool ordered)
{
	struct buf records = {0}, block = {0};

	while (records.len + PIECE_OF_ZEROS + 64 < BT_BLOCK_MAX)
		bt_record_encode(&records, kind, piece);
	for (uint64_t i = 0; i < BLOCKS_OF_ZEROS; i++) {
		buf_reset(&block);
		assert_int_equal(bt_block_encode(&block, ordered ? i : 0,
						 slice_of(records.data, records.len),
						 BT_BLOCK_QUICK),
				 0);
		buf_put(file, block.data, block.len);
	}
	assert_true(file->len < 1 << 20);
	buf_release(&records);
	buf_release(&block);
}

static void what_unpacks_to_too_much_is_left_out(void **state)
{
	struct fixture *f = *state;
	struct bt_record_object object = {
		.object = 1, .bytes = slice_of(calloc(1, PIECE_OF_ZEROS), PIECE_OF_ZEROS)};
	struct trace_file files[2] = {{.name = "events"}, {.name = "objects"}};
	struct buf file = {0};
	uint8_t events[4096], objects[4096];
	struct trace_cursor c;
	struct bt_record rec;
	struct bt_error err;
	struct trace *t;
	uint64_t seen = 0;
	int rc, refused = 0;

	write_small(f->path);
	files[0].bytes = slice_of(events, get_file(f->path, "events", events, sizeof events));
	get_file(f->path, "objects", objects, sizeof objects);
	buf_put(&file, objects, BT_FILE_HEADER_SIZE);
	put_zeros(&file, BT_RECORD_OBJECT, &object, false);
	files[1].bytes = slice_of(file.data, file.len);
	assert_int_equal(trace_open_memory(&t, files, 2, &err), 0);
	trace_cursor_init(&c, t, &t->files[1]);
	while ((rc = trace_cursor_next(&c, &rec, &err)) != 0) {
		seen += rc == 1 ? PIECE_OF_ZEROS : 0;
		refused += rc < 0 && strstr(err.text, "unpacks to more than is believable");
	}
	assert_int_equal(refused, 1);
	assert_in_range(seen, 1 << 29, (1u << 30) + 64 * file.len);
	trace_cursor_release(&c);
	trace_close(t);
	free((void *)(uintptr_t)object.bytes.at);
	buf_release(&file);
}

/* A program has read gigabytes of zeros. */
static void all_of_a_log_is_read(void **state)
{
	struct fixture *f = *state;
	struct bt_record_log_data data = {
		.bytes = slice_of(calloc(1, PIECE_OF_ZEROS), PIECE_OF_ZEROS)};
	struct trace_file files[2] = {{.name = "events"}, {.name = "log-1"}};
	struct buf file = {0};
	uint8_t events[4096];
	struct trace_cursor c;
	struct bt_record rec;
	struct bt_error err;
	struct trace *t;
	uint64_t seen = 0;
	int rc;

	write_small(f->path);
	files[0].bytes = slice_of(events, get_file(f->path, "events", events, sizeof events));
	assert_int_equal(trace_open_memory(&t, files, 1, &err), 0);
	bt_file_header_encode(&file, BT_FILE_LOG, t->uuid);
	trace_close(t);
	put_zeros(&file, BT_RECORD_LOG_DATA, &data, true);
	files[1].bytes = slice_of(file.data, file.len);
	assert_int_equal(trace_open_memory(&t, files, 2, &err), 0);
	trace_cursor_init(&c, t, &t->files[1]);
	while ((rc = trace_cursor_next(&c, &rec, &err)) == 1)
		seen += rec.u.log_data.bytes.len;
	assert_int_equal(rc, 0);
	assert_true(seen > (1u << 30) + 64 * file.len);
	trace_cursor_release(&c);
	trace_close(t);
	free((void *)(uintptr_t)data.bytes.at);
	buf_release(&file);
}

static void memory_reads_as_the_disk_does(void **state)
{
	struct fixture *f = *state;
	static const char *const names[] = {"objects", "events", "something else", "branches-01",
					    "branches-99999999999"};
	struct trace_file files[5] = {{.number = 0}};
	uint8_t bytes[2][4096];
	uint16_t kinds[64];
	struct bt_error err;
	struct trace *t;
	size_t n;

	write_small(f->path);
	for (size_t i = 0; i < 5; i++) {
		snprintf(files[i].name, sizeof files[i].name, "%s", names[i]);
		if (i < 2)
			files[i].bytes = slice_of(
				bytes[i], get_file(f->path, names[i], bytes[i], sizeof bytes[i]));
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_DIR(what_is_written_is_read),
		WITH_DIR(events_alone_are_read_without_the_rest),
		WITH_DIR(open_errors_are_distinct_and_have_their_offset),
		WITH_DIR(no_permission_is_said),
		WITH_DIR(damaged_events_give_what_is_around_the_damage),
		WITH_DIR(a_damaged_file_leaves_the_others),
		WITH_DIR(a_file_made_long_by_a_hole_is_read_up_to_it),
		WITH_DIR(a_short_hole_is_damage_like_any_zeros),
		WITH_DIR(what_is_no_file_is_called_what_it_is),
		WITH_DIR(a_link_that_leads_nowhere_is_named),
		WITH_DIR(a_missing_block_is_reported_and_the_rest_is_read),
		WITH_DIR(a_file_of_another_trace_is_refused),
		WITH_DIR(what_unpacks_to_too_much_is_left_out),
		WITH_DIR(all_of_a_log_is_read),
		WITH_DIR(histories_of_any_length_are_read),
		WITH_DIR(memory_reads_as_the_disk_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
