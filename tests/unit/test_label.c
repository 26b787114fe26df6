/* SPDX-License-Identifier: MIT */
#include "tests/unit/model_maker.h"

#include "tui/label.h"

enum {
	APP = 0x400000,
	HEAP = 0x10000000,
	STACK = 0x20000000,
};

struct sample {
	struct maker k;
	struct viewer v;
	struct row row;
};

static int open_sample(void **state)
{
	struct sample *p = calloc(1, sizeof *p);
	struct bt_error err;

	maker_init(&p->k);
	maker_add(&p->k, 0, SPACE, space, .space = 1);
	maker_add(&p->k, 0, MAP, map, .space = 1, .start = APP, .end = APP + 0x1000, .prot = 1,
		  .path = bt_str("/no/such/app"));
	maker_add(&p->k, 0, MAP, map, .space = 1, .start = APP + 0x1000, .end = APP + 0x2000,
		  .offset = 0x1000, .prot = 5, .path = bt_str("/no/such/app"));
	maker_add(&p->k, 0, MAP, map, .space = 1, .start = APP + 0x2000, .end = APP + 0x3000,
		  .offset = 0x1000, .prot = 3, .path = bt_str("/no/such/app"));
	maker_add(&p->k, 0, MAP, map, .space = 1, .start = APP + 0x10000, .end = APP + 0x11000,
		  .offset = 0x5000, .prot = 1, .path = bt_str("/no/such/data"));
	maker_add(&p->k, 0, MAP, map, .space = 1, .start = HEAP, .end = HEAP + 0x1000, .prot = 3,
		  .path = bt_str("[heap]"));
	maker_add(&p->k, 0, MAP, map, .space = 1, .start = STACK, .end = STACK + 0x1000, .prot = 7,
		  .path = bt_str("[stack]"));
	p->v.m = maker_load(&p->k);
	assert_int_equal(symbols_open(&p->v.s, p->v.m, &err), 0);
	*state = p;
	return 0;
}

static int close_sample(void **state)
{
	struct sample *p = *state;

	symbols_close(p->v.s);
	model_free(p->v.m);
	maker_release(&p->k);
	free(p);
	return 0;
}

static void expect_pointer(struct sample *p, uint64_t value, const char *expected)
{
	row_init(&p->row, true);
	label_pointer(&p->v, &p->row, 1, 0, value);
	assert_string_equal(p->row.text, expected);
}

static void places_in_a_file_are_the_linkers_in_data_and_code(void **state)
{
	struct sample *p = *state;

	expect_pointer(p, APP + 0x4, "  app+0x4");
	expect_pointer(p, APP + 0x1004, "  app+0x1004");
	expect_pointer(p, APP + 0x2004, "  app+0x2004");
}

static void places_in_a_file_that_is_no_program_are_offsets_in_it(void **state)
{
	expect_pointer(*state, APP + 0x10004, "  data+0x5004");
}

static void places_in_other_memory_are_offsets_in_it_and_those_of_code_addresses(void **state)
{
	struct sample *p = *state;

	expect_pointer(p, HEAP + 0x10, "  [heap]+0x10");
	expect_pointer(p, STACK + 0x10, "  0x20000010 [stack]");
	expect_pointer(p, 0x10, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(places_in_a_file_are_the_linkers_in_data_and_code,
						open_sample, close_sample),
		cmocka_unit_test_setup_teardown(
			places_in_a_file_that_is_no_program_are_offsets_in_it, open_sample,
			close_sample),
		cmocka_unit_test_setup_teardown(
			places_in_other_memory_are_offsets_in_it_and_those_of_code_addresses,
			open_sample, close_sample),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
