/* SPDX-License-Identifier: MIT */
#include "decoder/symbols/inlined.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/symbols/debug_type.h"
#include "lib/array_size.h"
#include "lib/demangle.h"

enum {
	DEPTH_MAX = 256, /* of what is inlined into one another, with the blocks between */
	NESTED_MAX = 8,  /* of classes in functions in classes */
	SCOPES_MAX = 32, /* of one name */
};

/* Where a search for inlined code is. */
struct descent {
	Dwarf_Addr pc;
	Dwarf_Die *chain; /* of what is inlined, outermost first; new array */
	size_t count;
	Dwarf_Off last; /* entry that was looked at: each is once, whatever it says is next */
};

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

/* Where a function or class is declared: an entry of its code, or of its definition, only refers to
 * that. */
static Dwarf_Die declaration_of(Dwarf_Die *die)
{
	static const unsigned references[] = {DW_AT_abstract_origin, DW_AT_specification};
	Dwarf_Die at = *die, next;
	Dwarf_Attribute attr;

	/* LTO has one more. */
	for (unsigned i = 0; i < 2 * ARRAY_SIZE(references); i++)
		if (dwarf_attr(&at, references[i / 2], &attr) && dwarf_formref_die(&attr, &next))
			at = next;
	return at;
}

static void put_scopes(FILE *to, struct unit_set *units, Dwarf_Die *die, unsigned depth);

/* Whether what a scope stands in is told by its declaration: that of a function, or of a class that
 * is defined elsewhere. */
static bool is_declared_elsewhere(Dwarf_Die *scope)
{
	return dwarf_tag(scope) == DW_TAG_subprogram || dwarf_hasattr(scope, DW_AT_specification);
}

static void put_scope(FILE *to, struct unit_set *units, Dwarf_Die *die, unsigned depth)
{
	const char *name = dwarf_diename(die);

	if (is_declared_elsewhere(die))
		put_scopes(to, units, die, depth + 1);
	fprintf(to, "%s::",
		name                                 ? name
		: dwarf_tag(die) == DW_TAG_namespace ? "(anonymous namespace)"
						     : "(anonymous class)");
}

/* What the name of a function has before it: namespaces, classes, and the function that such a
 * class is in. */
static void put_scopes(FILE *to, struct unit_set *units, Dwarf_Die *die, unsigned depth)
{
	Dwarf_Die at = declaration_of(die), scopes[SCOPES_MAX];
	struct debug_unit *u = depth < NESTED_MAX ? unit_of(units, &at) : NULL;
	const struct unit_scope *scope = u ? unit_scope_of(u, &at) : NULL;
	size_t n = 0;

	for (; scope && n < SCOPES_MAX; scope = unit_outer_scope(u, scope)) {
		scopes[n] = scope->die;
		if (!n && dwarf_tag(&scopes[n]) == DW_TAG_subprogram)
			break; /* of a function in another one, GNU C */
		if (is_declared_elsewhere(&scopes[n++]))
			break;
	}
	while (n)
		put_scope(to, units, &scopes[--n], depth);
}

/* Compilers write linkage names only of functions that may have code of their own. */
static const char *qualified_name(struct intern *strings, struct unit_set *units, Dwarf_Die *die)
{
	const char *name = dwarf_diename(die), *kept;
	char *text = NULL;
	size_t len;
	FILE *to = name ? open_memstream(&text, &len) : NULL;

	if (!to)
		return intern_str(strings, name);
	put_scopes(to, units, die, 0);
	fputs(name, to);
	kept = intern_str(strings, fclose(to) ? name : text);
	free(text);
	return kept;
}

static const char *function_of(struct intern *strings, struct unit_set *units, Dwarf_Die *die)
{
	const char *name = string_of(die, DW_AT_linkage_name);

	if (!name)
		name = string_of(die, DW_AT_MIPS_linkage_name);
	return name ? readable_name(strings, name) : qualified_name(strings, units, die);
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

/* Looks for what is inlined at the pc below an entry. Blocks may have no addresses of their own,
 * but what is in them has. */
static bool descend_to_die(struct descent *d, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die die;

	if (depth == DEPTH_MAX || dwarf_child(parent, &die))
		return false;
	do {
		Dwarf_Off at = dwarf_dieoffset(&die);
		int tag = dwarf_tag(&die), has;
		bool inlined = tag == DW_TAG_inlined_subroutine;

		if (at <= d->last)
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
			.function = function_of(strings, units, &d->chain[i]),
			.file = call_file(strings, &unit->die, &d->chain[i]),
			.line = (int)number_of(&d->chain[i], DW_AT_call_line),
		};
}

void inlined_at(struct intern *strings, struct unit_set *units, struct debug_unit *unit,
		Dwarf_Addr pc, struct inlined_result *out)
{
	struct descent d = {.pc = pc};
	Dwarf_Die function;

	*out = (struct inlined_result){.function = ""};
	if (!unit_function_at(unit, pc, &function))
		return;
	out->function = function_of(strings, units, &function);
	if (dwarf_entrypc(&function, &out->entry))
		out->entry = 0;
	descend_to_die(&d, &function, 0);
	put_frames(strings, units, unit, &d, out);
	free(d.chain);
}
