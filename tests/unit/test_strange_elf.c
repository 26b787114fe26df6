/* SPDX-License-Identifier: MIT */
/* Which ELF files out of a trace may be handed to libdw: those whose sections unpack to no more
 * than a bound, whatever form they are packed in, and that name no other file. */
#include "decoder/symbols/strange_elf.h"

#include <elf.h>
#include <endian.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/array_size.h"
#include "tests/unit/unit.h"

/* A file with one section, `it`, behind the one of no name and the names. */
struct made {
	Elf64_Ehdr header;
	Elf64_Shdr sections[3]; /* none, names, it */
	char names[64];
	union {
		Elf64_Chdr packed;
		struct {
			char magic[4];
			uint8_t size[8];
		} old;
		uint8_t xz[1000];
	} content;
};

enum { NONE, NAMES, IT };

static void begin(struct made *m, const char *name)
{
	*m = (struct made){
		.header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB},
			   .e_shoff = offsetof(struct made, sections),
			   .e_shentsize = sizeof(Elf64_Shdr),
			   .e_shnum = 3,
			   .e_shstrndx = NAMES},
		.sections = {[NAMES] = {.sh_type = SHT_STRTAB,
					.sh_offset = offsetof(struct made, names),
					.sh_size = sizeof m->names},
			     [IT] = {.sh_name = 1,
				     .sh_type = SHT_PROGBITS,
				     .sh_offset = offsetof(struct made, content),
				     .sh_size = sizeof m->content}}};
	strcpy(m->names + 1, name);
}

static bool is_bounded(const struct made *m, size_t n)
{
	int fd = memfd_create("strange", MFD_CLOEXEC);
	bool bounded;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, m, n), n);
	bounded = strange_elf_is_bounded(fd);
	close(fd);
	return bounded;
}

static void packed_sections_are_added_up(void **state)
{
	static const struct {
		uint64_t size;
		bool bounded;
	} sizes[] = {{0, true},
		     {1000, true},
		     {STRANGE_ELF_UNPACKED_MOST, true},
		     {STRANGE_ELF_UNPACKED_MOST + 1u, false},
		     {UINT64_MAX, false}};
	struct made m;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		begin(&m, ".debug_info");
		m.sections[IT].sh_flags = SHF_COMPRESSED;
		m.content.packed.ch_size = sizes[i].size;
		assert_int_equal(is_bounded(&m, sizeof m), sizes[i].bounded);
		/* Of two, each is too large for the other. */
		m.sections[NONE] = m.sections[IT];
		assert_int_equal(is_bounded(&m, sizeof m),
				 sizes[i].size <= STRANGE_ELF_UNPACKED_MOST / 2);
		begin(&m, ".zdebug_info");
		memcpy(m.content.old.magic, "ZLIB", 4);
		memcpy(m.content.old.size, &(uint64_t){htobe64(sizes[i].size)}, 8);
		assert_int_equal(is_bounded(&m, sizeof m), sizes[i].bounded);
		begin(&m, ".text"); /* not packed */
		m.sections[IT].sh_size = sizes[i].size;
		assert_true(is_bounded(&m, sizeof m));
	}
}

/* An .xz file of so many chunks of 2 MB, as far as it is looked at. */
static void put_symbols(struct made *m, unsigned chunks)
{
	static const uint8_t head[20] = {0xfd, '7', 'z', 'X', 'Z', 0, [12] = 1};
	uint8_t *to = m->content.xz;

	memcpy(to, head, sizeof head);
	to += sizeof head;
	for (unsigned i = 0; i < chunks; i++, to += 6)
		memcpy(to, "\x9f\xff\xff\0\0x", 6);
}

static void packed_symbols_count_as_they_unpack(void **state)
{
	enum { MOST = STRANGE_ELF_SYMBOLS_MOST >> 21 };
	struct made m;

	(void)state;
	for (unsigned chunks = 0; chunks <= MOST + 1; chunks++) {
		begin(&m, ".gnu_debugdata");
		put_symbols(&m, chunks);
		assert_int_equal(is_bounded(&m, sizeof m), chunks <= MOST);
	}
	begin(&m, ".gnu_debugdata");
	put_symbols(&m, MOST);
	m.sections[IT].sh_size = 100; /* it ends early */
	assert_false(is_bounded(&m, sizeof m));
	m.sections[IT].sh_size = sizeof m.content;
	m.content.xz[0] = 0x5d; /* the form before .xz, which does not tell its size */
	assert_false(is_bounded(&m, sizeof m));
}

/* All names that libdw takes for it. */
static void none_names_another_file(void **state)
{
	static const char *const names[] = {".gnu_debugaltlink", ".zgnu_debugaltlink",
					    ".gnu_debugaltlink.dwo", ".zgnu_debugaltlink.dwo",
					    ".gnu.debuglto_.gnu_debugaltlink"};
	struct made m;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		begin(&m, names[i]);
		assert_false(is_bounded(&m, sizeof m));
	}
	begin(&m, ".gnu_debuglink"); /* image.c does not follow it */
	assert_true(is_bounded(&m, sizeof m));
}

static void headers_that_hide_sections_are_refused(void **state)
{
	struct made m;

	(void)state;
	begin(&m, ".text");
	assert_true(is_bounded(&m, sizeof m));
	assert_false(is_bounded(&m, offsetof(struct made, names) - 1));
	assert_false(is_bounded(&m, sizeof m.header - 1));
	m.header.e_shnum = 0; /* the count is in the first section then */
	assert_false(is_bounded(&m, sizeof m));
	m.header.e_shoff = 0; /* there are none */
	assert_true(is_bounded(&m, sizeof m));
	begin(&m, ".text");
	m.header.e_shstrndx = SHN_XINDEX;
	assert_false(is_bounded(&m, sizeof m));
	begin(&m, ".text");
	m.header.e_shentsize = 40;
	assert_false(is_bounded(&m, sizeof m));
	begin(&m, ".text");
	m.sections[NAMES].sh_flags = SHF_COMPRESSED;
	assert_false(is_bounded(&m, sizeof m));
	begin(&m, ".text");
	m.header.e_ident[EI_CLASS] = ELFCLASS32;
	assert_false(is_bounded(&m, sizeof m));
	begin(&m, ".text");
	m.sections[IT].sh_name = UINT32_MAX; /* without a name */
	assert_true(is_bounded(&m, sizeof m));
	m.sections[NAMES].sh_offset = UINT64_MAX;
	m.sections[NAMES].sh_size = UINT64_MAX;
	assert_true(is_bounded(&m, sizeof m));
}

static void large_files_are_refused(void **state)
{
	int fd = memfd_create("strange", MFD_CLOEXEC);
	struct made m;

	(void)state;
	begin(&m, ".text");
	assert_true(fd >= 0);
	assert_int_equal(write(fd, &m, sizeof m), sizeof m);
	assert_int_equal(ftruncate(fd, STRANGE_ELF_MOST), 0);
	assert_true(strange_elf_is_bounded(fd));
	assert_int_equal(ftruncate(fd, STRANGE_ELF_MOST + 1l), 0);
	assert_false(strange_elf_is_bounded(fd));
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packed_sections_are_added_up),
		cmocka_unit_test(packed_symbols_count_as_they_unpack),
		cmocka_unit_test(none_names_another_file),
		cmocka_unit_test(headers_that_hide_sections_are_refused),
		cmocka_unit_test(large_files_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
