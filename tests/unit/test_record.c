/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"

#include "format/record.h"
#include "lib/array_size.h"

/* Random values of each field type. Blobs and strings point into text. */
static const char text[] = "a string with \x1b[31m, \" and \\ in it, long enough";

static void random_u8(uint64_t *s, uint8_t *v) { *v = (uint8_t)unit_random(s); }
static void random_u32(uint64_t *s, uint32_t *v) { *v = (uint32_t)unit_random(s); }
static void random_u64(uint64_t *s, uint64_t *v) { *v = unit_random(s); }

static void random_str(uint64_t *s, struct slice *v)
{
	size_t at = unit_random(s) % sizeof text;

	*v = slice_of(text + at, unit_random(s) % (sizeof text - at));
}

static void random_blob(uint64_t *s, struct slice *v) { random_str(s, v); }

static void random_point(uint64_t *s, struct bt_point *v)
{
	*v = (struct bt_point){unit_random(s), unit_random(s), unit_random(s), unit_random(s)};
}

static void random_regs(uint64_t *s, struct bt_regs *v)
{
	for (unsigned i = 0; i < BT_REG_COUNT; i++)
		bt_regs_set(v, i, unit_random(s));
}

static bool same_slice(struct slice a, struct slice b)
{
	return a.len == b.len && (!a.len || !memcmp(a.at, b.at, a.len));
}

#define SAME_u8(a, b)    ((a) == (b))
#define SAME_u32(a, b)   ((a) == (b))
#define SAME_u64(a, b)   ((a) == (b))
#define SAME_str(a, b)   same_slice(a, b)
#define SAME_blob(a, b)  same_slice(a, b)
#define SAME_point(a, b) (!memcmp(&(a), &(b), sizeof(a)))
#define SAME_regs(a, b)  (!memcmp(&(a), &(b), sizeof(a)))

