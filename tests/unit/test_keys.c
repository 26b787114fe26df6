/* SPDX-License-Identifier: MIT */
/* tui/keys.def: what the viewer's keys, requests and help are made from. */
#include "tests/unit/unit.h"

#include <curses.h>

#include "tui/keymap.h"

static bool binds(const struct key_row *row, int key)
{
	const char *names = row->keys;

	while (*names)
		if (key_parse(&names) == key)
			return true;
	return false;
}

static void every_key_has_a_known_name(void **state)
{
	(void)state;
	for (size_t i = 0; i < key_row_count; i++) {
		const char *names = key_rows[i].keys;

		assert_true(*names);
		while (*names) {
			const char *name = names;

			if (key_parse(&names) < 0)
				fail_msg("%s: no key is called \"%s\"", key_rows[i].help, name);
		}
	}
}

static void no_key_is_bound_twice_in_a_view(void **state)
{
	(void)state;
	for (size_t i = 0; i < key_row_count; i++) {
		const char *names = key_rows[i].keys;

		while (*names) {
			const char *name = names;
			int key = key_parse(&names);

			for (size_t k = 0; k < key_row_count; k++)
				if (k != i && key_rows[k].views & key_rows[i].views &&
				    binds(&key_rows[k], key))
					fail_msg("\"%s\" and \"%s\" share a key of \"%s\"",
						 key_rows[i].help, key_rows[k].help, name);
		}
	}
}

static void every_request_has_help_and_a_view(void **state)
{
	(void)state;
	assert_int_equal(key_row_count, REQUEST_COUNT - 1);
	for (size_t i = 0; i < key_row_count; i++) {
		assert_int_equal(key_rows[i].request, i + 1);
		assert_true(*key_rows[i].help);
		assert_true(key_rows[i].views);
		assert_false(key_rows[i].views & ~VIEWS_ALL);
	}
}

static void every_key_is_found_in_its_views_alone(void **state)
{
	(void)state;
	for (size_t i = 0; i < key_row_count; i++) {
		const char *names = key_rows[i].keys;

		while (*names) {
			int key = key_parse(&names);

			for (unsigned view = 0; view < VIEW_COUNT; view++)
				assert_int_equal(keymap_lookup(key, view) == key_rows[i].request,
						 (key_rows[i].views >> view) & 1);
		}
	}
}

static void return_is_enter(void **state)
{
	(void)state;
	assert_int_equal(keymap_lookup('\r', VIEW_SUMMARY), REQUEST_ENTER);
	assert_int_equal(keymap_lookup('\n', VIEW_SUMMARY), REQUEST_ENTER);
	assert_int_equal(keymap_lookup(KEY_ENTER, VIEW_SUMMARY), REQUEST_ENTER);
}

static void unknown_keys_ask_for_nothing(void **state)
{
	(void)state;
	assert_int_equal(keymap_lookup(KEY_F(12), VIEW_SUMMARY), REQUEST_NONE);
	assert_int_equal(keymap_lookup(-3, VIEW_SUMMARY), REQUEST_NONE);
	assert_int_equal(keymap_lookup('%', VIEW_SUMMARY), REQUEST_NONE);
}

static void the_bottom_line_names_keys_of_its_view(void **state)
{
	unsigned seen = 0;

	(void)state;
	for (size_t i = 0; i < key_hint_count; i++) {
		const struct key_hint *hint = &key_hints[i];
		size_t len;
		const char *name = keymap_name(hint->request, &len), *names = name;
		int key = key_parse(&names);

		assert_true(len && *hint->word);
		if (keymap_lookup(key, hint->view) != hint->request)
			fail_msg("\"%s\" is named in a view where %.*s means something else",
				 hint->word, (int)len, name);
		seen |= 1u << hint->view;
	}
	assert_int_equal(seen, VIEWS_ALL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_key_has_a_known_name),
		cmocka_unit_test(no_key_is_bound_twice_in_a_view),
		cmocka_unit_test(every_request_has_help_and_a_view),
		cmocka_unit_test(every_key_is_found_in_its_views_alone),
		cmocka_unit_test(the_bottom_line_names_keys_of_its_view),
		cmocka_unit_test(return_is_enter),
		cmocka_unit_test(unknown_keys_ask_for_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
