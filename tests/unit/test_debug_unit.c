/* SPDX-License-Identifier: MIT */
/* Debug information that no compiler writes, assembled by hand: whatever it says, looking something
 * up ends, and harms nothing. */
#include "decoder/symbols/debug_unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "decoder/symbols/inlined.h"
#include "tests/unit/unit.h"

enum {
	LEVELS = 60, /* 2^60 steps end on no machine */
	DEEP = 200000,
	RANGES = 3000,
};

struct sample {
	char dir[64];
	FILE *to; /* the assembler source */
	int fd;
	Dwarf *dwarf;
	struct unit_set units;
	struct debug_unit *unit;
	struct intern strings;
};

/* Abbreviations: 1 a unit; 2 a namespace with, 3 without a sibling; 4 a function; 5 a block with a
 * sibling; 6 something inlined; 7 a function with things in it; 8 a unit with ranges. */
static const char head[] = ".section .debug_abbrev,\"\",@progbits\n"
			   ".macro abbrev n, tag, children, attributes:vararg\n"
			   ".uleb128 \\n, \\tag; .byte \\children; .uleb128 \\attributes, 0, 0\n"
			   ".endm\n"
			   "abbrev 1, 0x11, 1, 0x03, 0x08\n"
			   "abbrev 2, 0x39, 1, 0x01, 0x13, 0x03, 0x08\n"
			   "abbrev 3, 0x39, 1, 0x03, 0x08\n"
			   "abbrev 4, 0x2e, 0, 0x03, 0x08, 0x11, 0x01, 0x12, 0x06\n"
			   "abbrev 5, 0x0b, 1, 0x01, 0x13\n"
			   "abbrev 6, 0x1d, 0, 0x03, 0x08, 0x11, 0x01, 0x12, 0x06\n"
			   "abbrev 7, 0x2e, 1, 0x03, 0x08, 0x11, 0x01, 0x12, 0x06\n"
			   "abbrev 8, 0x11, 1, 0x11, 0x01, 0x55, 0x17\n"
			   ".byte 0\n"
			   ".section .debug_info,\"\",@progbits\n"
			   "begin: .long end - 1f\n"
			   "1: .short 4; .long 0; .byte 8\n";

static void begin_as(struct sample *p, const char *unit)
{
	char path[128];

	snprintf(path, sizeof path, "%s/sample.s", p->dir);
	p->to = fopen(path, "w");
	assert_non_null(p->to);
	fprintf(p->to, "%s%s\n", head, unit);
}

static void begin(struct sample *p) { begin_as(p, ".uleb128 1; .asciz \"unit\""); }

static void function(struct sample *p, const char *name, unsigned start, unsigned len)
{
	fprintf(p->to, ".uleb128 4; .asciz \"%s\"; .quad %u; .long %u\n", name, start, len);
}

static void find_unit(struct sample *p)
{
	size_t header;
	Dwarf_Off next;
	Dwarf_Die die;

	assert_int_equal(dwarf_nextcu(p->dwarf, 0, &next, &header, NULL, NULL, NULL), 0);
	assert_non_null(dwarf_offdie(p->dwarf, header, &die));
	p->unit = unit_of(&p->units, &die);
	assert_non_null(p->unit);
}

static void load(struct sample *p)
{
	const char *cc = getenv("CC");
	char text[300];

	fputs("end:\n", p->to);
	assert_int_equal(fclose(p->to), 0);
	snprintf(text, sizeof text, "%s -c -o %s/sample.o %s/sample.s", cc && *cc ? cc : "cc",
		 p->dir, p->dir);
	assert_int_equal(system(text), 0);
	snprintf(text, sizeof text, "%s/sample.o", p->dir);
	p->fd = open(text, O_RDONLY);
	p->dwarf = dwarf_begin(p->fd, DWARF_C_READ);
	assert_non_null(p->dwarf);
	find_unit(p);
}

static int setup(void **state)
{
	struct sample *p = calloc(1, sizeof *p);

	*state = p;
	if (!p)
		return -1;
	strcpy(p->dir, "/tmp/btrec-debug-unit.XXXXXX");
	return mkdtemp(p->dir) ? 0 : -1;
}

static int teardown(void **state)
{
	struct sample *p = *state;
	char text[100];

	unit_set_release(&p->units);
	intern_release(&p->strings);
	dwarf_end(p->dwarf);
	if (p->fd > 0)
		close(p->fd);
	snprintf(text, sizeof text, "rm -rf %s", p->dir);
	free(p);
	return system(text);
}

#define SAMPLE_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

static struct inlined_result look(struct sample *p, Dwarf_Addr pc)
{
	struct inlined_result r;

	inlined_at(&p->strings, &p->units, p->unit, pc, &r);
	return r;
}

static void expect(struct sample *p, Dwarf_Addr pc, const char *name)
{
	struct inlined_result r = look(p, pc);

	assert_string_equal(r.function, name);
	assert_int_equal(r.count, 0);
}

static void the_function_of_an_address_is_the_one_that_begins_last(void **state)
{
	struct sample *p = *state;

	begin(p);
	function(p, "whole", 0x1000, 0x1000);
	function(p, "part", 0x1100, 0x10);
	function(p, "left_out", 0, 0x9000); /* by the linker: at 0 */
	function(p, "none", 0x3000, 0);
	fputs(".uleb128 0\n", p->to);
	load(p);
	expect(p, 0xfff, "");
	expect(p, 0x1000, "whole");
	expect(p, 0x1100, "part");
	expect(p, 0x110f, "part");
	expect(p, 0x1110, "whole");
	expect(p, 0x1fff, "whole");
	expect(p, 0x2000, "");
	expect(p, 0x3000, "");
}

