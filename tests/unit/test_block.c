/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"

#include <zlib.h>

#include "format/block.h"
#include "lib/array_size.h"

static const uint8_t uuid[BT_UUID_SIZE] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

static void assert_header_fails(const void *bytes, size_t n, int code, uint64_t offset)
{
	struct slice s = slice_of(bytes, n);
	struct bt_file_header h = {.major = 77};
	struct bt_error err = {0};

	assert_int_equal(bt_file_header_decode(&s, &h, &err), -code);
	assert_int_equal(err.code, code);
	assert_int_equal(err.offset, offset);
	assert_true(*err.text);
	assert_int_equal(s.len, n);
	assert_int_equal(h.major, 77);
}

static void file_header_roundtrips(void **state)
{
	struct buf b = {0};
	struct bt_file_header h;
	struct slice s;

	(void)state;
	bt_file_header_encode(&b, BT_FILE_OBJECTS, uuid);
	assert_int_equal(b.len, BT_FILE_HEADER_SIZE);
	buf_u8(&b, 'x');
	s = slice_of(b.data, b.len);
	assert_int_equal(bt_file_header_decode(&s, &h, NULL), 0);
	assert_int_equal(h.major, BT_FORMAT_MAJOR);
	assert_int_equal(h.minor, BT_FORMAT_MINOR);
	assert_int_equal(h.kind, BT_FILE_OBJECTS);
	assert_memory_equal(h.uuid, uuid, sizeof uuid);
	assert_int_equal(s.len, 1);
	buf_release(&b);
}

static void file_header_faults_are_distinct(void **state)
{
	struct buf b = {0};

	(void)state;
	bt_file_header_encode(&b, BT_FILE_EVENTS, uuid);
	for (size_t n = 0; n < BT_FILE_HEADER_SIZE; n++)
		assert_header_fails(b.data, n, BT_E_TRUNCATED, n);
	/* Every flip is seen, and as what it is. */
	for (size_t i = 0; i < BT_FILE_HEADER_SIZE; i++) {
		b.data[i] ^= 0x10;
		if (i < 8)
			assert_header_fails(b.data, b.len, BT_E_NOT_TRACE, 0);
		else if (i < 10)
			assert_header_fails(b.data, b.len, BT_E_VERSION, 8);
		else
			assert_header_fails(b.data, b.len, BT_E_CORRUPT, 0);
		b.data[i] ^= 0x10;
	}
	assert_header_fails("not a trace at all, but long enough to be one", 45, BT_E_NOT_TRACE, 0);
	assert_header_fails("not a trace", 11, BT_E_NOT_TRACE, 0);
	buf_release(&b);
}

/* Bytes in memory and where the next block begins. */
struct reading {
	struct file_window w;
	uint64_t at;
};

static struct reading reading_of(const void *bytes, size_t n)
{
	struct reading r = {.at = 0};

	file_window_init_memory(&r.w, slice_of(bytes, n));
	return r;
}

static int decode(struct reading *r, struct buf *raw, uint64_t *ordinal, struct bt_error *err)
{
	return bt_block_decode(&r->w, &r->at, raw, ordinal, err);
}

static void add_block(struct buf *out, uint64_t ordinal, const void *bytes, size_t n)
{
	assert_int_equal(bt_block_encode(out, ordinal, slice_of(bytes, n), BT_BLOCK_FULL), 0);
}

static void blocks_roundtrip_packed_and_not(void **state)
{
	enum { BIG = 300000 };
	uint8_t *noise = malloc(BIG), *zeros = calloc(1, BIG);
	uint64_t seed = 3, ordinal;
	struct buf b = {0}, raw = {0};
	struct reading s;
	size_t after_noise;

	(void)state;
	for (size_t i = 0; i < BIG; i++)
		noise[i] = (uint8_t)unit_random(&seed);
	add_block(&b, 0, noise, BIG);
	after_noise = b.len;
	assert_int_equal(after_noise, BIG + BT_BLOCK_HEADER_SIZE); /* stored as it is */
	add_block(&b, 1, zeros, BIG);
	assert_true(b.len - after_noise < 1000);
	add_block(&b, 2, "", 0);
	s = reading_of(b.data, b.len);
	assert_int_equal(decode(&s, &raw, &ordinal, NULL), 1);
	assert_int_equal(ordinal, 0);
	assert_int_equal(raw.len, BIG);
	assert_memory_equal(raw.data, noise, BIG);
	assert_int_equal(decode(&s, &raw, &ordinal, NULL), 1);
	assert_int_equal(ordinal, 1);
	assert_int_equal(raw.len, BIG);
	assert_memory_equal(raw.data, zeros, BIG);
	assert_int_equal(decode(&s, &raw, &ordinal, NULL), 1);
	assert_int_equal(raw.len, 0);
	assert_int_equal(decode(&s, &raw, &ordinal, NULL), 0);
	buf_release(&b);
	buf_release(&raw);
	free(noise);
	free(zeros);
}

