/* SPDX-License-Identifier: MIT */
/* Reading a file of a trace on disk piece by piece: the same as if all of it were in memory. */
#include "tests/unit/trace_fixture.h"

#include <errno.h>
#include <sys/resource.h>
#include <zlib.h>

#include "lib/array_size.h"
#include "lib/content_hash.h"

/* A trace with the given bytes as its file of objects. The file's header is made here. */
static void write_objects(const char *path, struct slice blocks)
{
	struct bt_error err;
	struct buf file = {0};
	char name[128];
	struct trace *t;
	FILE *f;

	write_small(path);
	assert_int_equal(trace_open_events(&t, path, &err), 0);
	bt_file_header_encode(&file, BT_FILE_OBJECTS, t->uuid);
	trace_close(t);
	buf_put(&file, blocks.at, blocks.len);
	snprintf(name, sizeof name, "%s/objects", path);
	f = fopen(name, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(file.data, 1, file.len, f), file.len);
	assert_int_equal(fclose(f), 0);
	buf_release(&file);
}

/* A block with one object of n bytes: zeros, or what no packing makes smaller. */
static void add_block(struct buf *out, uint64_t ordinal, size_t n, bool packed)
{
	struct bt_record_object object = {.object = ordinal + 1,
					  .bytes = {.at = calloc(n + 1, 1), .len = n}};
	uint64_t seed = ordinal + 1;
	struct buf records = {0};

	for (size_t i = 0; i < n && !packed; i++)
		((uint8_t *)(uintptr_t)object.bytes.at)[i] = (uint8_t)unit_random(&seed);
	bt_record_encode(&records, BT_RECORD_OBJECT, &object);
	assert_int_equal(
		bt_block_encode(out, ordinal, slice_of(records.data, records.len), BT_BLOCK_FULL),
		0);
	buf_release(&records);
	free((void *)(uintptr_t)object.bytes.at);
}

/* Blocks of all sizes: many in a step of reading, and some that are longer than several. */
static void add_blocks(struct buf *out)
{
	static const size_t sizes[] = {0,  1,      100, 3000,  65000,  10, 65536 - 60,
				       20, 200000, 5,   70000, 131072, 50, 1000};
	uint64_t ordinal = 0;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		add_block(out, ordinal++, sizes[i], false);
		add_block(out, ordinal++, sizes[i], true);
	}
}

/* Everything that a cursor told, as one hash, and how often it told something. */
struct told {
	struct content_hash hash;
	size_t records, errors;
	enum bt_error_code error; /* the newest */
};

static struct told read_all(const struct trace *t)
{
	const struct trace_file *file = &t->files[t->file_count - 1];
	struct told told = {0};
	struct trace_cursor c;
	struct bt_record rec;
	struct bt_error err;
	struct buf all = {0};
	int rc;

	assert_int_equal(file->kind, BT_FILE_OBJECTS);
	trace_cursor_init(&c, t, file);
	while ((rc = trace_cursor_next(&c, &rec, &err))) {
		buf_u32(&all, (uint32_t)rc);
		if (rc < 0) {
			told.errors++;
			told.error = err.code;
			buf_u64(&all, err.offset);
			buf_put(&all, err.text, strlen(err.text));
			continue;
		}
		told.records++;
		buf_u16(&all, rec.kind);
		buf_u64(&all, rec.u.object.object);
		buf_put(&all, rec.u.object.bytes.at, rec.u.object.bytes.len);
	}
	trace_cursor_release(&c);
	told.hash = content_hash(all.data, all.len);
	buf_release(&all);
	return told;
}

/* Reads the trace on disk, and the same bytes in memory. */
static struct told read_both(const char *path)
{
	static uint8_t events[4096], objects[2 << 20];
	struct trace_file files[2] = {{.name = "events"}, {.name = "objects"}};
	struct told disk, memory;
	struct bt_error err;
	struct trace *t;

	files[0].bytes = slice_of(events, get_file(path, "events", events, sizeof events));
	files[1].bytes = slice_of(objects, get_file(path, "objects", objects, sizeof objects));
	assert_int_equal(trace_open(&t, path, &err), 0);
	disk = read_all(t);
	trace_close(t);
	assert_int_equal(trace_open_memory(&t, files, 2, &err), 0);
	memory = read_all(t);
	trace_close(t);
	assert_memory_equal(&disk.hash, &memory.hash, sizeof disk.hash);
	assert_int_equal(disk.records, memory.records);
	return disk;
}

