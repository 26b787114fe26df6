/* SPDX-License-Identifier: MIT */
/* A small library is compiled in several ways, loaded, and looked up in through a trace that has
 * this process' mappings of it: the addresses are the dynamic linker's, not of our own reckoning.
 */
#include "decoder/symbols.h"

#include <dlfcn.h>
#include <elf.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "lib/array_size.h"
#include "lib/page.h"
#include "tests/unit/model_maker.h"
#include "tests/unit/unit.h"

static const char source[] =
	"#include <stdlib.h>\n"
	"#ifdef LONG_NAME\n"
	"#define A100 A20 A20 A20 A20 A20\n"
	"#define A20 \"aaaaaaaaaaaaaaaaaaaa\"\n"
	"int rand(void) __asm__(\"_Z600\" A100 A100 A100 A100 A100 A100 \"v\");\n"
	"__attribute__((weak)) int rand(void) { return 4; }\n"
	"#endif\n"
	"#line 2\n"
	"void *sample_return;\n"
	"__attribute__((noinline)) static int hidden(int x)\n"
	"{\n"
	"	sample_return = __builtin_return_address(0);\n"
	"	return x * 3;\n"
	"}\n"
	"static inline __attribute__((always_inline)) int inner(int x)\n"
	"{\n"
	"	return hidden(x) + 1; /* line 10 */\n"
	"}\n"
	"static inline __attribute__((always_inline)) int outer(int x)\n"
	"{\n"
	"	return inner(x) * 2; /* line 14 */\n"
	"}\n"
	"int total(int x) __asm__(\"_ZN4shop5totalEi\");\n"
	"int total(int x)\n"
	"{\n"
	"	return rand() + x;\n"
	"}\n"
	"#ifndef NESTED\n"
	"int sample_entry(int x)\n"
	"{\n"
	"#line 23\n"
	"	return outer(x) + 3; /* line 23 */\n"
	"}\n"
	"#else\n"
	"int sample_entry(int x)\n"
	"{\n"
	"	__attribute__((noinline)) int nested(int y)\n"
	"	{\n"
	"#line 23\n"
	"		return outer(y) + 2 + x; /* line 23 */\n"
	"	}\n"
	"	return nested(x);\n"
	"}\n"
	"#endif\n"
	"__attribute__((section(\".text.startup\"))) int early(int x)\n"
	"{\n"
	"	__asm__ volatile(\"hlt\");\n"
	"	__asm__ volatile(\"\" : : \"r\"(x)); /* no code */\n"
	"	__builtin_unreachable();\n"
	"}\n";

/* Of the page of sample_entry. */
enum code {
	CODE_NONE,
	CODE_SAME,
	CODE_OTHER,
};

struct sample {
	enum code code;   /* in the trace */
	uint64_t started; /* when the trace was */
	char dir[64], lib[128];
	void *handle;
	uint64_t entry, total, plain,
		ret; /* addresses of functions, and behind the call of hidden */
	uint8_t build_id[64];
	size_t build_id_len;
	struct maker k;
	struct model *m;
	struct symbols *s;
};

static bool shell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static bool shell(const char *fmt, ...)
{
	char command[1000];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(command, sizeof command, fmt, ap);
	va_end(ap);
	return system(command) == 0;
}

static const char *compiler(void)
{
	const char *cc = getenv("CC");

	return cc && *cc ? cc : "cc";
}

#define FLAGS "-O2 -g -shared -fPIC -fno-optimize-sibling-calls -Wl,--build-id"

/* A directory of its own, with the source in it. */
static void write_source(struct sample *p)
{
	char path[128];
	FILE *f;

	*p = (struct sample){
		.dir = "/tmp/btrec-symbols.XXXXXX", .code = p->code, .started = p->started};
	assert_non_null(mkdtemp(p->dir));
	snprintf(path, sizeof path, "%s/sample.c", p->dir);
	snprintf(p->lib, sizeof p->lib, "%s/sample.so", p->dir);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(source, f);
	fclose(f);
}

static void build(struct sample *p, const char *flags)
{
	write_source(p);
	assert_true(shell("%s " FLAGS " %s -o %s %s/sample.c", compiler(), flags, p->lib, p->dir));
}

