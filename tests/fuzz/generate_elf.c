/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/generate_elf.h"

#include <elf.h>

struct buf elf_without_sections(bool claims)
{
	struct {
		Elf64_Ehdr header;
		Elf64_Phdr code;
		char bytes[256];
	} program = {.header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					    ELFDATA2LSB, EV_CURRENT},
				.e_type = ET_DYN,
				.e_machine = EM_X86_64,
				.e_version = EV_CURRENT,
				.e_phoff = sizeof program.header,
				.e_ehsize = sizeof program.header,
				.e_phentsize = sizeof program.code,
				.e_phnum = 1},
		     .code = {.p_type = PT_LOAD,
			      .p_flags = PF_R | PF_X,
			      .p_filesz = sizeof program,
			      .p_memsz = sizeof program,
			      .p_align = 4096}};
	struct buf out = {0};

	if (claims)
		program.header.e_shoff = sizeof program;
	buf_put(&out, &program, sizeof program);
	return out;
}