static void a_whole_file_reads_the_same_on_disk_and_in_memory(void **state)
{
	struct fixture *f = *state;
	struct buf blocks = {0};
	struct told told;

	add_blocks(&blocks);
	write_objects(f->path, slice_of(blocks.data, blocks.len));
	told = read_both(f->path);
	assert_int_equal(told.records, 28);
	assert_int_equal(told.errors, 0);
	buf_release(&blocks);
}

/* A block header that promises n bytes, with a right checksum of its own and a wrong one of its
 * payload. */
static void put_header(uint8_t *to, uint32_t n)
{
	uint8_t bytes[BT_BLOCK_HEADER_SIZE] = {'B', 'T', 'B', 'K'};
	uint32_t crc;

	for (int i = 0; i < 4; i++)
		bytes[8 + i] = bytes[12 + i] = (uint8_t)(n >> 8 * i);
	crc = (uint32_t)crc32(0, bytes, sizeof bytes - 4);
	for (int i = 0; i < 4; i++)
		bytes[28 + i] = (uint8_t)(crc >> 8 * i);
	memcpy(to, bytes, sizeof bytes);
}

/* Damages the blocks somewhere. Returns how many bytes are left. */
static size_t damage(uint8_t *bytes, size_t len, uint64_t *seed)
{
	size_t at = unit_random(seed) % (len - 200), n = 1 + unit_random(seed) % (len - at - 100);

	switch (unit_random(seed) % 6) {
	case 0: /* a byte */
		bytes[at] ^= 0x10;
		return len;
	case 1: /* a range of zeros */
		memset(bytes + at, 0, n);
		return len;
	case 2: /* a range of magics */
		for (size_t i = 0; i < n; i++)
			bytes[at + i] = (uint8_t) "BTBK"[i % 4];
		return len;
	case 3: /* a range is gone */
		memmove(bytes + at, bytes + at + n, len - at - n);
		return len - n;
	case 4: /* the tail is gone */
		return at;
	default: /* a header that promises up to more than there is */
		put_header(bytes + at, (uint32_t)(unit_random(seed) % (2 * len)));
		return len;
	}
}

static void a_damaged_file_reads_the_same_on_disk_and_in_memory(void **state)
{
	struct fixture *f = *state;
	struct buf blocks = {0};
	uint64_t seed = 1;
	size_t errors = 0;
	uint8_t *bytes;

	add_blocks(&blocks);
	bytes = malloc(blocks.len);
	for (int round = 0; round < 60; round++) {
		size_t len = blocks.len;

		memcpy(bytes, blocks.data, len);
		for (int i = round % 4; i >= 0 && len > 1000; i--)
			len = damage(bytes, len, &seed);
		scratch_remove(f->path);
		write_objects(f->path, slice_of(bytes, len));
		errors += read_both(f->path).errors;
	}
	assert_true(errors > 60);
	free(bytes);
	buf_release(&blocks);
}

static void a_cursor_holds_a_block_however_long_the_file_is(void **state)
{
	enum { BLOCK = 100000, BLOCKS = 80 };
	struct fixture *f = *state;
	struct buf blocks = {0};
	struct trace_cursor c;
	struct bt_record rec;
	struct bt_error err;
	struct trace *t;
	int n = 0;

	for (uint64_t i = 0; i < BLOCKS; i++)
		add_block(&blocks, i, BLOCK, false);
	write_objects(f->path, slice_of(blocks.data, blocks.len));
	assert_int_equal(trace_open(&t, f->path, &err), 0);
	trace_cursor_init(&c, t, &t->files[2]);
	while (trace_cursor_next(&c, &rec, &err) == 1) {
		assert_int_equal(rec.u.object.bytes.len, BLOCK);
		assert_true(c.window.room.cap + c.raw.cap <= 6 * BLOCK);
		n++;
	}
	assert_int_equal(n, BLOCKS);
	trace_cursor_release(&c);
	trace_close(t);
	buf_release(&blocks);
}

static void put_in_place(const char *path, const char *name, const char *as)
{
	char from[128], to[128];

	snprintf(from, sizeof from, "%s/%s", path, name);
	snprintf(to, sizeof to, "%s/%s", path, as);
	assert_int_equal(rename(from, to), 0);
}

static void a_trace_deleted_while_it_is_open_is_read(void **state)
{
	struct fixture *f = *state;
	uint16_t kinds[64];
	struct bt_error err;
	struct trace *t;
	size_t n;

	write_small(f->path);
	assert_int_equal(trace_open(&t, f->path, &err), 0);
	scratch_remove(f->path);
	assert_int_equal(read_kinds(t, "objects", kinds, &n, &err), 0);
	assert_int_equal(n, 2);
	assert_int_equal(read_kinds(t, "events", kinds, &n, &err), 0);
	trace_close(t);
}