static void load(struct sample *p)
{
	int (*entry)(int);
	void **ret;

	p->handle = dlopen(p->lib, RTLD_NOW | RTLD_LOCAL);
	if (!p->handle)
		fail_msg("%s", dlerror());
	*(void **)&entry = dlsym(p->handle, "sample_entry");
	ret = dlsym(p->handle, "sample_return");
	assert_non_null(entry);
	assert_int_equal(entry(1), 11);
	p->entry = (uintptr_t)dlsym(p->handle, "sample_entry");
	p->total = (uintptr_t)dlsym(p->handle, "_ZN4shop5totalEi");
	p->plain = (uintptr_t)dlsym(p->handle, "plain");
	p->ret = (uintptr_t)*ret;
}

static void read_build_id(struct sample *p)
{
	int fd = open(p->lib, O_RDONLY);
	const void *id = NULL;
	Elf *elf;
	ssize_t n;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	n = dwelf_elf_gnu_build_id(elf, &id);
	assert_true(n > 0 && (size_t)n <= sizeof p->build_id);
	memcpy(p->build_id, id, (size_t)n);
	p->build_id_len = (size_t)n;
	elf_end(elf);
	close(fd);
}

static void put_code(struct sample *p)
{
	uint64_t page = p->entry & ~(uint64_t)4095;
	uint8_t bytes[4096];

	memcpy(bytes, (const void *)(uintptr_t)page, sizeof bytes);
	bytes[p->entry - page] ^= p->code == CODE_OTHER;
	maker_code(&p->k, 1, 1, page, 0, bytes, sizeof bytes);
}

/* The mappings of the library in this process, as a trace has them. */
static void trace(struct sample *p)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long start, end, offset;
	char line[600], prot[5], path[400];
	struct bt_error err;

	assert_non_null(maps);
	maker_init(&p->k);
	p->k.header.started = p->started;
	maker_add(&p->k, 0, SPACE, space, .space = 1);
	while (fgets(line, sizeof line, maps)) {
		if (sscanf(line, "%lx-%lx %4s %lx %*s %*s %399s", &start, &end, prot, &offset,
			   path) != 5 ||
		    strcmp(path, p->lib))
			continue;
		maker_add(&p->k, 0, MAP, map, .space = 1, .epoch = 1, .start = start, .end = end,
			  .offset = offset,
			  .prot = (uint8_t)((prot[0] == 'r') | (prot[1] == 'w') << 1 |
					    (prot[2] == 'x') << 2),
			  .path = bt_str(p->lib),
			  .build_id = slice_of(p->build_id, p->build_id_len));
	}
	fclose(maps);
	if (p->code)
		put_code(p);
	p->m = maker_load(&p->k);
	assert_int_equal(symbols_open(&p->s, p->m, &err), 0);
}

/* For another sample in the same test. */
static void clear(struct sample *p)
{
	symbols_close(p->s);
	model_free(p->m);
	maker_release(&p->k);
	if (p->handle)
		dlclose(p->handle);
	if (*p->dir)
		assert_true(shell("rm -rf %s", p->dir));
	*p = (struct sample){.handle = NULL};
}

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct sample));
	return *state ? 0 : -1;
}

/* Also of a test that failed: nothing is left behind. */
static int teardown(void **state)
{
	clear(*state);
	free(*state);
	return 0;
}

#define SAMPLE_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

static struct location look(struct sample *p, uint64_t addr, bool is_return)
{
	struct location loc;

	symbols_lookup(p->s, 1, 1, addr, is_return, &loc);
	assert_int_equal(loc.addr, addr);
	return loc;
}

static void expect_missing(struct sample *p, enum missing_what what)
{
	size_t count;
	const struct missing_module *missing = symbols_missing(p->s, &count);

	assert_int_equal(count, 1);
	assert_int_equal(missing[0].what, what);
	assert_string_equal(missing[0].module, p->lib);
}

static void expect_entry(struct sample *p)
{
	struct location loc = look(p, p->entry, false);

	assert_string_equal(loc.function, "sample_entry");
	assert_int_equal(loc.offset, 0);
	assert_string_equal(loc.module, p->lib);
}

static void expect_source(const char *file)
{
	assert_true(*file == '/');
	assert_string_equal(strrchr(file, '/'), "/sample.c");
}