static void a_tail_cut_anywhere_is_torn(void **state)
{
	struct buf b = {0}, raw = {0};
	struct bt_error err;
	uint64_t ordinal;
	size_t first;

	(void)state;
	add_block(&b, 0, "first", 5);
	first = b.len;
	add_block(&b, 1, "second block", 12);
	for (size_t n = first; n < b.len; n++) {
		struct reading s = reading_of(b.data, n);

		assert_int_equal(decode(&s, &raw, &ordinal, &err), 1);
		assert_memory_equal(raw.data, "first", 5);
		if (n == first) {
			assert_int_equal(decode(&s, &raw, &ordinal, &err), 0);
			continue;
		}
		assert_int_equal(decode(&s, &raw, &ordinal, &err), -BT_E_TRUNCATED);
		assert_int_equal(err.offset, first);
		assert_int_equal(decode(&s, &raw, &ordinal, &err), 0);
	}
	buf_release(&b);
	buf_release(&raw);
}

/* Three blocks, one byte of the middle one flipped: damage is reported once, at its place, and the
 * third block is read. */
static void every_flip_is_seen_and_the_next_block_is_found(void **state)
{
	struct buf b = {0}, raw = {0};
	struct bt_error err;
	uint64_t ordinal;
	size_t first, second;

	(void)state;
	add_block(&b, 0, "first", 5);
	first = b.len;
	add_block(&b, 1, "second block, BTBK in it", 24);
	second = b.len;
	add_block(&b, 2, "third", 5);
	for (size_t i = first; i < second; i++) {
		for (unsigned bit = 0; bit < 8; bit++) {
			struct reading s = reading_of(b.data, b.len);

			b.data[i] ^= (uint8_t)(1u << bit);
			assert_int_equal(decode(&s, &raw, &ordinal, &err), 1);
			assert_int_equal(decode(&s, &raw, &ordinal, &err), -BT_E_CORRUPT);
			assert_int_equal(err.offset, first);
			assert_int_equal(raw.len, 0);
			assert_int_equal(decode(&s, &raw, &ordinal, &err), 1);
			assert_int_equal(ordinal, 2);
			assert_memory_equal(raw.data, "third", 5);
			b.data[i] ^= (uint8_t)(1u << bit);
		}
	}
	buf_release(&b);
	buf_release(&raw);
}

static void bytes_missing_in_the_middle_are_damage_not_a_tail(void **state)
{
	struct buf b = {0}, raw = {0};
	struct bt_error err;
	uint64_t ordinal;
	size_t first, second;

	(void)state;
	add_block(&b, 0, "0123456789", 10);
	first = b.len;
	add_block(&b, 1, "abcdefghij", 10);
	second = b.len;
	for (size_t cut = 1; cut < first; cut++) {
		struct buf t = {0};
		struct reading s;

		buf_put(&t, b.data, first - cut);
		buf_put(&t, b.data + first, second - first);
		s = reading_of(t.data, t.len);
		assert_int_equal(decode(&s, &raw, &ordinal, &err), -BT_E_CORRUPT);
		assert_int_equal(decode(&s, &raw, &ordinal, &err), 1);
		assert_int_equal(ordinal, 1);
		assert_memory_equal(raw.data, "abcdefghij", 10);
		buf_release(&t);
	}
	buf_release(&b);
	buf_release(&raw);
}

/* Its header promises more than there is: the file is cut off there only where no other block
 * comes. */
