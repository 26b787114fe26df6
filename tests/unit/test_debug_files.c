/* SPDX-License-Identifier: MIT */
/* Where symbols and debug information come from: sections of the file, packed ones, other files;
 * and what is said where they are missing or another build's. */
#include "tests/unit/sample_library.h"

#include <elf.h>
#include <elfutils/libdwfl.h>
#include <sys/stat.h>
#include <zstd.h>

#include "lib/array_size.h"

/* The functions are in another unit than what they were inlined from, or in another file. */
static void inlined_frames_are_found_in_other_units_and_files(void **state)
{
	static const char *const flags[] = {"-flto", "-gsplit-dwarf -gdwarf-4",
					    "-gsplit-dwarf -gdwarf-5", "-flto -gdwarf-4"};
	struct sample *p = *state;
	size_t count;

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		if (!sample_build_there(p, compiler(), flags[i])) {
			assert_non_null(strstr(flags[i], "-flto")); /* which wants a plugin */
			sample_clear(p);
			continue;
		}
		sample_load(p);
		sample_trace(p);
		expect_entry(p);
		expect_lines(p);
		symbols_missing(p->s, &count);
		assert_int_equal(count, 0);
		sample_clear(p);
	}
}

static void split_debug_information_that_is_gone_is_named(void **state)
{
	struct sample *p = *state;
	struct location loc;

	assert_true(sample_build_there(p, compiler(), "-gsplit-dwarf"));
	assert_true(shell("rm %s/*.dwo", p->dir));
	sample_load(p);
	sample_trace(p);
	expect_entry(p);
	loc = sample_look(p, p->ret, true);
	assert_int_equal(loc.line, 10);
	expect_missing(p, MISSING_SPLIT);
}

/* Compresses a file's debug sections with zstd, as binutils do that are built with it; damaged: not
 * so that they can be unpacked. */
static void compress(const char *path, bool damaged)
{
	int fd = open(path, O_RDWR);
	Elf64_Ehdr eh;
	Elf64_Shdr sh[100];
	struct stat st;
	char names[4096];

	assert_int_equal(pread(fd, &eh, sizeof eh, 0), sizeof eh);
	assert_in_range(eh.e_shnum, 1, 100);
	assert_int_equal(pread(fd, sh, eh.e_shnum * sizeof *sh, (off_t)eh.e_shoff),
			 eh.e_shnum * sizeof *sh);
	assert_in_range(sh[eh.e_shstrndx].sh_size, 1, sizeof names);
	assert_int_equal(
		pread(fd, names, sh[eh.e_shstrndx].sh_size, (off_t)sh[eh.e_shstrndx].sh_offset),
		sh[eh.e_shstrndx].sh_size);
	for (size_t i = 0; i < eh.e_shnum; i++) {
		Elf64_Chdr ch = {
			.ch_type = 2, .ch_size = sh[i].sh_size, .ch_addralign = sh[i].sh_addralign};
		size_t room = ZSTD_compressBound(sh[i].sh_size), n;
		char *plain, *packed;

		if (strncmp(names + sh[i].sh_name, ".debug_", 7) || sh[i].sh_type != SHT_PROGBITS ||
		    sh[i].sh_flags & SHF_COMPRESSED || !sh[i].sh_size)
			continue;
		plain = malloc(sh[i].sh_size);
		packed = malloc(room);
		assert_int_equal(pread(fd, plain, sh[i].sh_size, (off_t)sh[i].sh_offset),
				 sh[i].sh_size);
		n = ZSTD_compress(packed, room, plain, sh[i].sh_size, 3);
		assert_false(ZSTD_isError(n));
		packed[n / 2] ^= damaged;
		packed[n - 1] ^= damaged;
		fstat(fd, &st);
		sh[i].sh_flags |= SHF_COMPRESSED;
		sh[i].sh_offset = (uint64_t)(st.st_size + 7) & ~UINT64_C(7);
		sh[i].sh_size = sizeof ch + n;
		sh[i].sh_addralign = 8;
		assert_int_equal(pwrite(fd, &ch, sizeof ch, (off_t)sh[i].sh_offset), sizeof ch);
		assert_int_equal(pwrite(fd, packed, n, (off_t)(sh[i].sh_offset + sizeof ch)), n);
		free(plain);
		free(packed);
	}
	assert_int_equal(pwrite(fd, sh, eh.e_shnum * sizeof *sh, (off_t)eh.e_shoff),
			 eh.e_shnum * sizeof *sh);
	close(fd);
}

