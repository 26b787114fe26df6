/* SPDX-License-Identifier: MIT */
/* The section headers of an ELF file, read without libelf, which takes more of a file than its
 * headers. Any bytes can be such a file. Used by strange_elf and unpacked. */
#ifndef BT_ELF_SECTIONS_H
#define BT_ELF_SECTIONS_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>

struct elf_sections {
	int fd; /* borrowed */
	Elf64_Ehdr header;
	Elf64_Shdr *at; /* owned */
	size_t count;   /* as the header has it: a file with more than SHN_LORESERVE has 0 there */
};

/* Reads them from the open file. False: it is no ELF file of 64 bits and little endian, its headers
 * have another size or are not there, or there is no memory. Release it in each case. */
bool elf_sections_read(struct elf_sections *s, int fd);
void elf_sections_release(struct elf_sections *s);

/* Whether names of sections are where the header says, as they are. */
bool elf_sections_have_names(const struct elf_sections *s);

/* As much of the name of section i as there is room for, ended by 0; "" if it has none. */
void elf_sections_name(const struct elf_sections *s, size_t i, char *name, size_t room);

#endif
