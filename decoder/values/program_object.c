/* SPDX-License-Identifier: MIT */
#include "decoder/values/program_object.h"

#include <dwarf.h>
#include <stdio.h>
#include <string.h>

#include "decoder/symbols/debug_name.h"
#include "decoder/symbols/debug_type.h"
#include "decoder/symbols/function_name.h"
#include "decoder/symbols/symbols_private.h"
#include "decoder/values/object_place.h"

enum {
	DEPTH_MAX = 16, /* of namespaces */
	ENTRIES_MAX = 1 << 17,
};

struct object_search {
	const struct known_memory *k;
	struct unit_set *units;
	struct frame_place place;
	uint64_t addr;
	const char *symbol; /* the name of the symbol at addr; "": none */
	uint64_t start;     /* address of the symbol */
	Dwarf_Off last;     /* the entry that was visited last: each is visited once */
	unsigned entries;
	struct program_object *out;
};

static bool take_name(struct program_object *o, const char *name)
{
	int n = snprintf(o->name, sizeof o->name, "%s", name);

	return n > 0 && (size_t)n < sizeof o->name;
}

static bool is_wanted(struct object_search *s, Dwarf_Die *die)
{
	struct program_object *o = s->out;
	const char *name = dwarf_diename(die);
	struct object place;
	Dwarf_Attribute attr;

	if (dwarf_attr(die, DW_AT_location, &attr)) {
		object_locate(&place, &s->place, die);
		o->addr = place.addr;
		if (!place.in_memory || place.addr > s->addr)
			return false;
	} else if (dwarf_hasattr(die, DW_AT_declaration) && *s->symbol) {
		o->addr = s->start;
		if (!name || !strstr(s->symbol, name) ||
		    strcmp(debug_variable_name(symbols_strings(s->k->s), s->units, die),
			   s->symbol) != 0)
			return false;
	} else {
		return false;
	}
	return debug_type_of(die, &o->type) && debug_type_size(&o->type, &o->size) &&
	       s->addr - o->addr < o->size &&
	       take_name(o, debug_variable_name(symbols_strings(s->k->s), s->units, die));
}

static bool find_variable(struct object_search *s, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die die;

	if (depth == DEPTH_MAX || dwarf_child(parent, &die))
		return false;
	do {
		Dwarf_Off at = dwarf_dieoffset(&die);
		int tag = dwarf_tag(&die);

		if (at <= s->last || ++s->entries > ENTRIES_MAX)
			return false;
		s->last = at;
		if ((tag == DW_TAG_variable && is_wanted(s, &die)) ||
		    ((tag == DW_TAG_namespace || tag == DW_TAG_module) &&
		     find_variable(s, &die, depth + 1)))
			return true;
	} while (!dwarf_siblingof(&die, &die));
	return false;
}

/* The unit with the functions of the code at pc. */
static struct debug_unit *unit_at(const struct known_memory *k, uint64_t pc,
				  struct image_module **mod, Dwarf_Addr *bias)
{
	struct debug_unit *unit;
	bool missing;

	*mod = symbols_module(k->s, k->space, k->epoch, pc);
	unit = *mod && (*mod)->mod ? image_module_unit(*mod, pc, bias) : NULL;
	return unit ? unit_with_functions(&(*mod)->units, unit, &missing) : NULL;
}

bool program_variable_at(const struct known_memory *k, uint64_t pc, uint64_t addr,
			 struct program_object *o)
{
	const struct frame_registers none = {.known = 0};
	struct image_module *mod;
	Dwarf_Addr bias;
	struct debug_unit *unit = unit_at(k, pc, &mod, &bias);
	struct object_search s = {.k = k, .addr = addr, .out = o};
	struct strange_time *time = symbols_strange_time(k->s);
	struct location loc;
	bool found;

	*o = (struct program_object){.name = ""};
	if (!unit)
		return false;
	symbols_lookup(k->s, k->space, k->epoch, addr, false, &loc);
	s.symbol = loc.function;
	s.start = addr - loc.offset;
	s.units = &mod->units;
	s.place = (struct frame_place){
		.memory = k, .registers = &none, .bias = bias, .pc = pc - bias};
	strange_time_begin(time);
	found = find_variable(&s, &unit->die, 0);
	strange_time_end(time);
	return found;
}

bool program_function_at(const struct known_memory *k, uint64_t addr, struct program_object *o)
{
	struct image_module *mod;
	Dwarf_Addr bias, entry;
	struct debug_unit *unit = unit_at(k, addr, &mod, &bias);
	char plain[FUNCTION_NAME_MAX];
	Dwarf_Die function;

	*o = (struct program_object){.addr = addr};
	return unit && unit_function_at(unit, addr - bias, &function) &&
	       !dwarf_entrypc(&function, &entry) && entry == addr - bias &&
	       debug_type_of(&function, &o->type) &&
	       take_name(o,
			 function_name_plain(plain, debug_function_name(symbols_strings(k->s),
									&mod->units, &function)));
}
