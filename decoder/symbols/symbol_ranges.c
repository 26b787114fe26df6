/* SPDX-License-Identifier: MIT */
#include "decoder/symbols/symbol_ranges.h"

#include <stdlib.h>
#include <string.h>

#include "lib/grow.h"

enum { ASKED_FIRST = 16 }; /* addresses that are looked up without ranges: a report asks for few */

static const char *ask(Dwfl_Module *mod, GElf_Addr addr, GElf_Off *offset)
{
	GElf_Sym sym;

	return dwfl_module_addrinfo(mod, addr, offset, &sym, NULL, NULL, NULL);
}

static int compare_ends(const void *a, const void *b)
{
	const GElf_Addr *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void put_symbols(struct symbol_ranges *r, Dwfl_Module *mod, int count)
{
	for (int i = 0; i < count; i++) {
		GElf_Sym sym;
		GElf_Addr addr;

		if (!dwfl_module_getsym_info(mod, i, &sym, &addr, NULL, NULL, NULL))
			continue;
		r->ends[r->count++] = addr;
		/* One without a size may be the answer at its own address alone: others are, where
		 * it is another's. */
		r->ends[r->count++] = addr + (sym.st_size ? sym.st_size : 1);
	}
}

/* A symbol without a size is that of addresses in its own section alone, or right behind it. */
static void put_sections(struct symbol_ranges *r, Elf *elf, GElf_Addr bias)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr sh;

		if (!gelf_getshdr(scn, &sh))
			continue;
		r->ends[r->count++] = sh.sh_addr + bias;
		r->ends[r->count++] = sh.sh_addr + bias + sh.sh_size;
		r->ends[r->count++] = sh.sh_addr + bias + sh.sh_size + 1;
	}
}

static void sort_ends(struct symbol_ranges *r)
{
	size_t n = 0;

	qsort(r->ends, r->count, sizeof *r->ends, compare_ends);
	for (size_t i = 0; i < r->count; i++)
		if (!n || r->ends[n - 1] != r->ends[i])
			r->ends[n++] = r->ends[i];
	r->count = n;
}

static bool make_ranges(struct symbol_ranges *r, Dwfl_Module *mod)
{
	int count = dwfl_module_getsymtab(mod);
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(mod, &bias);
	size_t sections;

	if (count <= 0 || !elf || elf_getshdrnum(elf, &sections))
		return false;
	r->ends = reallocarray(NULL, 2 * (size_t)count + 3 * sections, sizeof *r->ends);
	if (!r->ends)
		return false;
	put_symbols(r, mod, count);
	put_sections(r, elf, bias);
	sort_ends(r);
	return true;
}

/* How many ranges begin at addr or below. */
static size_t range_of(const struct symbol_ranges *r, GElf_Addr addr)
{
	size_t low = 0, high = r->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (r->ends[middle] <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Without memory it is asked for again. */
static void keep(struct symbol_ranges *r, size_t range, struct range_symbol symbol)
{
	struct range_symbol *symbols =
		array_grow(r->symbols, r->symbol_count, &r->symbol_cap, sizeof *symbols);

	if (!symbols)
		return;
	r->symbols = symbols;
	symbols[r->symbol_count] = symbol;
	if (hash_table_add(&r->known, (struct hash_slot){range, {r->symbol_count + 1}}))
		r->symbol_count++;
}

const char *symbol_ranges_find(struct symbol_ranges *r, Dwfl_Module *mod, GElf_Addr addr,
			       GElf_Off *offset)
{
	const struct hash_slot *slot;
	const char *name;
	size_t range;

	if (!r->ends && !r->failed && r->asked++ >= ASKED_FIRST)
		r->failed = !make_ranges(r, mod);
	if (!r->ends)
		return ask(mod, addr, offset);
	range = range_of(r, addr);
	slot = hash_table_find(&r->known, range);
	if (slot) {
		const struct range_symbol *symbol = &r->symbols[slot->number - 1];

		*offset = addr - symbol->value;
		return symbol->name;
	}
	name = ask(mod, addr, offset);
	keep(r, range, (struct range_symbol){name, name ? addr - *offset : 0});
	return name;
}

void symbol_ranges_release(struct symbol_ranges *r)
{
	free(r->ends);
	free(r->symbols);
	hash_table_release(&r->known);
	*r = (struct symbol_ranges){0};
}