static void a_file_cut_while_it_is_open_ends_there(void **state)
{
	struct fixture *f = *state;
	struct buf blocks = {0};
	struct bt_error err;
	char name[128];
	struct trace *t;
	size_t first;

	add_block(&blocks, 0, 100000, false);
	first = blocks.len;
	add_block(&blocks, 1, 100000, false);
	write_objects(f->path, slice_of(blocks.data, blocks.len));
	snprintf(name, sizeof name, "%s/objects", f->path);
	for (int cut = 0; cut < 2; cut++) {
		struct told told;

		assert_int_equal(trace_open(&t, f->path, &err), 0);
		assert_int_equal(
			truncate(name, cut ? 0 : (off_t)(BT_FILE_HEADER_SIZE + first + 50000)), 0);
		told = read_all(t);
		assert_int_equal(told.records, !cut);
		assert_int_equal(told.errors, 1);
		assert_int_equal(told.error, BT_E_TRUNCATED);
		trace_close(t);
	}
	buf_release(&blocks);
}

static void what_is_appended_while_it_is_open_is_not_read(void **state)
{
	struct fixture *f = *state;
	struct buf more = {0};
	struct bt_error err;
	char name[128];
	struct trace *t;
	struct told told;
	FILE *file;

	write_small(f->path);
	assert_int_equal(trace_open(&t, f->path, &err), 0);
	add_block(&more, 1, 100, false);
	snprintf(name, sizeof name, "%s/objects", f->path);
	file = fopen(name, "a");
	assert_int_equal(fwrite(more.data, 1, more.len, file), more.len);
	fclose(file);
	told = read_all(t);
	assert_int_equal(told.records, 2);
	assert_int_equal(told.errors, 0);
	trace_close(t);
	assert_int_equal(trace_open(&t, f->path, &err), 0);
	assert_int_equal(read_all(t).records, 3);
	trace_close(t);
	buf_release(&more);
}

/* As few descriptors as a process can do with: none is held for a file. */
static void with_descriptors(rlim_t most, void (*look)(struct fixture *f), struct fixture *f)
{
	struct rlimit before, low;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	low = before;
	low.rlim_cur = most;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	look(f);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

static void read_many_tasks(struct fixture *f)
{
	struct trace_writer *w = open_writer(f->path);
	uint16_t kinds[64];
	struct bt_error err;
	struct trace *t;
	size_t n;

	for (uint32_t task = 1; task <= 100; task++)
		trace_writer_branches(w, &(struct bt_record_branches){.task = task});
	trace_writer_close(w);
	assert_int_equal(trace_open(&t, f->path, &err), 0);
	for (size_t i = 0; i < t->file_count; i++) {
		assert_int_equal(read_kinds(t, t->files[i].name, kinds, &n, &err), 0);
		assert_int_equal(n, 1);
	}
	assert_int_equal(t->file_count, 101);
	trace_close(t);
}

static void many_tasks_need_few_descriptors(void **state)
{
	with_descriptors(16, read_many_tasks, *state);
}

static void look_for_a_file_that_was_replaced(struct fixture *f)
{
	uint16_t kinds[64];
	struct bt_error err;
	struct trace *t;
	size_t n;

	write_small(f->path);
	assert_int_equal(trace_open(&t, f->path, &err), 0);
	put_in_place(f->path, "branches-1", "objects");
	assert_int_equal(read_kinds(t, "objects", kinds, &n, &err), -BT_E_IO);
	assert_int_equal(err.os_errno, ESTALE);
	assert_int_equal(n, 0);
	assert_int_equal(read_kinds(t, "branches-1", kinds, &n, &err), -BT_E_IO);
	assert_int_equal(err.os_errno, ENOENT);
	assert_int_equal(read_kinds(t, "events", kinds, &n, &err), 0);
	trace_close(t);
}

static void another_file_in_its_place_is_not_read(void **state)
{
	with_descriptors(12, look_for_a_file_that_was_replaced, *state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_DIR(a_whole_file_reads_the_same_on_disk_and_in_memory),
		WITH_DIR(a_damaged_file_reads_the_same_on_disk_and_in_memory),
		WITH_DIR(a_cursor_holds_a_block_however_long_the_file_is),
		WITH_DIR(a_trace_deleted_while_it_is_open_is_read),
		WITH_DIR(a_file_cut_while_it_is_open_ends_there),
		WITH_DIR(what_is_appended_while_it_is_open_is_not_read),
		WITH_DIR(many_tasks_need_few_descriptors),
		WITH_DIR(another_file_in_its_place_is_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
