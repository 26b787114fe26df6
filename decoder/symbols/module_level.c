/* SPDX-License-Identifier: MIT */
#include "decoder/symbols/module_level.h"

#include "decoder/symbols/symbols.h"
#include "decoder/symbols/unpacked.h"

static bool has_symbol_table(Elf *elf)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_SYMTAB)
			return true;
	return false;
}

void module_examine(struct image_module *mod)
{
	static const enum missing_what of_state[] = {[IMAGE_FILE_MISSING] = MISSING_FILE,
						     [IMAGE_FILE_CHANGED] = MISSING_CHANGED,
						     [IMAGE_FILE_UNKNOWN] = MISSING_UNKNOWN};
	const char *debug_file = NULL;
	Dwarf_Addr bias;

	if (mod->examined || mod->state == IMAGE_FILE_MEMORY || mod->state == IMAGE_FILE_NO_ELF)
		return;
	mod->examined = true;
	if (mod->state != IMAGE_FILE_OK) {
		mod->lack = of_state[mod->state] + 1;
		/* A debug file may stand in for it. */
		if (mod->mod && image_module_dwarf(mod, &bias))
			mod->level = LEVEL_DEBUG;
		return;
	}
	if (!mod->mod)
		return;
	mod->has_debug = image_module_dwarf(mod, &bias) != NULL;
	mod->level = LEVEL_DEBUG;
	if (mod->has_debug)
		return;
	dwfl_module_getsymtab(mod->mod);
	dwfl_module_info(mod->mod, NULL, NULL, NULL, NULL, NULL, NULL, &debug_file);
	mod->level = LEVEL_SYMBOLS;
	if (unpacked_is_compressed(debug_file ? debug_file : mod->path)) {
		mod->lack = MISSING_UNPACKED + 1;
	} else if (debug_file || has_symbol_table(dwfl_module_getelf(mod->mod, &bias))) {
		mod->lack = MISSING_DEBUG + 1;
	} else {
		mod->level = LEVEL_EXPORTED;
		mod->lack = MISSING_SYMBOLS + 1;
	}
}
