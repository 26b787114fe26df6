/* SPDX-License-Identifier: MIT */
#include "decoder/symbols/strange_elf.h"

#include <elf.h>
#include <endian.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/regular_file.h"

enum {
	/* LZMA packs at best 273 bytes, its longest match, to some 14 bits of the coder's best
	   case, each 0.022 bits: 7,000 to one. A gigabyte of zeros takes 150 KB. */
	XZ_RATIO = 8192,
	NAME_ROOM = 24,
};

/* A section as far as it matters here. */
struct section {
	const Elf64_Shdr *header;
	char name[NAME_ROOM];
};

struct elf_sections {
	int fd;
	Elf64_Ehdr header;
	Elf64_Shdr *at;
};

/* False: they are not where the header says. */
static bool read_sections(struct elf_sections *s)
{
	const Elf64_Ehdr *h = &s->header;
	size_t size = h->e_shnum * sizeof *s->at;

	if (!h->e_shoff)
		return !h->e_shnum;
	if (!h->e_shnum || h->e_shentsize != sizeof *s->at || h->e_shstrndx >= h->e_shnum)
		return false;
	s->at = malloc(size);
	return s->at && regular_file_read(s->fd, s->at, size, h->e_shoff) &&
	       s->at[h->e_shstrndx].sh_type == SHT_STRTAB &&
	       !(s->at[h->e_shstrndx].sh_flags & SHF_COMPRESSED);
}

static bool read_header(struct elf_sections *s)
{
	struct stat st;

	return !fstat(s->fd, &st) && st.st_size <= STRANGE_ELF_MOST &&
	       regular_file_read(s->fd, &s->header, sizeof s->header, 0) &&
	       !memcmp(s->header.e_ident, ELFMAG, SELFMAG) &&
	       s->header.e_ident[EI_CLASS] == ELFCLASS64 &&
	       s->header.e_ident[EI_DATA] == ELFDATA2LSB;
}

/* As much of its name as tells it from others; at the end of the file there may be less. */
static void read_name(const struct elf_sections *s, struct section *section)
{
	const Elf64_Shdr *names = &s->at[s->header.e_shstrndx];
	uint64_t at = names->sh_offset + section->header->sh_name;

	memset(section->name, 0, sizeof section->name);
	if (section->header->sh_name < names->sh_size && at >= names->sh_offset && at <= INT64_MAX)
		(void)!pread(s->fd, section->name, sizeof section->name - 1, (off_t)at);
}

/* The bytes to which it unpacks; 0: it is not packed. */
static uint64_t unpacked_size(const struct elf_sections *s, const struct section *section)
{
	const Elf64_Shdr *header = section->header;
	struct {
		char magic[4]; /* "ZLIB" */
		uint8_t size[8];
	} old; /* the form of GNU: .zdebug_*, in the byte order of networks */
	Elf64_Chdr packed;
	uint64_t size;

	if (!strcmp(section->name, ".gnu_debugdata"))
		return header->sh_size > STRANGE_ELF_UNPACKED_MOST ? UINT64_MAX
								   : header->sh_size * XZ_RATIO;
	if (header->sh_flags & SHF_COMPRESSED)
		return regular_file_read(s->fd, &packed, sizeof packed, header->sh_offset)
			       ? packed.ch_size
			       : 0;
	if (strncmp(section->name, ".zdebug", strlen(".zdebug")) != 0 ||
	    !regular_file_read(s->fd, &old, sizeof old, header->sh_offset))
		return 0;
	memcpy(&size, old.size, sizeof size);
	return be64toh(size);
}

static bool sections_are_bounded(const struct elf_sections *s)
{
	uint64_t left = STRANGE_ELF_UNPACKED_MOST;

	for (size_t i = 0; s->at && i < s->header.e_shnum; i++) {
		struct section section = {.header = &s->at[i]};
		uint64_t size;

		read_name(s, &section);
		size = unpacked_size(s, &section);
		if (size > left || !strcmp(section.name, ".gnu_debugaltlink"))
			return false;
		left -= size;
	}
	return true;
}

bool strange_elf_is_bounded(int fd)
{
	struct elf_sections s = {.fd = fd};
	bool bounded = read_header(&s) && read_sections(&s) && sections_are_bounded(&s);

	free(s.at);
	return bounded;
}
