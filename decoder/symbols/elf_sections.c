/* SPDX-License-Identifier: MIT */
#include "decoder/symbols/elf_sections.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/regular_file.h"

bool elf_sections_read(struct elf_sections *s, int fd)
{
	const Elf64_Ehdr *h = &s->header;
	size_t size;

	*s = (struct elf_sections){.fd = fd};
	if (!regular_file_read(fd, &s->header, sizeof s->header, 0) ||
	    memcmp(h->e_ident, ELFMAG, SELFMAG) || h->e_ident[EI_CLASS] != ELFCLASS64 ||
	    h->e_ident[EI_DATA] != ELFDATA2LSB)
		return false;
	if (!h->e_shnum)
		return true;
	size = h->e_shnum * sizeof *s->at;
	s->at = h->e_shentsize == sizeof *s->at ? malloc(size) : NULL;
	if (!s->at || !regular_file_read(fd, s->at, size, h->e_shoff))
		return false;
	s->count = h->e_shnum;
	return true;
}

void elf_sections_release(struct elf_sections *s)
{
	free(s->at);
	*s = (struct elf_sections){.fd = -1};
}

bool elf_sections_have_names(const struct elf_sections *s)
{
	size_t names = s->header.e_shstrndx;

	return names < s->count && s->at[names].sh_type == SHT_STRTAB &&
	       !(s->at[names].sh_flags & SHF_COMPRESSED);
}

void elf_sections_name(const struct elf_sections *s, size_t i, char *name, size_t room)
{
	const Elf64_Shdr *names = &s->at[s->header.e_shstrndx];
	uint64_t at = names->sh_offset + s->at[i].sh_name;

	memset(name, 0, room);
	if (s->at[i].sh_name < names->sh_size && at >= names->sh_offset && at <= INT64_MAX)
		(void)!pread(s->fd, name, room - 1, (off_t)at); /* the file may end behind it */
}