static void debug_sections_compressed_with_zstd_are_read(void **state)
{
	static const char *const flags[] = {"-gdwarf-4", "-gdwarf-5", "-gdwarf-5 -gz=none -g3"};
	struct sample *p = *state;
	size_t count;

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		sample_build(p, flags[i]);
		compress(p->lib, false);
		sample_read_build_id(p);
		sample_load(p);
		sample_trace(p);
		expect_entry(p);
		expect_lines(p);
		symbols_missing(p->s, &count);
		assert_int_equal(count, 0);
		sample_clear(p);
	}
}

static void a_debug_file_compressed_with_zstd_is_read_or_named(void **state)
{
	struct sample *p = *state;
	char path[160];

	sample_build(p, "");
	assert_true(shell("cd %s && objcopy --only-keep-debug sample.so sample.debug && strip "
			  "sample.so && objcopy --add-gnu-debuglink=sample.debug sample.so",
			  p->dir));
	snprintf(path, sizeof path, "%s/sample.debug", p->dir);
	compress(path, false);
	/* the link has a checksum of the file */
	assert_true(shell("cd %s && objcopy --remove-section=.gnu_debuglink sample.so && objcopy "
			  "--add-gnu-debuglink=sample.debug sample.so",
			  p->dir));
	sample_read_build_id(p);
	sample_load(p);
	sample_trace(p);
	expect_entry(p);
	if (!sample_look(p, p->ret, true).line)
		expect_missing(p, MISSING_UNPACKED);
	else
		expect_lines(p);
}

static void debug_sections_that_cannot_be_unpacked_are_called_that(void **state)
{
	struct sample *p = *state;

	sample_build(p, "");
	compress(p->lib, true);
	sample_read_build_id(p);
	sample_load(p);
	sample_trace(p);
	expect_entry(p);
	assert_int_equal(sample_look(p, p->ret, true).line, 0);
	expect_missing(p, MISSING_UNPACKED);
}

/* Whether libdw reads .dwp files. */
static bool reads_packages(void) { return atof(dwfl_version(NULL)) >= 0.191; }

static void a_package_of_split_debug_information_is_read_or_named(void **state)
{
	struct sample *p = *state;
	size_t count;

	assert_true(sample_build_there(p, compiler(), "-gsplit-dwarf -gdwarf-5"));
	if (!shell("cd %s && (dwp -e sample.so -o sample.so.dwp || llvm-dwp -e sample.so -o "
		   "sample.so.dwp) 2>/dev/null",
		   p->dir)) {
		if (reads_packages())
			skip(); /* neither tool is there */
		assert_true(shell("echo >%s.dwp", p->lib));
	}
	assert_true(shell("rm %s/*.dwo", p->dir));
	sample_load(p);
	sample_trace(p);
	expect_entry(p);
	assert_int_equal(sample_look(p, p->ret, true).line, 10);
	if (!reads_packages()) {
		expect_missing(p, MISSING_PACKAGE);
		return;
	}
	expect_lines(p);
	symbols_missing(p->s, &count);
	assert_int_equal(count, 0);
}

/* As where an object of gcc's is linked with one of clang's: the other unit has them. */
static void a_unit_without_aranges_is_found_beside_others(void **state)
{
	struct sample *p = *state;

	sample_write(p);
	assert_true(shell(
		"cd %s && %s " SAMPLE_FLAGS " -c sample.c -o sample.o && objcopy "
		"--remove-section .debug_aranges --remove-section .rela.debug_aranges "
		"sample.o && echo 'int other(void) { return 1; }' >other.c && %s " SAMPLE_FLAGS
		" other.c sample.o -o sample.so",
		p->dir, compiler(), compiler()));
	sample_read_build_id(p);
	sample_load(p);
	sample_trace(p);
	expect_lines(p);
}

static void units_without_aranges_are_found(void **state)
{
	struct sample *p = *state;

	sample_build(p, "");
	assert_true(shell("objcopy --remove-section .debug_aranges %s", p->lib));
	sample_read_build_id(p);
	sample_load(p);
	sample_trace(p);
	expect_lines(p);
}

static void a_debug_link_is_followed(void **state)
{
	struct sample *p = *state;

	sample_build(p, "");
	assert_true(shell("mkdir %s/.debug && objcopy --only-keep-debug %s %s/.debug/sample.debug "
			  "&& strip %s && cd %s/.debug && "
			  "objcopy --add-gnu-debuglink=sample.debug %s",
			  p->dir, p->lib, p->dir, p->lib, p->dir, p->lib));
	sample_read_build_id(p);
	sample_load(p);
	sample_trace(p);
	expect_entry(p);
	expect_lines(p);
}

