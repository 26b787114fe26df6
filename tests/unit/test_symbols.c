/* SPDX-License-Identifier: MIT */
/* Names, lines and inlined frames of addresses. */
#include "tests/unit/sample_library.h"

#include <elf.h>
#include <gelf.h>

#include "lib/array_size.h"
#include "lib/page.h"

static void functions_lines_and_inlined_frames_are_found(void **state)
{
	struct sample *p = *state;
	struct location loc;
	size_t count;

	sample_make(p, "");
	expect_entry(p);
	expect_lines(p);
	loc = sample_look(p, p->ret, false);
	assert_int_equal(loc.offset, p->ret - p->entry);
	assert_int_equal(strlen(loc.build_id), 2 * p->build_id_len);
	symbols_missing(p->s, &count);
	assert_int_equal(count, 0);
}

/* Where a source lies below the directory of its compilation, clang names it in another place of
 * the line table: as file 0. */
static void a_source_named_from_the_directory_of_its_compilation_is_found(void **state)
{
	struct sample *p = *state;
	static const char *const formats[] = {"-gdwarf-4", "-gdwarf-5"};

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		sample_write(p);
		assert_true(shell("cd %s && %s " SAMPLE_FLAGS " %s -o sample.so sample.c", p->dir,
				  compiler(), formats[i]));
		sample_read_build_id(p);
		sample_load(p);
		sample_trace(p);
		expect_entry(p);
		expect_lines(p);
		sample_clear(p);
	}
}

/* GNU C. Its code is none of the function's that it stands in. */
static void inlined_frames_of_a_nested_function_are_found(void **state)
{
	struct sample *p = *state;

	if (!sample_build_there(p, compiler(), "-DNESTED")) {
		sample_clear(p);
		if (!sample_build_there(p, "gcc", "-DNESTED"))
			skip(); /* clang has no such functions */
	}
	sample_load(p);
	sample_trace(p);
	expect_lines_in(p, "nested.0");
}

/* A function without debug information lies between those of a unit that has some, behind one whose
 * last line has no code: compilers write that behind calls that do not return. */
static void no_line_is_told_of_code_that_is_no_units(void **state)
{
	struct sample *p = *state;
	struct location loc;

	sample_write(p);
	assert_true(shell("cd %s && echo 'int plain(int x) { return x + 1; }' | %s -O2 -fPIC -g0 "
			  "-c -xc - -o plain.o && %s " SAMPLE_FLAGS
			  " -o sample.so plain.o %s/sample.c",
			  p->dir, compiler(), compiler(), p->dir));
	sample_read_build_id(p);
	sample_load(p);
	sample_trace(p);
	expect_lines(p);
	loc = sample_look(p, p->plain, false);
	assert_string_equal(loc.function, "plain");
	assert_string_equal(loc.file, "");
	assert_int_equal(loc.line, 0);
}

static void names_are_demangled(void **state)
{
	struct sample *p = *state;

	sample_make(p, "");
	assert_string_equal(sample_look(p, p->total, false).function, "shop::total(int)");
}

/* The load segment that holds the code has p_vaddr != p_offset. */
static bool is_shifted(const char *lib)
{
	int fd = open(lib, O_RDONLY);
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	bool shifted = false;
	GElf_Phdr ph;
	size_t n = 0;

	assert_int_equal(elf_getphdrnum(elf, &n), 0);
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(elf, (int)i, &ph) && ph.p_type == PT_LOAD && ph.p_flags & PF_X)
			shifted |= ph.p_vaddr != ph.p_offset;
	elf_end(elf);
	close(fd);
	return shifted;
}

static void segments_that_lie_elsewhere_in_the_file_are_placed_right(void **state)
{
	struct sample *p = *state;

	sample_make(p, "-Wl,-z,separate-code -Wl,--section-start=.init=0x40000");
	if (!is_shifted(p->lib)) {
		skip();
	}
	expect_entry(p);
	expect_lines(p);
}

