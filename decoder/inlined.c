/* SPDX-License-Identifier: MIT */
#include "decoder/inlined.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/demangle.h"

const char *readable_name(struct intern *strings, const char *name)
{
	char *plain = demangle(name);
	const char *kept = intern_str(strings, plain ? plain : name);

	free(plain);
	return kept;
}

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

static const char *function_of(struct intern *strings, Dwarf_Die *die)
{
	const char *name = string_of(die, DW_AT_linkage_name);

	if (!name)
		name = string_of(die, DW_AT_MIPS_linkage_name);
	if (!name)
		name = dwarf_diename(die);
	return name ? readable_name(strings, name) : "";
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

	return !dwarf_cu_info(unit->cu, &version, NULL, NULL, NULL, NULL, NULL, NULL) && version >= 5;
}

/* File 0 is none before DWARF 5 (2.13.1 of version 4) and the first from there on (6.2.4 of version 5). */
static const char *call_file(struct intern *strings, Dwarf_Die *unit, Dwarf_Die *die)
{
	Dwarf_Files *files;
	size_t count;
	Dwarf_Word i = number_of(die, DW_AT_call_file);

	if (!dwarf_hasattr(die, DW_AT_call_file) || (!i && !has_file_0(unit)) || dwarf_getsrcfiles(unit, &files, &count) || i >= count)
		return "";
	return source_path(strings, unit, dwarf_filesrc(files, i, NULL, NULL));
}

static void add(struct intern *strings, Dwarf_Die *unit, Dwarf_Die *die, struct inlined_result *out)
{
	struct inlined_frame *frames = realloc(out->frames, (out->count + 1) * sizeof *frames);

	if (!frames)
		return;
	out->frames = frames;
	frames[out->count++] = (struct inlined_frame){
		.function = function_of(strings, die),
		.file = call_file(strings, unit, die),
		.line = (int)number_of(die, DW_AT_call_line),
	};
}

/* dwarf_getscopes leaves the tree at the first inlined subroutine, for the scopes of its definition; the chain of calls is
 * in the tree of the innermost DIE. */
static int scopes_at(Dwarf_Die *unit, Dwarf_Addr pc, Dwarf_Die **chain)
{
	Dwarf_Die *scopes = NULL;
	int n = dwarf_getscopes(unit, pc, &scopes);

	*chain = NULL;
	if (n > 0)
		n = dwarf_getscopes_die(&scopes[0], chain);
	free(scopes);
	return n;
}

void inlined_at(struct intern *strings, Dwarf_Die *unit, Dwarf_Addr pc, struct inlined_result *out)
{
	Dwarf_Die *chain;
	int n = scopes_at(unit, pc, &chain);

	*out = (struct inlined_result){.function = ""};
	for (int i = 0; i < n; i++) {
		int tag = dwarf_tag(&chain[i]);

		if (tag == DW_TAG_inlined_subroutine)
			add(strings, unit, &chain[i], out);
		if (tag != DW_TAG_subprogram)
			continue;
		out->function = function_of(strings, &chain[i]);
		if (dwarf_entrypc(&chain[i], &out->entry))
			out->entry = 0;
		break;
	}
	free(chain);
}