static void of_a_stripped_library_the_exported_names_remain(void **state)
{
	struct sample *p = *state;
	struct location loc;

	sample_build(p, "");
	assert_true(shell("strip %s", p->lib));
	sample_read_build_id(p);
	sample_load(p);
	sample_trace(p);
	expect_entry(p);
	loc = sample_look(p, p->ret, true);
	assert_string_equal(loc.function, "sample_entry");
	assert_int_equal(loc.line, 0);
	assert_int_equal(loc.inlined_count, 0);
	expect_missing(p, MISSING_SYMBOLS);
}

static void what_has_no_debug_information_is_named(void **state)
{
	struct sample *p = *state;

	sample_make(p, "-g0");
	expect_entry(p);
	expect_missing(p, MISSING_DEBUG);
}

static void symbols_of_another_build_are_not_used(void **state)
{
	struct sample *p = *state;
	struct location loc;
	uint8_t byte;

	sample_build(p, "");
	sample_read_build_id(p);
	p->build_id[0] ^= 1;
	sample_load(p);
	sample_trace(p);
	loc = sample_look(p, p->entry, false);
	assert_string_equal(loc.function, "");
	assert_string_equal(loc.module, p->lib);
	sample_look(p, p->ret, true);
	expect_missing(p, MISSING_CHANGED);
	assert_int_equal(symbols_code(p->s, 1, 1, p->entry, &byte, 1), 0);
}

/* Of such a mapping the code that ran tells whether the file is still the same; where none is in
 * the trace, and no inode either (a core file's), a file without a build-id that is older. */
static void without_a_recorded_build_id_the_code_decides(void **state)
{
	static const struct {
		const char *flags;
		enum code code;
		int missing; /* enum missing_what, -1: the file is used */
		uint64_t started;
	} rows[] = {
		{"-Wl,--build-id=none", CODE_SAME, -1, 0},
		{"-Wl,--build-id=none", CODE_OTHER, MISSING_CHANGED, 0},
		{"-Wl,--build-id=none", CODE_NONE, MISSING_UNKNOWN, 0},
		{"", CODE_SAME, -1, 0},
		{"", CODE_OTHER, MISSING_CHANGED, 0},
		{"", CODE_NONE, MISSING_UNKNOWN, 0},
		{"-Wl,--build-id=none", CODE_NONE, -1, UINT64_MAX},
		{"", CODE_NONE, MISSING_UNKNOWN, UINT64_MAX},
	};
	struct sample *p = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		p->code = rows[i].code;
		p->started = rows[i].started;
		sample_build(p, rows[i].flags);
		sample_load(p);
		sample_trace(p);
		if (rows[i].missing < 0) {
			expect_entry(p);
			expect_lines(p);
		} else {
			assert_string_equal(sample_look(p, p->entry, false).function, "");
			expect_missing(p, (enum missing_what)rows[i].missing);
		}
		sample_clear(p);
	}
}

static void a_file_that_is_gone_is_named_once(void **state)
{
	struct sample *p = *state;

	sample_build(p, "");
	sample_read_build_id(p);
	sample_load(p);
	sample_trace(p);
	assert_int_equal(unlink(p->lib), 0);
	assert_string_equal(sample_look(p, p->entry, false).function, "");
	sample_look(p, p->total, false);
	expect_missing(p, MISSING_FILE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SAMPLE_TEST(inlined_frames_are_found_in_other_units_and_files),
		SAMPLE_TEST(split_debug_information_that_is_gone_is_named),
		SAMPLE_TEST(debug_sections_compressed_with_zstd_are_read),
		SAMPLE_TEST(a_debug_file_compressed_with_zstd_is_read_or_named),
		SAMPLE_TEST(debug_sections_that_cannot_be_unpacked_are_called_that),
		SAMPLE_TEST(a_package_of_split_debug_information_is_read_or_named),
		SAMPLE_TEST(a_unit_without_aranges_is_found_beside_others),
		SAMPLE_TEST(units_without_aranges_are_found),
		SAMPLE_TEST(a_debug_link_is_followed),
		SAMPLE_TEST(of_a_stripped_library_the_exported_names_remain),
		SAMPLE_TEST(what_has_no_debug_information_is_named),
		SAMPLE_TEST(symbols_of_another_build_are_not_used),
		SAMPLE_TEST(without_a_recorded_build_id_the_code_decides),
		SAMPLE_TEST(a_file_that_is_gone_is_named_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