/* Two functions are inlined into one that calls a third. */
static void expect_lines_in(struct sample *p, const char *function)
{
	struct location loc = look(p, p->ret, true);

	assert_string_equal(loc.function, function);
	assert_int_equal(loc.line, 10);
	expect_source(loc.file);
	assert_int_equal(loc.inlined_count, 2);
	assert_string_equal(loc.inlined[0].function, "inner");
	assert_int_equal(loc.inlined[0].line, 14);
	assert_string_equal(loc.inlined[1].function, "outer");
	assert_int_equal(loc.inlined[1].line, 23);
	expect_source(loc.inlined[1].file);
}

static void expect_lines(struct sample *p) { expect_lines_in(p, "sample_entry"); }

static void plain(struct sample *p, const char *flags)
{
	build(p, flags);
	read_build_id(p);
	load(p);
	trace(p);
}

static void functions_lines_and_inlined_frames_are_found(void **state)
{
	struct sample *p = *state;
	struct location loc;
	size_t count;

	plain(p, "");
	expect_entry(p);
	expect_lines(p);
	loc = look(p, p->ret, false);
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
		write_source(p);
		assert_true(shell("cd %s && %s " FLAGS " %s -o sample.so sample.c", p->dir,
				  compiler(), formats[i]));
		read_build_id(p);
		load(p);
		trace(p);
		expect_entry(p);
		expect_lines(p);
		clear(p);
	}
}

/* Built where the source is, for .dwo files to be there; false: the compiler cannot. */
static bool built_there(struct sample *p, const char *cc, const char *flags)
{
	write_source(p);
	if (!shell("cd %s && %s " FLAGS " %s -o sample.so %s/sample.c 2>/dev/null", p->dir, cc,
		   flags, p->dir))
		return false;
	read_build_id(p);
	return true;
}

/* The functions are in another unit than what they were inlined from, or in another file. */
static void inlined_frames_are_found_in_other_units_and_files(void **state)
{
	static const char *const flags[] = {"-flto", "-gsplit-dwarf -gdwarf-4",
					    "-gsplit-dwarf -gdwarf-5", "-flto -gdwarf-4"};
	struct sample *p = *state;
	size_t count;

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		if (!built_there(p, compiler(), flags[i])) {
			assert_non_null(strstr(flags[i], "-flto")); /* which wants a plugin */
			clear(p);
			continue;
		}
		load(p);
		trace(p);
		expect_entry(p);
		expect_lines(p);
		symbols_missing(p->s, &count);
		assert_int_equal(count, 0);
		clear(p);
	}
}

static void split_debug_information_that_is_gone_is_named(void **state)
{
	struct sample *p = *state;
	struct location loc;

	assert_true(built_there(p, compiler(), "-gsplit-dwarf"));
	assert_true(shell("rm %s/*.dwo", p->dir));
	load(p);
	trace(p);
	expect_entry(p);
	loc = look(p, p->ret, true);
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
		build(p, flags[i]);
		compress(p->lib, false);
		read_build_id(p);
		load(p);
		trace(p);
		expect_entry(p);
		expect_lines(p);
		symbols_missing(p->s, &count);
		assert_int_equal(count, 0);
		clear(p);
	}
}

static void a_debug_file_compressed_with_zstd_is_read_or_named(void **state)
{
	struct sample *p = *state;
	char path[160];

	build(p, "");
	assert_true(shell("cd %s && objcopy --only-keep-debug sample.so sample.debug && strip "
			  "sample.so && objcopy --add-gnu-debuglink=sample.debug sample.so",
			  p->dir));
	snprintf(path, sizeof path, "%s/sample.debug", p->dir);
	compress(path, false);
	/* the link has a checksum of the file */
	assert_true(shell("cd %s && objcopy --remove-section=.gnu_debuglink sample.so && objcopy "
			  "--add-gnu-debuglink=sample.debug sample.so",
			  p->dir));
	read_build_id(p);
	load(p);
	trace(p);
	expect_entry(p);
	if (!look(p, p->ret, true).line)
		expect_missing(p, MISSING_UNPACKED);
	else
		expect_lines(p);
}