static void names_have_the_scopes_that_they_stand_in(void **state)
{
	struct sample *p = *state;

	begin(p);
	function(p, "before", 0x1000, 0x10);
	fputs(".uleb128 3; .asciz \"shop\"\n", p->to);
	fputs(".uleb128 3; .asciz \"inner\"\n", p->to);
	function(p, "total", 0x1100, 0x10);
	fputs(".uleb128 0\n", p->to);
	function(p, "price", 0x1200, 0x10);
	fputs(".uleb128 0\n", p->to);
	function(p, "behind", 0x1300, 0x10);
	fputs(".uleb128 0\n", p->to);
	load(p);
	expect(p, 0x1000, "before");
	expect(p, 0x1100, "shop::inner::total");
	expect(p, 0x1200, "shop::price");
	expect(p, 0x1300, "behind");
}

/* What is said to follow a scope is what is in it: each would be looked at twice as often as the
 * one around it. */
static void entries_that_lead_back_into_themselves_are_read_once(void **state)
{
	struct sample *p = *state;
	struct inlined_result r;

	begin(p);
	for (unsigned i = 0; i < LEVELS; i++)
		fprintf(p->to, ".uleb128 2; .long inside%u - begin; .asciz \"n\"\ninside%u:\n", i,
			i);
	function(p, "innermost", 0x1000, 0x10);
	fputs(".uleb128 7; .asciz \"f\"; .quad 0x2000; .long 0x10\n", p->to);
	for (unsigned i = 0; i < LEVELS; i++)
		fprintf(p->to, ".uleb128 5; .long block%u - begin\nblock%u:\n", i, i);
	fputs(".uleb128 6; .asciz \"other\"; .quad 0x2008; .long 8\n", p->to);
	for (unsigned i = 0; i < 2 * LEVELS + 2; i++)
		fputs(".uleb128 0\n", p->to);
	load(p);
	assert_non_null(strstr(look(p, 0x1000).function, "n::innermost"));
	assert_int_equal(look(p, 0x2000).count, 0);
	r = look(p, 0x2008);
	assert_int_equal(r.count, 1);
	free(r.frames);
}

static void what_nests_too_deep_is_left_out(void **state)
{
	struct sample *p = *state;

	begin(p);
	function(p, "before", 0x1000, 0x10);
	for (unsigned i = 0; i < DEEP; i++)
		fputs(".byte 3, 'n', 0\n", p->to);
	function(p, "innermost", 0x2000, 0x10);
	for (unsigned i = 0; i <= DEEP; i++)
		fputs(".byte 0\n", p->to);
	load(p);
	expect(p, 0x1000, "before");
	expect(p, 0x2000, "");
}

/* ---- Files of strangers, which may take no longer ---- */

static void when_the_time_is_over_no_entry_is_read(void **state)
{
	struct sample *p = *state;
	struct strange_time over = {.over = true};

	begin(p);
	function(p, "before", 0x1000, 0x10);
	fputs(".uleb128 0\n", p->to);
	p->units.time = &over;
	load(p);
	expect(p, 0x1000, "");
}

static void when_the_time_is_over_nothing_inlined_is_looked_for(void **state)
{
	struct sample *p = *state;
	struct strange_time time = {.most = UINT64_MAX};
	struct inlined_result r;

	begin(p);
	fputs(".uleb128 7; .asciz \"f\"; .quad 0x2000; .long 0x10\n", p->to);
	fputs(".uleb128 6; .asciz \"other\"; .quad 0x2008; .long 8\n", p->to);
	fputs(".uleb128 0\n.uleb128 0\n", p->to);
	p->units.time = &time;
	load(p);
	r = look(p, 0x2008);
	assert_int_equal(r.count, 1);
	free(r.frames);
	time.over = true;
	expect(p, 0x2008, "f");
}

/* A unit of which not all ranges were read is believed to have any address. */
static void when_the_time_is_over_no_more_ranges_are_read(void **state)
{
	struct sample *p = *state;
	struct strange_time time = {.most = UINT64_MAX};

	begin_as(p, ".uleb128 8; .quad 0; .long 0");
	fputs(".pushsection .debug_ranges,\"\",@progbits\n", p->to);
	for (unsigned i = 1; i <= RANGES; i++)
		fprintf(p->to, ".quad %u, %u\n", i << 8, (i << 8) + 16);
	fputs(".quad 0, 0\n.popsection\n.uleb128 0\n", p->to);
	p->units.time = &time;
	load(p);
	assert_true(unit_covers(p->unit, RANGES << 8));
	assert_false(unit_covers(p->unit, (RANGES + 1) << 8));
	unit_set_release(&p->units);
	time.over = true;
	p->units.time = &time;
	find_unit(p);
	assert_true(unit_covers(p->unit, (RANGES + 1) << 8));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SAMPLE_TEST(the_function_of_an_address_is_the_one_that_begins_last),
		SAMPLE_TEST(names_have_the_scopes_that_they_stand_in),
		SAMPLE_TEST(entries_that_lead_back_into_themselves_are_read_once),
		SAMPLE_TEST(what_nests_too_deep_is_left_out),
		SAMPLE_TEST(when_the_time_is_over_no_entry_is_read),
		SAMPLE_TEST(when_the_time_is_over_nothing_inlined_is_looked_for),
		SAMPLE_TEST(when_the_time_is_over_no_more_ranges_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
