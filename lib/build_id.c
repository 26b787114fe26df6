/* SPDX-License-Identifier: MIT */
#include "lib/build_id.h"

#include <gelf.h>
#include <string.h>

static size_t from_notes(Elf_Data *notes, uint8_t out[BT_BUILD_ID_MAX])
{
	size_t at = 0, name, desc;
	GElf_Nhdr nhdr;

	while (notes && (at = gelf_getnote(notes, at, &nhdr, &name, &desc)) > 0) {
		if (nhdr.n_type != NT_GNU_BUILD_ID || nhdr.n_namesz != sizeof "GNU" ||
		    nhdr.n_descsz > BT_BUILD_ID_MAX ||
		    memcmp((const char *)notes->d_buf + name, "GNU", sizeof "GNU"))
			continue;
		memcpy(out, (const char *)notes->d_buf + desc, nhdr.n_descsz);
		return nhdr.n_descsz;
	}
	return 0;
}

size_t bt_build_id(const void *image, size_t len, uint8_t out[BT_BUILD_ID_MAX])
{
	Elf *elf;
	size_t count = 0, found = 0;

	if (len < EI_NIDENT || elf_version(EV_CURRENT) == EV_NONE)
		return 0;
	elf = elf_memory((char *)(uintptr_t)image, len); /* libelf takes char *, and reads only */
	if (!elf)
		return 0;
	if (elf_kind(elf) != ELF_K_ELF || elf_getphdrnum(elf, &count))
		count = 0;
	for (size_t i = 0; i < count && !found; i++) {
		GElf_Phdr phdr;

		if (gelf_getphdr(elf, (int)i, &phdr) && phdr.p_type == PT_NOTE &&
		    phdr.p_offset < len && phdr.p_filesz <= len - phdr.p_offset)
			found = from_notes(
				elf_getdata_rawchunk(elf, (int64_t)phdr.p_offset, phdr.p_filesz,
						     phdr.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR),
				out);
	}
	elf_end(elf);
	return found;
}