/* Per kind: fill with random values, and compare field by field. */
#define RANDOM(type, f) random_##type(seed, &r->f);
#define COMPARE(type, f)              \
	if (!SAME_##type(a->f, b->f)) \
		fail_msg("field %s differs", #f);
#define R(number, NAME, name, description)                                  \
	static void fill_##name(uint64_t *seed, struct bt_record_##name *r) \
	{                                                                   \
		BT_FIELDS_##name(RANDOM)                                    \
	}                                                                   \
	static void compare_##name(const struct bt_record_##name *a,        \
				   const struct bt_record_##name *b)        \
	{                                                                   \
		BT_FIELDS_##name(COMPARE)                                   \
	}
BT_RECORDS(R)
#undef R

static void every_kind_roundtrips(void **state)
{
	uint64_t seed_value = 42, *seed = &seed_value;

	(void)state;
	for (int round = 0; round < 50; round++) {
#define R(number, NAME, name, description)                       \
	{                                                        \
		struct bt_record_##name body;                    \
		struct bt_record got;                            \
		struct buf b = {0};                              \
		struct slice s;                                  \
		fill_##name(seed, &body);                        \
		bt_record_encode(&b, BT_RECORD_##NAME, &body);   \
		s = slice_of(b.data, b.len);                     \
		assert_int_equal(bt_record_decode(&s, &got), 1); \
		assert_int_equal(got.kind, number);              \
		assert_int_equal(s.len, 0);                      \
		compare_##name(&body, &got.u.name);              \
		assert_int_equal(bt_record_decode(&s, &got), 0); \
		buf_release(&b);                                 \
	}
		BT_RECORDS(R)
#undef R
	}
}

/* Cut at every length: a body that ends between two fields decodes, the rest zero; one that ends
 * inside a field is corrupt. */
static void shorter_bodies_give_zero_for_what_is_not_there(void **state)
{
	struct bt_record_suppressed body = {1, 2, 3, 4, 5};
	static const size_t fields_end[] = {0, 8, 16, 20, 21, 29};
	struct buf b = {0};

	(void)state;
	bt_record_encode(&b, BT_RECORD_SUPPRESSED, &body);
	assert_int_equal(b.len, 8 + 29);
	for (size_t len = 0; len <= 29; len++) {
		struct slice s;
		struct bt_record got;
		size_t fields = 0;
		bool whole = false;

		b.data[4] = (uint8_t)len;
		s = slice_of(b.data, 8 + len);
		for (size_t i = 0; i < 6; i++)
			if (fields_end[i] == len) {
				whole = true;
				fields = i;
			}
		assert_int_equal(bt_record_decode(&s, &got), whole ? 1 : -BT_E_CORRUPT);
		if (!whole)
			continue;
		assert_int_equal(got.u.suppressed.seq, fields > 0 ? 1 : 0);
		assert_int_equal(got.u.suppressed.time, fields > 1 ? 2 : 0);
		assert_int_equal(got.u.suppressed.task, fields > 2 ? 3 : 0);
		assert_int_equal(got.u.suppressed.kind, fields > 3 ? 4 : 0);
		assert_int_equal(got.u.suppressed.count, fields > 4 ? 5 : 0);
	}
	buf_release(&b);
}

static void a_longer_body_is_skipped(void **state)
{
	struct bt_record_stopped body = {.seq = 9, .os_errno = 28, .text = bt_str("full")};
	struct bt_record_space after = {.seq = 10, .space = 3};
	struct buf b = {0};
	struct bt_record got;
	struct slice s;
	size_t len;

	(void)state;
	bt_record_encode(&b, BT_RECORD_STOPPED, &body);
	buf_put(&b, "a newer field", 13);
	len = b.len - 8;
	b.data[4] = (uint8_t)len;
	bt_record_encode(&b, BT_RECORD_SPACE, &after);
	s = slice_of(b.data, b.len);
	assert_int_equal(bt_record_decode(&s, &got), 1);
	assert_int_equal(got.u.stopped.os_errno, 28);
	assert_true(same_slice(got.u.stopped.text, bt_str("full")));
	assert_int_equal(bt_record_decode(&s, &got), 1);
	assert_int_equal(got.kind, BT_RECORD_SPACE);
	assert_int_equal(got.u.space.space, 3);
	buf_release(&b);
}

static void an_unknown_kind_is_stepped_over(void **state)
{
	static const uint8_t bytes[] = {0x34, 0x12, 0, 0, 3, 0, 0, 0, 'x', 'y',
					'z',  0x99, 0, 0, 0, 0, 0, 0, 0};
	struct slice s = slice_of(bytes, sizeof bytes);
	struct bt_record got;

	(void)state;
	assert_int_equal(bt_record_decode(&s, &got), 1);
	assert_int_equal(got.kind, 0x1234);
	assert_null(bt_record_name(got.kind));
	assert_int_equal(bt_record_decode(&s, &got), 1);
	assert_int_equal(got.kind, 0x99);
	assert_int_equal(bt_record_decode(&s, &got), 0);
}

static void reserved_bits_and_cut_records_are_corrupt(void **state)
{
	static const uint8_t reserved[] = {0x10, 0, 1, 0, 0, 0, 0, 0},
			     cut[] = {0x10, 0, 0, 0, 5, 0, 0, 0, 1}, half[] = {0x10};
	static const uint8_t huge[] = {0x41, 0, 0, 0, 24, 0, 0,    0,    1,    0,   0,
				       0,    0, 0, 0, 0,  2, 0,    0,    0,    0,   0,
				       0,    0, 3, 0, 0,  0, 0xff, 0xff, 0xff, 0xff};
	static const struct {
		const uint8_t *bytes;
		size_t len;
	} rows[] = {{reserved, sizeof reserved},
		    {cut, sizeof cut},
		    {half, sizeof half},
		    {huge, sizeof huge}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct slice s = slice_of(rows[i].bytes, rows[i].len);
		struct bt_record got;

		assert_int_equal(bt_record_decode(&s, &got), -BT_E_CORRUPT);
		assert_int_equal(s.len, 0);
		assert_int_equal(bt_record_decode(&s, &got), -BT_E_CORRUPT);
	}
}

static void print_is_one_line_that_cannot_act_on_a_terminal(void **state)
{
	uint64_t seed_value = 7, *seed = &seed_value;
	char *out = NULL;
	size_t len = 0;

	(void)state;
	for (int round = 0; round < 20; round++) {
#define R(number, NAME, name, description)                                  \
	{                                                                   \
		struct bt_record rec = {.kind = number};                    \
		FILE *f = open_memstream(&out, &len);                       \
		fill_##name(seed, &rec.u.name);                             \
		bt_record_print(f, &rec);                                   \
		fclose(f);                                                  \
		assert_memory_equal(out, #NAME, strlen(#NAME));             \
		assert_int_equal(out[len - 1], '\n');                       \
		for (size_t i = 0; i + 1 < len; i++)                        \
			assert_in_range((unsigned char)out[i], 0x20, 0x7e); \
		free(out);                                                  \
	}
		BT_RECORDS(R)
#undef R
	}
}

static void numbers_are_unique_and_named(void **state)
{
	static const uint16_t numbers[] = {
#define R(number, NAME, name, description) number,
		BT_RECORDS(R)
#undef R
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		assert_non_null(bt_record_name(numbers[i]));
		for (size_t k = 0; k < i; k++)
			assert_int_not_equal(numbers[i], numbers[k]);
	}
	assert_null(bt_record_name(0));
	assert_null(bt_record_name(0xffff));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_roundtrips),
		cmocka_unit_test(shorter_bodies_give_zero_for_what_is_not_there),
		cmocka_unit_test(a_longer_body_is_skipped),
		cmocka_unit_test(an_unknown_kind_is_stepped_over),
		cmocka_unit_test(reserved_bits_and_cut_records_are_corrupt),
		cmocka_unit_test(print_is_one_line_that_cannot_act_on_a_terminal),
		cmocka_unit_test(numbers_are_unique_and_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