static void a_block_that_reaches_beyond_the_end_is_damage_if_another_follows(void **state)
{
	struct buf b = {0}, raw = {0};
	struct bt_error err;
	uint64_t ordinal, seed = 5;
	uint8_t noise[500];
	struct reading s;
	size_t left;

	(void)state;
	for (size_t i = 0; i < sizeof noise; i++)
		noise[i] = (uint8_t)unit_random(&seed);
	add_block(&b, 0, noise, sizeof noise);
	b.len = left = BT_BLOCK_HEADER_SIZE + 100;
	s = reading_of(b.data, left);
	assert_int_equal(decode(&s, &raw, &ordinal, &err), -BT_E_TRUNCATED);
	add_block(&b, 1, "abcdefghij", 10);
	s = reading_of(b.data, b.len);
	assert_int_equal(decode(&s, &raw, &ordinal, &err), -BT_E_CORRUPT);
	assert_int_equal(decode(&s, &raw, &ordinal, &err), 1);
	assert_memory_equal(raw.data, "abcdefghij", 10);
	buf_release(&b);
	buf_release(&raw);
}

/* Of the checksums only who wrote it can be sure. */
static void put_checksum(uint8_t *at, const uint8_t *bytes, size_t n)
{
	uint32_t crc = (uint32_t)crc32(0, bytes, (uInt)n);

	for (int i = 0; i < 4; i++)
		at[i] = (uint8_t)(crc >> 8 * i);
}

/* Everything in the header's order: magic, packing and three bytes of nothing, packed, raw,
 * ordinal, checksums (doc/FORMAT.md). */
static void what_a_header_claims_is_bounded_whatever_its_checksum(void **state)
{
	static const struct {
		size_t at;
		uint8_t value;
	} claims[] = {{15, 0x7f}, {11, 0x7f}, {5, 1}, {4, 9}};
	struct bt_error err;
	uint64_t ordinal;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(claims); i++) {
		struct buf b = {0}, raw = {0};
		uint8_t zeros[1000] = {0};
		struct reading s;

		add_block(&b, 0, zeros, sizeof zeros); /* packed */
		b.data[claims[i].at] = claims[i].value;
		put_checksum(b.data + BT_BLOCK_HEADER_SIZE - 4, b.data, BT_BLOCK_HEADER_SIZE - 4);
		s = reading_of(b.data, b.len);
		assert_int_equal(decode(&s, &raw, &ordinal, &err), -BT_E_CORRUPT);
		assert_true(raw.cap <= BT_BLOCK_MAX);
		buf_release(&b);
		buf_release(&raw);
	}
}

static void garbage_never_ends_in_a_loop(void **state)
{
	uint64_t seed = 11, ordinal;
	struct buf raw = {0};

	(void)state;
	for (int round = 0; round < 2000; round++) {
		uint8_t bytes[200];
		size_t n = unit_random(&seed) % sizeof bytes;
		struct reading s;
		int calls = 0, rc;

		for (size_t i = 0; i < n; i++) {
			uint64_t r = unit_random(&seed);

			bytes[i] = r & 1 ? (uint8_t) "BTBK"[r >> 1 & 3] : (uint8_t)(r >> 8);
		}
		s = reading_of(bytes, n);
		while ((rc = decode(&s, &raw, &ordinal, NULL)) && ++calls < 300)
			assert_true(rc < 0);
		assert_true(calls <= (int)n);
	}
	buf_release(&raw);
}

static void names_of_files(void **state)
{
	char name[32];

	(void)state;
	trace_file_name(name, BT_FILE_EVENTS, 0);
	assert_string_equal(name, "events");
	trace_file_name(name, BT_FILE_BRANCHES, UINT32_MAX);
	assert_string_equal(name, "branches-4294967295");
	trace_file_name(name, BT_FILE_OBJECTS, 5);
	assert_string_equal(name, "objects");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(file_header_roundtrips),
		cmocka_unit_test(file_header_faults_are_distinct),
		cmocka_unit_test(blocks_roundtrip_packed_and_not),
		cmocka_unit_test(a_tail_cut_anywhere_is_torn),
		cmocka_unit_test(every_flip_is_seen_and_the_next_block_is_found),
		cmocka_unit_test(bytes_missing_in_the_middle_are_damage_not_a_tail),
		cmocka_unit_test(a_block_that_reaches_beyond_the_end_is_damage_if_another_follows),
		cmocka_unit_test(what_a_header_claims_is_bounded_whatever_its_checksum),
		cmocka_unit_test(garbage_never_ends_in_a_loop),
		cmocka_unit_test(names_of_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
