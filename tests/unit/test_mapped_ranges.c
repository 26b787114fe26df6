/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"

#include "commands/mapped_ranges.h"
#include "format/log_values.h"
#include "lib/canonical.h"

enum {
	PAGES = 4096,
	CHANGES = 20000,
	OTHERS = 65000,
	AMIDST = 300000,
	THINNED = 64,
};

/* What is mapped, page by page. */
struct pages {
	bool mapped[PAGES];
	unsigned most;
};

static void change_pages(struct pages *p, const struct bt_record_log_shape *s)
{
	unsigned count = 0;

	for (uint64_t i = 0; i < s->end - s->start && s->what == BT_SHAPE_MOVE; i++)
		p->mapped[s->from + i] = false;
	for (uint64_t i = s->start; i < s->end && s->what != BT_SHAPE_PROTECT; i++)
		p->mapped[i] = s->what != BT_SHAPE_UNMAP;
	for (unsigned i = 0; i < PAGES; i++)
		count += p->mapped[i];
	p->most = count > p->most ? count : p->most;
}

static void check_ranges(const struct mapped_ranges *m, const struct pages *p)
{
	static bool mapped[PAGES];
	uint64_t end = 0;
	size_t ranges = 0;

	memset(mapped, 0, sizeof mapped);
	for (size_t k = 0; k < m->count; k++) {
		const struct mapped_block *b = m->blocks[k];

		assert_in_range(b->count, 1, MAPPED_BLOCK);
		assert_true(!k || m->blocks[k - 1]->count + b->count > MAPPED_JOINED);
		for (size_t i = 0; i < b->count; i++, ranges++) {
			assert_true(b->ranges[i].start < b->ranges[i].end);
			assert_true(!ranges || b->ranges[i].start > end);
			end = b->ranges[i].end;
			for (uint64_t page = b->ranges[i].start; page < end; page++)
				mapped[page] = true;
		}
	}
	assert_int_equal(ranges, m->ranges);
	assert_memory_equal(mapped, p->mapped, sizeof mapped);
	assert_int_equal(m->most, p->most);
}

static void ranges_are_as_their_pages(void **state)
{
	static struct pages p;
	struct mapped_ranges m = {0};
	uint32_t random = 1;
	size_t blocks = 0;

	(void)state;
	for (int i = 0; i < CHANGES; i++) {
		struct bt_record_log_shape s = {.what = (uint8_t)(random >> 28) % BT_SHAPE_KINDS};
		uint64_t n = i % 5000 == 4999 ? PAGES / 2 : (random >> 20) % 3;

		s.start = (random >> 8) % (PAGES - n);
		s.end = s.start + n;
		/* Pages that are moved lie elsewhere before. */
		s.from = s.start >= n ? 0 : s.start + n + n <= PAGES ? s.start + n : s.start;
		assert_true(mapped_ranges_change(&m, &s));
		change_pages(&p, &s);
		check_ranges(&m, &p);
		blocks = m.count > blocks ? m.count : blocks;
		random = random * 1664525 + 1013904223;
	}
	assert_true(blocks > 2);
	mapped_ranges_release(&m);
}

static void what_no_program_can_have_is_left_out(void **state)
{
	static const struct bt_record_log_shape odd[] = {
		{.what = BT_SHAPE_MAP, .start = 2, .end = 1},
		{.what = BT_SHAPE_MAP, .start = 1, .end = UINT64_MAX},
		{.what = BT_SHAPE_MAP, .start = BT_USER_END, .end = BT_USER_END + 1},
		{.what = BT_SHAPE_MOVE, .start = 1, .end = 2, .from = UINT64_MAX},
		{.what = BT_SHAPE_UNMAP, .start = 0, .end = BT_USER_END},
		{.what = BT_SHAPE_KINDS, .start = 1, .end = 2}};
	struct mapped_ranges m = {0};

	(void)state;
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
		assert_true(mapped_ranges_change(&m, &odd[i]));
	assert_int_equal(m.most, 0);
	mapped_ranges_release(&m);
}

static bool change_page(struct mapped_ranges *m, enum bt_log_shape what, uint64_t page)
{
	return mapped_ranges_change(m, &(struct bt_record_log_shape){.what = (uint8_t)what,
								     .start = page,
								     .end = page + 1});
}

/* As a program has with as many mappings as it may have, which makes and removes others all the
 * time. */
static void changes_amidst_many_ranges_are_followed(void **state)
{
	struct mapped_ranges m = {0};

	(void)state;
	for (uint64_t i = OTHERS; i > 0; i--)
		assert_true(change_page(&m, BT_SHAPE_MAP, 4 * i));
	for (uint64_t i = 0; i < AMIDST; i++) {
		uint64_t page = 4 * (i * 7919 % OTHERS) + 2;

		assert_true(change_page(&m, BT_SHAPE_MAP, page));
		assert_int_equal(m.ranges, OTHERS + 1);
		assert_true(change_page(&m, BT_SHAPE_UNMAP, page));
	}
	assert_int_equal(m.now, OTHERS);
	assert_int_equal(m.most, OTHERS + 1);
	mapped_ranges_release(&m);
}

/* Blocks are filled, split, and left with a range each: so a stranger's log could make as many
 * blocks as there may be ranges. */
static void blocks_with_few_ranges_are_joined(void **state)
{
	struct mapped_ranges m = {0};
	uint64_t page = 0;

	(void)state;
	for (unsigned i = 0; i < THINNED; i++) {
		uint64_t first = page;

		for (; page < first + 2 * MAPPED_BLOCK * THINNED; page += 2)
			assert_true(change_page(&m, BT_SHAPE_MAP, page));
		for (uint64_t k = first; k < page; k += 2)
			if (k % MAPPED_BLOCK)
				assert_true(change_page(&m, BT_SHAPE_UNMAP, k));
	}
	assert_int_equal(m.ranges, 2 * THINNED * THINNED);
	assert_in_range(m.count, 1, 4 * m.ranges / MAPPED_BLOCK);
	mapped_ranges_release(&m);
}

/* A stranger's log may have any number: what they take is bounded. */
static void more_ranges_than_a_program_has_are_refused(void **state)
{
	struct mapped_ranges m = {0};

	(void)state;
	for (uint64_t i = 0; i < MAPPED_RANGES_MOST; i++)
		assert_true(change_page(&m, BT_SHAPE_MAP, 2 * i));
	assert_false(change_page(&m, BT_SHAPE_MAP, 2 * (uint64_t)MAPPED_RANGES_MOST));
	assert_int_equal(m.ranges, MAPPED_RANGES_MOST);
	mapped_ranges_release(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_are_as_their_pages),
		cmocka_unit_test(changes_amidst_many_ranges_are_followed),
		cmocka_unit_test(blocks_with_few_ranges_are_joined),
		cmocka_unit_test(more_ranges_than_a_program_has_are_refused),
		cmocka_unit_test(what_no_program_can_have_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