static void code_that_did_not_run_comes_from_the_file(void **state)
{
	struct sample *p = *state;
	uint8_t bytes[64];

	sample_make(p, "");
	assert_int_equal(symbols_code(p->s, 1, 1, p->entry, bytes, 16), 16);
	assert_memory_equal(bytes, (const void *)(uintptr_t)p->entry, 16);
	assert_int_equal(symbols_code(p->s, 1, 1, 0x1000, bytes, 16), 0);
}

static GElf_Addr section_address(const char *lib, const char *name)
{
	int fd = open(lib, O_RDONLY);
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	GElf_Addr found = 0;
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	size_t names;

	assert_int_equal(elf_getshdrstrndx(elf, &names), 0);
	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &sh) && !strcmp(elf_strptr(elf, names, sh.sh_name), name))
			found = sh.sh_addr;
	elf_end(elf);
	close(fd);
	return found;
}

static void stubs_are_named_for_what_they_call(void **state)
{
	struct sample *p = *state;
	struct location loc;
	uint64_t bias;

	sample_make(p, "-fplt -Wl,-z,lazy -fcf-protection=none");
	bias = p->entry - sample_look(p, p->entry, false).vaddr;
	/* behind the first entry, which enters the dynamic linker */
	loc = sample_look(p, bias + section_address(p->lib, ".plt") + 16, false);
	assert_string_equal(loc.function, "rand@plt");
	assert_int_equal(loc.offset, 0);
}

static void a_stub_has_a_name_of_any_length(void **state)
{
	struct sample *p = *state;
	char expected[620];
	uint64_t bias;

	memset(expected, 'a', 600);
	strcpy(expected + 600, "()@plt");
	sample_make(p, "-DLONG_NAME -fplt -Wl,-z,lazy -fcf-protection=none");
	bias = p->entry - sample_look(p, p->entry, false).vaddr;
	assert_string_equal(
		sample_look(p, bias + section_address(p->lib, ".plt") + 16, false).function,
		expected);
}

static void nothing_is_known_of_what_is_not_mapped(void **state)
{
	struct sample *p = *state;
	struct location loc;

	sample_make(p, "");
	loc = sample_look(p, 0x10, false);
	assert_string_equal(loc.module, "");
	assert_string_equal(loc.function, "");
	assert_int_equal(loc.vaddr, 0);
}

static size_t maps_listed; /* by trace_index_maps(), which walks all of an address space's past */
size_t __real_trace_index_maps(const struct trace_index *x, uint32_t space, uint32_t epoch,
			       const struct space_map ***out);
size_t __wrap_trace_index_maps(const struct trace_index *x, uint32_t space, uint32_t epoch,
			       const struct space_map ***out);

size_t __wrap_trace_index_maps(const struct trace_index *x, uint32_t space, uint32_t epoch,
			       const struct space_map ***out)
{
	maps_listed++;
	return __real_trace_index_maps(x, space, epoch, out);
}

/* Looks code up at each of many epochs, at which something is mapped: of a file, or nobody's, at
 * the same place or at others. */
static void look_up_among(const char *path, uint64_t step, uint8_t prot)
{
	enum { EPOCHS = 1000, APP = 0x400000, OTHERS = 0x10000000 };
	struct bt_error err;
	struct location loc;
	struct symbols *s;
	struct model *m;
	struct maker k;

	maker_init(&k);
	maker_add(&k, 0, SPACE, space, .space = 1);
	maker_add(&k, 0, MAP, map, .space = 1, .epoch = 0, .start = APP, .end = APP + 0x1000,
		  .prot = 5, .path = bt_str("/no/such/app"));
	for (uint32_t i = 1; i <= EPOCHS; i++)
		maker_add(&k, 0, MAP, map, .space = 1, .epoch = i, .start = OTHERS + i * step,
			  .end = OTHERS + i * step + 0x1000, .prot = prot, .path = bt_str(path));
	m = maker_load(&k);
	assert_int_equal(symbols_open(&s, m, &err), 0);
	maps_listed = 0;
	for (uint32_t i = 1; i <= EPOCHS; i++) {
		symbols_lookup(s, 1, i, APP + 0x10, false, &loc);
		assert_string_equal(loc.module, "/no/such/app");
		assert_int_equal(loc.vaddr, 0x10);
		symbols_lookup(s, 1, i, OTHERS + i * step + 8, false, &loc);
		assert_string_equal(loc.module, path);
		assert_int_equal(loc.vaddr, 8);
	}
	assert_in_range(maps_listed, 0, 1);
	symbols_close(s);
	model_free(m);
	maker_release(&k);
}

