/* SPDX-License-Identifier: MIT */
/* The symbols of addresses by ranges are those that libdwfl finds for each address: of this
 * program, and of a made object with symbols in each other, beside each other and without a size.
 */
#include "decoder/symbols/symbol_ranges.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/unit.h"

static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
					 .find_debuginfo = dwfl_standard_find_debuginfo};

struct module {
	Dwfl *dwfl;
	Dwfl_Module *mod;
	GElf_Addr start, end;
};

static struct module open_module(const char *path)
{
	struct module m = {.dwfl = dwfl_begin(&callbacks)};

	assert_non_null(m.dwfl);
	dwfl_report_begin(m.dwfl);
	m.mod = dwfl_report_elf(m.dwfl, path, path, -1, 0x10000, false);
	assert_non_null(m.mod);
	dwfl_report_end(m.dwfl, NULL, NULL);
	dwfl_module_info(m.mod, NULL, &m.start, &m.end, NULL, NULL, NULL, NULL);
	return m;
}

/* Returns whether the address has a symbol. */
static bool compare_at(const struct module *m, struct symbol_ranges *r, GElf_Addr addr)
{
	GElf_Off offset = 0, expected_offset = 0;
	GElf_Sym sym;
	const char *expected = dwfl_module_addrinfo(m->mod, addr, &expected_offset, &sym, NULL,
						    NULL, NULL),
		   *name = symbol_ranges_find(r, m->mod, addr, &offset);

	assert_true(!expected == !name);
	if (!name)
		return false;
	assert_string_equal(name, expected);
	assert_int_equal(offset, expected_offset);
	return true;
}

static void this_program(void **state)
{
	struct module m = open_module("/proc/self/exe");
	struct symbol_ranges r = {0};
	size_t found = 0;
	int count = dwfl_module_getsymtab(m.mod);

	(void)state;
	/* Around the ends of each symbol, where another may begin, and between them. */
	for (int i = 0; i < count; i++) {
		GElf_Sym sym;
		GElf_Addr addr;

		if (!dwfl_module_getsym_info(m.mod, i, &sym, &addr, NULL, NULL, NULL) ||
		    addr < m.start + 2 || addr > m.end)
			continue; /* among them those with the numbers of versions */
		for (GElf_Addr at = addr - 2; at != addr + 3; at++)
			found += compare_at(&m, &r, at);
		found += compare_at(&m, &r, addr + sym.st_size - 1) +
			 compare_at(&m, &r, addr + sym.st_size / 2) +
			 compare_at(&m, &r, addr + sym.st_size);
	}
	assert_true(found > 100 && r.ends && r.symbol_count > 50);
	symbol_ranges_release(&r);
	dwfl_end(m.dwfl);
}

static const char made[] = ".text; .globl _start, outer, twin, other_twin\n"
			   "_start: .fill 8, 1, 0x90; label: .fill 8, 1, 0x90\n"
			   ".type outer, @function; outer: .fill 10, 1, 0x90\n"
			   ".type inner, @function; inner: .fill 3, 1, 0x90; .globl within; "
			   "within: .fill 3, 1, 0x90; .size inner, 6\n"
			   "plain: .fill 20, 1, 0x90; .size outer, 36\n"
			   ".fill 12, 1, 0x90; behind: .fill 4, 1, 0x90\n"
			   "twin: other_twin: local_twin: .fill 16, 1, 0x90; .size twin, 4; .size "
			   "other_twin, 16; .size local_twin, 9\n"
			   ".section .other, \"ax\"; .fill 9, 1, 0x90; unsized: .fill 9, 1, 0x90\n"
			   ".globl absolute; .set absolute, 0x401024\n"
			   ".data; datum: .fill 32; .size datum, 8\n";

static void made_object(void **state)
{
	char dir[] = "/tmp/btrec-symbol-ranges.XXXXXX", command[256];
	struct symbol_ranges r = {0};
	struct module m;
	size_t found = 0, all = 0;
	FILE *to;

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_true(!chdir(dir));
	to = fopen("made.s", "w");
	assert_non_null(to);
	fputs(made, to);
	assert_int_equal(fclose(to), 0);
	snprintf(command, sizeof command, "as -o made.o made.s && ld -o made made.o");
	assert_int_equal(system(command), 0);
	m = open_module("made");
	/* Down and up: whichever address of a range comes first. */
	for (GElf_Addr at = m.end + 16; at-- != m.start; all++)
		found += compare_at(&m, &r, at);
	for (GElf_Addr at = m.start; at != m.end + 16; at++)
		(void)compare_at(&m, &r, at);
	assert_true(found > 50 && found < all);
	symbol_ranges_release(&r);
	dwfl_end(m.dwfl);
	assert_true(!unlink("made.s") && !unlink("made.o") && !unlink("made") && !chdir("/") &&
		    !rmdir(dir));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(this_program),
		cmocka_unit_test(made_object),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
