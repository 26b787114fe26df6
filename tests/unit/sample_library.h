/* SPDX-License-Identifier: MIT */
/* A small library that a test has compiled, loads and looks up in through a trace, which has this
 * process' mappings of it: the addresses are the dynamic linker's, not of our own reckoning. Its
 * functions are inlined into each other, so that names, lines and frames are known beforehand.
 * A test is a SAMPLE_TEST, which leaves no file behind. */
#ifndef BT_UNIT_SAMPLE_LIBRARY_H
#define BT_UNIT_SAMPLE_LIBRARY_H

#include "decoder/symbols/symbols.h"

#include <dlfcn.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/unit/model_maker.h"
#include "tests/unit/unit.h"

static const char sample_source[] =
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

static inline __attribute__((format(printf, 1, 2))) bool shell(const char *fmt, ...)
{
	char command[1000];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(command, sizeof command, fmt, ap);
	va_end(ap);
	return system(command) == 0;
}

static inline const char *compiler(void)
{
	const char *cc = getenv("CC");

	return cc && *cc ? cc : "cc";
}

#define SAMPLE_FLAGS "-O2 -g -shared -fPIC -fno-optimize-sibling-calls -Wl,--build-id"

/* A directory of its own, with the source in it. */
static inline void sample_write(struct sample *p)
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
	fputs(sample_source, f);
	fclose(f);
}

static inline void sample_build(struct sample *p, const char *flags)
{
	sample_write(p);
	assert_true(shell("%s " SAMPLE_FLAGS " %s -o %s %s/sample.c", compiler(), flags, p->lib,
			  p->dir));
}

static inline void sample_load(struct sample *p)
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

static inline void sample_read_build_id(struct sample *p)
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

static inline void sample_put_code(struct sample *p)
{
	uint64_t page = p->entry & ~(uint64_t)4095;
	uint8_t bytes[4096];

	memcpy(bytes, (const void *)(uintptr_t)page, sizeof bytes);
	bytes[p->entry - page] ^= p->code == CODE_OTHER;
	maker_code(&p->k, 1, 1, page, 0, bytes, sizeof bytes);
}

/* Begins a trace with the mappings of the library in this process. */
static inline void sample_map(struct sample *p)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long start, end, offset;
	char line[600], prot[5], path[400];

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
		sample_put_code(p);
}

static inline void sample_open(struct sample *p)
{
	struct bt_error err;

	p->m = maker_load(&p->k);
	assert_int_equal(symbols_open(&p->s, p->m, &err), 0);
}

static inline void sample_trace(struct sample *p)
{
	sample_map(p);
	sample_open(p);
}

/* For another sample in the same test. */
static inline void sample_clear(struct sample *p)
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

static inline int sample_setup(void **state)
{
	*state = calloc(1, sizeof(struct sample));
	return *state ? 0 : -1;
}

/* Also of a test that failed: nothing is left behind. */
static inline int sample_teardown(void **state)
{
	sample_clear(*state);
	free(*state);
	return 0;
}

#define SAMPLE_TEST(test) cmocka_unit_test_setup_teardown(test, sample_setup, sample_teardown)

static inline struct location sample_look(struct sample *p, uint64_t addr, bool is_return)
{
	struct location loc;

	symbols_lookup(p->s, 1, 1, addr, is_return, &loc);
	assert_int_equal(loc.addr, addr);
	return loc;
}

static inline void expect_missing(struct sample *p, enum missing_what what)
{
	size_t count;
	const struct missing_module *missing = symbols_missing(p->s, &count);

	assert_int_equal(count, 1);
	assert_int_equal(missing[0].what, what);
	assert_string_equal(missing[0].module, p->lib);
}

static inline void expect_entry(struct sample *p)
{
	struct location loc = sample_look(p, p->entry, false);

	assert_string_equal(loc.function, "sample_entry");
	assert_int_equal(loc.offset, 0);
	assert_string_equal(loc.module, p->lib);
}

static inline void expect_source(const char *file)
{
	assert_true(*file == '/');
	assert_string_equal(strrchr(file, '/'), "/sample.c");
}

/* Two functions are inlined into one that calls a third. */
static inline void expect_lines_in(struct sample *p, const char *function)
{
	struct location loc = sample_look(p, p->ret, true);

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

static inline void expect_lines(struct sample *p) { expect_lines_in(p, "sample_entry"); }

static inline void sample_make(struct sample *p, const char *flags)
{
	sample_build(p, flags);
	sample_read_build_id(p);
	sample_load(p);
	sample_trace(p);
}

/* Built where the source is, for .dwo files to be there; false: the compiler cannot. */
static inline bool sample_build_there(struct sample *p, const char *cc, const char *flags)
{
	sample_write(p);
	if (!shell("cd %s && %s " SAMPLE_FLAGS " %s -o sample.so %s/sample.c 2>/dev/null", p->dir,
		   cc, flags, p->dir))
		return false;
	sample_read_build_id(p);
	return true;
}

#endif