static void mappings_are_not_listed_anew_where_code_is_looked_up_at_another_epoch(void **state)
{
	(void)state;
	look_up_among("", 0x2000, 5);
	look_up_among("", 0, 5);
	look_up_among("/no/such/plugin", 0x2000, 5);
	look_up_among("/no/such/plugin", 0, 5);
}

/* An image of the vdso from the trace, of `size` bytes, is looked up in: whatever it is, nothing
 * beyond it is read or written. */
static void look_up_in_vdso(uint64_t size, const Elf64_Ehdr *eh)
{
	const uint64_t at = 0x7fff00000000;
	static const uint8_t filler[BT_PAGE] = {[0 ... BT_PAGE - 1] = 'A'};
	struct bt_error err;
	struct location loc;
	struct symbols *s;
	struct model *m;
	struct maker k;

	maker_init(&k);
	maker_add(&k, 0, SPACE, space, .space = 1);
	maker_add(&k, 0, MAP, map, .space = 1, .epoch = 1, .start = at, .end = at + size, .prot = 5,
		  .path = bt_str("[vdso]"));
	maker_code(&k, 1, 1, at, 0, eh, sizeof *eh);
	for (uint64_t page = at + BT_PAGE; page < at + size; page += BT_PAGE)
		maker_code(&k, 1, 1, page, 0, filler, BT_PAGE);
	m = maker_load(&k);
	assert_int_equal(symbols_open(&s, m, &err), 0);
	symbols_lookup(s, 1, 1, at + 16, false, &loc);
	assert_string_equal(loc.function, "");
	symbols_close(s);
	model_free(m);
	maker_release(&k);
}

static void a_vdso_that_is_made_up_does_no_harm(void **state)
{
	Elf64_Ehdr eh = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			 .e_type = ET_DYN,
			 .e_machine = EM_X86_64,
			 .e_version = EV_CURRENT,
			 .e_ehsize = sizeof eh,
			 .e_shentsize = sizeof(Elf64_Shdr)};

	(void)state;
	look_up_in_vdso(4096, &eh); /* without sections */
	eh.e_shoff = 64;
	eh.e_shnum = 1;
	look_up_in_vdso(2 * 4096, &eh);
	look_up_in_vdso(4096 + 8, &eh); /* ends within a page */
	eh.e_shnum = 0xffff;
	eh.e_shoff = UINT64_MAX;
	look_up_in_vdso(4096, &eh);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_vdso_that_is_made_up_does_no_harm),
		SAMPLE_TEST(functions_lines_and_inlined_frames_are_found),
		SAMPLE_TEST(a_source_named_from_the_directory_of_its_compilation_is_found),
		cmocka_unit_test(
			mappings_are_not_listed_anew_where_code_is_looked_up_at_another_epoch),
		SAMPLE_TEST(inlined_frames_of_a_nested_function_are_found),
		SAMPLE_TEST(no_line_is_told_of_code_that_is_no_units),
		SAMPLE_TEST(names_are_demangled),
		SAMPLE_TEST(segments_that_lie_elsewhere_in_the_file_are_placed_right),
		SAMPLE_TEST(code_that_did_not_run_comes_from_the_file),
		SAMPLE_TEST(stubs_are_named_for_what_they_call),
		SAMPLE_TEST(a_stub_has_a_name_of_any_length),
		SAMPLE_TEST(nothing_is_known_of_what_is_not_mapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
