/* SPDX-License-Identifier: MIT */
#include "decoder/symbols/strange_elf.h"

#include <endian.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "decoder/symbols/elf_sections.h"
#include "decoder/symbols/xz_size.h"
#include "lib/regular_file.h"

enum { NAME_ROOM = 64 };

/* A section as far as it matters here. */
struct section {
	const Elf64_Shdr *header;
	char name[NAME_ROOM];
};

static bool is_small(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && st.st_size <= STRANGE_ELF_MOST;
}

/* libdw reads the symbols in .gnu_debugdata as a file of their own. */
static uint64_t symbols_size(int fd, const Elf64_Shdr *header)
{
	uint64_t size;

	return xz_size(fd, header->sh_offset, header->sh_size, &size) &&
			       size <= STRANGE_ELF_SYMBOLS_MOST
		       ? size
		       : UINT64_MAX;
}

/* The bytes to which it unpacks; 0: it is not packed. */
static uint64_t unpacked_size(int fd, const struct section *section)
{
	const Elf64_Shdr *header = section->header;
	struct {
		char magic[4]; /* "ZLIB" */
		uint8_t size[8];
	} old; /* the form of GNU: .zdebug_*, in the byte order of networks */
	Elf64_Chdr packed;
	uint64_t size;

	if (!strcmp(section->name, ".gnu_debugdata"))
		return symbols_size(fd, header);
	if (header->sh_flags & SHF_COMPRESSED)
		return regular_file_read(fd, &packed, sizeof packed, header->sh_offset)
			       ? packed.ch_size
			       : 0;
	if (strncmp(section->name, ".zdebug", strlen(".zdebug")) != 0 ||
	    !regular_file_read(fd, &old, sizeof old, header->sh_offset))
		return 0;
	memcpy(&size, old.size, sizeof size);
	return be64toh(size);
}

/* libdw also takes .zgnu_debugaltlink, .gnu_debugaltlink.dwo and .gnu.debuglto_.gnu_debugaltlink
 * for it (dwarf_begin_elf.c of 0.188, check_section). */
static bool names_a_file(const struct section *section)
{
	return strstr(section->name, "gnu_debugaltlink");
}

static bool sections_are_bounded(const struct elf_sections *s)
{
	uint64_t left = STRANGE_ELF_UNPACKED_MOST;

	for (size_t i = 0; i < s->count; i++) {
		struct section section = {.header = &s->at[i]};
		uint64_t size;

		elf_sections_name(s, i, section.name, sizeof section.name);
		size = unpacked_size(s->fd, &section);
		if (size > left || names_a_file(&section))
			return false;
		left -= size;
	}
	return true;
}

bool strange_elf_is_bounded(int fd)
{
	struct elf_sections s;
	bool bounded =
		elf_sections_read(&s, fd) && is_small(fd) &&
		(s.count ? s.header.e_shoff && elf_sections_have_names(&s) : !s.header.e_shoff) &&
		sections_are_bounded(&s);

	elf_sections_release(&s);
	return bounded;
}
