/* SPDX-License-Identifier: MIT */
/* A stub is `[endbr64] [bnd] jmp *slot(%rip)`; the relocation of the slot names the function. That
 * holds for .plt, .plt.sec and .plt.got alike, whatever their order. */
#include "decoder/symbols/plt.h"

#include <stdbool.h>
#include <string.h>

#include "lib/array_size.h"
#include "lib/insn.h"

static Elf_Scn *plt_section(Elf *elf, uint64_t vaddr, GElf_Shdr *sh)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name;

		if (!gelf_getshdr(scn, sh) || sh->sh_type != SHT_PROGBITS || vaddr < sh->sh_addr ||
		    vaddr - sh->sh_addr >= sh->sh_size)
			continue;
		name = elf_strptr(elf, names, sh->sh_name);
		return name && !strncmp(name, ".plt", 4) ? scn : NULL;
	}
	return NULL;
}

struct stub {
	uint64_t start, slot;
	uint64_t jump_end; /* behind its jump */
};

/* Reads the stub at offset of the section. */
static bool read_stub(const Elf_Data *data, uint64_t base, uint64_t offset, struct stub *stub)
{
	const uint8_t *code = (const uint8_t *)data->d_buf + offset;
	size_t n = data->d_size - offset;
	struct bt_insn insn;

	for (size_t at = 0; !bt_insn_decode(code + at, n - at, &insn); at += insn.len) {
		const uint8_t *tail = code + at + insn.len - 4;
		int32_t disp;

		if (insn.class == BT_INSN_PLAIN)
			continue;
		/* ff /4 with a displacement from rip, behind any prefixes */
		if (insn.class != BT_INSN_IJMP || insn.len < 6 || tail[-2] != 0xff ||
		    tail[-1] != 0x25)
			return false;
		memcpy(&disp, tail, sizeof disp);
		stub->start = base + offset;
		stub->jump_end = stub->start + at + insn.len;
		stub->slot = stub->jump_end + (uint64_t)(int64_t)disp;
		return true;
	}
	return false;
}

/* Stubs have 16 bytes, or 8 in .plt.got and in static programs; behind the jump there may be the
 * rest of a lazy one. */
static bool find_stub(const Elf_Data *data, uint64_t base, uint64_t vaddr, struct stub *stub)
{
	static const unsigned sizes[] = {16, 8, 16};

	for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++) {
		uint64_t offset = (vaddr - base) / sizes[i] * sizes[i];

		if (offset < data->d_size && read_stub(data, base, offset, stub) &&
		    (vaddr < stub->jump_end || i == 2))
			return true;
	}
	return false;
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

/* Of an indirect function the relocation names only its resolver, which bears the function's name.
 */
static const char *resolver_name(Elf *elf, uint64_t addr)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	GElf_Sym sym;

	while ((scn = elf_nextscn(elf, scn))) {
		Elf_Data *data;

		if (!gelf_getshdr(scn, &sh) ||
		    (sh.sh_type != SHT_SYMTAB && sh.sh_type != SHT_DYNSYM) ||
		    !(data = elf_getdata(scn, NULL)))
			continue;
		for (int i = 0; gelf_getsym(data, i, &sym); i++)
			if (sym.st_value == addr && GELF_ST_TYPE(sym.st_info) == STT_GNU_IFUNC)
				return elf_strptr(elf, sh.sh_link, sym.st_name);
	}
	return NULL;
}

static const char *name_of_slot(Elf *elf, uint64_t slot)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	GElf_Rela r;

	while ((scn = elf_nextscn(elf, scn))) {
		Elf_Data *data;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_RELA ||
		    !(data = elf_getdata(scn, NULL)))
			continue;
		for (int i = 0; gelf_getrela(data, i, &r); i++)
			if (r.r_offset == slot)
				return GELF_R_TYPE(r.r_info) == R_X86_64_IRELATIVE
					       ? resolver_name(elf, (uint64_t)r.r_addend)
					       : symbol_name(elf, &sh, GELF_R_SYM(r.r_info));
	}
	return NULL;
}

const char *plt_target(Elf *elf, uint64_t vaddr, uint64_t *start)
{
	GElf_Shdr sh;
	Elf_Scn *scn = elf ? plt_section(elf, vaddr, &sh) : NULL;
	Elf_Data *data = scn ? elf_rawdata(scn, NULL) : NULL;
	struct stub stub;
	const char *found;

	if (!data || !data->d_buf || !find_stub(data, sh.sh_addr, vaddr, &stub))
		return NULL;
	found = name_of_slot(elf, stub.slot);
	*start = stub.start;
	return found && *found ? found : NULL;
}
