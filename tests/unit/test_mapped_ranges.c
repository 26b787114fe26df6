/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"

#include "commands/mapped_ranges.h"
#include "format/log_values.h"
#include "lib/canonical.h"

enum {
	PAGES = 48,
	CHANGES = 20000,
	MANY = 200000,
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
	bool mapped[PAGES] = {false};
	uint64_t end = 0;

	for (size_t i = 0; i < m->count; i++) {
		assert_true(m->ranges[i].start < m->ranges[i].end);
		assert_true(!i || m->ranges[i].start > end);
		end = m->ranges[i].end;
		for (uint64_t page = m->ranges[i].start; page < end; page++)
			mapped[page] = true;
	}
	assert_memory_equal(mapped, p->mapped, sizeof mapped);
	assert_int_equal(m->most, p->most);
}

static void ranges_are_as_their_pages(void **state)
{
	struct mapped_ranges m = {0};
	struct pages p = {0};
	uint32_t random = 1;

	(void)state;
	for (int i = 0; i < CHANGES; i++) {
		struct bt_record_log_shape s = {.what = (uint8_t)(random >> 28) % BT_SHAPE_KINDS};
		uint64_t n = (random >> 20) % 9;

		s.start = (random >> 8) % (PAGES - 8);
		s.end = s.start + n;
		/* Pages that are moved lie elsewhere before. */
		s.from = s.start >= n ? 0 : s.start + n + n <= PAGES ? s.start + n : s.start;
		assert_true(mapped_ranges_change(&m, &s));
		change_pages(&p, &s);
		check_ranges(&m, &p);
		random = random * 1664525 + 1013904223;
	}
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

/* A stranger's log may have each shape before all others: what it costs is bounded. */
static void ranges_that_cost_too_much_are_refused(void **state)
{
	struct mapped_ranges m = {0};
	uint64_t first = MANY;
	size_t count;

	(void)state;
	while (first &&
	       mapped_ranges_change(&m, &(struct bt_record_log_shape){.what = BT_SHAPE_MAP,
								      .start = 2 * first,
								      .end = 2 * first + 1}))
		first--;
	assert_int_not_equal(first, 0);
	count = m.count;
	assert_int_equal(count, MANY - first);
	assert_false(mapped_ranges_change(&m, &(struct bt_record_log_shape){.what = BT_SHAPE_UNMAP,
									    .start = 2 * MANY,
									    .end = 2 * MANY + 1}));
	assert_int_equal(m.count, count);
	assert_int_equal(m.most, count);
	mapped_ranges_release(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_are_as_their_pages),
		cmocka_unit_test(ranges_that_cost_too_much_are_refused),
		cmocka_unit_test(what_no_program_can_have_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