static void debug_sections_that_cannot_be_unpacked_are_called_that(void **state)
{
	struct sample *p = *state;

	build(p, "");
	compress(p->lib, true);
	read_build_id(p);
	load(p);
	trace(p);
	expect_entry(p);
	assert_int_equal(look(p, p->ret, true).line, 0);
	expect_missing(p, MISSING_UNPACKED);
}

/* Whether libdw reads .dwp files. */
static bool reads_packages(void) { return atof(dwfl_version(NULL)) >= 0.191; }

static void a_package_of_split_debug_information_is_read_or_named(void **state)
{
	struct sample *p = *state;
	size_t count;

	assert_true(built_there(p, compiler(), "-gsplit-dwarf -gdwarf-5"));
	if (!shell("cd %s && (dwp -e sample.so -o sample.so.dwp || llvm-dwp -e sample.so -o "
		   "sample.so.dwp) 2>/dev/null",
		   p->dir)) {
		if (reads_packages())
			skip(); /* neither tool is there */
		assert_true(shell("echo >%s.dwp", p->lib));
	}
	assert_true(shell("rm %s/*.dwo", p->dir));
	load(p);
	trace(p);
	expect_entry(p);
	assert_int_equal(look(p, p->ret, true).line, 10);
	if (!reads_packages()) {
		expect_missing(p, MISSING_PACKAGE);
		return;
	}
	expect_lines(p);
	symbols_missing(p->s, &count);
	assert_int_equal(count, 0);
}

/* GNU C. Its code is none of the function's that it stands in. */
static void inlined_frames_of_a_nested_function_are_found(void **state)
{
	struct sample *p = *state;

	if (!built_there(p, compiler(), "-DNESTED")) {
		clear(p);
		if (!built_there(p, "gcc", "-DNESTED"))
			skip(); /* clang has no such functions */
	}
	load(p);
	trace(p);
	expect_lines_in(p, "nested.0");
}

/* A function without debug information lies between those of a unit that has some, behind one whose
 * last line has no code: compilers write that behind calls that do not return. */
static void no_line_is_told_of_code_that_is_no_units(void **state)
{
	struct sample *p = *state;
	struct location loc;

	write_source(p);
	assert_true(shell("cd %s && echo 'int plain(int x) { return x + 1; }' | %s -O2 -fPIC -g0 "
			  "-c -xc - -o plain.o && %s " FLAGS " -o sample.so plain.o %s/sample.c",
			  p->dir, compiler(), compiler(), p->dir));
	read_build_id(p);
	load(p);
	trace(p);
	expect_lines(p);
	loc = look(p, p->plain, false);
	assert_string_equal(loc.function, "plain");
	assert_string_equal(loc.file, "");
	assert_int_equal(loc.line, 0);
}

static void names_are_demangled(void **state)
{
	struct sample *p = *state;

	plain(p, "");
	assert_string_equal(look(p, p->total, false).function, "shop::total(int)");
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

	plain(p, "-Wl,-z,separate-code -Wl,--section-start=.init=0x40000");
	if (!is_shifted(p->lib)) {
		skip();
	}
	expect_entry(p);
	expect_lines(p);
}

static void units_without_aranges_are_found(void **state)
{
	struct sample *p = *state;

	build(p, "");
	assert_true(shell("objcopy --remove-section .debug_aranges %s", p->lib));
	read_build_id(p);
	load(p);
	trace(p);
	expect_lines(p);
}

static void a_debug_link_is_followed(void **state)
{
	struct sample *p = *state;

	build(p, "");
	assert_true(shell("mkdir %s/.debug && objcopy --only-keep-debug %s %s/.debug/sample.debug "
			  "&& strip %s && cd %s/.debug && "
			  "objcopy --add-gnu-debuglink=sample.debug %s",
			  p->dir, p->lib, p->dir, p->lib, p->dir, p->lib));
	read_build_id(p);
	load(p);
	trace(p);
	expect_entry(p);
	expect_lines(p);
}

static void of_a_stripped_library_the_exported_names_remain(void **state)
{
	struct sample *p = *state;
	struct location loc;

	build(p, "");
	assert_true(shell("strip %s", p->lib));
	read_build_id(p);
	load(p);
	trace(p);
	expect_entry(p);
	loc = look(p, p->ret, true);
	assert_string_equal(loc.function, "sample_entry");
	assert_int_equal(loc.line, 0);
	assert_int_equal(loc.inlined_count, 0);
	expect_missing(p, MISSING_SYMBOLS);
}

