/* SPDX-License-Identifier: MIT */
#include "decoder/symbols/inlined.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/symbols/debug_name.h"
#include "decoder/symbols/debug_type.h"

enum {
	DEPTH_MAX = 256, /* of what is inlined into one another, with the blocks between */
};

/* Where a search for inlined code is. */
struct descent {
	Dwarf_Addr pc;
	Dwarf_Die *chain; /* of what is inlined, outermost first; new array */
	size_t count;
	Dwarf_Off last; /* entry that was looked at: each is once, whatever it says is next */
	struct strange_time *time;
};

static const char *string_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;

	return dwarf_formstring(dwarf_attr_integrate(die, name, &attr));
}

const char *source_path(struct intern *strings, Dwarf_Die *unit, const char *file)
{
	const char *dir = string_of(unit, DW_AT_comp_dir), *kept;
	char *joined;

	if (!file || *file == '/' || !dir || asprintf(&joined, "%s/%s", dir, file) < 0)
		return intern_str(strings, file);
	kept = intern_str(strings, joined);
	free(joined);
	return kept;
}

static Dwarf_Word number_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;
	Dwarf_Word value = 0;

	if (dwarf_formudata(dwarf_attr(die, name, &attr), &value))
		return 0;
	return value;
}

static bool has_file_0(Dwarf_Die *unit)
{
	Dwarf_Half version;

	return !dwarf_cu_info(unit->cu, &version, NULL, NULL, NULL, NULL, NULL, NULL) &&
	       version >= 5;
}

/* File 0 is none before DWARF 5 (2.13.1 of version 4) and the first from there on (6.2.4 of version
 * 5). */
static const char *call_file(struct intern *strings, Dwarf_Die *unit, Dwarf_Die *die)
{
	Dwarf_Files *files;
	size_t count;
	Dwarf_Word i = number_of(die, DW_AT_call_file);

	if (!dwarf_hasattr(die, DW_AT_call_file) || (!i && !has_file_0(unit)) ||
	    dwarf_getsrcfiles(unit, &files, &count) || i >= count)
		return "";
	return source_path(strings, unit, dwarf_filesrc(files, i, NULL, NULL));
}

static void push_die(struct descent *d, Dwarf_Die *die)
{
	Dwarf_Die *chain = realloc(d->chain, (d->count + 1) * sizeof *chain);

	if (!chain)
		return;
	d->chain = chain;
	chain[d->count++] = *die;
}

/* Looks for functions inlined at the pc below an entry. Blocks may have no addresses of their own,
 * but the entries in them have. */
static bool descend_to_die(struct descent *d, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die die;

	if (depth == DEPTH_MAX || dwarf_child(parent, &die))
		return false;
	do {
		Dwarf_Off at = dwarf_dieoffset(&die);
		int tag = dwarf_tag(&die), has;
		bool inlined = tag == DW_TAG_inlined_subroutine;

		if (at <= d->last || strange_time_is_over(d->time))
			return false;
		d->last = at;
		if (!inlined && !debug_is_block(tag))
			continue;
		has = dwarf_haspc(&die, d->pc);
		if (inlined && has > 0)
			push_die(d, &die);
		if ((has > 0 || !inlined) && (descend_to_die(d, &die, depth + 1) || has > 0))
			return true;
	} while (!dwarf_siblingof(&die, &die));
	return false;
}

static void put_frames(struct intern *strings, struct unit_set *units, struct debug_unit *unit,
		       struct descent *d, struct inlined_result *out)
{
	out->frames = d->count ? calloc(d->count, sizeof *out->frames) : NULL;
	for (size_t i = d->count; out->frames && i-- > 0;)
		out->frames[out->count++] = (struct inlined_frame){
			.function = debug_function_name(strings, units, &d->chain[i]),
			.file = call_file(strings, &unit->die, &d->chain[i]),
			.line = (int)number_of(&d->chain[i], DW_AT_call_line),
		};
}

void inlined_at(struct intern *strings, struct unit_set *units, struct debug_unit *unit,
		Dwarf_Addr pc, struct inlined_result *out)
{
	struct descent d = {.pc = pc, .time = units->time};
	Dwarf_Die function;

	*out = (struct inlined_result){.function = ""};
	if (!unit_function_at(unit, pc, &function))
		return;
	out->function = debug_function_name(strings, units, &function);
	if (dwarf_entrypc(&function, &out->entry))
		out->entry = 0;
	descend_to_die(&d, &function, 0);
	put_frames(strings, units, unit, &d, out);
	free(d.chain);
}
