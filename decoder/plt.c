/* SPDX-License-Identifier: MIT */
/* A stub is `[endbr64] [bnd] jmp *slot(%rip)`; the relocation of the slot names the function. That holds for .plt, .plt.sec and
 * .plt.got alike, whatever their order. */
#include "decoder/plt.h"

#include <stdio.h>
#include <string.h>

#include "lib/insn.h"

enum {
	STUB_SIZE = 16, /* of .plt and .plt.sec; in .plt.got it may be 8 */
};

static Elf_Scn *plt_section(Elf *elf, uint64_t vaddr, GElf_Shdr *sh)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name;

		if (!gelf_getshdr(scn, sh) || sh->sh_type != SHT_PROGBITS || vaddr < sh->sh_addr || vaddr - sh->sh_addr >= sh->sh_size)
			continue;
		name = elf_strptr(elf, names, sh->sh_name);
		return name && !strncmp(name, ".plt", 4) ? scn : NULL;
	}
	return NULL;
}

/* The slot that the stub at code jumps through, or 0. */
static uint64_t slot_of(const uint8_t *code, size_t n, uint64_t vaddr)
{
	struct bt_insn insn;

	for (size_t at = 0; at < n && !bt_insn_decode(code + at, n - at, &insn); at += insn.len) {
		const uint8_t *tail = code + at + insn.len - 4;
		int32_t disp;

		if (insn.class == BT_INSN_PLAIN)
			continue;
		/* ff /4 with a displacement from rip, behind any prefixes */
		if (insn.class != BT_INSN_IJMP || insn.len < 6 || tail[-2] != 0xff || tail[-1] != 0x25)
			return 0;
		memcpy(&disp, tail, sizeof disp);
		return vaddr + at + insn.len + (uint64_t)(int64_t)disp;
	}
	return 0;
}

static const char *symbol_name(Elf *elf, const GElf_Shdr *rela, size_t i)
{
	Elf_Scn *scn = elf_getscn(elf, rela->sh_link);
	GElf_Shdr sh;
	GElf_Sym sym;

	if (!scn || !gelf_getshdr(scn, &sh) || !gelf_getsym(elf_getdata(scn, NULL), (int)i, &sym))
		return NULL;
	return elf_strptr(elf, sh.sh_link, sym.st_name);
}

static const char *name_of_slot(Elf *elf, uint64_t slot)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	GElf_Rela r;

	while ((scn = elf_nextscn(elf, scn))) {
		Elf_Data *data;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_RELA || !(data = elf_getdata(scn, NULL)))
			continue;
		for (int i = 0; gelf_getrela(data, i, &r); i++)
			if (r.r_offset == slot)
				return symbol_name(elf, &sh, GELF_R_SYM(r.r_info));
	}
	return NULL;
}

bool plt_name(Elf *elf, uint64_t vaddr, char *name, size_t cap, uint64_t *start)
{
	GElf_Shdr sh;
	Elf_Scn *scn = elf ? plt_section(elf, vaddr, &sh) : NULL;
	Elf_Data *data = scn ? elf_rawdata(scn, NULL) : NULL;
	uint64_t offset, step, slot;
	const char *found;

	if (!data || !data->d_buf)
		return false;
	step = sh.sh_entsize == 8 ? 8 : STUB_SIZE;
	offset = (vaddr - sh.sh_addr) / step * step;
	if (offset >= data->d_size)
		return false;
	*start = sh.sh_addr + offset;
	slot = slot_of((const uint8_t *)data->d_buf + offset, data->d_size - offset < step ? data->d_size - offset : step, *start);
	found = slot ? name_of_slot(elf, slot) : NULL;
	if (!found || !*found)
		return false;
	snprintf(name, cap, "%s@plt", found);
	return true;
}
