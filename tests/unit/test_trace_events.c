/* SPDX-License-Identifier: MIT */
#include "format/trace_events.h"

#include "lib/array_size.h"
#include "tests/unit/unit.h"

/* Adds a NOTE of the given seq and text. */
static void add(struct trace_events *ev, struct arena *a, uint64_t seq, uint32_t unit,
		const char *text)
{
	struct bt_record rec = {.kind = BT_RECORD_NOTE,
				.u.note = {.seq = seq, .text = bt_str(text)}};

	trace_events_add(ev, a, unit, &rec);
}

static void events_are_sorted_by_seq(void **state)
{
	struct trace_events ev = {0};
	struct arena a;

	(void)state;
	arena_init(&a, 1 << 20);
	for (uint32_t i = 0; i < 30; i++)
		add(&ev, &a, i * 7 % 30 + 1, i * 7 % 30 % 3, "text");
	assert_true(trace_events_sort(&ev));
	assert_int_equal(ev.count, 30);
	for (uint32_t i = 0; i < 30; i++) {
		assert_int_equal(ev.at[i]->seq, i + 1);
		assert_int_equal(ev.at[i]->unit, i % 3);
		assert_string_equal((const char *)ev.at[i]->rec.u.note.text.at, "text");
	}
	trace_events_release(&ev);
	arena_release(&a);
}

static void events_of_one_seq_stay_in_their_order(void **state)
{
	static const char *const expected[] = {"a", "b", "c", "d"};
	struct trace_events ev = {0};
	struct arena a;

	(void)state;
	arena_init(&a, 1 << 20);
	add(&ev, &a, 2, 0, "c");
	add(&ev, &a, 1, 0, "a");
	add(&ev, &a, 2, 0, "d");
	add(&ev, &a, 1, 0, "b");
	assert_true(trace_events_sort(&ev));
	for (size_t i = 0; i < 4; i++)
		assert_string_equal((const char *)ev.at[i]->rec.u.note.text.at, expected[i]);
	trace_events_release(&ev);
	arena_release(&a);
}

static void only_records_with_a_seq_are_events(void **state)
{
	static const uint16_t kinds[] = {BT_RECORD_HEADER,       BT_RECORD_UNIT,
					 BT_RECORD_BRANCHES,     BT_RECORD_OBJECT,
					 BT_RECORD_BRANCH_WORDS, BT_RECORD_BRANCH_GRAPH,
					 BT_RECORD_END};
	struct trace_events ev = {0};
	struct arena a;

	(void)state;
	arena_init(&a, 1 << 20);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		trace_events_add(&ev, &a, 0, &(struct bt_record){.kind = kinds[i]});
	assert_int_equal(ev.count, 1);
	assert_int_equal(trace_events_count(&ev, BT_RECORD_END), 1);
	assert_int_equal(trace_events_count(&ev, BT_RECORD_NOTE), 0);
	assert_false(ev.unknown);
	trace_events_add(&ev, &a, 0, &(struct bt_record){.kind = 0x7fff});
	assert_int_equal(ev.count, 1);
	assert_true(ev.unknown);
	trace_events_release(&ev);
	arena_release(&a);
}

static void what_goes_past_the_budget_is_left_out(void **state)
{
	struct trace_events ev = {0};
	struct arena a;

	(void)state;
	arena_init(&a, sizeof(void *) + offsetof(struct trace_event, rec.u) +
			       sizeof(struct bt_record_note) + 32);
	add(&ev, &a, 1, 0, "short");
	assert_int_equal(ev.count, 1);
	assert_false(a.over);
	add(&ev, &a, 2, 0, "one more");
	assert_int_equal(ev.count, 1);
	assert_true(a.over && !a.failed);
	trace_events_release(&ev);
	arena_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_are_sorted_by_seq),
		cmocka_unit_test(events_of_one_seq_stay_in_their_order),
		cmocka_unit_test(only_records_with_a_seq_are_events),
		cmocka_unit_test(what_goes_past_the_budget_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
