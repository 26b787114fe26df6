/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"

#include "tui/view.h"

/* A view of as many lines as its state says. */
static size_t count(const struct view *view) { return *(size_t *)view->state; }

static const struct view_ops ops = {.name = "lines", .count = count};

static struct view view_of(size_t *lines, int height)
{
	return (struct view){.ops = &ops, .state = lines, .height = height};
}

static void assert_sane(const struct view *v)
{
	size_t n = view_count(v);

	assert_true(n ? v->cursor < n : !v->cursor);
	assert_true(v->top <= v->cursor);
	assert_true(v->cursor < v->top + (v->height > 0 ? (size_t)v->height : 1));
}

static void the_cursor_stays_within_the_lines(void **state)
{
	size_t lines = 5;
	struct view v = view_of(&lines, 3);

	(void)state;
	view_move(&v, -1);
	assert_int_equal(v.cursor, 0);
	view_move(&v, 100);
	assert_int_equal(v.cursor, 4);
	view_move(&v, -2);
	assert_int_equal(v.cursor, 2);
	view_jump(&v, SIZE_MAX);
	assert_int_equal(v.cursor, 4);
}

static void an_empty_view_moves_nowhere(void **state)
{
	size_t lines = 0;
	struct view v = view_of(&lines, 3);

	(void)state;
	view_move(&v, 1);
	view_scroll(&v, 10);
	view_jump(&v, SIZE_MAX);
	view_centre(&v, 7);
	assert_int_equal(v.cursor, 0);
	assert_int_equal(v.top, 0);
}

static void scrolling_keeps_the_place_on_the_screen(void **state)
{
	size_t lines = 100;
	struct view v = view_of(&lines, 10);

	(void)state;
	view_move(&v, 4);
	view_scroll(&v, 10);
	assert_int_equal(v.top, 10);
	assert_int_equal(v.cursor, 14);
	view_scroll(&v, 1000);
	assert_int_equal(v.top, 90);
	assert_int_equal(v.cursor, 99);
}

static void a_smaller_screen_keeps_the_cursor_on_its_line(void **state)
{
	size_t lines = 100;
	struct view v = view_of(&lines, 30);

	(void)state;
	view_move(&v, 29);
	v.height = 3;
	view_fit(&v);
	assert_int_equal(v.cursor, 29);
	assert_sane(&v);
	v.height = 200;
	view_fit(&v);
	assert_int_equal(v.cursor, 29);
	assert_int_equal(v.top, 0);
}

static void a_jump_remembers_where_it_began(void **state)
{
	size_t lines = 100;
	struct view v = view_of(&lines, 10);

	(void)state;
	view_move(&v, 7);
	view_jump(&v, 50);
	assert_int_equal(v.before_jump, 8);
	view_jump(&v, 50);
	assert_int_equal(v.before_jump, 8);
}

static void any_sequence_of_moves_is_sane(void **state)
{
	uint64_t seed = 3;
	size_t lines = 50;
	struct view v = view_of(&lines, 10);

	(void)state;
	for (int i = 0; i < 20000; i++) {
		uint64_t r = unit_random(&seed);
		long by = (long)(r >> 8 & 127) - 63;

		switch (r & 7) {
		case 0:
			lines = r >> 20 & 63;
			break;
		case 1:
			v.height = (int)(r >> 20 & 31);
			break;
		case 2:
			view_scroll(&v, by);
			break;
		case 3:
			view_jump(&v, r >> 16 & 127);
			break;
		case 4:
			view_centre(&v, r >> 16 & 127);
			break;
		default:
			view_move(&v, by);
		}
		view_fit(&v);
		assert_sane(&v);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_cursor_stays_within_the_lines),
		cmocka_unit_test(an_empty_view_moves_nowhere),
		cmocka_unit_test(scrolling_keeps_the_place_on_the_screen),
		cmocka_unit_test(a_smaller_screen_keeps_the_cursor_on_its_line),
		cmocka_unit_test(a_jump_remembers_where_it_began),
		cmocka_unit_test(any_sequence_of_moves_is_sane),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