static void what_has_no_debug_information_is_named(void **state)
{
	struct sample *p = *state;

	plain(p, "-g0");
	expect_entry(p);
	expect_missing(p, MISSING_DEBUG);
}

static void symbols_of_another_build_are_not_used(void **state)
{
	struct sample *p = *state;
	struct location loc;
	uint8_t byte;

	build(p, "");
	read_build_id(p);
	p->build_id[0] ^= 1;
	load(p);
	trace(p);
	loc = look(p, p->entry, false);
	assert_string_equal(loc.function, "");
	assert_string_equal(loc.module, p->lib);
	look(p, p->ret, true);
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
		build(p, rows[i].flags);
		load(p);
		trace(p);
		if (rows[i].missing < 0) {
			expect_entry(p);
			expect_lines(p);
		} else {
			assert_string_equal(look(p, p->entry, false).function, "");
			expect_missing(p, (enum missing_what)rows[i].missing);
		}
		clear(p);
	}
}

static void a_file_that_is_gone_is_named_once(void **state)
{
	struct sample *p = *state;

	build(p, "");
	read_build_id(p);
	load(p);
	trace(p);
	assert_int_equal(unlink(p->lib), 0);
	assert_string_equal(look(p, p->entry, false).function, "");
	look(p, p->total, false);
	expect_missing(p, MISSING_FILE);
}

static void code_that_did_not_run_comes_from_the_file(void **state)
{
	struct sample *p = *state;
	uint8_t bytes[64];

	plain(p, "");
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

	plain(p, "-fplt -Wl,-z,lazy -fcf-protection=none");
	bias = p->entry - look(p, p->entry, false).vaddr;
	/* behind the first entry, which enters the dynamic linker */
	loc = look(p, bias + section_address(p->lib, ".plt") + 16, false);
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
	plain(p, "-DLONG_NAME -fplt -Wl,-z,lazy -fcf-protection=none");
	bias = p->entry - look(p, p->entry, false).vaddr;
	assert_string_equal(look(p, bias + section_address(p->lib, ".plt") + 16, false).function,
			    expected);
}

static void nothing_is_known_of_what_is_not_mapped(void **state)
{
	struct sample *p = *state;
	struct location loc;

	plain(p, "");
	loc = look(p, 0x10, false);
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
		SAMPLE_TEST(inlined_frames_are_found_in_other_units_and_files),
		SAMPLE_TEST(split_debug_information_that_is_gone_is_named),
		cmocka_unit_test(
			mappings_are_not_listed_anew_where_code_is_looked_up_at_another_epoch),
		SAMPLE_TEST(debug_sections_compressed_with_zstd_are_read),
		SAMPLE_TEST(a_debug_file_compressed_with_zstd_is_read_or_named),
		SAMPLE_TEST(debug_sections_that_cannot_be_unpacked_are_called_that),
		SAMPLE_TEST(a_package_of_split_debug_information_is_read_or_named),
		SAMPLE_TEST(inlined_frames_of_a_nested_function_are_found),
		SAMPLE_TEST(no_line_is_told_of_code_that_is_no_units),
		SAMPLE_TEST(names_are_demangled),
		SAMPLE_TEST(segments_that_lie_elsewhere_in_the_file_are_placed_right),
		SAMPLE_TEST(units_without_aranges_are_found),
		SAMPLE_TEST(a_debug_link_is_followed),
		SAMPLE_TEST(of_a_stripped_library_the_exported_names_remain),
		SAMPLE_TEST(what_has_no_debug_information_is_named),
		SAMPLE_TEST(symbols_of_another_build_are_not_used),
		SAMPLE_TEST(without_a_recorded_build_id_the_code_decides),
		SAMPLE_TEST(a_file_that_is_gone_is_named_once),
		SAMPLE_TEST(code_that_did_not_run_comes_from_the_file),
		SAMPLE_TEST(stubs_are_named_for_what_they_call),
		SAMPLE_TEST(a_stub_has_a_name_of_any_length),
		SAMPLE_TEST(nothing_is_known_of_what_is_not_mapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
